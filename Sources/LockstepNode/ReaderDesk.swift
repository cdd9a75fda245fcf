package import LockstepCore

/// Callers on this node that wait until the published view has reached a sequence number; on the node's thread.
///
/// At most ``Limits/waitingReads`` wait; more are told `unavailable`.
package struct ReaderDesk {
    private var waiting: [Waiting] = []
    private var deadlines = Tick.never
    /// Callers that found no room.
    package private(set) var refused: UInt64 = 0

    private struct Waiting {
        var id: UInt64
        var minimum: SequenceNumber
        /// Only told how far the view is, for which nobody's trust in it matters.
        var isObserver: Bool
        var deadline: Tick
        var resume: (Result<Void, any Error>) -> Void
    }

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }
    package var count: Int { waiting.count }
    package var nextDeadline: Tick { deadlines }

    package mutating func add(
        _ id: UInt64, minimum: SequenceNumber, isObserver: Bool = false, deadline: Tick,
        resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        guard waiting.count < Limits.waitingReads else {
            refused += 1
            resume(.failure(LockstepError(.unavailable, "too many reads wait at this node: try again later")))
            return
        }
        waiting.append(Waiting(id: id, minimum: minimum, isObserver: isObserver, deadline: deadline, resume: resume))
        deadlines = min(deadlines, deadline)
    }

    /// Resumes whoever waits for no more than `sequence`; readers only if the state may be read.
    package mutating func published(through sequence: SequenceNumber, isReadable: Bool) {
        finish(.success(())) { $0.minimum <= sequence && (isReadable || $0.isObserver) }
    }

    /// The state must not be read from here on: readers need not wait for it.
    package mutating func refuse(_ error: any Error) { finish(.failure(error)) { !$0.isObserver } }

    /// Ends the waits whose time is over; `refusal` is why nobody may read.
    package mutating func ticked(_ now: Tick, because refusal: ReadRefusal?) {
        guard now >= deadlines else { return }
        let error =
            refusal.map { LockstepError($0) }
            ?? LockstepError(
                .timeout,
                "the node did not reach the sequence number that was asked for in time: it lags, or wait longer")
        finish(.failure(error)) { $0.deadline <= now }
    }

    /// False if nobody waits under this number.
    package mutating func cancel(_ id: UInt64) -> Bool {
        guard waiting.contains(where: { $0.id == id }) else { return false }
        finish(.failure(CancellationError())) { $0.id == id }
        return true
    }

    package mutating func failAll(_ error: any Error) { finish(.failure(error)) { _ in true } }

    private mutating func finish(_ outcome: Result<Void, any Error>, where isDone: (Waiting) -> Bool) {
        guard waiting.contains(where: isDone) else { return }
        for reader in waiting where isDone(reader) { reader.resume(outcome) }
        waiting.removeAll(where: isDone)
        deadlines = waiting.lazy.map(\.deadline).min() ?? .never
    }
}
