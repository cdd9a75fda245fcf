import LockstepNode
import Logging
import SearchCache
import SearchCacheSQLite
import Synchronization

/// Searches an index that may not be readable yet.
///
/// To read an index, SQLite keeps a small file beside it, for which a full disk has no room. That is no reason for a
/// node not to start: until the index can be opened, searches fail with what stands in the way, and each tries again.
final class LateIndex: SearchBackend {
    let name = "folder"
    private let path: String
    private let opened = Mutex<FolderBackend?>(nil)

    /// Tries to open the index at once; an error that does not pass by itself is thrown.
    init(path: String, logger: Logger) throws {
        self.path = path
        do { _ = try backend() } catch let error as FolderIndexError where error.kind == .file {
            logger.info(
                "the search index cannot be opened, each search tries again",
                metadata: [LogKey.reason: "\(error.message)"])
        }
    }

    func search(_ request: SearchRequest) async throws -> SearchResult {
        let backend: FolderBackend
        do { backend = try self.backend() } catch let error as FolderIndexError {
            throw SearchError(.server, error.message)
        }
        return try await backend.search(request)
    }

    private func backend() throws -> FolderBackend {
        try opened.withLock { opened in
            if let opened { return opened }
            let backend = FolderBackend(try FolderIndex(path: path, isReadOnly: true))
            opened = backend
            return backend
        }
    }
}
