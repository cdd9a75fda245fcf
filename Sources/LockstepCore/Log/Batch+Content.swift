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
                if entry.tellsSomething { return true }
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
