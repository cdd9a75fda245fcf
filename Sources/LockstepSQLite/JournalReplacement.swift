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

    /// Moves the store's files into a new folder beside them, and those of `fresh`, whose journal is closed, in their place.
    ///
    /// Returns the name of the new folder. `step` is called before each move, for tests.
    ///
    /// The database goes first and comes last, and the old mark stays until the new one takes its place. So what a crash
    /// in between leaves is a mark without a database, which a start refuses as a lost journal (PROTOCOL, R-47), and a
    /// repetition replaces.
    package func swap(with fresh: String, step: () throws -> Void = {}) throws -> String {
        let kept = try makeKeptFolder()
        let database = store + JournalFiles.databaseSuffix
        let (mark, others) = (store + ".mark", [database + "-wal", database + "-shm"])
        for name in [database] + others where exists(folder, name) {
            try step()
            try move(name, from: folder, to: kept)
        }
        if exists(folder, mark), link(folder + "/" + mark, kept + "/" + mark) != 0 {
            throw Self.failure("\(folder)/\(mark) cannot be kept in \(kept)")
        }
        try syncFolder(kept)
        try syncFolder(folder)
        for name in [mark] + others + [database] where exists(fresh, name) {
            try step()
            try move(name, from: fresh, to: folder)
        }
        try syncFolder(folder)
        return kept
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
            throw Self.failure("\(source)/\(name) cannot be moved to \(target)")
        }
    }

    /// The error of the system call before.
    private static func failure(_ text: String) -> LockstepError {
        LockstepError(.journalUnwritable, "\(text) (\(systemMessage())). Check the disk, then repeat.")
    }
}
