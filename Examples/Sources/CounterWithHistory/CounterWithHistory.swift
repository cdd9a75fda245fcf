import Lockstep

/// A counter from 0 to 10 that everybody may press, with its last changes to look at and to undo.
///
/// Its limits hold although many replicas press at once, because the primary alone decides, one action after the other.
/// Who presses too often gets a rejection, and nobody else sees anything of it.
public struct CounterWithHistory: Reactor {
    /// What a user may ask for.
    public enum Action: Codable, Hashable, Sendable {
        /// One more.
        case increment
        /// One less.
        case decrement
        /// Another value.
        case set(Int)
        /// Back to the least value; it is recorded like any other change.
        case reset
        /// The value before the last recorded change.
        case undo
        /// Forgets all records; the value stays.
        case clearHistory
    }

    /// What happened.
    public enum Mutation: Codable, Hashable, Sendable {
        /// The value was changed by an action, here in words for the history.
        case changed(String, to: Int)
        /// The last change was undone.
        case undone
        /// The records were forgotten.
        case historyCleared
    }

    /// What all nodes have.
    public struct State: Codable, Hashable, Sendable {
        /// The values that the counter may have.
        public var range: ClosedRange<Int>
        /// The value.
        public var value: Int
        /// The last changes: name, time, and the value before.
        public var history: UndoHistory<Int>
    }

    /// The value after the action.
    public typealias Reply = Int

    /// The least value, and no records.
    public let initialState: State

    /// Makes a counter; all nodes make it alike.
    public init(range: ClosedRange<Int> = 0...10, historyLimit: Int = 10) {
        initialState = State(range: range, value: range.lowerBound, history: UndoHistory(limit: historyLimit))
    }

    /// Decides, on the primary.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        let state = context.state
        switch action {
        case .increment: return try change("increment", to: state.value + 1, within: state.range)
        case .decrement: return try change("decrement", to: state.value - 1, within: state.range)
        case .set(let value): return try change("set to \(value)", to: value, within: state.range)
        case .reset: return try change("reset", to: state.range.lowerBound, within: state.range)
        case .undo:
            guard let last = state.history.last else { throw Rejection("Nothing to undo") }
            return .emit(.undone, reply: last.value)
        case .clearHistory:
            guard !state.history.isEmpty else { throw Rejection("The history is empty") }
            return .emit(.historyCleared, reply: state.value)
        }
    }

    private func change(_ name: String, to value: Int, within range: ClosedRange<Int>) throws -> Effect<Self> {
        if value > range.upperBound { throw Rejection("Maximum reached") }
        if value < range.lowerBound { throw Rejection("Minimum reached") }
        return .emit(.changed(name, to: value), reply: value)
    }

    /// Carries out, on every node.
    public static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .changed(let name, let value):
            state.history.record(name, at: context.time, before: state.value)
            state.value = value
        case .undone:
            if let value = state.history.undo() { state.value = value }
        case .historyCleared:
            state.history.clear()
        }
    }
}
