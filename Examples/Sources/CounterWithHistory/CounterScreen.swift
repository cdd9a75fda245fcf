import Lockstep

/// What one user sees: the shared counter, and an alert of their own.
///
/// A rejection reaches its sender only, so the alert is no part of the replicated state, and dismissing it is no action:
/// nothing of it is logged or recorded.
public struct CounterScreen<Counter: ReadableStore<CounterWithHistory>> {
    /// Something that the user has to know before going on.
    public struct Alert: Hashable, Sendable {
        /// The headline.
        public var title: String
        /// Why the counter did not change.
        public var message: String
    }

    private let counter: Counter
    /// What is shown above everything else until it is dismissed.
    public private(set) var alert: Alert?

    /// Makes a screen on a store of this process, or on a stub of one.
    public init(_ counter: Counter) { self.counter = counter }

    /// The large number.
    public var value: Int { counter.state.value }

    /// Whether the buttons for undo and for clearing the history can be pressed.
    public var hasHistory: Bool { !counter.state.history.isEmpty }

    /// The history, the newest first.
    public var history: [String] {
        counter.state.history.records.reversed().map { "\($0.name), before: \($0.value), at \($0.time)" }
    }

    /// A button was pressed; a rejection becomes an alert.
    ///
    /// - Throws: `LockstepError` if the primary cannot be reached.
    public mutating func press(_ action: CounterWithHistory.Action) async throws {
        do {
            _ = try await counter.send(action)
        } catch let error as LockstepError where error.code == .rejected {
            alert = Alert(title: "Ooops", message: error.message)
        }
    }

    /// The alert was read.
    public mutating func dismissAlert() { alert = nil }
}
