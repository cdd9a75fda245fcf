import Foundation
import LockstepNode
import Synchronization

/// The hold of one process on a journal folder, and of one journal on its store in that folder.
///
/// A folder belongs to one node. The stores of a node share one lock file, so the locks of this process are counted in
/// a table; the operating system's lock (`flock` on `node.lock`) keeps other processes out and ends with the process.
final class FolderLock: Sendable {
    private struct Held: Sendable {
        var descriptor: Int32
        var node: String
        var stores: Set<String>
    }

    /// By canonical path.
    private static let table = Mutex<[String: Held]>([:])

    private let folder: String
    /// The store held for writing; none for a reader.
    private let store: String?
    /// A reader's own descriptor; -1 if there is none.
    private let descriptor: Int32

    private init(folder: String, store: String?, descriptor: Int32) {
        self.folder = folder
        self.store = store
        self.descriptor = descriptor
    }

    /// Takes the store for writing; `folder` exists.
    static func exclusive(folder: String, store: String, node: String) throws -> FolderLock {
        let path = try canonical(folder)
        try table.withLock { table in
            if let held = table[path] {
                guard held.node == node, !held.stores.contains(store) else {
                    throw inUse(path, by: "this process (node \(held.node))")
                }
                table[path]?.stores.insert(store)
                return
            }
            let lockPath = path + "/node.lock"
            let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw LockstepError(
                    .journalUnwritable,
                    "The journal folder \(path) cannot be written (\(systemMessage())). Check its owner and mode.")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let owner = owner(descriptor)
                _ = Foundation.close(descriptor)
                throw inUse(path, by: owner)
            }
            // The text is for operators only; the lock holds without it, so a full disk may cut it.
            let text = Array("process \(getpid()), node \(node)\n".utf8)
            _ = ftruncate(descriptor, 0)
            _ = pwrite(descriptor, text, text.count, 0)
            table[path] = Held(descriptor: descriptor, node: node, stores: [store])
        }
        return FolderLock(folder: path, store: store, descriptor: -1)
    }

    /// Keeps writers out while somebody reads; many may read.
    static func shared(folder: String) throws -> FolderLock {
        let path = try canonical(folder)
        if let held = table.withLock({ $0[path] }) { throw inUse(path, by: "this process (node \(held.node))") }
        let descriptor = open(path + "/node.lock", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0, flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            let owner = owner(descriptor)
            _ = Foundation.close(descriptor)
            throw inUse(path, by: owner)
        }
        return FolderLock(folder: path, store: nil, descriptor: descriptor)
    }

    deinit {
        if descriptor >= 0 { _ = Foundation.close(descriptor) }
        guard let store else { return }
        Self.table.withLock { table in
            table[folder]?.stores.remove(store)
            guard let held = table[folder], held.stores.isEmpty else { return }
            _ = ftruncate(held.descriptor, 0)
            _ = Foundation.close(held.descriptor)
            table[folder] = nil
        }
    }

    private static func canonical(_ folder: String) throws -> String {
        guard let path = realpath(folder, nil) else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw LockstepError(
                    .journalUnwritable,
                    "The journal folder \(folder) cannot be entered (\(systemMessage())). Check its owner and mode, and "
                        + "those of the folders above.")
            }
            throw LockstepError(
                .journalMissing,
                "There is no journal folder \(folder) (\(systemMessage())). Run `lockstep init` to make one.")
        }
        defer { free(path) }
        return String(cString: path)
    }

    private static func owner(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = retrying { pread(descriptor, &bytes, bytes.count, 0) }
        let text = String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self)
        return text.isEmpty ? "a command that reads it" : text
    }

    private static func inUse(_ folder: String, by owner: String) -> LockstepError {
        LockstepError(
            .journalInUse,
            "The journal folder \(folder) is in use by \(owner). Stop that first, or give this node its own folder.")
    }
}
