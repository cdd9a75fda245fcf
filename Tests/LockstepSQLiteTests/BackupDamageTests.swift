import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// No damage to a backup goes unnoticed: it is refused, or it did not touch anything that the backup holds.
@Suite(.timeLimit(.minutes(10)))
struct BackupDamageTests {
    /// What a reader gets of a backup.
    private struct Content: Equatable {
        var manifest: BackupManifest
        var snapshot: [UInt8] = []
        var batches: [SealedBatch] = []
        var end: LogState?
    }

    private static func content(_ path: String) throws -> Content {
        let series = try BackupSeries([path])
        var content = Content(manifest: series.manifest)
        content.end = try series.fold(JournalFolder.storeName, state: nil) { bytes, _ in
            content.snapshot = bytes
        } batches: {
            content.batches += $0
        }
        return content
    }

    /// Whether the backup is refused; if it is not, it must hold what it held.
    private static func isRefused(_ path: String, whole: Content, _ what: String) throws -> Bool {
        do {
            let found = try content(path)
            #expect(found == whole, "\(what) is silent")
            return false
        } catch let error as LockstepError {
            #expect([.journalDamaged, .journalForeign, .journalNewer].contains(error.code), "\(what): \(error)")
            #expect(!error.message.contains("\n"), "\(what): \(error)")
            return true
        }
    }

    /// A backup with a snapshot, batches and tables, and what is in it.
    private func backup() async throws -> (BackupFolder, path: String, bytes: [UInt8], whole: Content) {
        let backups = try BackupFolder()
        try await backups.write(3, snapshot: true)
        try await backups.write(20, bytes: 500)
        try backups.backUp("full")
        let path = backups.path("full")
        return (backups, path, [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))), try Self.content(path))
    }

    /// Goal: flipped bits: each byte of the header, and every 61st of all pages.
    @Test func noFlippedBitIsSilent() async throws {
        let (backups, path, bytes, whole) = try await backup()
        defer { withExtendedLifetime(backups) {} }
        var (refused, tried) = (0, 0)
        for index in Array(0..<100) + Array(stride(from: 100, to: bytes.count, by: 61)) {
            var damaged = bytes
            damaged[index] ^= 1 << UInt8(index % 8)
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            tried += 1
            if try Self.isRefused(path, whole: whole, "bit \(index % 8) of byte \(index)") { refused += 1 }
        }
        // The rest lies in what SQLite does not use: free space of pages, counters of the header.
        #expect(refused > tried / 2, "\(refused) of \(tried) were refused")
    }

    /// Goal: a file that was cut anywhere, or lost a page, is refused, also one of which nothing is left.
    @Test func noCutIsSilent() async throws {
        let (backups, path, bytes, whole) = try await backup()
        defer { withExtendedLifetime(backups) {} }
        for count in Array(stride(from: 0, to: bytes.count, by: 1_021)) + [1, 99, 100, 4_095, 4_096, bytes.count - 1] {
            try Data(bytes[..<count]).write(to: URL(fileURLWithPath: path))
            #expect(try Self.isRefused(path, whole: whole, "a cut at \(count)"))
        }
        var refused = 0
        for page in 0..<bytes.count / 4_096 {
            var damaged = bytes
            for index in page * 4_096..<(page + 1) * 4_096 { damaged[index] = 0 }
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            if try Self.isRefused(path, whole: whole, "page \(page)") { refused += 1 }
        }
        #expect(refused == bytes.count / 4_096)
    }

    /// Goal: rows that were changed so that SQLite sees nothing wrong are found by hashes, chain, sums and tables.
    @Test(arguments: [
        "DELETE FROM parts WHERE id = (SELECT max(id) FROM parts WHERE kind = 'batch')",
        "DELETE FROM parts WHERE kind = 'tables'", "DELETE FROM parts WHERE kind = 'snapshot'", "DELETE FROM parts",
        "UPDATE parts SET store = 'votes' WHERE id = 3", "UPDATE parts SET kind = 'tables' WHERE id = 3",
        "UPDATE parts SET kind = 'snapshot' WHERE id = 3", "UPDATE parts SET kind = 'other' WHERE id = 3",
        "UPDATE parts SET bytes = zeroblob(length(bytes)) WHERE id = 3", "UPDATE parts SET bytes = NULL WHERE id = 3",
        "UPDATE parts SET hash = zeroblob(16) WHERE id = 3", "UPDATE parts SET id = 1000 WHERE id = 3",
        "UPDATE parts SET id = 1000 - id",
        "UPDATE parts SET (hash, bytes) = (SELECT hash, bytes FROM parts WHERE id = 4) WHERE id = 3",
        "INSERT INTO parts SELECT 1000, store, kind, hash, bytes FROM parts WHERE id = 3",
        "UPDATE manifest SET json = replace(json, '\"node-1\"', '\"node-2\"')",
        "UPDATE manifest SET sum = zeroblob(16)",
        "UPDATE manifest SET json = '{}'", "DELETE FROM manifest",
        "INSERT INTO manifest SELECT 2, json, sum FROM manifest",
        "PRAGMA user_version = 2", "PRAGMA user_version = 0", "PRAGMA application_id = 0x4C4B534A", "DROP TABLE parts",
    ])
    func noChangedRowIsSilent(sql: String) async throws {
        let (backups, path, _, whole) = try await backup()
        // NOT NULL keeps one of the changes away; the others are made.
        if (try? backups.tamper("full", sql)) == nil { return #expect(sql.contains("NULL")) }
        #expect(try Self.isRefused(path, whole: whole, sql))
    }

    /// Goal: the checks of content find what has right hashes and a right manifest: tables and digests that do not
    /// follow from the log.
    @Test func contentThatDoesNotFollowIsFound() async throws {
        let backups = try BackupFolder()
        let batches = try backups.history.add(count: 3)
        let right = backups.history.log
        let state = EmptyState()
        func made(_ name: String, snapshotDigest: Digest? = nil, tables: LogState) throws -> String {
            let writer = try BackupWriter(path: backups.path(name))
            writer.begin(JournalFolder.storeName, since: nil)
            if let digest = snapshotDigest {
                let bytes = SnapshotContent(log: right, digest: digest, state: []).encoded()
                try writer.replace(withSnapshot: bytes, at: right.position)
            } else {
                try writer.append(batches)
            }
            try writer.end(at: tables, channel: Channel(rawValue: 3), incarnation: .none, audience: [])
            _ = try writer.seal(BackupFolder.manifest(cluster: backups.folder.cluster))
            try writer.publish()
            return backups.path(name)
        }
        func refusal(_ path: String) throws -> String? {
            try BackupFolder.refusal { try BackupReader(path: path).check { _ in state } }?.text
        }
        #expect(try refusal(made("right", tables: right)) == nil)
        #expect(try refusal(made("right-digest", snapshotDigest: state.digest + right.digest, tables: right)) == nil)
        let digest = try refusal(made("digest", snapshotDigest: Digest(rawValue: 5), tables: right))
        #expect(digest?.contains("digest") == true, "\(digest as Any)")
        // Tables of a log that ends at the same place, and was opened by another boot.
        var other = History(store: backups.folder.store)
        _ = try other.add(count: 3)
        var tables = SnapshotContent(log: other.log, digest: .none, state: []).encoded()
        tables[56] ^= 1  // The boot.
        let wrong = try refusal(made("tables", tables: try SnapshotContent(tables).log))
        #expect(wrong?.contains("tables") == true, "\(wrong as Any)")
    }
}
