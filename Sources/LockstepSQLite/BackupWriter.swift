import Foundation
import GRDB
package import LockstepCore
import LockstepNode

/// Writes a backup: into `FILE.part`, which becomes FILE when all of it is there, synced and read back.
///
/// Used on one thread. What is not published when it goes is removed; what a killed process leaves is a `.part`, which
/// no reader takes and the next writer overwrites.
package final class BackupWriter {
    package let path: String
    /// Where it is until ``publish()``.
    package var part: String { path + ".part" }
    private let overwrites: Bool
    private let descriptor: Int32
    private let database: DatabaseQueue
    private var stores: [BackupManifest.Store] = []
    private var open: OpenStore?
    private var nextPart: Int64 = 1
    private var isPublished = false

    /// The store that is being written.
    private struct OpenStore {
        let name: String
        let firstPart: Int64
        var sum = BackupFile.Sum()
        var since: Position?
        var snapshot: Position?
        var snapshotBytes = 0
        var batches = 0
        var batchBytes = 0
    }

    /// Makes `FILE.part`.
    ///
    /// - Parameters:
    ///   - path: The file that it becomes.
    ///   - overwrites: Whether a file that is there is replaced.
    ///   - opened: Called when `FILE.part` is open and not yet locked, for tests.
    /// - Throws: ``LockstepError``: `journalExists`, `journalInUse` if another process writes it, `journalUnwritable`.
    package init(path: String, overwrites: Bool = false, opened: () throws -> Void = {}) throws {
        self.path = path
        self.overwrites = overwrites
        try Self.checkFree(path, overwrites: overwrites)
        let part = path + ".part"
        descriptor = Foundation.open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.unwritable(part) }
        do {
            try opened()
            // A writer that was killed has given its lock back, and its file is begun anew.
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw LockstepError(.journalInUse, "Another command writes \(part). Wait for it, or name another file.")
            }
            // So has one that gave the file its name since it was opened here: then it is a whole backup.
            guard Self.leads(part, to: descriptor) else {
                throw LockstepError(.journalInUse, "Another command has just written \(path). Try again.")
            }
            guard ftruncate(descriptor, 0) == 0 else { throw Self.unwritable(part) }
            database = try Self.makeDatabase(part)
        } catch {
            _ = Foundation.close(descriptor)
            throw BackupFile.writeError(error, path: path)
        }
    }

    deinit {
        if !isPublished {
            try? database.close()  // Nothing of it is kept.
            _ = unlink(part)
        }
        _ = Foundation.close(descriptor)
    }

    private static func makeDatabase(_ part: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "lockstep.backup.write"
        // Nothing has to survive before it is synced as a whole.
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA page_size = \(JournalSchema.pageBytes); PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF;
                    PRAGMA trusted_schema = OFF
                    """)
        }
        let database = try DatabaseQueue(path: part, configuration: configuration)
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA application_id = \(BackupFile.applicationID); PRAGMA user_version = \(BackupFile.version);
                    \(BackupFile.tables)
                    """)
        }
        return database
    }

    /// Whether a backup that is written to a path takes the place of this file, also where links lead to it.
    package static func replaces(_ file: String, at path: String) -> Bool {
        var own = stat()
        guard stat(file, &own) == 0 else { return false }
        return [path, path + ".part"].contains { taken in
            var status = stat()
            return stat(taken, &status) == 0 && status.st_dev == own.st_dev && status.st_ino == own.st_ino
        }
    }

    /// Whether a path leads to the file that is open.
    private static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var (own, named) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && stat(path, &named) == 0 && own.st_dev == named.st_dev
            && own.st_ino == named.st_ino
    }

    private static func checkFree(_ path: String, overwrites: Bool) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LockstepError(.journalExists, "\(path) is there and is no file; name another.")
        }
        guard overwrites else {
            throw LockstepError(.journalExists, "\(path) is there already; name another file, or say --overwrite.")
        }
    }

    private static func unwritable(_ path: String) -> LockstepError {
        LockstepError(
            .journalUnwritable,
            "\(path) cannot be written (\(systemMessage())). Check the folder's path, owner and mode.")
    }
}

// MARK: - The parts of a store

extension BackupWriter {
    /// Begins a store; what is added is its content until ``end(at:channel:incarnation:audience:)``.
    ///
    /// With `since` the batches go on from there, until a snapshot is added.
    package func begin(_ store: String, since: Position?) {
        precondition(open == nil, "one store is written at a time")
        open = OpenStore(name: store, firstPart: nextPart, since: since)
    }

