import DequeModule

/// The recent batches that a node keeps in memory for repair, with their hashes (PROTOCOL, R-34).
package struct ResendWindow: Hashable, Sendable {
    private var batches: Deque<SealedBatch> = []
    private var byteCount = 0
    private let capacity: Int

    package init(capacity: Int = Limits.resendWindowBytes) { self.capacity = capacity }

    package var isEmpty: Bool { batches.isEmpty }
    package var first: SealedBatch? { batches.first }
    package var last: SealedBatch? { batches.last }

    /// Adds the next batch and drops the oldest beyond the capacity; the newest always stays.
    package mutating func append(_ batch: SealedBatch) {
        if let last = batches.last { precondition(batch.head.previous == last.hash, "the window has no holes") }
        batches.append(batch)
        byteCount += batch.bytes.count
        shrink(to: capacity)
    }

    /// Drops the oldest batches beyond `bytes`; the newest always stays.
    package mutating func shrink(to bytes: Int) {
        while byteCount > bytes, batches.count > 1 { byteCount -= batches.removeFirst().bytes.count }
    }

    /// What an entry takes on average; 0 of none.
    package var bytesOfEntry: UInt64 {
        guard let first, let last else { return 0 }
        return UInt64(byteCount) / (last.head.last.rawValue - first.head.first.rawValue + 1)
    }

    /// Cuts off the batches after the end `sequence`, which may be before all that is held.
    package mutating func removeLast(after sequence: SequenceNumber) {
        while let last = batches.last, last.head.last > sequence {
            byteCount -= last.bytes.count
            batches.removeLast()
        }
    }

    package mutating func removeAll() {
        batches.removeAll()
        byteCount = 0
    }

    /// The hash at the end of the batch that ends with `sequence`, if that batch, or the one after it, is here.
    package func hash(at sequence: SequenceNumber) -> BatchHash? {
        if let first = batches.first, first.head.first == sequence.next { return first.head.previous }
        guard let index = index(containing: sequence), batches[index].head.last == sequence else { return nil }
        return batches[index].hash
    }

    /// The batch that holds `sequence`.
    package func batch(containing sequence: SequenceNumber) -> SealedBatch? {
        index(containing: sequence).map { batches[$0] }
    }

    /// The batches after the batch end `sequence`, up to `bytes` of them and at least one; nil if they are not held.
    package func batches(after sequence: SequenceNumber, through last: SequenceNumber, bytes: Int) -> [SealedBatch]? {
        guard let start = index(containing: sequence.next), batches[start].head.first == sequence.next else {
            return nil
        }
        var selected: [SealedBatch] = []
        var size = 0
        for batch in batches[start...] {
            guard selected.isEmpty || (size + batch.bytes.count <= bytes && batch.head.first <= last) else { break }
            selected.append(batch)
            size += batch.bytes.count
        }
        return selected
    }

    /// Binary search: the batches are in order and without holes.
    private func index(containing sequence: SequenceNumber) -> Int? {
        var low = 0
        var high = batches.count
        while low < high {
            let middle = (low + high) / 2
            if batches[middle].head.last < sequence { low = middle + 1 } else { high = middle }
        }
        guard low < batches.count, batches[low].head.first <= sequence else { return nil }
        return low
    }
}
