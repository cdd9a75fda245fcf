package import LockstepCore
package import LockstepSQLite

/// The entries of a store's journal as `journal dump` prints them.
package struct EntryDump {
    /// Whose entries they are.
    let store: String
    /// Reads them by the types of the store's own reactor; nil for a store that the program does not know.
    let decoding: StoreDecoding?
    /// Who opened the sessions that were come to so far.
    private var names: SenderNames

    /// Begins where these sessions are open.
    package init(store: String, decoding: StoreDecoding?, names: SenderNames = SenderNames()) {
        self.store = store
        self.decoding = decoding
        self.names = names
    }

    /// Begins after a place of a journal, and knows who opened the sessions that are open there.
    ///
    /// Cost: it reads the newest snapshot at or below the place, and the batches from there on.
    package init(_ reader: SQLiteJournalReader, decoding: StoreDecoding?, after place: SequenceNumber) throws {
        var names = SenderNames()
        if place > .zero {
            var start = SequenceNumber.zero
            if let snapshot = try reader.snapshot(atOrBelow: place) {
                names = SenderNames(of: snapshot.log)
                start = snapshot.log.position.sequence
            }
            try reader.batches(after: start, through: place) { try Self.note($0, through: place, in: &names) }
        }
        self.init(store: reader.identity.storeName, decoding: decoding, names: names)
    }

    private static func note(
        _ batch: SealedBatch, through place: SequenceNumber, in names: inout SenderNames
    ) throws {
        try withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            var sequence = batch.head.first
            while reader.remaining > 0, sequence <= place {
                let entry = try Entry(from: bytes, &reader)
                names.note(entry, at: Place(epoch: batch.head.epoch, sequence: sequence))
                sequence = sequence.advanced(by: entry.sequenceCount)
            }
        }
    }

    /// The entries of a batch that was kept aside, in order; one record without content if it cannot be decoded.
    package mutating func records(of kept: QuarantinedBatch) -> [EntryRecord] {
        // It may have been kept aside because it is damaged.
        let batches = kept.batch.map { [$0] } ?? []
        var records: [EntryRecord] = []
        for batch in batches { records += (try? self.records(of: batch)) ?? [] }
        if records.isEmpty {
            var record = EntryRecord(
                store: store, sequence: kept.first, epoch: 0, time: 0, kind: "unreadable", batchHash: "")
            record.detail = "entries \(kept.first) to \(kept.last) cannot be decoded"
            records = [record]
        }
        return records.map { record in
            var record = record
            record.keptAside = kept.reason
            record.keptAsideAt = kept.movedAt
            return record
        }
    }

    /// The entries of a batch, in order.
    package mutating func records(of batch: SealedBatch) throws -> [EntryRecord] {
        try withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            var sequence = batch.head.first
            var records: [EntryRecord] = []
            while reader.remaining > 0 {
                let entry = try Entry(from: bytes, &reader)
                names.note(entry, at: Place(epoch: batch.head.epoch, sequence: sequence))
                if case .actions(let run) = entry {
                    records += try actions(of: run, bytes, at: sequence, in: batch)
                } else {
                    records.append(try other(entry, bytes, at: sequence, in: batch))
                }
                sequence = SequenceNumber(rawValue: sequence.rawValue + UInt64(entry.sequenceCount))
            }
            return records
        }
    }

    private func actions(
        of run: ActionSeries, _ bytes: RawSpan, at first: SequenceNumber, in batch: SealedBatch
    ) throws -> [EntryRecord] {
        var items = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        return try (0..<run.count).map { index in
            let item = try Item(from: bytes, &items)
            var record = self.record("action", at: first.rawValue + UInt64(index), in: batch)
            record.session = "\(run.session)"
            record.number = run.first + UInt64(index)
            record.status = "\(item.status)"
            record.sender = names[run.session]
            try show(item, bytes, in: &record)
            return record
        }
    }

    private func show(_ item: Item, _ bytes: RawSpan, in record: inout EntryRecord) throws {
        var reader = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
        let parts = try parts(item.mutationCount, bytes, &reader)
        record.show(mutations: parts, by: decoding)
        record.show(reply: copyBytes(of: bytes, item.reply), item.status, by: decoding)
    }

    private func parts(_ count: Int, _ bytes: RawSpan, _ reader: inout ByteReader) throws -> [[UInt8]] {
        try (0..<count).map { _ in copyBytes(of: bytes, try reader.readRange(from: bytes)) }
    }

    private func other(
        _ entry: Entry, _ bytes: RawSpan, at sequence: SequenceNumber, in batch: SealedBatch
    ) throws -> EntryRecord {
        var record = self.record("", at: sequence.rawValue, in: batch)
        switch entry {
        case .actions: record.kind = "action"
        case .epochOpen(let node, let incarnation, let boot):
            record.kind = "epochOpen"
            record.detail = "node \(node), incarnation \(incarnation), boot \(boot)"
        case .sessionOpen(let open, let sender):
            record.sender = sender
            record.kind = "sessionOpen"
            record.session = "\(SessionID(epoch: batch.head.epoch, sequence: sequence))"
            record.detail = "client \(open.client), time to live \(open.timeToLive) us"
        case .sessionClose(let session):
            record.kind = "sessionClose"
            record.session = "\(session)"
        case .sessionExpire(let sessions):
            record.kind = "sessionExpire"
            record.detail = sessions.map(\.description).joined(separator: " ")
        case .sessionAck(let acknowledgements):
            record.kind = "sessionAck"
            record.detail = acknowledgements.map { "\($0.session) through \($0.through)" }.joined(separator: ", ")
        case .digestMark(let digest):
            record.kind = "digestMark"
            record.detail = "\(digest)"
        case .clockJump(let time):
            record.kind = "clockJump"
            record.detail = "\(time)"
        case .accepted(let session, let number, _, let action):
            record.kind = "accepted"
            record.session = "\(session)"
            record.sender = names[session]
            record.number = number
            record.show(action: copyBytes(of: bytes, action), by: decoding)
        case .emitted(let cause, let range):
            record.kind = "emitted"
            record.detail = "\(cause)"
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let count = Int(clamping: try reader.readVarint(from: bytes))
            guard count <= reader.remaining else { throw WireError(.outOfRange, at: range.lowerBound) }
            record.show(mutations: try parts(count, bytes, &reader), by: decoding)
        case .finished(let session, let number, let range):
            record.kind = "finished"
            record.session = "\(session)"
            record.number = number
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let item = try Item(from: bytes, &reader)
            record.status = "\(item.status)"
            try show(item, bytes, in: &record)
        case .runAck(let runs):
            record.kind = "runAck"
            record.detail = runs.map(\.description).joined(separator: " ")
        }
        return record
    }

    private func record(_ kind: String, at sequence: UInt64, in batch: SealedBatch) -> EntryRecord {
        EntryRecord(
            store: store, sequence: sequence, epoch: batch.head.epoch.rawValue, time: batch.head.time.rawValue,
            kind: kind,
            batchHash: "\(batch.hash)")
    }
}
