import LockstepCore
import LockstepNode
import Synchronization

/// An action that was sent, as its sender follows it: answered, then, if its effect goes on, ended.
///
/// A value that may be copied; all copies are about one action. Letting go of it cancels nothing.
public struct SubmittedAction<R: Reactor>: Sendable {
    private let stages: any SubmissionStages<R>

    init(_ end: SendingEnd<R>, action: [UInt8], timeout: Duration?) {
        stages = SentStages(end, action: action, timeout: timeout)
    }

    package init(_ stages: any SubmissionStages<R>) { self.stages = stages }

    /// Waits until the action is in the log: committed, rejected, or accepted with an effect that goes on.
    ///
    /// - Throws: ``LockstepError`` as ``ActionTarget/send(_:timeout:)`` does, except for a rejection, which is an outcome.
    public func accepted() async throws -> Outcome<R.Reply> { try await stages.accepted() }

    /// Waits until the action and its effect have ended.
    public func finished() async throws -> Outcome<R.Reply> { try await stages.finished() }

    /// Asks for its end: an action that has no number yet is not sent; one that is accepted is cancelled.
    ///
    /// It waits for nothing, also in a task that was cancelled. An action that has a number and no answer yet is
    /// cancelled when it is accepted. What became of it ``finished()`` tells: it may have ended by itself before.
    public func cancel() async { await stages.cancel() }
}

/// What answers a ``SubmittedAction``: a node, or a test.
package protocol SubmissionStages<R>: Sendable {
    associatedtype R: Reactor
    func accepted() async throws -> Outcome<R.Reply>
    func finished() async throws -> Outcome<R.Reply>
    func cancel() async
}

private struct SentStages<R: Reactor>: SubmissionStages {
    private let end: SendingEnd<R>
    private let first: FirstAnswer
    private let timeout: Duration?

    init(_ end: SendingEnd<R>, action: [UInt8], timeout: Duration?) {
        self.end = end
        self.timeout = timeout
        let first = FirstAnswer()
        self.first = first
        first.waiter = end.port.submitOne(action, timeout: timeout) { first.answered($0) }
    }

    func accepted() async throws -> Outcome<R.Reply> {
        var outcomes = end.outcomes(try await first.value()).makeIterator()
        guard let outcome = outcomes.next() else { preconditionFailure("a submission was answered by nothing") }
        return outcome
    }

    func finished() async throws -> Outcome<R.Reply> {
        let outcome = try await accepted()
        guard case .accepted(let run, _) = outcome else { return outcome }
        return try await end.end(ofAccepted: run, timeout: timeout)
    }

    func cancel() async {
        if let waiter = first.waiter { end.port.inbox.leave(waiter) }
        // Whoever cancels may be cancelled itself, so its task waits for nothing.
        first.whenAnswered { [end] answer in
            switch answer {
            case .success(let replies):
                // If it is not an accepted action that goes on, this does nothing.
                guard let piece = replies.pieces.first else { return }
                end.port.cancel(RunID(session: piece.session, number: piece.first))
            case .failure(let error): end.cancelUnanswered(error)
            }
        }
    }
}

/// The first answer, and who waits for it.
private final class FirstAnswer: Sendable {
    private let contents = Mutex(Contents())

    private struct Contents: Sendable {
        var answer: Result<RawReplies, any Error>?
        /// Told of the answer when it comes.
        var listeners: [@Sendable (Result<RawReplies, any Error>) -> Void] = []
        var waiter: Waiter?
        var lastNumber: UInt64 = 0
        var continuations: [UInt64: CheckedContinuation<RawReplies, any Error>] = [:]
    }

    var waiter: Waiter? {
        get { contents.withLock { $0.waiter } }
        set { contents.withLock { $0.waiter = newValue } }
    }

    func answered(_ answer: Result<RawReplies, any Error>) {
        let (continuations, listeners) = contents.withLock { contents in
            contents.answer = contents.answer ?? answer
            defer { (contents.continuations, contents.listeners) = ([:], []) }
            return (contents.continuations.values, contents.listeners)
        }
        for continuation in continuations { continuation.resume(with: answer) }
        for listener in listeners { listener(answer) }
    }

    /// Tells the answer: now if it is there, or else on the thread that brings it.
    func whenAnswered(_ listener: @escaping @Sendable (Result<RawReplies, any Error>) -> Void) {
        let answer = contents.withLock { contents in
            if contents.answer == nil { contents.listeners.append(listener) }
            return contents.answer
        }
        if let answer { listener(answer) }
    }

    func value() async throws -> RawReplies {
        let number = contents.withLock { contents in
            contents.lastNumber += 1
            return contents.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<RawReplies, any Error>? = contents.withLock { contents in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let answer = contents.answer { return answer }
                    contents.continuations[number] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let continuation = contents.withLock { $0.continuations.removeValue(forKey: number) }
            continuation?.resume(throwing: CancellationError())
        }
    }
}
