import Foundation
import GRDB
import LockstepCore
import LockstepNode
import LockstepSQLite

/// A journal, and the backups that a test makes of it in a folder that is removed at the end.
final class BackupFolder {
    let folder: JournalFolder
    var history: History
    private let files = JournalFolder(named: "-backups")

    init() throws {
        folder = JournalFolder()
        history = History(store: folder.store)
        try FileManager.default.createDirectory(atPath: files.path, withIntermediateDirectories: true)
        try folder.emptyJournal().close()
    }

    func path(_ name: String) -> String { files.path + "/" + name }

    /// Appends batches to the journal, and saves a snapshot at their end if one is wanted.
    func write(_ count: Int, bytes: Int = 200, snapshot: Bool = false) async throws {
        let journal = try folder.journal()
        _ = try journal.recovered()
        try await journal.appended(try history.add(count: count, bytes: bytes))
        if snapshot { try await journal.saved(history.snapshot(), at: history.end) }
        journal.close()
    }

    /// Makes a backup of the stopped journal, checked as the command does.
    @discardableResult
    func backUp(_ name: String, since: String? = nil) throws -> BackupManifest {
        let earlier = try since.map { try BackupReader(path: path($0)) }
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        defer { try? reader.close() }  // Nothing was written.
        let writer = try BackupWriter(path: path(name))
        let log = try earlier.flatMap { file in
            try file.manifest.store(named: JournalFolder.storeName).map { try file.tables(of: $0) }
        }
        try reader.copy(to: writer, after: log, since: earlier?.path)
        let manifest = try writer.seal(Self.manifest(since: earlier?.manifest.id, cluster: folder.cluster))
        try BackupReader(path: writer.part).check { _ in nil }
        try writer.publish()
        return manifest
    }

    /// A manifest without stores, of a backup with a name of its own.
    static func manifest(since: String? = nil, cluster: ClusterID) -> BackupManifest {
        BackupManifest(
            id: hexadecimal(UInt128.random(in: 1 ... .max)), since: since, cluster: "\(cluster)", node: "node-1",
            role: "primary", made: 1_763_700_000)
    }

    /// Restores the files into a new folder.
    func restored(_ names: [String], role: JournalRole? = .primary) throws -> JournalFolder {
        let target = JournalFolder(named: "-restored")
        let restore = JournalRestore(
            try BackupSeries(names.map(path)), to: target.path, node: "node-1", cluster: folder.cluster, role: role)
        _ = try restore.make(JournalFolder.storeName, state: nil)
        return target
    }

    /// The code and the text with which `body` fails; nil if it does not.
    static func refusal(_ body: () throws -> Void) throws -> (code: LockstepError.Code, text: String)? {
        do { try body() } catch let error as LockstepError { return (error.code, error.message) }
        return nil
    }

    /// Runs statements on a finished backup, as nobody but a test may.
    func tamper(_ name: String, _ sql: String) throws {
        let database = try DatabaseQueue(path: path(name))
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }
}
