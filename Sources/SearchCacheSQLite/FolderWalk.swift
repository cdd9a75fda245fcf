import Foundation

#if canImport(Darwin)
    private typealias FolderHandle = UnsafeMutablePointer<DIR>
#else
    private typealias FolderHandle = OpaquePointer
#endif

/// The regular files below a folder, one after the other.
///
/// No symbolic link is followed, so nothing outside is reached and no walk is endless. What waits is the names of
/// folders; a folder's files are taken as the system gives them.
final class FolderWalk {
    enum Step {
        /// - Parameter key: The path below the root.
        case file(key: String, path: String, mark: TextFile.Mark)
        /// A file that cannot be looked at, or a folder: what is below it is not known then.
        case unreadable(key: String, reason: String)
        /// A folder that cannot be listed, or not to its end; what was below it is not known. Empty for the root.
        case unreadableFolder(key: String, reason: String)
    }

    private let root: String
    /// Paths that are not taken: the index itself.
    private let excluded: Set<String>
    /// Keys of folders, the next one last.
    private var waiting = [""]
    private var folder: (key: String, handle: FolderHandle)?

    init(root: String, excluding excluded: Set<String> = []) {
        self.root = root
        self.excluded = excluded
    }

    deinit { if let folder { closedir(folder.handle) } }

    func next() -> Step? {
        while true {
            if let folder {
                if let step = nextStep(in: folder.key, folder.handle) { return step }
                continue
            }
            guard let key = waiting.popLast() else { return nil }
            let descriptor = open(
                key.isEmpty ? root : root + "/" + key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return .unreadableFolder(key: key, reason: systemMessage()) }
            guard let handle = fdopendir(descriptor) else {
                defer { close(descriptor) }
                return .unreadableFolder(key: key, reason: systemMessage())
            }
            folder = (key, handle)
        }
    }

    /// The next step of the folder that is open; nil if it was a folder, or nothing, or the end.
    private func nextStep(in parent: String, _ handle: FolderHandle) -> Step? {
        errno = 0
        guard let entry = readdir(handle) else {
            let failure = errno == 0 ? nil : systemMessage()
            closedir(handle)
            folder = nil
            return failure.map { .unreadableFolder(key: parent, reason: $0) }
        }
        let (name, repaired): (String?, String) = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            let capacity = MemoryLayout.size(ofValue: entry.pointee.d_name)
            return pointer.withMemoryRebound(to: CChar.self, capacity: capacity) {
                (String(validatingCString: $0), String(cString: $0))
            }
        }
        let prefix = parent.isEmpty ? "" : parent + "/"
        guard let name else { return .unreadable(key: prefix + repaired, reason: "its name is not UTF-8") }
        if name == "." || name == ".." { return nil }
        var information = stat()
        guard fstatat(dirfd(handle), name, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
            // It was deleted meanwhile, or may not be looked at.
            return errno == ENOENT ? nil : .unreadable(key: prefix + name, reason: systemMessage())
        }
        let path = root + "/" + prefix + name
        switch information.st_mode & S_IFMT {
        case S_IFDIR:
            waiting.append(prefix + name)
            return nil
        case S_IFREG where !excluded.contains(path):
            return .file(key: prefix + name, path: path, mark: TextFile.Mark(information))
        default: return nil
        }
    }
}
