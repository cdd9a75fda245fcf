import Foundation
import LockstepNode
package import Logging
package import SearchCache
import SearchCacheSQLite
import Synchronization

/// Searches an index that may not be readable yet, or may be made anew meanwhile.
///
/// To read an index, SQLite keeps a small file beside it, for which a full disk has no room. That is no reason for a
/// node not to start: until the index can be opened, searches fail with what stands in the way, and each tries again.
///
/// Who deletes the index and makes it again has another file under its name: the next search opens that one.
package final class LateIndex: SearchBackend {
    package let name = "folder"
    private let path: String
    private let opened = Mutex<Opened?>(nil)

    private struct Opened {
        var backend: FolderBackend
        /// What the path named just before it was opened.
        var file: FileIdentity?
    }

    /// Tries to open the index at once; an error that does not pass by itself is thrown.
    package init(path: String, logger: Logger) throws {
        self.path = path
        do { _ = try backend() } catch let error as FolderIndexError where error.kind == .file {
            logger.info(
                "the search index cannot be opened, each search tries again",
                metadata: [LogKey.reason: "\(error.message)"])
        }
    }

    package func search(_ request: SearchRequest) async throws -> SearchResult {
        let backend: FolderBackend
        do { backend = try self.backend() } catch let error as FolderIndexError {
            throw SearchError(.server, error.message)
        }
        return try await backend.search(request)
    }

    private func backend() throws -> FolderBackend {
        try opened.withLock { opened in
            let file = FileIdentity(of: path)
            if let opened, let file, opened.file == file { return opened.backend }
            opened = nil
            let backend = FolderBackend(try FolderIndex(path: path, isReadOnly: true))
            opened = Opened(backend: backend, file: file)
            return backend
        }
    }
}

/// Which file a path names.
private struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil where no file is, or none that can be looked at.
    init?(of path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: information.st_dev)
        inode = UInt64(truncatingIfNeeded: information.st_ino)
    }
}
