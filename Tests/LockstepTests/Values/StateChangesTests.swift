import Foundation
import Lockstep
import LockstepCore
import Testing

/// What changed between two states, in words.
@Suite struct StateChangesTests {
    struct Chore: Codable, Hashable, Sendable, Identifiable {
        var id: Int
        var title: String
        var price = 1.5
    }
    enum Phase: Codable, Hashable { case idle, running(step: Int), failed(String) }
    enum Kind: String, Codable, Hashable, Comparable {
        case small, large
        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
    struct State: Codable {
        var visits = 3
        var ratio = 0.1
        var name: String?
        var kind = Kind.small
        var phase = Phase.idle
        var list = [1, 2, 3]
        var table = ["b": Chore(id: 1, title: "x"), "a": Chore(id: 2, title: "y")]
        var byKind: [Kind: Int] = [.small: 1]
        var names: Set<String> = ["x", "y"]
        var map: ReplicatedMap<String, Int> = ["Ada": 1, "Grace": 2]
        var chores: IdentifiedList<Chore> = [Chore(id: 1, title: "a"), Chore(id: 2, title: "b")]
        var timers = Timers<String, Int>()
        var sessions = ExpiringMap<String, Int>()
        @Pulse var alert: String?
    }

    private func expect(
        _ expected: [String], _ location: SourceLocation = #_sourceLocation, _ change: (inout State) -> Void
    ) {
        var state = State()
        change(&state)
        let changes = StateChanges(from: State(), to: state)
        #expect(changes.changes.map(\.description) == expected, sourceLocation: location)
        #expect(changes.omitted == 0 && changes.isEmpty == expected.isEmpty, sourceLocation: location)
    }

