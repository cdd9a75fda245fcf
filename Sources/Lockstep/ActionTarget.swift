package import LockstepCore
public import LockstepNode

/// Where actions are sent: a ``Store``, or a ``RemoteStore`` that holds no replica.
public protocol ActionTarget<R>: Sendable {
    /// The reactor that the actions belong to.
    associatedtype R: Reactor

    /// Sends an action and waits until it is committed; one whose effect goes on, until that has ended.
    ///
    /// It is encoded on the caller's thread and takes effect exactly once, whatever crashes in between.
    ///
    /// - Parameters:
    ///   - action: What to do.
    ///   - timeout: How long to wait, for its end too; `nil` waits for as long as the node runs.
    /// - Returns: The reply and the action's place in the log.
    /// - Throws: ``LockstepError``. Certainly without effect: `rejected` and `denied`, with the reason; `timeout`,
    ///   `tooLarge`, `refused`, `unavailable` and `stopped`, since the action was not submitted. Not known:
    ///   `outcomeUnknown`, after which to ask ``outcomes(of:timeout:)`` about ``LockstepError/pending``;
    ///   `sessionEnded`, where nobody knows it any more. The effect began: `failed` and `cancelled`, whose emissions
    ///   stay; `unfinished`, after which to wait for the end of ``LockstepError/run`` with ``end(of:timeout:)``. The
    ///   action took effect: `unreadable`, whose reply cannot be read. `CancellationError` if the task was cancelled
    ///   before the action was submitted, or while its effect went on; the effect is cancelled, too.
    @_disfavoredOverload
    func send(_ action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply>

    /// Sends actions and waits until all are answered; they keep their order and are no transaction.
    ///
    /// One lock and one resumption for all: the way to send many, some 256 at a time.
    ///
    /// - Throws: ``LockstepError`` as ``send(_:timeout:)`` does, except that a refused action is an ``Outcome``.
    @_disfavoredOverload
    func send(contentsOf actions: [R.Action], timeout: Duration?) async throws -> Outcomes<R.Reply>

    /// Sends an action and returns at once, with a handle of its stages.
    ///
    /// - Parameters:
    ///   - action: What to do.
    ///   - timeout: How long each of both stages may take: the answer, and after it the end of an effect that goes on.
    ///     `nil`: as long as the node runs.
    /// - Returns: The handle with which to wait for both stages.
    /// - Throws: ``LockstepError`` of code `tooLarge` or `refused` for an action that cannot be sent.
    func submit(_ action: R.Action, timeout: Duration?) throws -> SubmittedAction<R>

    /// Waits for the end of an accepted action of this store's session.
    ///
    /// - Throws: ``LockstepError``: `unfinished` when the time is over or the node stops, after which to wait again;
    ///   `sessionEnded` if the end is no longer kept; `stopped` if this node had stopped before. `CancellationError`.
    func end(of run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply>

    /// Asks the primary to end an accepted action of this store's session, and returns at once.
    ///
    /// It is repeated until the end is there: `cancelled`, or the one that it had by itself before. An action that is
    /// still on its way is cancelled when it is accepted; one that ends at once is not concerned.
    func cancel(_ run: RunID)

    /// Asks what became of actions whose sender got `outcomeUnknown`; actions that never came become void.
    ///
    /// - Throws: ``LockstepError``: `sessionEnded` if nobody knows it now; `timeout`, after which to ask again.
    func outcomes(of pending: PendingOutcome, timeout: Duration) async throws -> Outcomes<R.Reply>

    /// Asks the reactor a question about a committed state.
    ///
    /// - Throws: ``LockstepError``: `refused` with the reactor's reason, or if the query cannot be encoded; `tooLarge`
    ///   for a query above 1 MiB; `timeout` if no state as fresh as asked was to be had in time; `unavailable` and
    ///   `stopped`.
    @_disfavoredOverload
    func ask(_ query: R.Query, _ consistency: ReadConsistency, timeout: Duration) async throws -> Answered<R.Answer>
}

// Where a typed action has the name of an action (``TypedAction``), what takes the plain one gives way.

extension ActionTarget {
    /// Sends an action and waits up to 30 seconds until it is committed.
    @_disfavoredOverload
    public func send(_ action: R.Action) async throws -> Receipt<R.Reply> {
        try await send(action, timeout: .seconds(30))
    }

    /// Sends actions and waits up to 30 seconds until all are answered.
    @_disfavoredOverload
    public func send(contentsOf actions: [R.Action]) async throws -> Outcomes<R.Reply> {
        try await send(contentsOf: actions, timeout: .seconds(30))
    }

    /// Sends an action and returns at once; its answer may take as long as the node runs.
    public func submit(_ action: R.Action) throws -> SubmittedAction<R> { try submit(action, timeout: nil) }

    /// Waits for the end of an accepted action for as long as the node runs.
    public func end(of run: RunID) async throws -> Outcome<R.Reply> { try await end(of: run, timeout: nil) }

    /// Asks what became of actions, and waits up to 30 seconds.
    public func outcomes(of pending: PendingOutcome) async throws -> Outcomes<R.Reply> {
        try await outcomes(of: pending, timeout: .seconds(30))
    }

    /// Asks a question, of a state that includes what was acknowledged here, and waits up to 30 seconds for it.
    @_disfavoredOverload
    public func ask(_ query: R.Query, _ consistency: ReadConsistency = .session) async throws -> Answered<R.Answer> {
        try await ask(query, consistency, timeout: .seconds(30))
    }
}

/// How fresh a read must be.
public enum ReadConsistency: Hashable, Sendable {
    /// What the node has: at most 10 ms old on a primary that is read, and as old as the link's delay on a replica.
    case local
    /// At least everything that was acknowledged to this store: one's own writes are seen.
    case session
    /// Everything that was acknowledged to anyone before the read began; it costs a question to the primary.
    case linearizable

    package var level: ReadLevel {
        switch self {
        case .local: .local
        case .session: .session
        case .linearizable: .linearizable
        }
    }
}

/// An answer, and the place in the log of the state that gave it.
public struct Answered<Answer: Sendable>: Sendable {
    /// The answer.
    public let answer: Answer
    /// The last entry that the state includes.
    public let place: Place
    /// The time of that entry.
    public let time: LogTime

    /// Makes an answer, for a stub of a store.
    public init(answer: Answer, place: Place, time: LogTime) {
        self.answer = answer
        self.place = place
        self.time = time
    }
}

/// What a store and a remote store share: the way to the node, and the codings.
final class SendingEnd<R: Reactor>: Sendable {
    let port: StorePort
    let action = R.actionCoding
    let reply = R.replyCoding
    private let query = R.queryCoding

    init(port: StorePort) { self.port = port }

    /// What must be in a state that shows one's own writes.
    var minimum: SequenceNumber { port.acknowledged }

    func send(_ action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply> {
        guard let traces = port.traces else { return try await receipt(of: action, timeout: timeout) }
        return try await traces.sending { try await receipt(of: action, timeout: timeout) }
    }

    private func receipt(of action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply> {
        var writer = ByteWriter()
        try write(action, to: &writer)
        let start = ContinuousClock.now
        let replies: RawReplies
        do {
            replies = try await port.submit(writer.bytes, count: 1, timeout: timeout)
        } catch {
            if Task.isCancelled { cancelUnanswered(error) }
            throw error
        }
        var outcomes = outcomes(replies).makeIterator()
        guard let outcome = outcomes.next() else { preconditionFailure("a submission was answered by nothing") }
        guard case .accepted(let run, _) = outcome else { return try outcome.get() }
        return try await withTaskCancellationHandler {
            try await end(ofAccepted: run, timeout: timeout.map { max(.zero, $0 - start.duration(to: .now)) }).get()
        } onCancel: {
            port.cancel(run)
        }
    }

    /// An action that has a number and no answer is cancelled if it turns out to be accepted.
    func cancelUnanswered(_ error: any Error) {
        guard let pending = (error as? LockstepError)?.pending, pending.numbers.count == 1 else { return }
        port.cancel(RunID(session: pending.session, number: pending.numbers.lowerBound))
    }

    func submit(_ action: R.Action, timeout: Duration?) throws -> SubmittedAction<R> {
        var writer = ByteWriter()
        try write(action, to: &writer)
        return SubmittedAction(self, action: writer.bytes, timeout: timeout)
    }

    func end(of run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply> {
        let ending = try await port.end(of: run, timeout: timeout)
        return Outcome(end: ending, of: run, coding: reply)
    }

    /// The end of an action of which nobody was told yet that it was accepted.
    ///
    /// If its end cannot be waited for, it is `unfinished`: the other codes would say that it has no effect.
    func end(ofAccepted run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply> {
        do { return try await end(of: run, timeout: timeout) } catch let error as LockstepError
            where error.code == .stopped || error.code == .unavailable
        {
            throw EndDesk.unfinished(run)
        }
    }

    func send(contentsOf actions: [R.Action], timeout: Duration?) async throws -> Outcomes<R.Reply> {
        var writer = ByteWriter(capacity: 16 * actions.count)
        for action in actions { try write(action, to: &writer) }
        return outcomes(try await port.submit(writer.bytes, count: actions.count, timeout: timeout))
    }

    func outcomes(of pending: PendingOutcome, timeout: Duration) async throws -> Outcomes<R.Reply> {
        outcomes(try await port.resolve(pending, timeout: timeout))
    }

    private func write(_ action: R.Action, to writer: inout ByteWriter) throws {
        let before = writer.count
        do {
            try writer.writeMeasured { try self.action.encode(action, &$0) }
        } catch {
            throw LockstepError(.refused, "the action cannot be encoded: \(error)", underlying: error)
        }
        let count = writer.count - before
        guard count <= Limits.actionBytes else {
            throw LockstepError(.tooLarge, "an action of \(count) bytes is above the limit of \(Limits.actionBytes)")
        }
    }

    func outcomes(_ replies: RawReplies) -> Outcomes<R.Reply> { Outcomes(replies, coding: reply) }

    /// The bytes of a query that is asked or watched.
    ///
    /// A frame that is too large ends the connection, again and again, with all else that goes over it.
    func encoded(_ query: R.Query) throws -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try self.query.encoded(query)
        } catch {
            throw LockstepError(.refused, "the query cannot be encoded: \(error)", underlying: error)
        }
        guard bytes.count <= Limits.actionBytes else {
            throw LockstepError(
                .tooLarge, "a query of \(bytes.count) bytes is above the limit of \(Limits.actionBytes)")
        }
        return bytes
    }
}
