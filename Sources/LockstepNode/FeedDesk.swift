package import LockstepCore

/// Where a consumer of batches stands.
package struct FeedPlace: Hashable, Sendable {
    /// The last entry that it has; 0: none yet.
    package var sequence: SequenceNumber
    /// The epoch of that entry; nil of a consumer that knows the number alone.
    package var epoch: Epoch?
    /// The desk's, as its last answer said; nil before the first answer.
    package var generation: UInt64?

    package init(sequence: SequenceNumber, epoch: Epoch? = nil, generation: UInt64? = nil) {
        self.sequence = sequence
        self.epoch = epoch
        self.generation = generation
    }
}

/// Batches in the order of the log, and what the consumer adds to its place.
package struct FeedAnswer: Sendable {
    package var batches: [SealedBatch]
    package var generation: UInt64
}

/// The committed batches that this node still has, and the consumers that wait for the next; on the node's thread.
///
/// It shares the batches' bytes with the store's machine, which keeps as many for repair. Consumers pull, so a slow one
/// costs nothing; what the window no longer holds when it comes back is `positionTooOld`.
///
/// The log of a replica can be replaced by another, and a number says nothing in that: a consumer that was busy
/// meanwhile would wait for the number after its own, or miss what stands before it. So it brings the generation that
/// its last answer had. One that had no answer yet brings the epoch of its entry, as far as it knows it.
package struct FeedDesk {
    private var window = ResendWindow()
    /// Where the window ends, also while it is empty.
    private var end: SequenceNumber = .zero
    /// Of the entry there; zero if that is not known.
    private var epoch: Epoch = .zero
    /// How often everything was replaced.
    private var generation: UInt64 = 0
    private var waiting: [Waiting] = []

    private struct Waiting {
        var id: UInt64
        var place: FeedPlace
        var resume: (Result<FeedAnswer, any Error>) -> Void
    }

    private static let batchesAtATime = 1_024
    private static let bytesAtATime = 4 << 20

    package init() {}

    /// Begins after what a journal held.
    package mutating func begin(_ window: ResendWindow, at position: Position) {
        self.window = window
        (end, epoch) = (position.sequence, position.epoch)
        serve()
    }

    package mutating func append(_ batches: [SealedBatch]) {
        for batch in batches { window.append(batch) }
        if let last = batches.last { (end, epoch) = (last.head.last, last.head.epoch) }
        serve()
    }

    /// A snapshot replaced everything, perhaps with another history: all consumers have missed something, or may have.
    ///
    /// One that waits is told at once, one that is busy when it comes back.
    package mutating func restart(at position: Position) {
        window.removeAll()
        (end, epoch) = (position.sequence, position.epoch)
        generation += 1
        let all = waiting
        waiting = []
        for consumer in all { consumer.resume(.failure(Self.replaced(consumer.place.sequence))) }
    }

    package mutating func request(
        _ id: UInt64, after place: FeedPlace, resume: @escaping (Result<FeedAnswer, any Error>) -> Void
    ) {
        guard waiting.count < Limits.waitingReads else {
            resume(.failure(LockstepError(.unavailable, "too many consumers wait at this store: try again later")))
            return
        }
        waiting.append(Waiting(id: id, place: place, resume: resume))
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

    private mutating func serve() {
        guard waiting.contains(where: { hasAnswer(for: $0.place) }) else { return }
        let all = waiting
        waiting = all.filter { !hasAnswer(for: $0.place) }
        for consumer in all where hasAnswer(for: consumer.place) { consumer.resume(answer(to: consumer.place)) }
    }

    private func hasAnswer(for place: FeedPlace) -> Bool { place.sequence < end || isOfAnotherLog(place) }

    private func answer(to place: FeedPlace) -> Result<FeedAnswer, any Error> {
        guard !isOfAnotherLog(place) else { return .failure(Self.replaced(place.sequence)) }
        // One that stopped within a batch gets that batch again, and leaves out what it has.
        let first = window.batch(containing: place.sequence.next)?.head.first.rawValue
        let after = first.map { SequenceNumber(rawValue: $0 - 1) } ?? place.sequence
        guard
            let batches = window.batches(
                after: after, through: SequenceNumber(rawValue: .max), bytes: Self.bytesAtATime)
        else { return .failure(Self.tooOld(place.sequence)) }
        return .success(FeedAnswer(batches: Array(batches.prefix(Self.batchesAtATime)), generation: generation))
    }

    /// Whether the consumer's entry is known not to be in this log.
    ///
    /// Epochs never fall along a log. So an entry at or after its end is of the end's epoch or a later one, and the number
    /// of an entry of a later epoch was no entry of an earlier one.
    private func isOfAnotherLog(_ place: FeedPlace) -> Bool {
        if let known = place.generation, known != generation { return true }
        guard let known = place.epoch else { return false }
        if place.sequence >= end { return known < epoch }
        return window.batch(containing: place.sequence).map { known < $0.head.epoch } ?? false
    }

    private static func tooOld(_ sequence: SequenceNumber) -> LockstepError {
        LockstepError(
            .positionTooOld,
            "the batches after \(sequence) are no longer held here: read the state and go on from its position")
    }

    private static func replaced(_ sequence: SequenceNumber) -> LockstepError {
        LockstepError(
            .positionTooOld,
            "the log with the entry \(sequence) was replaced here: read the state and go on from its position")
    }
}
