import CounterWithHistory
import Lockstep
import LockstepTesting
import Testing

/// What one user sees, without a node.
struct ScreenTests {
    /// A rejection is an alert of the user who pressed; dismissing it sends nothing.
    @Test func aRejectionIsAnAlertUntilItIsDismissed() async throws {
        let stub = StubStore<CounterWithHistory>(state: CounterWithHistory().initialState) { action in
            action == .decrement ? .rejected("Minimum reached") : .reply(1)
        }
        var screen = CounterScreen(stub)
        try await screen.press(.decrement)
        #expect(screen.alert?.title == "Ooops" && screen.alert?.message == "Minimum reached")
        screen.dismissAlert()
        try await screen.press(.increment)
        #expect(screen.alert == nil)
        #expect(stub.actions == [.decrement, .increment])
    }

    /// Undo and clearing are enabled as long as there is a record.
    @Test func theHistoryIsShown() {
        let stub = StubStore<CounterWithHistory>(state: CounterWithHistory().initialState) { _ in .reply(0) }
        let screen = CounterScreen(stub)
        #expect(!screen.hasHistory)
        stub.push {
            $0.history.record("increment", at: LogTime(rawValue: 5), before: 0)
            $0.value = 1
        }
        #expect(screen.hasHistory && screen.value == 1)
        #expect(screen.history == ["increment, before: 0, at 5"])
    }
}
