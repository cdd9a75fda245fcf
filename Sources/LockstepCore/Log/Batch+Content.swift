extension SealedBatch {
    /// Whether the batch begins an epoch (PROTOCOL, R-5).
    package var opensEpoch: Bool {
        guard case .epochOpen = firstEntry else { return false }
        return true
    }

    /// Whether it holds anything but the opening of an epoch and marks: something that somebody may have been told.
    ///
    /// What cannot be read counts as such. Cost: one entry, of nearly every batch.
    package var tellsSomething: Bool {
        withBytes(of: bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0 {
                // An entry that cannot be read is answered with "yes", the careful side.
                guard let entry = try? Entry(from: bytes, &reader) else { return true }
                switch entry {
                case .epochOpen, .digestMark: continue
                case .actions, .sessionOpen, .sessionClose, .sessionExpire, .sessionAck, .clockJump, .accepted,
                    .emitted, .finished, .runAck:
                    return true
                }
            }
            return false
        }
    }

    private var firstEntry: Entry? {
        withBytes(of: bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            // A batch without entries, or one that cannot be read, opens nothing.
            return try? Entry(from: bytes, &reader)
        }
    }
}

extension LogState {
    /// The end of the last batch that tells anything; what follows it was never told to anybody (PROTOCOL, R-40, R-41).
    ///
    /// `window` ends with this log. What lies before it counts as told. Cost: one entry of each batch that tells nothing.
    func told(in window: ResendWindow) -> KnownPosition {
        guard position.sequence > .zero else { return .none }
        var end = known
        for batch in window.newestFirst {
            guard !batch.tellsSomething else { return end }
            let sequence = SequenceNumber(rawValue: batch.head.first.rawValue - 1)
            guard sequence > .zero else { return .none }
            let owner = epochEnds.first { $0.sequence >= sequence }
            end = KnownPosition(
                position: Position(
                    epoch: owner?.epoch ?? position.epoch, sequence: sequence, hash: batch.head.previous),
                boot: owner?.boot ?? boot)
        }
        return end
    }
}
