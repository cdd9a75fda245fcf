import Foundation
import Lockstep
import LockstepCore
import Testing

private func at(_ time: Int64) -> LogTime { LogTime(rawValue: time) }

/// Entries that are gone from a time of the log on.
@Suite struct ExpiringMapTests {
    private typealias Map = ExpiringMap<Int, String>
    private typealias Model = [Int: (value: String, deadline: LogTime?)]

    private func isGone(_ deadline: LogTime?, _ time: LogTime) -> Bool { deadline.map { $0 <= time } ?? false }

    private func expired(_ model: Model, _ time: LogTime) -> [Int] {
        model.filter { isGone($0.value.deadline, time) }.map { ($0.value.deadline ?? .zero, $0.key) }.sorted(by: <)
            .map(\.1)
    }

    private func check(_ map: Map, _ model: Model, _ random: inout SplitMix64) throws {
        #expect(map.brokenInvariant() == nil)
        #expect(map.count == model.count && map.isEmpty == model.isEmpty)
        #expect(map.next == model.values.compactMap(\.deadline).min())
        #expect(map.sorted().map(\.key) == model.keys.sorted())
        for time in [at(.min), at(Int64(random.next(below: 60))), at(.max)] {
            let gone = expired(model, time)
            #expect(map.expired(at: time, limit: .max) == gone)
            #expect(map.expired(at: time, limit: 5) == Array(gone.prefix(5)))
            #expect(map.count(at: time) == model.count - gone.count)
            #expect(map.sorted(at: time).map(\.key) == model.keys.filter { !gone.contains($0) }.sorted())
            for (key, entry) in model {
                #expect(map[key, at: time] == (isGone(entry.deadline, time) ? nil : entry.value))
            }
        }
        var anew = Map()
        for (key, entry) in model.shuffled(using: &random) {
            anew.set(entry.value, forKey: key, expiresAt: entry.deadline)
        }
        #expect(anew == map && anew.contentDigest == map.contentDigest && anew.hashValue == map.hashValue)
        let coding = Coding<Map>.wire
        #expect(try coding.decoded(try coding.encoded(map)) == map)
        #expect(try JSONDecoder().decode(Map.self, from: try JSONEncoder().encode(map)) == map)
    }

    /// Random writes against a dictionary; kept copies are unchanged.
    @Test(arguments: 1...8) func itBehavesLikeADictionaryWithDeadlines(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var map = Map()
        var model: Model = [:]
        var kept: [(map: Map, model: Model)] = []
        for step in 0..<2_000 {
            let key = Int(random.next(below: 120))
            let time = at(Int64(random.next(below: 50)))
            let deadline = random.next(below: 4) == 0 ? nil : at(Int64(random.next(below: 50)))
            switch random.next(below: 6) {
            case 0...2:
                map.set("v\(step)", forKey: key, expiresAt: deadline)
                model[key] = ("v\(step)", deadline)
            case 3:
                let isThere = model[key].map { !isGone($0.deadline, time) } ?? false
                #expect(map.touch(key, expiresAt: deadline, at: time) == isThere)
                if isThere { model[key]?.deadline = deadline }
            case 4: #expect(map.remove(key) == model.removeValue(forKey: key)?.value)
            default:
                let keys = (0..<8).map { _ in Int(random.next(below: 120)) }
                let gone = Set(keys.filter { key in model[key].map { isGone($0.deadline, time) } ?? false })
                #expect(map.removeExpired(keys, at: time) == gone.count)
                for key in gone { model[key] = nil }
            }
            #expect(map.deadline(of: key) == model[key]?.deadline)
            if step.isMultiple(of: 250) { kept.append((map, model)) }
        }
        kept.append((map, model))
        for (map, model) in kept { try check(map, model, &random) }
        map.removeAll()
        #expect(map.isEmpty && map.contentDigest == .zero)
    }

    /// An entry that was refreshed between being found and being removed stays.
    @Test func aRefreshedEntryIsNotRemoved() {
        var map: ExpiringMap<String, Int> = ExpiringMap()
        map.set(1, forKey: "a", expiresAt: at(10))
        map.set(2, forKey: "b", expiresAt: at(10))
        map.set(3, forKey: "c")
        #expect(map["a", at: at(9)] == 1 && map["a", at: at(10)] == nil && map["c", at: at(.max)] == 3)
        let found = map.expired(at: at(10), limit: 10)
        #expect(found == ["a", "b"])
        #expect(map.touch("a", expiresAt: at(30), at: at(10)) == false, "what is gone cannot be refreshed")
        map.set(4, forKey: "b", expiresAt: at(20))
        #expect(map.removeExpired(found + ["c", "d"], at: at(10)) == 1)
        #expect(map.sorted().map(\.key) == ["b", "c"] && map["b", at: at(19)] == 4)
        #expect(map.touch("b", expiresAt: nil, at: at(19)) == true)
        #expect(map.next == nil && map["b", at: at(.max)] == 4)
    }

    /// JSON is a list in the order of the keys; a key that comes twice is refused in both codings.
    @Test func itGoesThroughBothCodings() throws {
        var map = ExpiringMap<String, Int>()
        map.set(1, forKey: "b", expiresAt: at(5))
        map.set(2, forKey: "a")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(map), as: UTF8.self)
        #expect(json == #"[{"key":"a","value":2},{"deadline":5,"key":"b","value":1}]"#)
        let twice = Data(#"[{"key":"a","value":2},{"key":"a","value":2}]"#.utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ExpiringMap<String, Int>.self, from: twice) }
        let coding = Coding<ExpiringMap<String, Int>>.wire
        let bytes = try coding.encoded(map)
        for end in bytes.indices { #expect(throws: WireError.self) { try coding.decoded(Array(bytes[..<end])) } }
        #expect(throws: WireError.self) { try coding.decoded([2, 1, 0x61, 2, 0, 1, 0x61, 2, 0]) }
        #expect(map.description == "[a: 2, b: 1 until 5]")
    }
}
