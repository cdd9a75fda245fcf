import LockstepCore
import LockstepNode

extension RemoteStore {
    /// Watches a query: its answer now, and from then on each answer that is another.
    ///
    ///     for try await visits in visits.watch(.get("home")) { print(visits.answer, visits.place) }
    ///
    /// The node that this one is connected to, a primary or a replica, evaluates the query on its committed state when
    /// that has changed, and sends the answer if its bytes are others than before. A slow consumer gets the newest
    /// answer only; the newest always arrives in the end. Each loop is a watch of its own, and ends it.
    ///
    /// While one node answers, places do not go back. Another node, to which the connection moved, may lag behind the
    /// first. While no node can be reached nothing comes, and the watch goes on when one can.
    ///
    /// A watch costs the node an evaluation in each interval in which anything in the store changes, and nothing
    /// otherwise. A store watches at most 1,024 queries of together 4 MiB, a node's store 10,000 of 16 MiB; a watch
    /// above that is `unavailable`.
    ///
    /// - Parameters:
    ///   - query: What to ask.
    ///   - interval: The least time between two answers, 10 ms to 60 s; what is outside counts as the nearer end. The
    ///     node may take two and a half times as long.
    /// - Returns: The answers; they begin when the loop does. The loop ends when this node stops or the task is
    ///   cancelled. It throws ``LockstepError``: `refused` with the reactor's reason, or if query or answer cannot be
    ///   coded; `tooLarge` for a query above 1 MiB; `unavailable` with the reason, if this store watches too many
    ///   queries, or if the node says for 30 s that it cannot answer and never did.
    public func watch(_ query: R.Query, atMost interval: Duration = .milliseconds(100)) -> WatchedAnswers<R> {
        let microseconds = min(max(10_000, interval.wholeMicroseconds), 60_000_000)
        return WatchedAnswers(end: end, query: query, microseconds: UInt32(microseconds))
    }
}

/// An answer to a watched query, and the place in the log of the state that gave it.
public struct WatchedAnswer<Answer: Sendable>: Sendable {
    /// The newest answer.
    public let answer: Answer
    /// The last entry that the state includes.
    public let place: Place
    /// The time of that entry.
    public let time: LogTime
    /// Why the node cannot answer now, in one line; nil while it can, and then ``answer`` is the newest.
    public let unavailable: String?

    /// Makes an answer, for a test of what shows it.
    public init(answer: Answer, place: Place, time: LogTime, unavailable: String? = nil) {
        self.answer = answer
        self.place = place
        self.time = time
        self.unavailable = unavailable
    }
}

/// The answers to a watched query; see ``RemoteStore/watch(_:atMost:)``.
public struct WatchedAnswers<R: Reactor>: AsyncSequence, Sendable {
    /// An answer with its place and time.
    public typealias Element = WatchedAnswer<R.Answer>
    /// ``LockstepError``.
    public typealias Failure = any Error

    let end: SendingEnd<R>
    let query: R.Query
    let microseconds: UInt32

    /// Begins a watch.
    public func makeAsyncIterator() -> Iterator {
        do {
            return Iterator(updates: end.port.watch(try end.encoded(query), interval: microseconds))
        } catch {
            return Iterator(updates: AsyncThrowingStream { throw error })
        }
    }

    /// Waits for answers.
    public struct Iterator: AsyncIteratorProtocol {
        /// ``LockstepError``.
        public typealias Failure = any Error

        private var updates: AsyncThrowingStream<WatchUpdate, any Error>.Iterator
        private let coding = R.answerCoding

        init(updates: AsyncThrowingStream<WatchUpdate, any Error>) { self.updates = updates.makeAsyncIterator() }

        /// The newest answer, when it is another than the last one; nil when the node has stopped, or the task is
        /// cancelled.
        public mutating func next() async throws -> WatchedAnswer<R.Answer>? {
            while let update = try await updates.next(isolation: #isolation) {
                // Before the first answer there is nothing to show.
                guard let answered = update.answer else { continue }
                do {
                    return WatchedAnswer(
                        answer: try coding.decoded(answered.bytes),
                        place: Place(epoch: answered.view.epoch, sequence: answered.view.sequence),
                        time: answered.view.time, unavailable: update.unavailable)
                } catch {
                    throw LockstepError(
                        .refused, "the answer cannot be read; update this program", underlying: error)
                }
            }
            return nil
        }
    }
}
