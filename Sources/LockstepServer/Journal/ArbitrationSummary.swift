import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite

/// What a data node's journal knows besides its batches, as `journal inspect` shows it (PROTOCOL, R-84, R-85).
struct ArbitrationSummary: Encodable {
    /// What the arbiter was last seen to say of the store.
    struct Arbiter: Encodable {
        var revision: Int64
        var number: UInt64
        var epoch: UInt64
    }

    /// The end at adoption, or of the snapshot that has replaced everything since.
    var adopted: String
    /// Through which the log is known to be committed.
    var committed: UInt64
    /// The epoch that the node has promised to; nil if it has promised none.
    var promised: UInt64?
    var arbiter: Arbiter
    var tail: TailSummary

    /// Nil for a journal that is not arbitrated.
    init?(_ reader: SQLiteJournalReader) throws {
        guard let arbitration = reader.arbitration, let committed = try reader.commitNumber() else { return nil }
        adopted = "\(arbitration.adopted)"
        self.committed = committed.rawValue
        promised = arbitration.promised?.rawValue
        let known = arbitration.arbiter
        arbiter = Arbiter(revision: known.revision, number: known.number, epoch: known.epoch.rawValue)
        tail = try TailSummary(reader)
    }

    var lines: [String] {
        let said =
            arbiter.number == 0
            ? "nothing yet" : "record \(arbiter.number) of epoch \(arbiter.epoch), revision \(arbiter.revision)"
        return [
            "arbitrated   since \(adopted)", "committed    through \(committed)", "tail         \(tail)",
            "promise      \(promised.map { "epoch \($0)" } ?? "none")", "arbiter      \(said)",
        ]
    }
}

/// The end of a log that is not known to be committed.
struct TailSummary: Encodable, CustomStringConvertible {
    var batches = 0
    var bytes = 0
    /// Where it ends; nil if there is none.
    var end: String?

    init(_ reader: SQLiteJournalReader) throws {
        var (count, size): (Int, Int) = (0, 0)
        var last: Position?
        try reader.tail { batch in
            count += 1
            size += batch.bytes.count
            last = batch.position
        }
        (batches, bytes, end) = (count, size, last.map { "\($0)" })
    }

    var description: String {
        guard let end else { return "nothing uncommitted" }
        return "\(batches) batches that may not be committed, \(bytes) bytes, through \(end)"
    }
}

/// Entries that were taken out of the log together.
struct QuarantineSummary: Encodable, CustomStringConvertible {
    var first: UInt64
    var last: UInt64
    /// Of the first batch and of the last.
    var firstEpoch: UInt64
    var lastEpoch: UInt64
    var batches: Int
    var reason: String
    /// In seconds since 1970.
    var movedAt: Int64

    /// What was kept aside, in the order of moving; batches that follow each other and were moved together are one.
    static func all(_ kept: [QuarantinedBatch]) -> [QuarantineSummary] {
        var parts: [QuarantineSummary] = []
        for batch in kept {
            if let part = parts.last, part.reason == batch.reason, part.movedAt == batch.movedAt,
                batch.first == part.last &+ 1
            {
                parts[parts.count - 1].last = batch.last
                parts[parts.count - 1].lastEpoch = batch.epoch
                parts[parts.count - 1].batches += 1
            } else {
                parts.append(
                    QuarantineSummary(
                        first: batch.first, last: batch.last, firstEpoch: batch.epoch, lastEpoch: batch.epoch,
                        batches: 1, reason: batch.reason, movedAt: batch.movedAt))
            }
        }
        return parts
    }

    var description: String {
        let epochs = firstEpoch == lastEpoch ? "epoch \(firstEpoch)" : "epochs \(firstEpoch) to \(lastEpoch)"
        let time = Date(timeIntervalSince1970: TimeInterval(movedAt)).formatted(.iso8601)
        return "\(first) to \(last) of \(epochs), \(batches) batches, at \(time): \(reason)"
    }
}
