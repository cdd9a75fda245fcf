import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepSQLite
import SearchCache

/// One entry of a journal as `journal dump` prints it.
struct EntryRecord: Encodable {
    var store: String
    var sequence: UInt64
    var epoch: UInt64
    var time: Int64
    var kind: String
    /// The hash at the end of the batch that holds the entry.
    var batchHash: String
    var session: String?
    var number: UInt64?
    var status: String?
    /// Decoded if they are the counters' or the searches', else in hexadecimal.
    var mutations: [String]?
    var reply: String?
    var detail: String?
    /// Why the entry was taken out of the log and kept aside; nil if it is in the log.
    var keptAside: String?
    /// When that was, in seconds since 1970.
    var keptAsideAt: Int64?

    init(store: String, sequence: UInt64, epoch: UInt64, time: Int64, kind: String, batchHash: String) {
        self.store = store
        self.sequence = sequence
        self.epoch = epoch
        self.time = time
        self.kind = kind
        self.batchHash = batchHash
    }
}

struct EntryDump {
    /// Whose entries they are: a mutation is decoded by its own reactor only.
    let store: String

    /// The entries of a batch that was kept aside, in order; one record without content if it cannot be decoded.
    func records(of kept: QuarantinedBatch) -> [EntryRecord] {
        // It may have been kept aside because it is damaged.
        let batches = kept.batch.map { [$0] } ?? []
        var records = (try? batches.flatMap { try self.records(of: $0) }) ?? []
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
    func records(of batch: SealedBatch) throws -> [EntryRecord] {
        try withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            var sequence = batch.head.first
            var records: [EntryRecord] = []
            while reader.remaining > 0 {
                let entry = try Entry(from: bytes, &reader)
                if case .actions(let run) = entry {
                    records += try actions(of: run, bytes, at: sequence, in: batch)
                } else {
                    records.append(other(entry, at: sequence, in: batch))
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
            record.mutations = try mutations(bytes, item)
            let reply = copyBytes(of: bytes, item.reply)
            record.reply = item.status == .rejected ? String(decoding: reply, as: UTF8.self) : Self.hexadecimal(reply)
            return record
        }
    }

    private func mutations(_ bytes: RawSpan, _ item: Item) throws -> [String] {
        var reader = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
        return try (0..<item.mutationCount).map { _ in
            let range = try reader.readRange(from: bytes)
            // What is of no reactor that this program knows is shown as its bytes.
            switch store {
            case Hosted.counters:
                var content = ByteReader(offset: range.lowerBound, end: range.upperBound)
                if let mutation = try? Counters.Mutation(from: bytes, &content), content.remaining == 0 {
                    return "\(mutation)"
                }
            case Hosted.search:
                let isReadable = (try? SearchCache.mutationCoding.decode(bytes, range)) != nil
                if isReadable { return String(decoding: copyBytes(of: bytes, range), as: UTF8.self) }
            default: break
            }
            return Self.hexadecimal(copyBytes(of: bytes, range))
        }
    }

    private func other(_ entry: Entry, at sequence: SequenceNumber, in batch: SealedBatch) -> EntryRecord {
        var record = self.record("", at: sequence.rawValue, in: batch)
        switch entry {
        case .actions: record.kind = "action"
        case .epochOpen(let node, let incarnation, let boot):
            record.kind = "epochOpen"
            record.detail = "node \(node), incarnation \(incarnation), boot \(boot)"
        case .sessionOpen(let open):
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
        case .accepted(let session, let number, _, _):
            record.kind = "accepted"
            record.session = "\(session)"
            record.number = number
        case .emitted(let cause, _):
            record.kind = "emitted"
            record.detail = "\(cause)"
        case .finished(let session, let number, _):
            record.kind = "finished"
            record.session = "\(session)"
            record.number = number
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

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
