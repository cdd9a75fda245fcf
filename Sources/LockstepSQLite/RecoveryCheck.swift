import GRDB
import LockstepCore
import LockstepNode

/// The verification that comes before every start (PROTOCOL, R-46, R-47).
struct RecoveryCheck {
    let store: StoreID
    let meta: JournalMeta
    let mark: SideMarkFile.Content

    /// What may be handed out.
    struct Result: Sendable {
        var snapshot: SnapshotRow?
        var end: Position
        /// Through which the log is committed: the last batch, unless the journal is arbitrated.
        var committed: SequenceNumber
        /// Of the batches after the snapshot.
        var batchBytes: Int
        /// The newest file of the mark is not what it should be and is written anew.
        var isMarkStale: Bool
    }

    /// Checks the newest snapshot, every batch after it and the mark; throws ``JournalFinding``.
    ///
    /// Memory: one batch, or the snapshot.
    func run(_ db: Database) throws -> Result {
        // The mark follows what a recovery writes, so it no longer shows what was missing before.
        guard meta[.note(.recovering)] == nil else {
            throw JournalFinding(.meta, .zero, "its recovery was interrupted, and is to be repeated")
        }
        let snapshot = try SnapshotRow.fetchAll(db).first?.get()
        if let snapshot { _ = try snapshot.content(db, store: store) }
        let start = snapshot?.position ?? .start(of: store)
        let committed = try meta.arbitration()?.committed(snapshot: start.sequence)
        var chain = ChainCheck(store: store, position: start)
        var end = start
        var batchBytes = 0
        let wanted = try validMark(isEmpty: snapshot == nil && Self.isEmpty(db))
        var hashAtMark = wanted?.position.sequence == start.sequence ? start.hash : nil
        try reading(.batch, start.sequence.next) {
            let rows = try Row.fetchCursor(
                try db.cachedStatement(sql: ChainCheck.query), arguments: [Int64(start.sequence.rawValue)])
            while let row = try reading(.batch, end.sequence.next, { try rows.next() }) {
                let batch = try chain.next(row)
                if let committed, batch.head.first <= committed, committed < batch.head.last {
                    throw JournalFinding(.meta, committed, "it was committed, they say, but no batch ends there")
                }
                end = batch.position
                batchBytes += batch.bytes.count
                if end.sequence == wanted?.position.sequence { hashAtMark = batch.hash }
            }
        }
        if let wanted { try compare(wanted, start: start, end: end, hashAtMark: hashAtMark, db) }
        guard committed ?? .zero <= end.sequence else {
            throw JournalFinding(.meta, committed ?? .zero, "it was committed, they say, but the log ends at \(end)")
        }
        let isStale = wanted == nil || mark != .mark(current(end), isWhole: true)
        return Result(
            snapshot: snapshot, end: end, committed: committed ?? end.sequence, batchBytes: batchBytes,
            isMarkStale: isStale)
    }

    /// The mark that names this journal and generation; nil if there is rightly none.
    ///
    /// A crash between a replacement's commit and the mark's write leaves the generation before.
    private func validMark(isEmpty: Bool) throws -> SideMark? {
        switch mark {
        case .missing, .unreadable:
            guard isEmpty else {
                let text = mark == .missing ? "it is missing" : "neither of its slots can be read"
                throw JournalFinding(.mark, .zero, "\(text), so nothing shows whether the journal is whole")
            }
            return nil
        case .mark(let mark, _):
            guard mark.incarnation == meta.identity?.incarnation else {
                throw JournalFinding(.mark, mark.position.sequence, "it belongs to another journal")
            }
            let generation = meta.generation ?? 0
            if mark.generation == generation { return mark }
            guard mark.generation + 1 == generation else {
                throw JournalFinding(
                    .mark, mark.position.sequence,
                    "it is of generation \(mark.generation), the journal of \(generation): an older copy of one of them"
                )
            }
            return nil
        }
    }

    private func compare(
        _ mark: SideMark, start: Position, end: Position, hashAtMark: BatchHash?, _ db: Database
    ) throws {
        let sequence = mark.position.sequence
        guard sequence <= end.sequence else {
            throw JournalFinding(
                .mark, sequence,
                "a commit returned for \(mark.position), but the journal ends at \(end.sequence): the end of its "
                    + "write-ahead log is lost, or an older copy was put back")
        }
        let hash = try sequence < start.sequence ? storedHash(endingAt: sequence, db) : hashAtMark
        if sequence < start.sequence, hash == nil { return }
        guard hash == mark.position.hash else {
            let found = hash.map { "the journal has \($0) there" } ?? "no batch of the journal ends there"
            throw JournalFinding(.mark, sequence, "a commit returned for \(mark.position), but \(found)")
        }
    }

    /// The hash at a batch end before the newest snapshot; nil if that batch is no longer kept.
    private func storedHash(endingAt sequence: SequenceNumber, _ db: Database) throws -> BatchHash? {
        let row = try Row.fetchOne(
            try db.cachedStatement(
                sql: "SELECT last, hash FROM batches WHERE first <= ? ORDER BY first DESC LIMIT 1"),
            arguments: [Int64(sequence.rawValue)])
        guard let row else { return nil }
        guard row.sequence(0) == sequence else {
            throw JournalFinding(.mark, sequence, "no batch of the journal ends where a commit returned")
        }
        return row.number128(1).map(BatchHash.init(rawValue:))
    }

    private func current(_ end: Position) -> SideMark {
        SideMark(incarnation: meta.identity?.incarnation ?? .none, generation: meta.generation ?? 0, position: end)
    }

    private static func isEmpty(_ db: Database) throws -> Bool {
        try reading(.batch, .zero) {
            try Row.fetchOne(try db.cachedStatement(sql: "SELECT first FROM batches LIMIT 1")) == nil
        }
    }
}
