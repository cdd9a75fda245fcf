import Foundation
import LockstepCore
package import LockstepNode

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

    /// Where the new journal of a store is made, before it takes the place of the old one.
    package static func freshFolder(of store: String, in folder: String) -> String { folder + "/fresh-" + store }

    /// What a journal that is made anew says of itself, as the one that it replaces did: the folder's role, the losses
    /// that were accepted, and the replicas that a primary waits for at its start (PROTOCOL, R-41, R-48, R-49).
    ///
    /// Where an interrupted swap has left no database, the new journal is asked, whose database moves last. It is read
    /// before the folder is locked, which keeps readers away too. Nothing is kept of a journal that cannot be read.
    package static func notesToKeep(folder: String, store: String) -> [JournalNote: String] {
        let isMoved = !FileManager.default.fileExists(atPath: folder + "/" + store + JournalFiles.databaseSuffix)
        let place = isMoved ? freshFolder(of: store, in: folder) : folder
        // Why it cannot be read, the command says where it opens it.
        guard let reader = try? SQLiteJournalReader(folder: place, storeName: store) else { return [:] }
        defer { try? reader.close() }  // Nothing was written.
        var notes: [JournalNote: String] = [:]
        for note in [JournalNote.role, .lossAccepted, .audience] { notes[note] = reader.note(note) }
        return notes
    }

    /// Moves the store's files into a new folder beside them, and those of `fresh`, whose journal is closed, in their place.
    ///
    /// Returns the name of the new folder. `step` is called before each move, for tests.
    ///
    /// The old mark is in both folders before anything moves, so that a failure of that changes nothing. The database
    /// goes first and comes last, and the old mark stays until the new one takes its place. So what a crash in between
    /// leaves is a mark without a database, which a start refuses as a lost journal (PROTOCOL, R-47), and a repetition
    /// replaces.
    package func swap(with fresh: String, step: () throws -> Void = {}) throws -> String {
        let kept = try makeKeptFolder()
        let database = store + JournalFiles.databaseSuffix
        let (mark, others) = (store + ".mark", [database + "-wal", database + "-shm"])
        if exists(folder, mark) { try keep(mark, in: kept) }
        for name in [database] + others where exists(folder, name) {
            try step()
            try move(name, from: folder, to: kept)
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

    /// Has a file in both folders: by a link, or by a copy where the file system has no links.
    private func keep(_ name: String, in kept: String) throws {
        let (source, target) = (folder + "/" + name, kept + "/" + name)
        guard link(source, target) != 0 else { return }
        do { try FileManager.default.copyItem(atPath: source, toPath: target) } catch {
            // Nothing else is in it yet, and where it stays it is in nobody's way.
            try? FileManager.default.removeItem(atPath: kept)
            throw LockstepError(
                .journalUnwritable,
                "\(source) cannot be kept in \(kept) (\(error.localizedDescription)). Check the disk, then repeat.",
                underlying: error)
        }
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
