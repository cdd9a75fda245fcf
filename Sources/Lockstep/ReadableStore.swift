/// A store whose state can be read and observed where it is used: a ``Store``, or a stub of one in a test of a view.
///
/// A view that takes `some ReadableStore<Votes>` can be tested without a node.
public protocol ReadableStore<R>: ActionTarget {
    /// The newest published state with its place and time.
    var snapshot: Snapshot<R.State> { get }
    /// The states as they are published: the current one at once, then the newest whenever there is one.
    var states: States<R.State> { get }
}

extension ReadableStore {
    /// The newest published state.
    public var state: R.State { snapshot.state }

    /// The last entry that ``state`` includes.
    public var place: Place { snapshot.place }

    /// The values that `value` takes out of the states, each different from the one before.
    public func select<Value: Equatable & Sendable>(
        _ value: @escaping @Sendable (R.State) -> Value
    ) -> DistinctValues<R.State, Value> {
        DistinctValues(states: states, value: value)
    }
}

extension Store: ReadableStore {}
