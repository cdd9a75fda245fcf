import Foundation
import GRDB
package import LockstepCore
import LockstepNode

/// Reads a backup; everything that it hands out was checked.
///
/// Calls block the caller's thread.
package final class BackupReader: Sendable {
    package let path: String
    package let manifest: BackupManifest
    /// The size of the file.
    package let byteCount: Int
    private let database: DatabaseQueue

    /// Opens a backup and checks its manifest.
    ///
    /// - Throws: ``LockstepError``: `journalForeign` for another file, `journalNewer` for a format that is not known,
    ///   `journalDamaged`, `journalMissing`, `journalUnwritable`.
    package init(path: String) throws {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let text = stat(path, &status) == 0 ? "it is no file" : systemMessage()
            throw LockstepError(.journalMissing, "There is no backup \(path): \(text).")
        }
        byteCount = Int(status.st_size)
        do {
            database = try DatabaseQueue(
                path: JournalSchema.readerPath(path),
                configuration: JournalSchema.readerConfiguration(label: "lockstep.backup.read"))
            let byteCount = byteCount
            manifest = try database.read { db in
                try Self.checkHeader(db, path: path)
                // SQLite reads what is missing of the last page as zeros.
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                guard byteCount == pages * JournalSchema.pageBytes else {
                    throw BackupFile.damaged(path, "it has \(byteCount) bytes, and not \(pages) whole pages")
                }
                return try Self.manifest(db, path: path)
            }
        } catch { throw BackupFile.readError(error, path: path) }
    }

    /// The file that a backup which is written to a path replaces, if this one is not restored without it; nil: none.
    ///
    /// It is known by its ID, under whichever name.
    package func needed(at path: String) -> String? {
        [path, path + ".part"].first { taken in
            // What cannot be read as a backup is none of them.
            (try? BackupReader(path: taken)).map { manifest.needed.contains($0.manifest.id) } ?? false
        }
    }

    private static func checkHeader(_ db: Database, path: String) throws {
        let application = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int64.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard application == BackupFile.applicationID, version > 0 else {
            throw LockstepError(
                .journalForeign,
                "\(path) is no backup of Lockstep (application_id \(application), user_version \(version)).")
        }
        guard version == BackupFile.version else {
            throw LockstepError(
                .journalNewer,
                "The backup \(path) has format \(version), and this program knows \(BackupFile.version): use the version of "
                    + "Lockstep that wrote it.")
        }
    }

    private static func manifest(_ db: Database, path: String) throws -> BackupManifest {
        let rows = try Row.fetchAll(db, sql: "SELECT json, sum FROM manifest")
        guard rows.count == 1, let json = rows[0].text(0), rows[0].number128(1) == sha256Prefix(Array(json.utf8)) else {
            throw BackupFile.damaged(path, "its manifest does not match its sum")
        }
        let manifest = try JSONDecoder().decode(BackupManifest.self, from: Data(json.utf8))
        let count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM parts") ?? 0
        guard count == manifest.stores.reduce(0, { $0 + $1.parts }) else {
            throw BackupFile.damaged(path, "it has \(count) parts, and its manifest names another number")
        }
        return manifest
    }

    /// Reads all parts of a store, in order, and checks each by its hash, the batches by the chain, and all by the sum.
    ///
    /// - Parameters:
    ///   - store: As the manifest has it.
    ///   - snapshot: Gets the snapshot's bytes, first, if there is one.
    ///   - batch: Gets each batch.
    /// - Returns: The log's tables at the end, as they were noted.
    /// - Throws: ``LockstepError`` of code `journalDamaged` if anything is not what it was, and what the closures throw.
    ///   What was handed out before is whole, but the end may be missing. Memory: the snapshot, or a batch.
    package func read(
        _ store: BackupManifest.Store, snapshot: ([UInt8]) throws -> Void = { _ in },
        batch: (SealedBatch) throws -> Void = { _ in }
    ) throws -> LogState {
        do {
            return try database.unsafeRead { db in
                var content = try StoreContent(store, cluster: manifest.cluster)
                let rows = try Row.fetchCursor(
                    db, sql: "SELECT store, kind, hash, bytes FROM parts WHERE id >= ? AND id < ? ORDER BY id",
                    arguments: [store.firstPart, store.firstPart + store.parts])
                while let row = try rows.next() {
                    switch try content.next(row) {
                    case .chunk: break
                    case .batch(let found, let before):
                        if let before { try snapshot(before) }
                        try batch(found)
                    }
                }
                let (tables, left) = try content.finish()
                if let left { try snapshot(left) }
                return tables
            }
        } catch { throw BackupFile.readError(error, path: path) }
    }

    /// The log's tables at a store's end, without the rest: where an increment goes on.
    package func tables(of store: BackupManifest.Store) throws -> LogState {
        do {
            return try database.read { db in
                let end = store.firstPart + store.parts
                let first = try Int64.fetchOne(
                    db, sql: "SELECT min(id) FROM parts WHERE id >= ? AND id < ? AND kind = ?",
                    arguments: [store.firstPart, end, BackupFile.Kind.tables.rawValue])
                var content = try StoreContent(store, cluster: manifest.cluster)
                let rows = try Row.fetchCursor(
                    db, sql: "SELECT store, kind, hash, bytes FROM parts WHERE id >= ? AND id < ? ORDER BY id",
                    arguments: [first ?? end, end])
                while let row = try rows.next() { _ = try content.next(row) }
                return try content.log()
            }
        } catch { throw BackupFile.readError(error, path: path) }
    }
}

