import Foundation
import Lockstep
import LockstepCore
import Testing

private func at(_ time: Int64) -> LogTime { LogTime(rawValue: time) }

/// Timers as part of the state.
@Suite struct TimersTests {
    private typealias Model = [String: (deadline: LogTime, payload: Int)]

    private func due(_ model: Model, _ time: LogTime, _ limit: Int) -> [String] {
        model.filter { $0.value.deadline <= time }
            .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.prefix(limit).map(\.key)
    }

    private func check(_ timers: Timers<String, Int>, _ model: Model, _ random: inout SplitMix64) throws {
        #expect(timers.brokenInvariant() == nil)
        #expect(timers.count == model.count && timers.isEmpty == model.isEmpty)
        #expect(timers.next == model.values.map(\.deadline).min())
        #expect(timers.sorted().map(\.id) == due(model, at(.max), .max))
        #expect(
            timers.sorted().allSatisfy { model[$0.id]?.deadline == $0.deadline && model[$0.id]?.payload == $0.payload })
        let (time, limit) = (at(Int64(random.next(below: 120))), Int(random.next(below: 12)))
        #expect(timers.due(at: time, limit: limit).map(\.id) == due(model, time, limit))
        var anew = Timers<String, Int>()
        for (id, timer) in model.shuffled(using: &random) { anew.schedule(id, at: timer.deadline, timer.payload) }
        #expect(anew == timers && anew.contentDigest == timers.contentDigest && anew.hashValue == timers.hashValue)
        let coding = Coding<Timers<String, Int>>.wire
        #expect(try coding.decoded(try coding.encoded(timers)) == timers)
    }

    /// Random writes against a dictionary; kept copies are unchanged, and the digest is one of the contents only.
    @Test(arguments: 1...8) func theyBehaveLikeASortedDictionary(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var timers = Timers<String, Int>()
        var model: Model = [:]
        var kept: [(timers: Timers<String, Int>, model: Model)] = []
        for step in 0..<2_000 {
            let id = "t\(random.next(below: 150))"
            // Few deadlines, so that many are equal.
            let deadline = at(Int64(random.next(below: 100)))
            switch random.next(below: 5) {
            case 0...2:
                #expect(timers.schedule(id, at: deadline, step) == model[id]?.deadline)
                model[id] = (deadline, step)
            case 3:
                #expect(timers.cancel(id) == (model.removeValue(forKey: id) != nil))
            default:
                let deadline = random.next(below: 2) == 0 ? deadline : model[id]?.deadline ?? deadline
                let isThere = model[id]?.deadline == deadline
                #expect(timers.fired(id, deadline: deadline) == isThere)
                if isThere { model[id] = nil }
            }
            #expect(timers[id]?.deadline == model[id]?.deadline && timers[id]?.payload == model[id]?.payload)
            if step.isMultiple(of: 200) { kept.append((timers, model)) }
        }
        kept.append((timers, model))
        for (timers, model) in kept { try check(timers, model, &random) }
        timers.cancelAll()
        #expect(timers.isEmpty && timers.contentDigest == .zero && timers.next == nil)
    }

    /// A timer that was put off or cancelled between falling due and firing does not fire, and one fires once.
    @Test func aTimerFiresOnceAndOnlyIfItIsStillThatOne() {
        var timers = Timers<Int, String>()
        for id in 1...4 { timers.schedule(id, at: at(10), "first") }
        let due = timers.due(at: at(10), limit: 10)
        #expect(due.map(\.id) == [1, 2, 3, 4])
        timers.schedule(2, at: at(20), "later")
        timers.schedule(3, at: at(10), "the same time")
        timers.cancel(4)
        #expect(due.map { timers.fired($0.id, deadline: $0.deadline) } == [true, false, true, false])
        #expect(due.map { timers.fired($0.id, deadline: $0.deadline) } == [false, false, false, false])
        #expect(timers.sorted().map(\.payload) == ["later"])
        #expect(timers.due(at: at(19), limit: 10).isEmpty && timers.next == at(20))
        #expect(timers.due(at: at(20), limit: 0).isEmpty)
        #expect(timers.cancel(7) == false)
    }

    /// JSON is a list in the order of the deadlines; an id that comes twice is refused in both codings.
    @Test func theyGoThroughBothCodings() throws {
        var timers = Timers<String, Int>()
        timers.schedule("b", at: at(1), 2)
        timers.schedule("a", at: at(.max), 3)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(timers), as: UTF8.self)
        let first = #"{"deadline":1,"id":"b","payload":2}"#
        #expect(json == "[\(first),{\"deadline\":9223372036854775807,\"id\":\"a\",\"payload\":3}]")
        #expect(try JSONDecoder().decode(Timers<String, Int>.self, from: Data(json.utf8)) == timers)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Timers<String, Int>.self, from: Data("[\(first),\(first)]".utf8))
        }
        let coding = Coding<Timers<String, Int>>.wire
        let bytes = try coding.encoded(timers)
        #expect(try coding.decoded(bytes) == timers)
        for end in bytes.indices { #expect(throws: WireError.self) { try coding.decoded(Array(bytes[..<end])) } }
        #expect(throws: WireError.self) { try coding.decoded([2, 1, 0x61, 2, 2, 1, 0x61, 4, 2]) }
    }

    /// Everything of a timer is in the digest.
    @Test func aTimersIDAndDeadlineAndPayloadAreInTheDigest() {
        let digests = [("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("a", 1, 2)].map { id, deadline, payload in
            var timers = Timers<String, Int>()
            timers.schedule(id, at: at(Int64(deadline)), payload)
            return timers.contentDigest
        }
        #expect(Set(digests).count == 4)
    }
}
