import Foundation
import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

/// Reads a journal that no node has open, for the command line: it never writes, and never checkpoints.
///
/// Calls block the caller's thread.
package final class SQLiteJournalReader: Sendable {
    package let path: String
    package let identity: JournalIdentity
    let meta: JournalMeta
    /// What the journal knows besides its batches; nil if it is not arbitrated.
    package let arbitration: JournalArbitration?
    private let database: DatabaseQueue
    private let lock: Mutex<FolderLock?>

    /// Opens the journal of a store; throws ``LockstepError``.
    package convenience init(folder: String, storeName: String) throws {
        let lock = try FolderLock.shared(folder: folder)
        let path = try JournalFiles(folder: folder, storeName: storeName).database
        guard FileManager.default.fileExists(atPath: path) else { throw Self.missing(path) }
        try self.init(path: path, storeName: storeName, lock: lock)
    }

    init(path: String, storeName: String, lock: FolderLock?) throws {
        self.path = path
        self.lock = Mutex(lock)
        do {
            database = try DatabaseQueue(
                path: JournalSchema.readerPath(path),
                configuration: JournalSchema.readerConfiguration(label: "lockstep.journal.read"))
            (meta, arbitration) = try database.read { db in
                let version = try Self.checkHeader(db, path: path)
                let meta = try reading(.meta, .zero) { try JournalMeta(from: db) }
                return (meta, try meta.arbitration(version: version))
            }
            guard let identity = meta.identity, meta.generation != nil else {
                throw JournalFinding(.meta, .zero, "the journal does not say what it belongs to")
            }
            self.identity = identity
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            // A rollback journal is there from the moment of creation only, before the write-ahead log is switched on.
            throw Self.interruptedCreation(path)
        } catch {
            throw LockstepError.journal(error, path: path)
        }
        guard identity.storeName == storeName else {
            throw LockstepError(
                .journalForeign,
                "\(path) is the journal of store \(identity.storeName), not of \(storeName). Was the file renamed?")
        }
    }

    /// The stores that have a journal in a folder, in order of their names.
    package static func stores(in folder: String) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return names.filter { $0.hasSuffix(JournalFiles.databaseSuffix) }
            .map { String($0.dropLast(JournalFiles.databaseSuffix.count)) }.sorted()
    }

    /// What to do about a journal that its folder had, and that is gone.
    package static let wayOut =
        "put its file back; if that is lost, `lockstep recover --from NODE` makes a primary's journal anew, and the "
        + "folder of a replica or a data node is made anew: move it away, and run `lockstep init`"

    /// The error of a journal that is not there.
    static func missing(_ path: String) -> LockstepError {
        lost(path)
            ?? LockstepError(
                .journalMissing,
                "There is no journal \(path). If the folder never had that store, run `lockstep init --add`; else "
                    + "\(wayOut).")
    }

    private static func interruptedCreation(_ path: String) -> LockstepError {
        lost(path)
            ?? LockstepError(
                .journalMissing,
                "The journal \(path) is empty: its creation was interrupted. Run `lockstep init` again; if its node "
                    + "has run, \(wayOut).")
    }

    /// Why nothing may be made in the place of a journal that is gone, or empty: its side mark says that a commit
    /// returned.
    static func lost(_ path: String) -> LockstepError? {
        guard case .mark(let mark, _) = SideMarkFile.read(path: JournalFiles.markPath(ofDatabase: path)),
            mark.position.sequence > .zero
        else { return nil }
        let finding = JournalFinding(
            .file, .zero, "it is missing or empty, but a commit returned for \(mark.position), as its side mark says")
        return LockstepError(finding, path: path)
    }

    /// Answers the schema's version, which is one that this program knows.
    private static func checkHeader(_ db: Database, path: String) throws -> Int64 {
        let application = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int64.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if application == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 {
            throw interruptedCreation(path)
        }
        guard application == JournalSchema.applicationID, version > 0 else {
            throw LockstepError(
                .journalForeign,
                "\(path) is an SQLite file, but no journal of Lockstep (application_id \(application)). Give the node "
                    + "another folder; if it was this node's journal, `lockstep recover --from NODE` makes it anew.")
        }
        guard version <= JournalSchema.arbitratedVersion else {
            throw LockstepError(
                .journalNewer,
                "The journal \(path) has schema \(version); this program knows \(JournalSchema.arbitratedVersion). Start the "
                    + "newer version of Lockstep that wrote it; if there is none, its header is damaged, and `lockstep "
                    + "recover --from NODE --anew` makes it anew.")
        }
        return version
    }

    /// The mark of a store's journal in a folder, also where the journal cannot be opened; nil if none can be read.
    package static func mark(folder: String, storeName: String) -> SideMark? {
        guard let files = try? JournalFiles(folder: folder, storeName: storeName),
            case .mark(let mark, _) = SideMarkFile.read(path: files.mark)
        else { return nil }
        return mark
    }

    /// What `journal verify` and every start compare with the journal.
    package var mark: SideMark? {
        guard case .mark(let mark, _) = markContent else { return nil }
        return mark
    }

    var markContent: SideMarkFile.Content { SideMarkFile.read(path: JournalFiles.markPath(ofDatabase: path)) }

    /// What an operator noted.
    package func note(_ note: JournalNote) -> String? { meta[.note(note)] }

    /// The end of the last committed batch, as its row says; the snapshot's, or the start, if there is none.
    ///
    /// Of an arbitrated journal a tail may follow.
    package func end() throws -> Position {
        try read { db in try JournalEnd.position(db, store: identity.store, through: committed(db)) }
    }

    /// The snapshots, the newest first.
    package func snapshots() throws -> [(position: Position, bytes: Int)] {
        try read { db in try SnapshotRow.fetchAll(db).map { try $0.get() }.map { ($0.position, $0.size) } }
    }

    /// The newest snapshot at or below `sequence`, checked.
    package func snapshot(atOrBelow sequence: SequenceNumber) throws -> SnapshotContent? {
        try read { db in
            for result in try SnapshotRow.fetchAll(db) {
                let row = try result.get()
                if row.position.sequence <= sequence { return try row.content(db, store: identity.store) }
            }
            return nil
        }
    }

    /// Throws ``LockstepError`` of code `positionTooOld` for a place before all that is kept.
    ///
    /// No snapshot is at or below such a place, and the batches do not begin with the log.
    package func checkReach(to sequence: SequenceNumber) throws {
        guard sequence > .zero else { return }
        let (oldest, first) = try read { db in
            (
                try Int64.fetchOne(db, sql: "SELECT min(sequence) FROM snapshots"),
                try Int64.fetchOne(db, sql: "SELECT min(first) FROM batches")
            )
        }
        // One with nothing in it has the initial state.
        guard first != 1, let begin = oldest ?? first, Int64(clamping: sequence.rawValue) < begin else { return }
        throw LockstepError(.positionTooOld, "The journal \(path) has no state at \(sequence): it begins at \(begin).")
    }

    /// Hands out, in order, every committed batch with an entry after `start` and at or below `end`, each checked by the
    /// chain.
    package func batches(
        after start: SequenceNumber, through end: SequenceNumber? = nil, _ body: (SealedBatch) throws -> Void
    ) throws {
        try read { db in
            let end = [end, try committed(db)].compactMap(\.self).min()
            // An operator may name any number.
            let next = Int64(min(start.rawValue, UInt64(Int64.max) - 1)) + 1
            let first = try Row.fetchOne(
                db, sql: "SELECT max(first) FROM batches WHERE first <= ?", arguments: [next])
            let from = max(0, (first?.integer(0) ?? 1) - 1)
            var chain = ChainCheck(store: identity.store, position: nil)
            let rows = try Row.fetchCursor(db, sql: ChainCheck.query, arguments: [from])
            while let row = try reading(.batch, chain.position?.sequence.next ?? .zero, { try rows.next() }) {
                let batch = try chain.next(row)
                if let end, batch.head.first > end { return }
                if batch.head.last > start { try body(batch) }
            }
        }
    }

    /// Where the end begins that only opens epochs and marks digests, after the last batch that tells anything; none if
    /// the last epoch has told something, or nothing opens one after the newest snapshot.
    ///
    /// Cost: reads every batch after the newest snapshot.
    package func emptyEnd() throws -> Position? {
        let start = try snapshots().first?.position ?? .start(of: identity.store)
        var end = EmptyEnd(after: start)
        try batches(after: start.sequence) { end.saw($0) }
        return end.start
    }

    /// What was moved out of the log, in the order of moving.
    package func quarantined() throws -> [QuarantinedBatch] {
        try read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT moved, reason, bytes, first, last, epoch FROM quarantine ORDER BY id")
            return rows.map { row in
                QuarantinedBatch(
                    movedAt: row.integer(0) ?? 0, reason: row.text(1) ?? "",
                    // A batch may be there because it is damaged.
                    batch: row.bytes(2).flatMap { try? SealedBatch(bytes: $0) },
                    first: row.sequence(3)?.rawValue ?? 0, last: row.sequence(4)?.rawValue ?? 0,
                    epoch: row.integer(5).map(UInt64.init(bitPattern:)) ?? 0)
            }
        }
    }

    /// Checks what a start would hand out; throws ``LockstepError`` with the first damage.
    func checkRecovery() throws -> RecoveryCheck.Result {
        let check = RecoveryCheck(store: identity.store, meta: meta, mark: markContent)
        return try read { try check.run($0) }
    }

    /// Whether a node could start from it; throws ``LockstepError`` with the first damage if not.
    package func checkStart() throws { _ = try checkRecovery() }

    /// Checks everything and lists what is wrong; `progress` gets the bytes checked so far.
    package func verifyAll(progress: (Int) -> Void = { _ in }) throws -> [JournalFinding] {
        try read { db in
            var check = FullCheck(store: identity.store)
            while try check.step(db, bytes: 4 << 20) { progress(check.checkedBytes) }
            var findings = check.findings
            do {
                _ = try RecoveryCheck(store: identity.store, meta: meta, mark: markContent).run(db)
            } catch let finding as JournalFinding {
                if !findings.contains(finding) { findings.append(finding) }
            }
            if case .mark(let mark, isWhole: false) = markContent {
                findings.append(
                    JournalFinding(
                        .mark, mark.position.sequence, "one of its two slots cannot be read (torn write, or damage)"))
            }
            return findings
        }
    }

    /// Ends the reading and frees the folder; further calls fail.
    package func close() throws {
        defer { lock.withLock { $0 = nil } }
        try database.close()
    }

    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do { return try database.unsafeRead(body) } catch let finding as JournalFinding {
            throw LockstepError(finding, path: path)
        } catch let error as DatabaseError {
            throw LockstepError.journal(error, path: path)
        }
    }
}