/// Follows the parts of one store and checks them.
private struct StoreContent {
    enum Found {
        case chunk
        /// A batch, and the snapshot before it if this is the first one.
        case batch(SealedBatch, snapshot: [UInt8]?)
    }

    private let expected: BackupManifest.Store
    private let store: StoreID
    private var position: Position
    private let end: Position
    private var sum = BackupFile.Sum()
    private var parts: Int64 = 0
    /// Until it was handed out.
    private var snapshot: [UInt8]?
    private var snapshotBytes = 0
    private var tables: [UInt8] = []
    private var batches = 0
    private var batchBytes = 0
    private var kind = BackupFile.Kind.snapshot

    init(_ expected: BackupManifest.Store, cluster: String) throws {
        self.expected = expected
        guard let cluster = ClusterID(hexadecimal: cluster), let end = expected.end.position, expected.firstPart > 0,
            expected.parts >= 0, expected.firstPart <= .max - expected.parts,
            expected.since.map({ $0.position != nil }) ?? true, expected.snapshot.map({ $0.position != nil }) ?? true
        else { throw JournalFinding(.meta, .zero, "its manifest is malformed for the store \(expected.name)") }
        store = StoreID(cluster: cluster, name: expected.name)
        self.end = end
        position = expected.snapshot?.position ?? expected.since?.position ?? .start(of: store)
        snapshot = expected.snapshot == nil ? nil : []
    }

    mutating func next(_ row: Row) throws -> Found {
        guard row.text(0) == expected.name, let kind = row.text(1).flatMap(BackupFile.Kind.init(rawValue:)),
            let hash = row.number128(2), let bytes = row.bytes(3), sha256Prefix(bytes) == hash
        else { throw finding("a part does not match its hash") }
        guard follows(kind) else { throw finding("its parts are in another order") }
        self.kind = kind
        sum.add(kind, count: bytes.count, hash: hash)
        parts += 1
        switch kind {
        case .snapshot:
            snapshot?.append(contentsOf: bytes)
            snapshotBytes += bytes.count
            return .chunk
        case .tables:
            tables.append(contentsOf: bytes)
            return .chunk
        case .batch:
            let batch = try batch(bytes)
            defer { snapshot = nil }
            return .batch(batch, snapshot: snapshot)
        }
    }

    private func follows(_ next: BackupFile.Kind) -> Bool {
        switch (kind, next) {
        case (.snapshot, .snapshot): snapshot != nil
        case (.snapshot, _), (.batch, .batch), (.batch, .tables), (.tables, .tables): true
        case (.batch, .snapshot), (.tables, .snapshot), (.tables, .batch): false
        }
    }

    /// The next batch, which must follow the one before (PROTOCOL, R-7).
    private mutating func batch(_ bytes: [UInt8]) throws -> SealedBatch {
        let batch: SealedBatch
        do throws(WireError) { batch = try SealedBatch(bytes: bytes) } catch {
            throw JournalFinding(.batch, position.sequence.next, "it cannot be decoded: \(error)")
        }
        guard batch.head.store == store, batch.head.first == position.sequence.next,
            batch.head.previous == position.hash, batch.head.epoch >= position.epoch
        else { throw JournalFinding(.batch, position.sequence.next, "what is there does not follow \(position)") }
        position = batch.position
        batches += 1
        batchBytes += bytes.count
        return batch
    }

    /// Compares with the manifest; the tables, and the snapshot if no batch follows it.
    func finish() throws -> (tables: LogState, snapshot: [UInt8]?) {
        guard parts == expected.parts, sum.text == expected.sum, snapshotBytes == expected.snapshotBytes,
            batches == expected.batches, batchBytes == expected.batchBytes, tables.count == expected.tablesBytes,
            position == end
        else { throw finding("its parts are not those that the manifest names") }
        return (try log(), snapshot)
    }

    /// The log's tables, without a look at the parts before them.
    func log() throws -> LogState {
        let log: LogState
        do throws(WireError) { log = try SnapshotContent(tables).log } catch {
            throw finding("its log's tables cannot be decoded: \(error)")
        }
        guard log.store == store, log.position == end else { throw finding("its log's tables are of another place") }
        return log
    }

    private func finding(_ text: String) -> JournalFinding {
        JournalFinding(.file, .zero, "store \(expected.name): \(text)")
    }
}
