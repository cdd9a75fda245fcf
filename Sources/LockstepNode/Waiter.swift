package import LockstepCore
package import Tracing

/// A caller of `submit` or `resolve` that waits for answers.
///
/// `@unchecked Sendable`: `deadline` never changes, nor do `sent` and `context` once it was handed over; `isHere` and `hasLeft` are used under the inbox's lock only; the
/// caller sets the continuation before it hands the waiter over under that lock, and the rest is used from then on, on
/// the node's thread only.
package final class Waiter: @unchecked Sendable {
    package let deadline: Tick
    /// When it was sent, of one whose time is measured; set before it is handed over.
    package var sent = Tick.zero
    /// Its sender's context, where a tracer wants it; set before it is handed over.
    package var context: ServiceContext?
    /// The caller; nil before it waits, and from the moment it was resumed.
    private var continuation: UnsafeContinuation<RawReplies, any Error>?
    /// A caller of `resolve`, instead of a continuation.
    private var resume: ((Result<RawReplies, any Error>) -> Void)?

    // Under the inbox's lock.
    /// It was handed over.
    package var isHere = false
    /// It was cancelled before it was handed over.
    package var hasLeft = false

    // The node's thread only.
    /// How many answers it waits for.
    package private(set) var count: Int
    /// The numbers that its actions have so far, and their session.
    package private(set) var numbers: ClosedRange<RequestNumber>?
    package private(set) var session: SessionID = .none
    private var pieces: [RawReplies.Piece] = []
    private var answered = 0
    /// Callers who asked again about the same numbers.
    private var resolvers: [Waiter] = []
    /// Of one who asks again: about what.
    package let asked: PendingOutcome?

    package init(count: Int, deadline: Tick) {
        self.count = count
        self.deadline = deadline
        asked = nil
    }

    /// Makes one who asks again; on the node's thread.
    package init(
        count: Int, deadline: Tick, asked: PendingOutcome? = nil,
        resume: @escaping (Result<RawReplies, any Error>) -> Void
    ) {
        self.count = count
        self.deadline = deadline
        self.asked = asked
        self.resume = resume
    }

    /// Sets the caller; once, before the waiter is handed over.
    package func wait(_ continuation: UnsafeContinuation<RawReplies, any Error>) { self.continuation = continuation }

    /// It was resumed: whatever still comes for it comes late.
    package var isDone: Bool { continuation == nil && resume == nil }

    /// Nobody waits for its answers, neither the caller nor one who asked again.
    package var isAbandoned: Bool { isDone && resolvers.allSatisfy(\.isDone) }

    /// What to ask again about; nil before any of its actions has a number.
    package var pending: PendingOutcome? { numbers.map { PendingOutcome(session: session, numbers: $0) } }

    /// Its actions, or the next part of them, have these numbers.
    package func took(_ numbers: ClosedRange<RequestNumber>, of session: SessionID) {
        guard let before = self.numbers else {
            self.session = session
            self.numbers = numbers
            return
        }
        precondition(
            self.session == session && numbers.lowerBound == before.upperBound + 1,
            "the numbers of one caller follow each other and are of one session")
        self.numbers = before.lowerBound...numbers.upperBound
    }

    /// How many of its actions have no number.
    package var unsubmitted: Int { count - (numbers?.count ?? 0) }

    /// The rest of its actions will not be submitted: it has all answers when those with numbers are there.
    package func stopSubmitting() { count = numbers?.count ?? 0 }

    /// The answers to all numbers that it has; nil if it has none, or one is missing.
    package var answers: RawReplies? {
        guard let numbers, answered >= numbers.count else { return nil }
        return RawReplies(pieces: pieces)
    }

    package func resolve(for resolver: Waiter) { resolvers.append(resolver) }

    /// Adds answers; with the last of them it resumes the caller, and returns all.
    package func answer(_ piece: RawReplies.Piece) -> RawReplies? {
        pieces.append(piece)
        answered += piece.count
        guard answered >= count else { return nil }
        // Answers to questions come in any order.
        pieces.sort { $0.first < $1.first }
        let replies = RawReplies(pieces: pieces)
        succeed(replies)
        return replies
    }

    package func succeed(_ replies: RawReplies) {
        continuation.take()?.resume(returning: replies)
        resume.take()?(.success(replies))
        for resolver in resolvers { resolver.succeed(replies) }
        resolvers = []
    }

    package func fail(_ error: any Error) {
        continuation.take()?.resume(throwing: error)
        resume.take()?(.failure(error))
    }

    /// No answer will come: those who asked again are told too.
    package func failAll(_ error: any Error) {
        fail(error)
        for resolver in resolvers { resolver.fail(error) }
        resolvers = []
    }
}

/// Answers that came after their caller had gone, for who asks again: the newest 1,024.
package struct LateAnswers {
    private var answers: [PendingOutcome: RawReplies] = [:]
    private var order: [PendingOutcome] = []
    package static let capacity = 1_024

    package init() {}

    package var count: Int { answers.count }

    package mutating func insert(_ replies: RawReplies, for pending: PendingOutcome) {
        guard answers.updateValue(replies, forKey: pending) == nil else { return }
        order.append(pending)
        guard order.count > Self.capacity else { return }
        answers[order.removeFirst()] = nil
    }

    package subscript(pending: PendingOutcome) -> RawReplies? { answers[pending] }
}
