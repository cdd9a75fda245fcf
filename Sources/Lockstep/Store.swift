package import LockstepCore
public import LockstepNode

/// A store of a node that has its state: the same type on the primary and on a replica.
///
/// It is a value and can be used from any thread. Reading never waits for the node, and the node never waits for a
/// reader. Made by ``Node/store(_:named:clock:)``.
public struct Store<R: Reactor>: ActionTarget {
    let end: SendingEnd<R>
    @usableFromInline let published: PublishedState<R.State>
    let standingValue: CurrentValue<StoreStanding>
    private let problems: Broadcast<EffectFailure>

    package init(
        port: StorePort, published: PublishedState<R.State>, failures: Broadcast<EffectFailure> = Broadcast()
    ) {
        end = SendingEnd(port: port)
        self.published = published
        problems = failures
        let standing = CurrentValue(port.readiness.standing)
        standingValue = standing
        port.readiness.observe {
            standing.accept($0)
            if $0.readiness == .stopped { published.nodeEnded() }
        }
    }

    /// The name under which the store was attached to its node.
    public var name: String { end.port.name }

    // MARK: - Actions

    /// Sends an action and waits until it is committed; see ``ActionTarget/send(_:timeout:)``.
    @_disfavoredOverload
    public func send(_ action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply> {
        try await end.send(action, timeout: timeout)
    }

    /// Sends actions and waits until all are answered; see ``ActionTarget/send(contentsOf:timeout:)``.
    @_disfavoredOverload
    public func send(contentsOf actions: [R.Action], timeout: Duration?) async throws -> Outcomes<R.Reply> {
        try await end.send(contentsOf: actions, timeout: timeout)
    }

    /// Asks what became of actions; see ``ActionTarget/outcomes(of:timeout:)``.
    public func outcomes(of pending: PendingOutcome, timeout: Duration) async throws -> Outcomes<R.Reply> {
        try await end.outcomes(of: pending, timeout: timeout)
    }

    /// Sends an action and returns at once; see ``ActionTarget/submit(_:timeout:)``.
    public func submit(_ action: R.Action, timeout: Duration?) throws -> SubmittedAction<R> {
        try end.submit(action, timeout: timeout)
    }

    /// Waits for the end of an accepted action; see ``ActionTarget/end(of:timeout:)``.
    public func end(of run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply> {
        try await end.end(of: run, timeout: timeout)
    }

    /// Asks for an accepted action to be ended; see ``ActionTarget/cancel(_:)``.
    public func cancel(_ run: RunID) { end.port.cancel(run) }

    // MARK: - Reading

    /// The newest published state.
    ///
    /// It includes every commit that an observer was told of. It is at most 10 ms behind the node while it is read, and
    /// 100 ms at the first reading after a pause, 1 s if the pause was longer than a second. Until the store was live
    /// for the first time, or its journal brought entries, it is the initial state at the place 0:0: ``whenLive()``
    /// waits for that. Looking into it, as in `store.state.values[name]`, costs a lock and one counted reference, about
    /// 30 ns, and copies nothing; keeping it copies its fields. Whoever keeps it for long keeps its memory and makes
    /// writes dearer.
    @inlinable
    public var state: R.State {
        _read {
            let shared = published.shared
            yield shared.snapshot.state
        }
    }

    /// The newest published state with its place and time.
    public var snapshot: Snapshot<R.State> { published.current() }

    /// The last entry that ``state`` includes.
    public var place: Place { published.shared.snapshot.place }

    /// Reads from a committed state that is as fresh as asked; `body` runs on the caller's thread.
    ///
    /// - Parameters:
    ///   - consistency: How fresh; `.local` reads at once.
    ///   - timeout: How long to wait for such a state.
    ///   - body: What to read.
    /// - Returns: What `body` returns.
    /// - Throws: ``LockstepError`` with code `timeout`, `unavailable` or `stopped`, and what `body` throws. A store that
    ///   was never live has no state of the cluster: `.local` is `unavailable` there, the others wait for it and are
    ///   `unavailable` when the time is over. A primary that is behind its audience answers nothing.
    public func read<Result>(
        _ consistency: ReadConsistency = .session, timeout: Duration = .seconds(30),
        _ body: (R.State) throws -> Result
    ) async throws -> Result {
        try body(try await snapshot(consistency, timeout: timeout).state)
    }

    /// The newest state that is as fresh as asked; see ``read(_:timeout:_:)``.
    public func snapshot(
        _ consistency: ReadConsistency, timeout: Duration = .seconds(30)
    ) async throws -> Snapshot<R.State> {
        try await end.port.waitUntilReadable(consistency.level, minimum: end.minimum, timeout: timeout)
        return published.current()
    }

    /// Answers a query from this node's state, on the caller's thread; see ``ActionTarget/ask(_:_:timeout:)``.
    ///
    /// Nothing is encoded, so neither the query nor the answer has a limit here.
    @_disfavoredOverload
    public func ask(
        _ query: R.Query, _ consistency: ReadConsistency, timeout: Duration
    ) async throws -> Answered<R.Answer> {
        let snapshot = try await snapshot(consistency, timeout: timeout)
        do {
            let answer = try R.answer(query, in: snapshot.state, AnswerContext(snapshot))
            return Answered(answer: answer, place: snapshot.place, time: snapshot.time)
        } catch {
            throw LockstepError(.refused, rejectionReason(error), underlying: error)
        }
    }

    // MARK: - Observing

    /// The states as they are published: the current one at once, then the newest whenever there is one.
    ///
    /// The first is one of the cluster's: of a store that was never live nothing comes before that, least of all the
    /// initial state.
    ///
    /// A slow consumer misses states in between and never holds up the node. Each loop over it is its own; it ends
    /// when the node has stopped or the task is cancelled.
    public var states: States<R.State> { States(published: published) }

    /// The values that `value` takes out of the states, each different from the one before.
    ///
    /// `select(\.title)` or `select { $0.items.count }`; `value` runs on the consumer's thread.
    public func select<Value: Equatable & Sendable>(
        _ value: @escaping @Sendable (R.State) -> Value
    ) -> DistinctValues<R.State, Value> {
        DistinctValues(states: states, value: value)
    }

    /// Effects, feedbacks and sources of this node that failed, from now on.
    ///
    /// Nothing is here on a replica: effects run on the primary only. Not replicated; what users are to see belongs to
    /// the state. A consumer that is slow loses the oldest, and is told how many; it ends with the node, also with one
    /// whose start failed.
    public func failures(bufferLimit: Int = 256) -> Broadcast<EffectFailure>.Subscription {
        problems.subscribe(bufferLimit: bufferLimit)
    }

    /// Every committed entry of the reactor after `sequence`, in order and without a gap: actions, and what effects,
    /// sources, feedback and time brought; see ``commits(after:)`` for their states.
    ///
    /// The node's own entries (a session's opening, a digest's mark) take sequence numbers and are left out.
    ///
    /// - Throws: ``LockstepError`` with code `positionTooOld`, from the loop, if the node no longer holds the
    ///   entries, also when the consumer falls behind that far; take ``snapshot`` then and go on from its place.
    public func entries(after sequence: SequenceNumber) -> Entries<R> {
        let port = end.port
        return Entries(
            batches: port.batches(after: sequence), after: sequence,
            names: { SenderNames(try await port.senders()) })
    }
}

/// A store that holds no state: it sends actions and asks questions over the network.
///
/// Made by ``Node/remote(_:named:)``; what the command line and thin programs use.
public struct RemoteStore<R: Reactor>: ActionTarget {
    let end: SendingEnd<R>
    let standingValue: CurrentValue<StoreStanding>
    private let answer = R.answerCoding

    package init(port: StorePort) {
        end = SendingEnd(port: port)
        let standing = CurrentValue(port.readiness.standing)
        standingValue = standing
        port.readiness.observe { standing.accept($0) }
    }

    /// The name of the store.
    public var name: String { end.port.name }

    /// Sends an action and waits until it is committed; see ``ActionTarget/send(_:timeout:)``.
    @_disfavoredOverload
    public func send(_ action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply> {
        try await end.send(action, timeout: timeout)
    }

    /// Sends actions and waits until all are answered; see ``ActionTarget/send(contentsOf:timeout:)``.
    @_disfavoredOverload
    public func send(contentsOf actions: [R.Action], timeout: Duration?) async throws -> Outcomes<R.Reply> {
        try await end.send(contentsOf: actions, timeout: timeout)
    }

    /// Asks what became of actions; see ``ActionTarget/outcomes(of:timeout:)``.
    public func outcomes(of pending: PendingOutcome, timeout: Duration) async throws -> Outcomes<R.Reply> {
        try await end.outcomes(of: pending, timeout: timeout)
    }

    /// Sends an action and returns at once; see ``ActionTarget/submit(_:timeout:)``.
    public func submit(_ action: R.Action, timeout: Duration?) throws -> SubmittedAction<R> {
        try end.submit(action, timeout: timeout)
    }

    /// Waits for the end of an accepted action; see ``ActionTarget/end(of:timeout:)``.
    public func end(of run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply> {
        try await end.end(of: run, timeout: timeout)
    }

    /// Asks for an accepted action to be ended; see ``ActionTarget/cancel(_:)``.
    public func cancel(_ run: RunID) { end.port.cancel(run) }

    /// Asks the node that this one is connected to; see ``ActionTarget/ask(_:_:timeout:)``.
    @_disfavoredOverload
    public func ask(
        _ query: R.Query, _ consistency: ReadConsistency, timeout: Duration
    ) async throws -> Answered<R.Answer> {
        let (answered, position, time) = try await end.port.ask(
            try end.encoded(query), level: consistency.level, minimum: end.minimum, timeout: timeout)
        do {
            let place = Place(epoch: position.0, sequence: position.1)
            return Answered(answer: try answer.decoded(answered), place: place, time: time)
        } catch {
            throw LockstepError(
                .refused, "the answer cannot be read; update this program", underlying: error)
        }
    }
}
