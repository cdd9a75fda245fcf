import Foundation
import SearchCache
import SearchCacheSQLite
import Synchronization

/// A folder of files for one test, with an index beside it.
///
/// It is deleted when the process ends, as an index may be used longer than the value that made its folder.
struct TextFolder: Sendable {
    /// What is above the folder and the index.
    let base: String
    /// What is indexed.
    let path: String
    /// Where the index is.
    var indexPath: String { base + "/index.db" }

    /// The folder of this process.
    private static let root: String = {
        atexit {
            // What stays is no reason for tests to fail, and the system empties the folder of temporary files.
            try? FileManager.default.removeItem(atPath: TextFolder.root)
        }
        return FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("lockstep-texts-\(UUID().uuidString)").path
    }()

    init() throws {
        base = Self.root + "/" + UUID().uuidString
        path = base + "/texts"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Opens the index, or makes it.
    func index(isReadOnly: Bool = false) throws -> FolderIndex {
        try FolderIndex(path: indexPath, isReadOnly: isReadOnly)
    }

    /// Writes a file as if it had been there for so many hours, so that its time is one to rely on.
    func write(_ name: String, _ bytes: some Sequence<UInt8>, hoursOld: Int = 100) throws {
        let file = path + "/" + name
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: file).deletingLastPathComponent().path, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        try touch(name, hoursOld: hoursOld)
    }

    func write(_ name: String, _ text: String, hoursOld: Int = 100) throws {
        try write(name, Array(text.utf8), hoursOld: hoursOld)
    }

    /// Gives a file another time.
    func touch(_ name: String, hoursOld: Int) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000 - 3_600 * Double(hoursOld))
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path + "/" + name)
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + "/" + name) }

    func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: path + "/" + name, toPath: path + "/" + other)
    }
}

/// A page, so that tests need no `switch`.
struct Page: Equatable {
    var hits: [SearchHit]
    var hasNext: Bool
    var total: Int?
    var etag: String?

    var titles: [String] { hits.map(\.title) }
}

extension FolderIndex {
    /// The page of a query as the backend gives it.
    func page(_ query: String, _ number: Int = 1, hitsPerPage: Int = 100) async throws -> Page {
        let result = try await FolderBackend(self, hitsPerPage: hitsPerPage).search(
            SearchRequest(query: query, page: number))
        guard case .page(let hits, let hasNext, let total, let etag) = result else {
            throw SearchError(.badAnswer, "a page that was not asked for with an entity tag is unchanged")
        }
        return Page(hits: hits, hasNext: hasNext, total: total, etag: etag)
    }

    /// The titles that a query finds, in their own order.
    func titles(_ query: String) async throws -> [String] { try await page(query).titles.sorted() }
}

/// What progress reports say, in their order.
final class Reports: Sendable {
    private let values = Mutex<[IndexProgress]>([])

    var all: [IndexProgress] { values.withLock { $0 } }

    func add(_ value: IndexProgress) { values.withLock { $0.append(value) } }
}
