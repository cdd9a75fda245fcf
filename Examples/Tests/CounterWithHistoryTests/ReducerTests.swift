import CounterWithHistory
import Lockstep
import LockstepTesting
import Testing

/// What the counter decides and does, without a node.
struct ReducerTests {
    private let context = ReduceContext(
        time: LogTime(rawValue: 1_000_000), epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))

    private func reduced(_ mutations: CounterWithHistory.Mutation...) -> CounterWithHistory.State {
        mutations.reduce(into: CounterWithHistory().initialState) {
            CounterWithHistory.reduce(into: &$0, $1, context)
        }
    }

    /// A change is recorded with its name, its time and the value before it.
    @Test func aChangeIsRecorded() {
        let state = reduced(.changed("increment", to: 1), .changed("set to 7", to: 7))
        #expect(state.value == 7)
        #expect(state.history.records.map(\.name) == ["increment", "set to 7"])
        #expect(state.history.records.map(\.value) == [0, 1])
        #expect(state.history.last?.time == context.time)
    }

    /// Undo goes back one record at a time, and further undos do nothing.
    @Test func undoGoesBackOneRecord() {
        #expect(reduced(.changed("set to 7", to: 7), .changed("reset", to: 0), .undone).value == 7)
        let state = reduced(.changed("set to 7", to: 7), .undone, .undone)
        #expect(state.value == 0 && state.history.isEmpty)
    }

    /// Clearing the history leaves the value.
    @Test func clearingLeavesTheValue() {
        let state = reduced(.changed("set to 7", to: 7), .historyCleared)
        #expect(state.value == 7 && state.history.isEmpty)
    }

    /// The limits are decided against the state, with a reason for the user.
    @Test func theLimitsRefuse() {
        let counter = spec(CounterWithHistory())
        counter.given { $0.value = 9 }.when(.increment).then(
            .emits(.changed("increment", to: 10)), .replies(10))
        counter.given { $0.value = 10 }.when(.increment).then(.rejects("Maximum reached"))
        counter.when(.decrement).then(.rejects("Minimum reached"))
        counter.when(.set(11)).then(.rejects("Maximum reached"))
        counter.when(.set(-1)).then(.rejects("Minimum reached"))
    }

    /// A reset is a change like any other: it is recorded and can be undone.
    @Test func aResetIsRecorded() {
        let counter = spec(CounterWithHistory())
        counter.when(.set(5), .reset).then(.emits(.changed("reset", to: 0)), .replies(0))
        counter.when(.set(5), .reset, .undo).then(.emits(.undone), .replies(5))
    }

    /// What cannot be done now is refused.
    @Test func anEmptyHistoryRefuses() {
        spec(CounterWithHistory()).when(.undo).then(.rejects("Nothing to undo"))
        spec(CounterWithHistory()).when(.clearHistory).then(.rejects("The history is empty"))
    }

    /// All nodes come to the same state.
    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(
            of: CounterWithHistory(historyLimit: 2),
            actions: [.increment, .set(9), .increment, .increment, .decrement, .reset, .undo, .clearHistory, .undo])
    }
}
