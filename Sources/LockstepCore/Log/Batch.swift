/// The first 64 bytes of a batch (PROTOCOL, section 5).
package struct BatchHead: Hashable, Sendable {
    package var store: StoreID
    package var epoch: Epoch
    package var first: SequenceNumber
    package var last: SequenceNumber
    package var time: LogTime
    package var previous: BatchHash

    package static let byteCount = 64

    package init(
        store: StoreID, epoch: Epoch, first: SequenceNumber, last: SequenceNumber, time: LogTime, previous: BatchHash
    ) {
        self.store = store
        self.epoch = epoch
        self.first = first
        self.last = last
        self.time = time
        self.previous = previous
    }

    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        store = StoreID(rawValue: try reader.read128(from: bytes))
        epoch = Epoch(rawValue: try reader.read(from: bytes))
        first = SequenceNumber(rawValue: try reader.read(from: bytes))
        last = SequenceNumber(rawValue: try reader.read(from: bytes))
        time = LogTime(rawValue: try reader.read(from: bytes))
        previous = BatchHash(rawValue: try reader.read128(from: bytes))
        guard first > .zero, last >= first, last.rawValue < UInt64(Int64.max), epoch.rawValue < UInt64(Int64.max) else {
            throw WireError(.outOfRange, at: start + 24)
        }
    }

    package func write(to writer: inout ByteWriter) {
        writer.write128(store.rawValue)
        writer.write(epoch.rawValue)
        writer.write(first.rawValue)
        writer.write(last.rawValue)
        writer.write(time.rawValue)
        writer.write128(previous.rawValue)
    }
}

/// A batch that grows no more: the same bytes are its journal row, its broadcast and its repair (PROTOCOL, R-7).
package struct SealedBatch: Hashable, Sendable {
    package let head: BatchHead
    package let hash: BatchHash
    /// Head and entries.
    package let bytes: [UInt8]

    package init(head: BatchHead, hash: BatchHash, bytes: [UInt8]) {
        self.head = head
        self.hash = hash
        self.bytes = bytes
    }

    /// Reads the head and computes the hash; the entries are checked when they are applied.
    package init(bytes: [UInt8]) throws(WireError) {
        head = try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            return try BatchHead(from: span, &reader)
        }
        hash = BatchHash(rawValue: sha256Prefix(bytes))
        self.bytes = bytes
    }

    /// The position at the end of the batch.
    package var position: Position { Position(epoch: head.epoch, sequence: head.last, hash: hash) }
}
