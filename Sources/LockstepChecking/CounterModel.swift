/// An operation on one counter.
package struct CounterCall: Hashable, Sendable, CustomStringConvertible {
    /// The counter's name; histories are split by it.
    package var key: String
    /// What is asked.
    package var action: Action

    /// What may be asked of a counter.
    package enum Action: Hashable, Sendable {
        /// Adds to the counter, which begins at 0; the output is the sum.
        case add(Int64)
        /// Gives the counter a value; the output is the value.
        case set(Int64)
        /// Takes the counter away; the output is its last value, or a rejection if there is none.
        case reset
        /// Gives the counter a value if it has the expected one (`nil`: if it is absent); the output is the new value.
        case compareAndSet(expected: Int64?, new: Int64)
        /// Asks for the value.
        case read
    }

    /// Makes an operation.
    package init(_ key: String, _ action: Action) {
        self.key = key
        self.action = action
    }

    /// `key.action`.
    package var description: String { "\(key).\(action)" }
}

/// What became of an operation on a counter.
package enum CounterOutput: Hashable, Sendable {
    /// The value, as ``CounterCall/Action`` says which.
    case value(Int64)
    /// A read found no counter.
    case absent
    /// The write was refused and changed nothing.
    case rejected
}

/// A register that counts: it is absent, or it has a 64-bit value, within bounds if its key has any.
///
/// A rejection is an output like any other, and right only where it is due: when the sum overflows, when the new value
/// is outside the bounds (0 for a reset), when a reset finds nothing, when a comparison fails.
package struct CounterModel: SequentialModel {
    /// The bounds of counters, by key; they hold for the whole history.
    package var bounds: [String: ClosedRange<Int64>]

    /// Makes the model; by default no counter has bounds.
    package init(bounds: [String: ClosedRange<Int64>] = [:]) { self.bounds = bounds }

    /// No counter.
    package var initial: Int64? { nil }

    /// The counter after the operation; `nil` within the optional is a state, an absent counter.
    package func step(_ state: Int64?, _ input: CounterCall, _ output: CounterOutput?) -> Int64?? {
        let (next, due) = perform(input, on: state)
        guard let output else { return .some(next) }
        return output == due ? .some(next) : .none
    }

    /// Only `read` is one.
    package func isRead(_ input: CounterCall) -> Bool { input.action == .read }

    /// Reads and rejections change nothing.
    package func hasNoEffect(_ input: CounterCall, _ output: CounterOutput) -> Bool {
        output == .rejected || isRead(input)
    }

    /// What an operation does to a counter, and its output; constant time.
    package func perform(_ call: CounterCall, on state: Int64?) -> (state: Int64?, output: CounterOutput) {
        switch call.action {
        case .add(let amount):
            let (sum, overflow) = (state ?? 0).addingReportingOverflow(amount)
            return overflow ? (state, .rejected) : assign(sum, to: call.key, state)
        case .set(let value):
            return assign(value, to: call.key, state)
        case .reset:
            guard let state, allows(0, call.key) else { return (state, .rejected) }
            return (nil, .value(state))
        case .compareAndSet(let expected, let new):
            return state == expected ? assign(new, to: call.key, state) : (state, .rejected)
        case .read:
            return (state, state.map { .value($0) } ?? .absent)
        }
    }

    private func assign(_ value: Int64, to key: String, _ state: Int64?) -> (Int64?, CounterOutput) {
        allows(value, key) ? (value, .value(value)) : (state, .rejected)
    }

    private func allows(_ value: Int64, _ key: String) -> Bool {
        bounds.isEmpty || bounds[key].map { $0.contains(value) } ?? true
    }
}
