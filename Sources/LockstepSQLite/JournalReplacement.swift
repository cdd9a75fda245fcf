import Foundation
import LockstepCore
import LockstepNode

/// Puts a whole journal in the place of one that cannot be used; the old files are kept beside it.
///
/// It holds the folder's lock as long as it lives, so that no node starts meanwhile.
package final class JournalReplacement: Sendable {
    private let folder: String
    private let store: String
    private let lock: FolderLock

    /// Takes the folder; throws ``LockstepError`` if a node runs in it.
    package init(folder: String, store: String, node: String) throws {
        self.folder = folder
        self.store = store
        lock = try FolderLock.exclusive(folder: folder, store: store, node: node)
    }

    /// Moves the store's files into a new folder beside them, and the files of `fresh`, whose journal is closed, to where
    /// they were; returns the name of that folder.
    ///
    /// 1. old files to the new folder, 2. mark, write-ahead log and database of `fresh`. What a crash in between leaves
    /// is a store without a database, which a start refuses and a repetition replaces.
    package func swap(with fresh: String) throws -> String {
        let kept = try makeKeptFolder()
        for name in names where exists(folder, name) { try move(name, from: folder, to: kept) }
        try syncFolder(kept)
        try syncFolder(folder)
        for name in names where exists(fresh, name) { try move(name, from: fresh, to: folder) }
        try syncFolder(folder)
        return kept
    }

    /// The database last: without it there is no journal.
    private var names: [String] {
        let database = store + JournalFiles.databaseSuffix
        return [store + ".mark", database + "-shm", database + "-wal", database]
    }

    private func makeKeptFolder() throws -> String {
        let seconds = Int64(Date().timeIntervalSince1970)
        for number in 0..<100 {
            let path = "\(folder)/kept-\(store)-\(seconds)" + (number == 0 ? "" : "-\(number)")
            if mkdir(path, 0o700) == 0 { return path }
            guard errno == EEXIST else { break }
        }
        throw LockstepError(
            .journalUnwritable,
            "A folder for the old files cannot be made in \(folder) (\(systemMessage())). Check its owner and mode.")
    }

    private func exists(_ folder: String, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder + "/" + name)
    }

    private func move(_ name: String, from source: String, to target: String) throws {
        guard rename(source + "/" + name, target + "/" + name) == 0 else {
            throw LockstepError(
                .journalUnwritable,
                "\(source)/\(name) cannot be moved to \(target) (\(systemMessage())). Check the disk, then repeat.")
        }
    }
}
