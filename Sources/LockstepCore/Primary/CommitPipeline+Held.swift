// What a primary still has of its log, uncommitted batches included: for its standbys (PROTOCOL, R-83, R-86).

extension CommitPipeline {
    /// The batches after the batch end `sequence`, up to `bytes` of them and at least one, if there is one.
    ///
    /// Nil if the window no longer holds the next one. Cost: a binary search, and what is returned.
    package func batches(after sequence: SequenceNumber, bytes: Int) -> [SealedBatch]? {
        if sequence < committed.position.sequence {
            return window.batches(after: sequence, through: committed.position.sequence, bytes: bytes)
        }
        var selected: [SealedBatch] = []
        var size = 0
        for stage in [persisted, atJournal, sealed] {
            for batch in stage[Self.index(after: sequence, in: stage)...] {
                guard selected.isEmpty || size + batch.bytes.count <= bytes else { return selected }
                selected.append(batch)
                size += batch.bytes.count
            }
        }
        return selected
    }

    /// The hash at the end of a batch that ends with `sequence`; nil if none does, or it is not held any more.
    package func hash(at sequence: SequenceNumber) -> BatchHash? {
        if sequence == committed.position.sequence { return committed.position.hash }
        guard sequence > committed.position.sequence else { return window.hash(at: sequence) }
        for stage in [persisted, atJournal, sealed] {
            let index = Self.index(after: sequence, in: stage)
            if index > 0, stage[index - 1].head.last == sequence { return stage[index - 1].hash }
        }
        return nil
    }

    /// The last end of a batch at or before `sequence`, as far as it is held.
    package func batchEnd(atOrBefore sequence: SequenceNumber) -> (sequence: SequenceNumber, hash: BatchHash)? {
        for stage in [sealed, atJournal, persisted] {
            let index = Self.index(after: sequence, in: stage)
            if index > 0 { return (stage[index - 1].head.last, stage[index - 1].hash) }
        }
        guard sequence < committed.position.sequence else {
            return (committed.position.sequence, committed.position.hash)
        }
        guard let batch = window.batch(containing: sequence) else {
            // Before the first that is held there is still the end that it follows.
            let before = window.first.map { SequenceNumber(rawValue: $0.head.first.rawValue - 1) }
            return before == sequence ? window.first.map { (sequence, $0.head.previous) } : nil
        }
        if batch.head.last == sequence { return (sequence, batch.hash) }
        return (SequenceNumber(rawValue: batch.head.first.rawValue - 1), batch.head.previous)
    }

    /// The first end of a batch after which everything is held.
    package var oldestEnd: SequenceNumber {
        window.first.map { SequenceNumber(rawValue: $0.head.first.rawValue - 1) } ?? committed.position.sequence
    }

    /// Where in a stage, which is in order and without holes, the batches begin that end after `sequence`.
    private static func index(after sequence: SequenceNumber, in stage: [SealedBatch]) -> Int {
        var (low, high) = (0, stage.count)
        while low < high {
            let middle = (low + high) / 2
            if stage[middle].head.last <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
