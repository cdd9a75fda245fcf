import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

/// How the tail of an arbitrated journal is cut off (PROTOCOL, R-84).
///
///     1. One transaction moves the batches aside and raises the generation. It is synced.
///     2. Both slots of the side mark are written, with the new end and generation, and synced.
///     3. The completion is called.
///
/// A crash after 1 leaves a mark that is one generation behind. A start knows that from replacements: such a mark is of
/// before, says nothing of what must be there, and is written anew. A crash before the end of 1 leaves the log uncut.
/// Nothing is appended between 1 and 2, since the queue does one write at a time.
extension SQLiteJournal {
    /// See ``ArbitratedJournal/truncate(after:reason:completion:)``.
    ///
    /// Cost: the bytes that are cut are written once more; two syncs.
    package func truncate(
        after end: Position, reason: String,
        completion: @escaping @Sendable (Result<CutBatches, TruncationFailure>) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.write(.failed(refusal)))) }
            let result = cut(after: end, reason: JournalQuarantine.cutPrefix + reason, db)
            completion(result)
            if case .success = result { checkpointIfDue(db) }
        }
    }

    private func cut(after end: Position, reason: String, _ db: Database) -> Result<CutBatches, TruncationFailure> {
        // A snapshot that is being saved holds nothing but what is committed, too.
        let (arbitration, snapshot, old) = state.withLock { state in
            (state.arbitration, max(state.newestSnapshot, state.savingAt), state.head)
        }
        guard let arbitration else { preconditionFailure("only an arbitrated journal is cut") }
        let committed = arbitration.committed(snapshot: snapshot)
        guard end.sequence >= committed else { return .failure(.committed(through: committed)) }
        do {
            guard try isEnd(end, db) else { return .failure(.noEnd(end)) }
            guard end != old else { return .success(CutBatches(batches: 0, end: end)) }
            let generation = state.withLock { $0.generation } + 1
            var count = 0
            var bytes = 0
            try transaction(db) {
                try db.execute(sql: Self.pruning, arguments: Self.pruned)
                bytes = try Self.bytes(after: end.sequence, db)
                count = try Self.setAside(after: end.sequence, reason: reason, db)
                try JournalMeta.write(String(generation), for: .generation, to: db)
            }
            try moved(backTo: end, generation: generation, cutBytes: bytes)
            return .success(CutBatches(batches: count, end: end))
        } catch {
            return .failure(.write(failure(for: error)))
        }
    }

    /// Takes note of a cut that is durable, and makes the side mark follow.
    private func moved(backTo end: Position, generation: UInt64, cutBytes: Int) throws {
        let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
            state.generation = generation
            state.head = end
            state.batchBytes -= cutBytes
            state.keptBytes -= cutBytes
            state.walBytes += cutBytes + 8 * JournalSchema.pageBytes
            return (state.mark, sideMark(state))
        }
        try file?.reset(mark)
    }

    private static func bytes(after sequence: SequenceNumber, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db, sql: "SELECT coalesce(sum(length(bytes)), 0) FROM batches WHERE first > ?",
            arguments: [Int64(sequence.rawValue)]) ?? 0
    }

    /// Moves every batch after a place from the log to the quarantine, in the transaction that is under way; how many
    /// those were.
    static func setAside(after sequence: SequenceNumber, reason: String, _ db: Database) throws -> Int {
        let sequence = Int64(sequence.rawValue)
        try db.execute(
            sql: """
                INSERT INTO quarantine(moved, reason, first, last, epoch, hash, bytes)
                SELECT ?, ?, first, last, epoch, hash, bytes FROM batches WHERE first > ? ORDER BY first
                """, arguments: [MonotonicClock.wall.rawValue / 1_000_000, reason, sequence])
        let count = db.changesCount
        try db.execute(sql: "DELETE FROM batches WHERE first > ?", arguments: [sequence])
        return count
    }

    // MARK: - The end of the quarantine

    /// What an operator's recovery has set aside is not touched.
    private static let pruning = "DELETE FROM quarantine WHERE moved < ? AND substr(reason, 1, ?) = ?"

    private static var pruned: StatementArguments {
        let prefix = JournalQuarantine.cutPrefix
        return [JournalQuarantine.expiry, prefix.count, prefix]
    }

    /// Takes away what was cut long ago; at the start of an arbitrated journal.
    ///
    /// It writes nothing if nothing is that old. A full disk only puts it off.
    func pruneQuarantine(_ db: Database) throws {
        guard arbitration != nil else { return }
        let isDue = try Row.fetchOne(
            db, sql: "SELECT 1 FROM quarantine WHERE moved < ? AND substr(reason, 1, ?) = ? LIMIT 1",
            arguments: Self.pruned)
        guard isDue != nil else { return }
        do {
            try transaction(db) { try db.execute(sql: Self.pruning, arguments: Self.pruned) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            return
        }
    }
}
