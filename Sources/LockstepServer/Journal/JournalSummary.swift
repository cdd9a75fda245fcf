import LockstepCore
import LockstepNode
import LockstepSQLite

/// What `journal inspect` shows of one store.
struct JournalSummary: Encodable {
    struct Snapshot: Encodable {
        var sequence: UInt64
        var hash: String
        var bytes: Int
    }
    var store: String
    var cluster: String
    var storeID: String
    var channel: Int
    var incarnation: String
    var end: String
    var mark: String?
    var snapshots: [Snapshot]
    var batches: Int
    var batchBytes: Int
    /// Entries that were taken out of the log, and their batches; `journal dump --kept-aside` prints them.
    var keptAside: UInt64
    var keptAsideBatches: Int
    /// The same, one for each time at which some were taken out; nil if there are none.
    var quarantine: [QuarantineSummary]?
    /// Of a data node's journal; nil if it is not arbitrated.
    var arbitration: ArbitrationSummary?
    var notes: [String: String]

    init(_ reader: SQLiteJournalReader) throws {
        var count = 0
        var bytes = 0
        try reader.batches(after: .zero) { batch in
            count += 1
            bytes += batch.bytes.count
        }
        store = reader.identity.storeName
        cluster = "\(reader.identity.cluster)"
        storeID = "\(reader.identity.store)"
        channel = Int(reader.identity.channel.rawValue)
        incarnation = "\(reader.identity.incarnation)"
        end = "\(try reader.end())"
        mark = reader.mark.map { "\($0.position)" }
        snapshots = try reader.snapshots().map {
            Snapshot(sequence: $0.position.sequence.rawValue, hash: "\($0.position.hash)", bytes: $0.bytes)
        }
        batches = count
        batchBytes = bytes
        let kept = try reader.quarantined()
        keptAside = kept.reduce(0) { $0 + $1.entryCount }
        keptAsideBatches = kept.count
        quarantine = kept.isEmpty ? nil : QuarantineSummary.all(kept)
        arbitration = try ArbitrationSummary(reader)
        notes = [:]
        for note in JournalNote.allCases { notes[note.rawValue] = reader.note(note) }
    }

    var lines: [String] {
        var lines = [
            "store        \(store), channel \(channel)", "cluster      \(cluster)", "incarnation  \(incarnation)",
            "end          \(end)", "side mark    \(mark ?? "none")",
        ]
        lines += snapshots.map { "snapshot     at \($0.sequence), \($0.bytes) bytes" }
        lines.append("batches      \(batches), \(batchBytes) bytes")
        lines += arbitration?.lines ?? []
        if keptAsideBatches > 0 {
            lines.append("kept aside   \(keptAside) entries that only this journal had, in \(keptAsideBatches) batches")
            lines += (quarantine ?? []).map { "             \($0)" }
        }
        lines += notes.sorted { $0.key < $1.key }.map { "note         \($0.key): \($0.value)" }
        return lines
    }
}
