import Counters
import Lockstep
import Testing

/// The counters' reducer over the mutations that `Counters` wrote, as any node applies them.
@Suite struct CountersStateTests {
    private func state(_ mutations: [Counters.Mutation], at time: LogTime = .zero) -> Counters.State {
        var state = Counters.State()
        let context = ReduceContext(time: time, epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
        for mutation in mutations { Counters.reduce(into: &state, mutation, context) }
        return state
    }

    @Test func additionsSettingsAndRemovalsAreApplied() {
        let state = state([.added("a", 5), .added("a", -7), .set("b", 3), .added("c", 1), .removed("c")])
        #expect(state.values == ["a": -2, "b": 3])
        #expect(state.bounds.isEmpty && state.buckets.isEmpty)
    }

    /// A reducer must not trap, whatever the log holds.
    @Test func anOverflowingAdditionWraps() {
        #expect(state([.set("a", .max), .added("a", 1)]).values["a"] == .min)
        #expect(state([.taken("none", level: 4), .removed("none"), .bounded("none", nil)]) == Counters.State())
    }

    @Test func queriesAreAnswered() throws {
        let state = state(["a.x": 3, "a.y": 9, "b": 9, "c": -1].map { .set($0.key, $0.value) })
        let counters = { (pairs: [(String, Int64)]) -> Counters.Answer in
            .list(pairs.map { Counters.Counter(name: $0.0, value: $0.1) })
        }
        #expect(try Counters.answer(.get("b"), in: state) == .value(9))
        #expect(try Counters.answer(.get("z"), in: state) == .value(nil))
        #expect(try Counters.answer(.list(prefix: "a.", limit: 10), in: state) == counters([("a.x", 3), ("a.y", 9)]))
        #expect(try Counters.answer(.list(prefix: "", limit: 2), in: state) == counters([("a.x", 3), ("a.y", 9)]))
        #expect(try Counters.answer(.top(3), in: state) == counters([("a.y", 9), ("b", 9), ("a.x", 3)]))
        #expect(try Counters.answer(.sum(prefix: ""), in: state) == .value(20))
        #expect(try Counters.answer(.sum(prefix: "a"), in: state) == .value(12))
        #expect(throws: Rejection.self) { try Counters.answer(.top(0), in: state) }
        #expect(throws: Rejection.self) { try Counters.answer(.list(prefix: "", limit: 1_001), in: state) }
    }

    @Test func aSumThatDoesNotFitIsNoNumber() throws {
        let state = state([.set("a", .max), .set("b", 1)])
        #expect(try Counters.answer(.sum(prefix: ""), in: state) == .value(nil))
        #expect(try Counters.answer(.sum(prefix: "a"), in: state) == .value(.max))
    }
}
