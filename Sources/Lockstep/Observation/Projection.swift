extension Store {
    /// The store as one view of it wants it: a function over the states, applied for that view alone.
    ///
    /// It is never seen by `reduce`, by other views, by other nodes or by the digest, and the next state is made from
    /// the state, not from the projection. The initial state passes through it as well.
    ///
    /// - Parameter view: Called on the consumer's thread, once for each state that it takes.
    /// - Returns: The view, to be read and followed.
    public func project<View: Sendable>(
        _ view: @escaping @Sendable (R.State) -> View
    ) -> Projection<R.State, View> {
        Projection(published: published, view: view)
    }
}

/// A view of a store's states; see ``Store/project(_:)``.
public struct Projection<State: Sendable, View: Sendable>: Sendable {
    private let published: PublishedState<State>
    private let view: @Sendable (State) -> View

    package init(published: PublishedState<State>, view: @escaping @Sendable (State) -> View) {
        self.published = published
        self.view = view
    }

    /// The view of the newest published state.
    public var current: View { view(published.current().state) }

    /// The view of the newest published state, with its place and time.
    public var snapshot: Snapshot<View> { projected(published.current()) }

    /// The views of the states as they are published, the current one first; see ``Store/states``.
    public var states: AsyncMapSequence<States<State>, Snapshot<View>> {
        let view = view
        return States(published: published).map { snapshot in
            Snapshot(state: view(snapshot.state), place: snapshot.place, time: snapshot.time)
        }
    }

    /// The values that `value` takes out of the views, each different from the one before.
    public func select<Value: Equatable & Sendable>(
        _ value: @escaping @Sendable (View) -> Value
    ) -> DistinctValues<State, Value> {
        let view = view
        return DistinctValues(states: States(published: published)) { value(view($0)) }
    }

    private func projected(_ snapshot: Snapshot<State>) -> Snapshot<View> {
        Snapshot(state: view(snapshot.state), place: snapshot.place, time: snapshot.time)
    }
}