/// A batch that an operator's recovery, or a truncation, moved out of the log.
package struct QuarantinedBatch: Hashable, Sendable {
    /// Seconds since 1970.
    package var movedAt: Int64
    package var reason: String
    /// None if its bytes cannot be decoded.
    package var batch: SealedBatch?
    /// Its first and its last entry, as its row says.
    package var first: UInt64
    package var last: UInt64
    /// Its epoch, as its row says.
    package var epoch: UInt64

    /// How many entries it has.
    package var entryCount: UInt64 { last >= first && first > 0 ? last - first + 1 : 0 }
}

/// Where the files of a store's journal are.
struct JournalFiles: Sendable {
    static let databaseSuffix = ".sqlite"
    let folder: String
    let database: String
    let mark: String

    init(folder: String, storeName: String) throws {
        guard NodeID(storeName) != nil, !storeName.hasPrefix(".") else {
            throw LockstepError(
                .invalidConfiguration,
                "The store name \"\(storeName)\" cannot name a file: use 1 to 64 letters, digits, - _ and dots, and no "
                    + "dot in front.")
        }
        self.folder = folder
        database = folder + "/" + storeName + Self.databaseSuffix
        mark = Self.markPath(ofDatabase: database)
    }

    static func markPath(ofDatabase path: String) -> String { path.dropLast(databaseSuffix.count) + ".mark" }
}

enum JournalEnd {
    /// Where the log ends, as the last row at or below `limit` says, without a check; nil: the last row of all.
    static func position(_ db: Database, store: StoreID, through limit: SequenceNumber? = nil) throws -> Position {
        let through = Int64(limit.map { min($0.rawValue, UInt64(Int64.max)) } ?? UInt64(Int64.max))
        return try reading(.batch, .zero) {
            for table in [
                "SELECT last, epoch, hash FROM batches WHERE first <= ? ORDER BY first DESC LIMIT 1",
                "SELECT sequence, epoch, hash FROM snapshots WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1",
            ] {
                guard let row = try Row.fetchOne(db, sql: table, arguments: [through]) else { continue }
                guard let last = row.sequence(0), let epoch = row.integer(1), let hash = row.number128(2),
                    last <= limit ?? last
                else { throw JournalFinding(.batch, .zero, "the last row is malformed") }
                return Position(
                    epoch: Epoch(rawValue: UInt64(bitPattern: epoch)), sequence: last, hash: BatchHash(rawValue: hash))
            }
            return .start(of: store)
        }
    }
}
