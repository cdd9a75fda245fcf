package import LockstepCore

/// The committed batches that this node still has, and the consumers that wait for the next; on the node's thread.
///
/// It shares the batches' bytes with the store's machine, which keeps as many for repair. Consumers pull, so a slow one
/// costs nothing; what the window no longer holds when it comes back is `positionTooOld`.
package struct FeedDesk {
    private var window = ResendWindow()
    /// Where the window ends, also while it is empty.
    private var end: SequenceNumber = .zero
    private var waiting: [Waiting] = []

    private struct Waiting {
        var id: UInt64
        var after: SequenceNumber
        var resume: (Result<[SealedBatch], any Error>) -> Void
    }

    private static let batchesAtATime = 1_024
    private static let bytesAtATime = 4 << 20

    package init() {}

    /// Begins after what a journal held.
    package mutating func begin(_ window: ResendWindow, end: SequenceNumber) {
        self.window = window
        self.end = end
        serve()
    }

    package mutating func append(_ batches: [SealedBatch]) {
        for batch in batches { window.append(batch) }
        if let last = batches.last { end = last.head.last }
        serve()
    }

    /// A snapshot replaced everything, perhaps with another history: those who wait have missed something, or may have.
    package mutating func restart(at sequence: SequenceNumber) {
        window.removeAll()
        end = sequence
        for consumer in waiting { consumer.resume(.failure(Self.tooOld(consumer.after))) }
        waiting = []
    }

    package mutating func request(
        _ id: UInt64, after sequence: SequenceNumber, resume: @escaping (Result<[SealedBatch], any Error>) -> Void
    ) {
        guard waiting.count < Limits.waitingReads else {
            resume(.failure(LockstepError(.unavailable, "too many consumers wait at this store: try again later")))
            return
        }
        waiting.append(Waiting(id: id, after: sequence, resume: resume))
        serve()
    }

    package mutating func cancel(_ id: UInt64) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: index).resume(.failure(CancellationError()))
        return true
    }

    package mutating func failAll(_ error: any Error) {
        for consumer in waiting { consumer.resume(.failure(error)) }
        waiting = []
    }

    private static func tooOld(_ sequence: SequenceNumber) -> LockstepError {
        LockstepError(
            .positionTooOld,
            "the batches after \(sequence) are no longer held here: read the state and go on from its position")
    }

    private mutating func serve() {
        guard waiting.contains(where: { $0.after < end }) else { return }
        for consumer in waiting where consumer.after < end {
            // One that stopped within a batch gets that batch again, and leaves out what it has.
            let first = window.batch(containing: consumer.after.next)?.head.first.rawValue
            let after = first.map { SequenceNumber(rawValue: $0 - 1) } ?? consumer.after
            if let batches = window.batches(
                after: after, through: SequenceNumber(rawValue: .max), bytes: Self.bytesAtATime)
            {
                consumer.resume(.success(Array(batches.prefix(Self.batchesAtATime))))
            } else {
                consumer.resume(.failure(Self.tooOld(consumer.after)))
            }
        }
        waiting.removeAll { $0.after < end }
    }
}