    @Test func everyKindOfChangeIsNamed() {
        expect([]) { _ in }
        expect(["visits: 3 -> 4"]) { $0.visits = 4 }
        expect(["ratio: 0.1 -> -0.0001"]) { $0.ratio = -0.0001 }
        expect([#"name: added "n""#]) { $0.name = "n" }
        expect([#"kind: "small" -> "large""#]) { $0.kind = .large }
        expect(["phase.idle: removed {}", "phase.running: added {step: 2}"]) { $0.phase = .running(step: 2) }
        expect(["list[1]: 2 -> 5"]) { $0.list[1] = 5 }
        expect(["list[2]: removed 3"]) { $0.list.removeLast() }
        expect([#"table["b"].title: "x" -> "z""#]) { $0.table["b"]?.title = "z" }
        expect([#"table["c"]: added {id: 3, title: "w", price: 1.5}"#]) { $0.table["c"] = Chore(id: 3, title: "w") }
        expect([#"byKind["small"]: 1 -> 2"#]) { $0.byKind[.small] = 2 }
        expect([#"names["x"]: removed"#, #"names["z"]: added"#]) { $0.names = ["y", "z"] }
        expect([#"map["Ada"]: 1 -> 7"#]) { $0.map["Ada"] = 7 }
        expect([#"map["Ada"]: removed 1"#]) { $0.map["Ada"] = nil }
        expect([#"alert.value: nothing -> "!""#, "alert.count: 0 -> 1"]) { $0.alert = "!" }
    }

    /// Elements are named by their ids and entries by their keys, so one that comes or goes does not rename others.
    @Test func elementsAreNamedByTheirIDs() {
        expect([#"chores[2].title: "b" -> "c""#]) { $0.chores[id: 2]?.title = "c" }
        expect([
            "chores[1] follows: nothing -> 9", #"chores[9]: added {id: 9, title: "f", price: 1.5}"#,
            "chores[9] follows: added nothing",
        ]) { $0.chores.insert(Chore(id: 9, title: "f"), at: 0) }
        expect(["chores[1] follows: nothing -> 2", "chores[2] follows: 1 -> nothing"]) { $0.chores.move(1, to: 1) }
        expect([#"timers["t"]: added {deadline: 5, payload: 6}"#]) {
            $0.timers.schedule("t", at: LogTime(rawValue: 5), 6)
        }
        expect([#"sessions["s"]: added {value: 1}"#]) { $0.sessions.set(1, forKey: "s") }
    }

    /// Many changes are cut off, and long texts too; the number of what is left out is said.
    @Test func thereAreAtMostSoManyLines() {
        var state = State()
        for index in 0..<3_000 { state.map["k\(10_000 + index)"] = index }
        state.visits = 0
        let some = StateChanges(from: State(), to: state, limit: 3)
        #expect(some.changes.map(\.path) == ["visits", #"map["k10000"]"#, #"map["k10001"]"#])
        #expect(some.omitted == 2_998 && !some.isEmpty && some.description.hasSuffix("and 2998 more"))
        #expect(StateChanges(from: State(), to: state, limit: 0).omitted == 3_001)
        let long = StateChanges(from: ["a": ""], to: ["a": String(repeating: "é", count: 5_000)])
        #expect(long.description.count < 250 && long.description.hasSuffix("…"))
    }

    /// A whole that comes or goes is one change, however deep; a value of another kind is too.
    @Test func wholesAndScalarsAreOneChange() {
        #expect(StateChanges(from: 3, to: 4).description == "the state: 3 -> 4")
        #expect(StateChanges(from: [Int](), to: [7]).description == "[0]: added 7")
        #expect(StateChanges(from: [[1]], to: [[Int]]()).description == "[0]: removed {[0]: 1}")
        #expect(StateChanges(from: ["a.b": 1], to: ["a.b": 2]).description == #"["a.b"]: 1 -> 2"#)
        #expect(StateChanges(from: ["a[": [1]], to: ["a[": [2]]).description == #"["a["][0]: 1 -> 2"#)
        #expect(StateChanges(from: Double.nan, to: Double.nan).isEmpty)
        #expect(StateChanges(from: Double.infinity, to: 0.0).description == "the state: inf -> 0.0")
    }

    /// Values with a digest of their own that did not change are not looked into.
    @Test func equalValuesAreNotWalked() {
        struct Probe: Encodable, Digestible {
            let content: Int
            let walked: () -> Void
            var contentDigest: Digest { content.contentDigest }
            func encode(to encoder: any Encoder) throws {
                walked()
                try content.encode(to: encoder)
            }
        }
        var walks: [Int] = []
        func probes(_ contents: [Int]) -> [Probe] {
            contents.map { content in Probe(content: content) { walks.append(content) } }
        }
        #expect(StateChanges(from: probes([1, 2, 4]), to: probes([1, 3, 4])).description == "[1]: 2 -> 3")
        #expect(walks.sorted() == [2, 3])
    }

    /// Of two copies of one map the pairs in memory that both have are left out; what comes out is the same as of maps
    /// that share nothing, also when pairs came and went until the table was another.
    @Test(arguments: 0..<20) func mapsThatShareMemoryDifferWhereTheyDiffer(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        let first = (0..<(seed % 4 * 700)).map { ("k\($0)", Int($0)) }
        let old = ReplicatedMap(first)
        var new = old
        for _ in 0..<(seed % 5 == 0 ? 2_000 : 7) {
            let key = "k\(random.next() % 3_000)"
            if random.next() % 3 == 0 { new[key] = nil } else { new[key] = Int(random.next() % 5) }
        }
        let apart = (
            ReplicatedMap(old.sorted().map { ($0.key, $0.value) }),
            ReplicatedMap(new.sorted().map { ($0.key, $0.value) })
        )
        let changes = StateChanges(from: ["m": old], to: ["m": new], limit: 10_000)
        let expected = StateChanges(from: ["m": apart.0], to: ["m": apart.1], limit: 10_000)
        #expect(Set(changes.changes) == Set(expected.changes) && changes.changes.count == expected.changes.count)
        #expect(changes.isEmpty == (old == new))
    }

    /// One change of a large map is found by a look at its surroundings; more parts than are allowed are not compared.
    @Test func aChangeOfALargeMapIsFoundWithinABound() {
        let old = ReplicatedMap((0..<50_000).map { ("k\($0)", $0) })
        var new = old
        new["k77"] = 0
        let near = StateChanges(from: old, to: new, limit: 16, mostParts: 5_000)
        #expect(near.description == #"["k77"]: 77 -> 0"# && !near.isTooLarge)
        let far = StateChanges(from: ReplicatedMap<String, Int>(), to: new, limit: 16, mostParts: 5_000)
        #expect(far.isTooLarge && far.changes.isEmpty)
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }
}