    /// Adds a snapshot, in the place of everything that the store had before: it is whole from then on.
    package func replace(withSnapshot bytes: [UInt8], at position: Position) throws {
        guard let before = open else { preconditionFailure("a store was begun") }
        var store = OpenStore(name: before.name, firstPart: before.firstPart)
        store.snapshot = position
        store.snapshotBytes = bytes.count
        try write { db in
            try db.execute(sql: "DELETE FROM parts WHERE id >= ?", arguments: [store.firstPart])
            nextPart = store.firstPart
            try insertChunks(.snapshot, bytes, &store, db)
        }
        open = store
    }

    /// Adds batches that follow what is there.
    package func append(_ batches: [SealedBatch]) throws {
        guard var store = open else { preconditionFailure("a store was begun") }
        try write { db in
            for batch in batches {
                try insert(.batch, batch.bytes[...], hash: batch.hash.rawValue, &store, db)
                store.batches += 1
                store.batchBytes += batch.bytes.count
            }
        }
        open = store
    }

    /// Ends the store: `log` is what its log is after everything that was added.
    package func end(at log: LogState, channel: Channel, incarnation: Incarnation, audience: [String]) throws {
        guard var store = open else { preconditionFailure("a store was begun") }
        let tables = BackupFile.encoded(log)
        try write { db in try insertChunks(.tables, tables, &store, db) }
        open = nil
        stores.append(
            BackupManifest.Store(
                name: store.name, channel: channel.rawValue, incarnation: "\(incarnation)", audience: audience,
                since: store.since.map(BackupManifest.Place.init), end: BackupManifest.Place(log.position),
                snapshot: store.snapshot.map(BackupManifest.Place.init), snapshotBytes: store.snapshotBytes,
                batches: store.batches, batchBytes: store.batchBytes, tablesBytes: tables.count,
                firstPart: store.firstPart, parts: nextPart - store.firstPart, sum: store.sum.text))
    }

    private func insertChunks(_ kind: BackupFile.Kind, _ bytes: [UInt8], _ store: inout OpenStore, _ db: Database)
        throws
    {
        for start in stride(from: 0, to: bytes.count, by: BackupFile.chunkBytes) {
            let chunk = bytes[start..<min(start + BackupFile.chunkBytes, bytes.count)]
            try insert(kind, chunk, hash: sha256Prefix(Array(chunk)), &store, db)
        }
    }

    private func insert(
        _ kind: BackupFile.Kind, _ bytes: ArraySlice<UInt8>, hash: UInt128, _ store: inout OpenStore, _ db: Database
    ) throws {
        try db.cachedStatement(sql: "INSERT INTO parts(id, store, kind, hash, bytes) VALUES (?, ?, ?, ?, ?)").execute(
            arguments: [nextPart, store.name, kind.rawValue, blob(hash), Data(bytes)])
        store.sum.add(kind, count: bytes.count, hash: hash)
        nextPart += 1
    }

    /// One transaction.
    private func write(_ body: (Database) throws -> Void) throws {
        do {
            try database.writeWithoutTransaction { db in
                try db.inTransaction(.immediate) {
                    try body(db)
                    return .commit
                }
            }
        } catch { throw BackupFile.writeError(error, path: path) }
    }
}

// MARK: - The end

extension BackupWriter {
    /// Writes the manifest with the stores that were ended, and syncs; ``part`` can be read from then on.
    package func seal(_ manifest: BackupManifest) throws -> BackupManifest {
        precondition(open == nil, "the last store was ended")
        var manifest = manifest
        manifest.stores = stores
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = [UInt8](try encoder.encode(manifest))
        try write { db in
            try db.execute(
                sql: "INSERT INTO manifest(id, json, sum) VALUES (1, ?, ?)",
                arguments: [String(decoding: json, as: UTF8.self), blob(sha256Prefix(json))])
        }
        do { try database.close() } catch { throw BackupFile.writeError(error, path: path) }
        guard retrying({ fsync(descriptor) }) == 0 else {
            throw LockstepError(.journalFailed, "\(part) cannot be synced (\(systemMessage())). Check the disk.")
        }
        return manifest
    }

    /// Gives the sealed file its name.
    package func publish() throws {
        try Self.checkFree(path, overwrites: overwrites)
        guard rename(part, path) == 0 else { throw Self.unwritable(path) }
        isPublished = true
        try syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// Lets the file grow to so many pages only.
    ///
    /// Tests make a full disk with it.
    package func limitPages(_ count: Int) throws {
        try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA max_page_count = \(count)") }
    }
}
