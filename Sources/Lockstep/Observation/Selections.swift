extension Store {
    /// The values that `value` takes out of the states as they are published, equal ones too.
    ///
    /// Like ``states`` it shows the newest state to a slow consumer; ``select(_:)`` leaves out repeated values.
    public func selectAll<Value: Sendable>(
        _ value: @escaping @Sendable (R.State) -> Value
    ) -> AsyncMapSequence<States<R.State>, Value> {
        states.map { value($0.state) }
    }

    /// The values that `value` takes out of the states, each with another key than the one before.
    ///
    /// The key is what is compared: a version, or a digest that costs constant time, in place of a large value:
    /// `select(\.votes, by: \.digest)`, `select(\.document, by: \.version)`.
    public func select<Value: Sendable, Key: Equatable & Sendable>(
        _ value: @escaping @Sendable (R.State) -> Value, by key: @escaping @Sendable (Value) -> Key
    ) -> KeyedValues<R.State, Value, Key> {
        KeyedValues(states: states, value: value, key: key)
    }

    /// The pulses of a value, from this call on (guarantee 13).
    ///
    /// What it did before is not told, nor is what a replica takes over at joining told more than once; several
    /// assignments between two states that this consumer saw are one event that says so. Of a store that was not live
    /// yet, the first state that a loop sees is where it begins: what is in the journal happened before.
    ///
    /// - Parameters:
    ///   - pulse: The wrapper, by its dollar name: `pulses(\.$alert)`.
    ///   - current: Whether the value as it is now comes first.
    /// - Returns: The pulses; each loop over them begins with what this call saw, if it saw a state of the cluster.
    public func pulses<Value: Sendable>(
        _ pulse: @escaping @Sendable (R.State) -> Pulse<Value>, includingCurrent current: Bool = false
    ) -> Pulses<R.State, Value> {
        guard !current else { return Pulses(states: states, pulse: pulse, baseline: PulseBaseline()) }
        // Asked before the state is read, so that the state is one of the cluster's.
        let baseline = published.isShown ? PulseBaseline(pulse(state)) : nil
        return Pulses(states: states, pulse: pulse, baseline: baseline)
    }
}

/// Values out of the states of a store, each with another key than the one before; see ``Store/select(_:by:)``.
public struct KeyedValues<State: Sendable, Value: Sendable, Key: Equatable & Sendable>: AsyncSequence, Sendable {
    /// A value out of a state.
    public typealias Element = Value
    /// It does not fail.
    public typealias Failure = Never

    let states: States<State>
    let value: @Sendable (State) -> Value
    let key: @Sendable (Value) -> Key

    package init(
        states: States<State>, value: @escaping @Sendable (State) -> Value, key: @escaping @Sendable (Value) -> Key
    ) {
        self.states = states
        self.value = value
        self.key = key
    }

    /// Starts with the value in the current state.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for values.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private let source: KeyedValues
        private var states: States<State>.Iterator
        private var last: Key?

        init(_ source: KeyedValues) {
            self.source = source
            states = source.states.makeAsyncIterator()
        }

        /// The next value whose key differs from the last one's; nil at the end.
        public mutating func next() async -> Value? {
            while let snapshot = await states.next() {
                let next = source.value(snapshot.state)
                let key = source.key(next)
                if let last, last == key { continue }
                last = key
                return next
            }
            return nil
        }
    }
}

/// The pulses of a value in the states of a store; see ``Store/pulses(_:includingCurrent:)``.
public struct Pulses<State: Sendable, Value: Sendable>: AsyncSequence, Sendable {
    /// A value that was assigned, and how often since the last one.
    public typealias Element = PulseEvent<Value>
    /// It does not fail.
    public typealias Failure = Never

    let states: States<State>
    let pulse: @Sendable (State) -> Pulse<Value>
    /// Nil: what the first state has.
    let baseline: PulseBaseline?

    package init(
        states: States<State>, pulse: @escaping @Sendable (State) -> Pulse<Value>, baseline: PulseBaseline?
    ) {
        self.states = states
        self.pulse = pulse
        self.baseline = baseline
    }

    /// Starts where the sequence was made, or with the first state of a store that was not live then.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for pulses.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private let pulse: @Sendable (State) -> Pulse<Value>
        private var states: States<State>.Iterator
        private var baseline: PulseBaseline?

        init(_ source: Pulses) {
            pulse = source.pulse
            states = source.states.makeAsyncIterator()
            baseline = source.baseline
        }

        /// The next pulse; nil at the end.
        public mutating func next() async -> PulseEvent<Value>? {
            while let snapshot = await states.next() {
                let latest = pulse(snapshot.state)
                if let event = baseline?.event(of: latest) { return event }
                if baseline == nil { baseline = PulseBaseline(latest) }
            }
            return nil
        }
    }
}
