/// The states of a store as they are published; see ``Store/states``.
public struct States<State: Sendable>: AsyncSequence, Sendable {
    /// A state, its place and its time.
    public typealias Element = Snapshot<State>
    /// It does not fail.
    public typealias Failure = Never

    let published: PublishedState<State>

    package init(published: PublishedState<State>) { self.published = published }

    /// Starts with the current state.
    public func makeAsyncIterator() -> Iterator { Iterator(published: published) }

    /// Waits for states.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        /// It does not fail.
        public typealias Failure = Never

        let published: PublishedState<State>
        /// The version handed out last; 0 is before the first.
        private var version: UInt64 = 0

        init(published: PublishedState<State>) { self.published = published }

        /// The newest state as soon as it is another than the last one; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Snapshot<State>? {
            guard let next = await published.next(after: version) else { return nil }
            version = next.version
            return next.snapshot
        }
    }
}

/// Values out of the states of a store, each different from the one before; see ``Store/select(_:)``.
public struct DistinctValues<State: Sendable, Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// A value out of a state.
    public typealias Element = Value
    /// It does not fail.
    public typealias Failure = Never

    let states: States<State>
    let value: @Sendable (State) -> Value

    package init(states: States<State>, value: @escaping @Sendable (State) -> Value) {
        self.states = states
        self.value = value
    }

    /// Starts with the value in the current state.
    public func makeAsyncIterator() -> Iterator { Iterator(states: states.makeAsyncIterator(), value: value) }

    /// Waits for values.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private var states: States<State>.Iterator
        private let value: @Sendable (State) -> Value
        private var last: Value?

        init(states: States<State>.Iterator, value: @escaping @Sendable (State) -> Value) {
            self.states = states
            self.value = value
        }

        /// The next value that differs from the last one; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            while let snapshot = await states.next(isolation: #isolation) {
                let next = value(snapshot.state)
                if let last, last == next { continue }
                last = next
                return next
            }
            return nil
        }
    }
}
