package import LockstepChecking

/// An operation on an object, as histories hold it.
package typealias ObjectOperation = Operation<ObjectCall, ObjectOutput>

/// What an object does if one operation runs after the other; each output is then known exactly.
package struct ObjectModel: SequentialModel {
    /// Makes the model.
    package init() {}

    /// No object.
    package var initial: ObjectState { .absent }

    /// The object after an operation, or `nil` if it cannot have that output.
    package func step(_ state: ObjectState, _ input: ObjectCall, _ output: ObjectOutput?) -> ObjectState? {
        let (next, due) = perform(input, on: state)
        guard let output else { return next }
        return output == due ? next : nil
    }

    /// Only `read` is one.
    package func isRead(_ input: ObjectCall) -> Bool { input.action == .read }

    /// Reads and rejections change nothing.
    package func hasNoEffect(_ input: ObjectCall, _ output: ObjectOutput) -> Bool {
        output == .rejected || isRead(input)
    }

    /// What an operation does to an object, and its output.
    package func perform(_ call: ObjectCall, on state: ObjectState) -> (state: ObjectState, output: ObjectOutput) {
        switch (call.action, state) {
        case (.read, .absent):
            // The accounts are there from the beginning.
            return (state, call.key == ObjectCall.accounts ? .list(Self.balances) : .absent)
        case (.read, .value(let value)): return (state, .value(value))
        case (.read, .list(let list)): return (state, .list(list))
        case (.add(let amount), _):
            let sum = value(of: state, or: 0) + amount
            return (.value(sum), .value(sum))
        case (.insert, _):
            let count = value(of: state, or: 0) + 1
            return (.value(count), .value(count))
        case (.write(let value), _): return (.value(value), .value(value))
        case (.replace(let seed), _): return (.value(seed), .value(Int64(Document.length(seed: seed))))
        case (.compareAndSet(let expected, let new), _):
            let holds = expected.map { state == .value($0) } ?? (state == .absent)
            return holds ? (.value(new), .value(new)) : (state, .rejected)
        case (.append(let value), _):
            let list = list(of: state, or: []) + [value]
            return (.list(list), .value(Int64(list.count)))
        case (.transfer(let from, let to, let amount), _):
            var list = list(of: state, or: Self.balances)
            guard list.indices.contains(from), list.indices.contains(to), list[from] >= amount else {
                return (state, .rejected)
            }
            list[from] -= amount
            list[to] += amount
            return (.list(list), .value(list[from]))
        }
    }

    private static let balances = Array(repeating: Workbench.balance, count: Workbench.accounts)

    private func value(of state: ObjectState, or none: Int64) -> Int64 {
        if case .value(let value) = state { value } else { none }
    }

    private func list(of state: ObjectState, or none: [Int64]) -> [Int64] {
        if case .list(let list) = state { list } else { none }
    }
}
