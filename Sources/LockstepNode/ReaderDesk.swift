package import LockstepCore

/// Callers on this node that wait until the published view has reached a sequence number; on the node's thread.
///
/// At most ``Limits/waitingReads`` wait; more are told `unavailable`.
package struct ReaderDesk {
    private var waiting: [Waiting] = []
    private var deadlines = Tick.never

    private struct Waiting {
        var id: UInt64
        var minimum: SequenceNumber
        var deadline: Tick
        var resume: (Result<Void, any Error>) -> Void
    }

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }
    package var nextDeadline: Tick { deadlines }

    package mutating func add(
        _ id: UInt64, minimum: SequenceNumber, deadline: Tick, resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        guard waiting.count < Limits.waitingReads else {
            resume(.failure(LockstepError(.unavailable, "too many reads wait at this node: try again later")))
            return
        }
        waiting.append(Waiting(id: id, minimum: minimum, deadline: deadline, resume: resume))
        deadlines = min(deadlines, deadline)
    }

    /// Resumes whoever waits for no more than `sequence`.
    package mutating func published(through sequence: SequenceNumber) {
        finish(.success(())) { $0.minimum <= sequence }
    }

    package mutating func ticked(_ now: Tick) {
        guard now >= deadlines else { return }
        let error = LockstepError(
            .timeout, "the node did not reach the sequence number that was asked for in time: it lags, or wait longer")
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
