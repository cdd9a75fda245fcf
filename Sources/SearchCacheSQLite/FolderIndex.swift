import Foundation
import GRDB

/// An index of the words in text files: one SQLite file with an FTS5 table.
///
/// It is for many callers at once, and for many processes: one of them brings it up to date, all of them search, also
/// meanwhile. Everything in it can be made again from the files, so it needs no backup. It has the texts themselves
/// too, for the words around a hit.
///
/// Every regular file that holds text is indexed, with its path below the folder as its title. Text is UTF-8, Latin-1,
/// or both mixed; a file with a NUL among its first 8,192 bytes, or with many control characters, is not. Files whose
/// names end in `.gz` are unpacked; other packed files are not text. Symbolic links are not followed, so a text
/// with many names is found once.
public final class FolderIndex: Sendable {
    /// The path of the file.
    public let path: String
    /// Whether it was opened for reading.
    public let isReadOnly: Bool
    let pool: DatabasePool

    /// Opens an index, or makes an empty one.
    ///
    /// It blocks the thread for some milliseconds.
    ///
    /// - Parameters:
    ///   - path: The file; its folder must exist. Beside it come files with `-wal`, `-shm` and `-lock` after its name,
    ///     so readers too need the right to write there, unless another process has the index open already.
    ///   - isReadOnly: Whether the index has to exist and is for searching only.
    /// - Throws: ``FolderIndexError``; a file that is something else is not changed.
    public init(path: String, isReadOnly: Bool = false) throws {
        self.path = path
        self.isReadOnly = isReadOnly
        do {
            if !(try IndexSchema.checkHeader(path: path)) {
                guard !isReadOnly else {
                    throw FolderIndexError(.missing, "There is no index \(path). Make it from a folder first.")
                }
                try IndexSchema.create(path: path)
            }
            pool = try DatabasePool(path: path, configuration: IndexSchema.configuration(isReadOnly: isReadOnly))
        } catch let error as DatabaseError {
            throw FolderIndexError(.file, "The index \(path) cannot be opened: \(error.words)")
        }
    }

    /// Brings the texts of a folder up to date.
    ///
    /// It reads the files that are new or have another size or time than before, and forgets those that are gone; what
    /// comes from other folders stays. What cannot be read is counted and left out; what is below a folder that cannot
    /// be listed, or be looked at, stays as it was.
    ///
    /// Changes are committed in parts of some megabytes: searches see them from then on, and if the process dies, or
    /// the task is cancelled, the next update goes on from there. It takes memory for one such part, and runs on a
    /// thread of its own. A further update in this process waits for this one.
    ///
    /// - Parameters:
    ///   - folder: A folder, or one file. Of a control file (`Package: …`), such as /var/lib/dpkg/status, each
    ///     paragraph becomes a text: the description, with the package's name as its title.
    ///   - textLimit: Of longer texts only so many bytes are indexed: 1 KiB to 256 MiB.
    ///   - progress: Called after each part, on the index's thread.
    /// - Returns: What was done.
    /// - Throws: ``FolderIndexError``, or `CancellationError`.
    @discardableResult
    public func update(
        folder: String, textLimit: Int = 4 << 20, progress: (@Sendable (IndexProgress) -> Void)? = nil
    ) async throws -> IndexReport {
        guard !isReadOnly else { throw FolderIndexError(.readOnly, "The index \(path) was opened for searching only.") }
        let limit = min(max(textLimit, 1 << 10), 256 << 20)
        let start = ContinuousClock.now
        do {
            var report = try await pool.writeWithoutTransaction { [path] db in
                // Held for all of the update, so that no other process forgets what this one has just found.
                let lock = try UpdateLock(index: path)
                defer { lock.release() }
                return try IndexUpdate(db, index: path, limit: limit, progress: progress).run(folder)
            }
            report.duration = start.duration(to: .now)
            return report
        } catch let error as DatabaseError {
            throw FolderIndexError(.file, "The index \(path) cannot be written: \(error.words)")
        }
    }

    /// Forgets a folder or file and all its texts; it need not be there any more.
    ///
    /// - Returns: How many texts it had.
    /// - Throws: ``FolderIndexError``: `source` if it is not in the index.
    @discardableResult
    public func remove(folder: String) async throws -> Int {
        guard !isReadOnly else { throw FolderIndexError(.readOnly, "The index \(path) was opened for searching only.") }
        do {
            return try await pool.writeWithoutTransaction { [path] db in
                let lock = try UpdateLock(index: path)
                defer { lock.release() }
                return try IndexUpdate(db, index: path, limit: 0, progress: nil).remove(folder)
            }
        } catch let error as DatabaseError {
            throw FolderIndexError(.file, "The index \(path) cannot be written: \(error.words)")
        }
    }

    /// What it holds.
    public func content() async throws -> IndexContent {
        do {
            return try await pool.read { db in
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT path, (SELECT count(*) FROM items WHERE source = sources.id AND has_text = 1) AS texts
                        FROM sources ORDER BY path
                        """)
                let sources = rows.map { IndexContent.Source(path: $0["path"], texts: $0["texts"]) }
                let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                let pageBytes = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0
                return IndexContent(
                    sources: sources, texts: sources.reduce(0) { $0 + $1.texts },
                    generation: try IndexVersion(db).generation, bytes: pages * pageBytes)
            }
        } catch let error as DatabaseError {
            throw FolderIndexError(.file, "The index \(path) cannot be read: \(error.words)")
        }
    }

    /// Closes the file, when nobody uses it; further calls fail.
    public func close() throws { try pool.close() }
}

extension DatabaseError {
    /// What happened, without the statement.
    var words: String { "\(message ?? "SQLite says nothing") (\(resultCode))" }
}

/// Keeps other processes from bringing the same index up to date; ends with the process.
private struct UpdateLock {
    private let descriptor: Int32

    init(index path: String) throws {
        // A file of its own: SQLite's locks would end if a second descriptor of its file were closed.
        let lockPath = path + "-lock"
        descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw FolderIndexError(.file, "\(lockPath) cannot be written (\(systemMessage())).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            _ = Foundation.close(descriptor)
            throw FolderIndexError(
                .inUse, "Another process brings the index \(path) up to date. Wait for it; searching goes on.")
        }
    }

    func release() { _ = Foundation.close(descriptor) }
}
