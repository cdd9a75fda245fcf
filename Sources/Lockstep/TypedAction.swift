import LockstepCore
import LockstepNode

/// An action together with the type of its reply, so that its sender need not ask which of all replies came.
///
/// A reactor has one type of replies for all its actions. Where they are cases of an enum, say once which case answers
/// which action:
///
/// ```swift
/// extension TypedAction where R == Shelf, Reply == Int {
///     static func take(_ article: String) -> Self {
///         Self(.take(article)) { if case .left(let count) = $0 { count } else { nil } }
///     }
/// }
/// ```
///
/// and send it as any other: `try await shelf.send(.take("pear")).reply` is an `Int`. Nothing of it is on the wire: the
/// action and the reply have the same bytes as without it.
///
/// Where an action has the name of a typed one, `send(.take("pear"))` sends the typed one.
public struct TypedAction<R: Reactor, Reply: Sendable>: Sendable {
    /// What is sent.
    public let action: R.Action
    private let reply: @Sendable (R.Reply) -> Reply?

    /// Says with what an action is answered.
    ///
    /// - Parameters:
    ///   - action: What is sent.
    ///   - reply: Takes the promised value out of a reply; nil for a reply that this action never has. It runs on the
    ///     sender's thread, or any other.
    public init(_ action: R.Action, reply: @escaping @Sendable (R.Reply) -> Reply?) {
        self.action = action
        self.reply = reply
    }

    /// An outcome with the promised reply: what ``SubmittedAction/finished()`` or ``ActionTarget/end(of:timeout:)`` gave.
    ///
    /// A reply that was not promised makes it ``Outcome/unreadable(_:place:)``: the action took effect all the same.
    public func outcome(_ outcome: Outcome<R.Reply>) -> Outcome<Reply> {
        switch outcome {
        case .committed(let receipt):
            guard let reply = reply(receipt.reply) else {
                return .unreadable(WireError(.unknownKind, at: 0), place: receipt.place)
            }
            return .committed(
                Receipt(reply: reply, place: receipt.place, session: receipt.session, number: receipt.number))
        case .rejected(let reason, let place): return .rejected(reason: reason, place: place)
        case .void(let place): return .void(place: place)
        case .denied(let reason, let place): return .denied(reason: reason, place: place)
        case .accepted(let run, let place): return .accepted(run, place: place)
        case .failed(let reason, let emissions, let place):
            return .failed(reason: reason, emissions: emissions, place: place)
        case .cancelled(let emissions, let place): return .cancelled(emissions: emissions, place: place)
        case .unreadable(let error, let place): return .unreadable(error, place: place)
        }
    }

    /// The promised reply.
    ///
    /// - Throws: ``LockstepError`` of code `unreadable` for a reply that was not promised, which says of which reactor.
    public func receipt(_ receipt: Receipt<R.Reply>) throws -> Receipt<Reply> {
        guard case .committed(let typed) = outcome(.committed(receipt)) else {
            throw LockstepError(
                .unreadable,
                "the action took effect at \(receipt.place), but was replied to with another case than this program "
                    + "expects: the primary's \(R.self) is of another version; update this program or the primary")
        }
        return typed
    }

    /// The promised value of a reply alone; nil if it is another's.
    package func value(of reply: R.Reply) -> Reply? { self.reply(reply) }
}

/// A query together with the type of its answer; see ``TypedAction``.
///
/// ```swift
/// extension TypedQuery where R == Shelf, Answer == Int {
///     static func count(of article: String) -> Self {
///         Self(.count(article)) { if case .count(let count) = $0 { count } else { nil } }
///     }
/// }
/// ```
///
/// `try await shelf.ask(.count(of: "pear")).answer` is an `Int`.
public struct TypedQuery<R: Reactor, Answer: Sendable>: Sendable {
    /// What is asked.
    public let query: R.Query
    private let answer: @Sendable (R.Answer) -> Answer?

    /// Says with what a query is answered.
    ///
    /// - Parameters:
    ///   - query: What is asked.
    ///   - answer: Takes the promised value out of an answer; nil for an answer that this query never has. It runs on
    ///     the asker's thread.
    public init(_ query: R.Query, answer: @escaping @Sendable (R.Answer) -> Answer?) {
        self.query = query
        self.answer = answer
    }

    /// The promised answer.
    ///
    /// - Throws: ``LockstepError`` of code `refused` for an answer that was not promised, which says of which reactor.
    public func answered(_ answered: Answered<R.Answer>) throws -> Answered<Answer> {
        guard let answer = answer(answered.answer) else {
            throw LockstepError(
                .refused,
                "the query was answered with another case than this program expects: the \(R.self) of the node that "
                    + "was asked is of another version; update this program or that node")
        }
        return Answered(answer: answer, place: answered.place, time: answered.time)
    }

    /// The promised value of an answer alone; nil if it is another's.
    package func value(of answer: R.Answer) -> Answer? { self.answer(answer) }
}

extension ActionTarget {
    /// Sends an action and waits up to 30 seconds until it is committed; see ``send(_:timeout:)``.
    ///
    /// - Throws: Also ``LockstepError`` of code `unreadable` if the reply is not the promised one: the action took effect,
    ///   and the primary's reactor is of another version.
    public func send<Reply>(_ action: TypedAction<R, Reply>) async throws -> Receipt<Reply> {
        try await send(action, timeout: .seconds(30))
    }

    /// Sends an action and waits until it is committed; a timeout of nil waits for as long as the node runs.
    public func send<Reply>(_ action: TypedAction<R, Reply>, timeout: Duration?) async throws -> Receipt<Reply> {
        try action.receipt(try await send(action.action, timeout: timeout))
    }

    /// Sends actions that have replies of one type and waits up to 30 seconds until all are answered.
    ///
    /// A reply that was not promised is ``Outcome/unreadable(_:place:)``.
    public func send<Reply>(contentsOf actions: [TypedAction<R, Reply>]) async throws -> [Outcome<Reply>] {
        try await send(contentsOf: actions, timeout: .seconds(30))
    }

    /// Sends actions that have replies of one type and waits until all are answered; see
    /// ``send(contentsOf:timeout:)-([R.Action],_)``.
    public func send<Reply>(
        contentsOf actions: [TypedAction<R, Reply>], timeout: Duration?
    ) async throws -> [Outcome<Reply>] {
        let outcomes = try await send(contentsOf: actions.map(\.action), timeout: timeout)
        return zip(actions, outcomes).map { $0.outcome($1) }
    }

    /// Asks a question, of a state that includes what was acknowledged here, and waits up to 30 seconds for it.
    ///
    /// - Throws: Also ``LockstepError`` of code `refused` if the answer is not the promised one: the reactor of the node
    ///   that was asked is of another version.
    public func ask<Answer>(
        _ query: TypedQuery<R, Answer>, _ consistency: ReadConsistency = .session
    ) async throws -> Answered<Answer> {
        try await ask(query, consistency, timeout: .seconds(30))
    }

    /// Asks a question about a committed state; see ``ask(_:_:timeout:)-(R.Query,_,_)``.
    public func ask<Answer>(
        _ query: TypedQuery<R, Answer>, _ consistency: ReadConsistency, timeout: Duration
    ) async throws -> Answered<Answer> {
        try query.answered(try await ask(query.query, consistency, timeout: timeout))
    }
}
