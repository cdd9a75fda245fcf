import Foundation
import GRDB
package import LockstepCore
import LockstepNode
import Synchronization

extension SQLiteJournal {
    /// See ``Journal/recover(snapshot:batch:)`` and ``ArbitratedJournal/recover(snapshot:batch:tail:)``.
    ///
    /// Three passes. First everything is verified through a connection that cannot write. Then the file is opened for
    /// writing and its write-ahead log copied and synced, because what was read may be in the system's cache only. Then
    /// the snapshot and the batches are read again, checked again, and handed out one at a time.
    ///
    /// A journal that was recovered is only verified and handed out, for a data node that was deposed: by the
    /// connection that writes, between two writes, since a snapshot may be in the middle of its save. Any other one
    /// would have no locks and would not see that the write-ahead log begins anew under it, and closing its descriptor
    /// would give up the writer's locks. The closures must not ask the journal for anything, which would wait for them.
    package func recover(
        snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void,
        tail: (SealedBatch) throws -> Void
    ) throws {
        let (phase, open) = state.withLock { ($0.phase, $0.database) }
        precondition(phase == .opened || phase == .recovered, "a journal is recovered before anything else")
        do {
            let verified: RecoveryCheck.Result? = try phase == .opened ? verifiedByReader() : nil
            let database = try open ?? openForWriting(.recovered)
            try database.writeWithoutTransaction { db in
                let found = try verified ?? verify(db)
                if phase == .opened {
                    try makeDurable(db)
                    try syncFolder(files.folder)
                    try adopt(found, db)
                }
                if let row = found.snapshot { try snapshot(try row.content(db, store: identity.store)) }
                try pruneQuarantine(db)
                let start = found.snapshot?.position ?? .start(of: identity.store)
                try handOut(after: start, db) { sealed in
                    if sealed.head.last <= found.committed { try batch(sealed) } else { try tail(sealed) }
                }
            }
        } catch let error as DatabaseError {
            throw LockstepError.journal(error, path: path)
        } catch let finding as JournalFinding {
            throw LockstepError(finding, path: path)
        }
    }

    /// What a connection that cannot write has verified, before the file is opened for writing.
    private func verifiedByReader() throws -> RecoveryCheck.Result {
        let reader = try SQLiteJournalReader(path: path, storeName: identity.storeName, lock: nil)
        let found = try reader.checkRecovery()
        try reader.close()
        return found
    }

    /// Verifies the same through the connection that writes, on the journal's queue.
    private func verify(_ db: Database) throws -> RecoveryCheck.Result {
        let meta = try reading(.meta, .zero) { try JournalMeta(from: db) }
        return try RecoveryCheck(store: identity.store, meta: meta, mark: SideMarkFile.read(path: files.mark)).run(db)
    }

    /// Opens the journal for an operator's repair, without verification.
    ///
    /// For notes, and for a recovery, which takes note itself of what the side mark says.
    package func openForRepair() throws {
        precondition(state.withLock { $0.phase } == .opened, "a journal is opened once")
        do {
            let database = try openForWriting(.repairing)
            try database.writeWithoutTransaction { db in
                let end = try JournalEnd.position(db, store: identity.store)
                state.withLock { $0.head = end }
            }
        } catch {
            throw LockstepError.journal(error, path: path)
        }
    }

    /// Opens journals for an operator's change that writes their side marks anew; all of them, or none.
    ///
    /// A new mark says that what is there is all that was acknowledged. So each journal is verified first, as before a
    /// start (PROTOCOL, R-46, R-47), and none is opened for writing before all of them were. Throws ``LockstepError``.
    package static func openVerified(_ journals: [SQLiteJournal]) throws {
        for journal in journals { try journal.checkStart() }
        for journal in journals { try journal.openForRepair() }
    }

    /// What the side mark says that the journal lacks; nil if a start would take it.
    ///
    /// Throws ``LockstepError`` for any other damage, which no new mark mends.
    package func whatIsMissing() throws -> JournalFinding? {
        do {
            try checkStart()
            return nil
        } catch {
            let finding = (error as? LockstepError)?.underlying as? JournalFinding ?? error as? JournalFinding
            guard let finding, finding.subject == .mark else { throw error }
            return finding
        }
    }

    private func checkStart() throws {
        let reader = try SQLiteJournalReader(path: path, storeName: identity.storeName, lock: nil)
        defer { try? reader.close() }  // Nothing was written.
        try reader.checkStart()
    }

    private func openForWriting(_ phase: Phase) throws -> DatabaseQueue {
        var configuration = JournalSchema.writerConfiguration(
            label: "lockstep.journal.write.\(identity.storeName)", isCreating: false)
        // The connection's queue runs on the journal's own, so that the mark's sync is in order with the writes.
        configuration.targetQueue = queue
        let database = try DatabaseQueue(path: path, configuration: configuration)
        let mark = try SideMarkFile(path: files.mark)
        state.withLock { state in
            state.phase = phase
            state.database = database
            state.mark = mark
        }
        return database
    }

    /// Copies the write-ahead log to the main file, with syncs; where there is no room for that, syncs the log.
    ///
    /// Nothing of the main file needs a sync then: SQLite begins a log anew only when the main file has all of it.
    private func makeDurable(_ db: Database) throws {
        do { _ = try db.checkpoint(.truncate) } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL
        {
            // SQLite's locks are on the main file, so that closing a descriptor of the log gives none of them up.
            let descriptor = open(path + "-wal", O_RDONLY | O_CLOEXEC)
            defer { if descriptor >= 0 { _ = Foundation.close(descriptor) } }
            guard descriptor >= 0, retrying({ fsync(descriptor) }) == 0 else {
                throw LockstepError(
                    .journalFailed,
                    "The write-ahead log of \(path) cannot be synced (\(systemMessage())). Check the disk, then start "
                        + "again.")
            }
        }
    }

    /// Takes over what the verification found.
    private func adopt(_ found: RecoveryCheck.Result, _ db: Database) throws {
        let keptBytes = try Int.fetchOne(db, sql: "SELECT coalesce(sum(length(bytes)), 0) FROM batches") ?? 0
        let mark = state.withLock { state -> (SideMarkFile?, SideMark) in
            state.head = found.end
            state.newestSnapshot = found.snapshot?.position.sequence ?? .zero
            state.batchBytes = found.batchBytes
            state.snapshotBytes = found.snapshot?.size ?? 0
            state.keptBytes = keptBytes
            return (state.mark, sideMark(state))
        }
        if found.isMarkStale { try mark.0?.reset(mark.1) }
    }

    private func handOut(after start: Position, _ db: Database, _ body: (SealedBatch) throws -> Void) throws {
        var chain = ChainCheck(store: identity.store, position: start)
        let rows = try Row.fetchCursor(db, sql: ChainCheck.query, arguments: [Int64(start.sequence.rawValue)])
        while let row = try reading(.batch, chain.position?.sequence.next ?? .zero, { try rows.next() }) {
            try body(try chain.next(row))
        }
    }

    /// The mark of the present state.
    func sideMark(_ state: borrowing State) -> SideMark {
        SideMark(incarnation: state.identity.incarnation, generation: state.generation, position: state.head)
    }
}

// MARK: - Verification beside the node's work

extension SQLiteJournal {
    /// Verifies, in small steps between the writes, what a start does not: older batches and snapshots.
    ///
    /// Both closures run on the journal's queue; `completion` gets what is wrong, and nil if the journal was closed or
    /// failed before the end.
    package func verifyOlder(
        progress: @escaping @Sendable (Int) -> Void, completion: @escaping @Sendable ([JournalFinding]?) -> Void
    ) {
        let newest = state.withLock { $0.newestSnapshot }
        verify(FullCheck(store: identity.store, through: newest), progress, completion)
    }

    package func verifyOlder(report: @escaping @Sendable ([String]) -> Void) {
        verifyOlder(progress: { _ in }) { (findings: [JournalFinding]?) in
            // A journal that closed or failed says so elsewhere.
            guard let findings, !findings.isEmpty else { return }
            report(findings.map(\.description))
        }
    }

    private func verify(
        _ check: FullCheck, _ progress: @escaping @Sendable (Int) -> Void,
        _ completion: @escaping @Sendable ([JournalFinding]?) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(nil) }
            var check = check
            do {
                guard try check.step(db, bytes: tuning.chunkBytes) else { return completion(check.findings) }
            } catch {
                return completion(nil)
            }
            progress(check.checkedBytes)
            verify(check, progress, completion)
        }
    }
}
