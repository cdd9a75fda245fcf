import Foundation
import GRDB
import Lockstep

/// One update: finds what has changed in a folder, reads it, and writes it in parts.
///
/// Invariants:
/// - A part is one transaction, with its rows of `seen`; between parts there is none.
/// - `seen` has every item that was found in this run. Only a run that came to its end removes the others, and never
///   what lies below a folder that could not be listed, or not even be looked at.
/// - The writer's connection is its alone while it runs, and other processes are kept out by a lock.
final class IndexUpdate {
    /// A part ends at so many items, or so many bytes of text.
    static let partItems = 256
    static let partBytes = 8 << 20

    /// What a source is.
    enum Kind: String { case folder, control, file }

    /// Something that goes into the index, or is there already.
    struct Item {
        var key: String
        var stamp: String
        /// Its number, if it has one.
        var id: Int64?
        var change: Change
    }

    enum Change {
        /// It is as it was.
        case none
        /// Only its stamp is new.
        case stamp
        /// Nil for a file that is not text.
        case text(title: String, body: String?, hash: Int64)
        /// It cannot be read, so its text can no longer be right.
        case removal
    }

    /// What the index has of an item.
    struct KnownItem {
        var id: Int64
        var stamp: String
        var hash: Int64
    }

    let db: Database
    private let index: String
    private let limit: Int
    let progress: (@Sendable (IndexProgress) -> Void)?
    var report = IndexReport()
    var state = IndexProgress()
    var source: Int64 = 0
    var part: [Item] = []
    var partSize = 0

    init(_ db: Database, index: String, limit: Int, progress: (@Sendable (IndexProgress) -> Void)?) {
        self.db = db
        self.index = index
        self.limit = limit
        self.progress = progress
    }

    func run(_ folder: String) throws -> IndexReport {
        let (root, kind, size) = try look(folder)
        try db.execute(
            sql: "CREATE TEMP TABLE IF NOT EXISTS seen(id INTEGER PRIMARY KEY); DELETE FROM temp.seen")
        source = try openSource(root, kind)
        switch kind {
        case .folder: try walk(root)
        case .control: try readParagraphs(root, size: size)
        case .file: try readOne(root)
        }
        try commitPart()
        try removeOthers()
        report.seen = state.seen
        progress?(state)
        return report
    }

    // MARK: - Sources

    /// The path without symbolic links, and what is there.
    private func look(_ folder: String) throws -> (path: String, Kind, size: Int64) {
        guard let pointer = realpath(folder, nil) else {
            throw FolderIndexError(.source, "\(folder) cannot be indexed (\(systemMessage())).")
        }
        defer { free(pointer) }
        var information = stat()
        guard let path = String(validatingCString: pointer), stat(path, &information) == 0 else {
            throw FolderIndexError(.source, "\(folder) cannot be indexed: its path is not UTF-8.")
        }
        let size = Int64(information.st_size)
        switch information.st_mode & S_IFMT {
        case S_IFDIR: return (path, .folder, size)
        case S_IFREG:
            do {
                return (path, ControlFile.isControlFile(try TextFile.start(of: path)) ? .control : .file, size)
            } catch {
                throw FolderIndexError(.source, "\(path) cannot be read (\(error.message)).")
            }
        default: throw FolderIndexError(.source, "\(path) is neither a folder nor a file.")
        }
    }

    private func openSource(_ path: String, _ kind: Kind) throws -> Int64 {
        var found: Int64?
        for row in try Row.fetchAll(db, sql: "SELECT id, path, kind FROM sources") {
            let other: String = row["path"]
            // By their bytes: equal texts may be the names of two folders.
            if other.utf8.elementsEqual(path.utf8) {
                // What was a folder is a file now, or the other way round: no key means the same as before.
                if row["kind"] as String != kind.rawValue { _ = try remove(path) } else { found = row["id"] }
            } else if Self.contains(other, path) || Self.contains(path, other) {
                throw FolderIndexError(
                    .source,
                    "\(path) overlaps with \(other), which is indexed already: each text would be found twice. "
                        + "Index one of them, or use another index.")
            }
        }
        if let found { return found }
        try db.execute(sql: "INSERT INTO sources(path, kind) VALUES (?, ?)", arguments: [path, kind.rawValue])
        return db.lastInsertedRowID
    }

    private static func contains(_ folder: String, _ path: String) -> Bool {
        path.utf8.starts(with: (folder.hasSuffix("/") ? folder : folder + "/").utf8)
    }

    /// Forgets a source; returns how many texts it had.
    func remove(_ folder: String) throws -> Int {
        let path = Self.canonical(folder)
        guard let id = try Int64.fetchOne(db, sql: "SELECT id FROM sources WHERE path = ?", arguments: [path]) else {
            let sources = try String.fetchAll(db, sql: "SELECT path FROM sources ORDER BY path LIMIT 20")
            throw FolderIndexError(
                .source,
                "\(path) is not in the index, so nothing was removed. "
                    + (sources.isEmpty ? "The index is empty." : "It has \(sources.joined(separator: ", "))."))
        }
        try db.execute(
            sql: "CREATE TEMP TABLE IF NOT EXISTS seen(id INTEGER PRIMARY KEY); DELETE FROM temp.seen")
        source = id
        try removeOthers()
        try db.execute(sql: "DELETE FROM sources WHERE id = ?", arguments: [id])
        defer { report.removed = 0 }
        return report.removed
    }

    /// The path without symbolic links; of what is gone, that of the nearest folder above it that is there, and the
    /// rest as it was given.
    private static func canonical(_ path: String) -> String {
        guard !path.isEmpty else { return path }
        let slash = UInt8(ascii: "/")
        let start = path.utf8.first == slash ? "/" : "./"
        let names = path.utf8.split(separator: slash).map { Substring($0) }.filter { $0 != "." }
        for count in (0...names.count).reversed() {
            guard let pointer = realpath(start + names[..<count].joined(separator: "/"), nil) else { continue }
            defer { free(pointer) }
            let known = String(cString: pointer)
            let rest = names[count...].joined(separator: "/")
            return rest.isEmpty ? known : known == "/" ? "/" + rest : known + "/" + rest
        }
        return path
    }

    // MARK: - Reading

    private func walk(_ root: String) throws {
        let own = URL(fileURLWithPath: index).resolvingSymlinksInPath().path
        let excluded = Set(["", "-wal", "-shm", "-journal", "-lock"].map { own + $0 })
        var total = 0
        let counting = FolderWalk(root: root, excluding: excluded)
        while let step = counting.next() {
            guard case .file(_, _, let mark) = step else { continue }
            total += 1
            state.totalBytes += mark.size
            if total.isMultiple(of: 1_024) { try Task.checkCancellation() }
        }
        state.total = total
        progress?(state)
        let walk = FolderWalk(root: root, excluding: excluded)
        while let step = walk.next() {
            switch step {
            case .file(let key, let path, let mark): try take(key, path: path, mark)
            case .unreadable(let key, let reason):
                state.seen += 1
                report.fail(key, reason)
                // It may be a folder.
                try keepBelow(key)
            case .unreadableFolder(let key, let reason):
                report.fail(key, reason)
                try keepBelow(key)
            }
        }
    }

    private func readOne(_ path: String) throws {
        var information = stat()
        guard stat(path, &information) == 0 else {
            throw FolderIndexError(.source, "\(path) cannot be read (\(systemMessage())).")
        }
        let mark = TextFile.Mark(information)
        state.total = 1
        state.totalBytes = mark.size
        try take(URL(fileURLWithPath: path).lastPathComponent, path: path, mark)
    }

    /// Reads a file if it may have changed.
    private func take(_ key: String, path: String, _ mark: TextFile.Mark) throws {
        state.seen += 1
        state.bytes += mark.size
        let known = try known(key)
        let stamp = mark.stamp(limit: limit)
        if let known, !stamp.isEmpty, known.stamp == stamp {
            report.unchanged += 1
            return try add(Item(key: key, stamp: stamp, id: known.id, change: .none), bytes: 0)
        }
        switch TextFile.read(path: path, limit: limit) {
        case .text(let text, let isCut):
            if isCut { report.cut += 1 }
            try take(key, title: key, text, stamp: stamp, known)
        case .binary:
            report.binary += 1
            let change = known?.hash == 0 ? Change.stamp : .text(title: "", body: nil, hash: 0)
            try add(Item(key: key, stamp: stamp, id: known?.id, change: change), bytes: 0)
        case .unreadable(let reason):
            report.fail(key, reason)
            // Without its row in `seen` an item that was known would go too, but with no other it is right at once.
            if let known { try add(Item(key: key, stamp: "", id: known.id, change: .removal), bytes: 0) }
        }
    }

    private func take(_ key: String, title: String, _ text: String, stamp: String, _ known: KnownItem?) throws {
        let hash = Self.hash(text)
        if let known, known.hash == hash {
            report.unchanged += 1
            let isSame = known.stamp == stamp
            return try add(Item(key: key, stamp: stamp, id: known.id, change: isSame ? .none : .stamp), bytes: 0)
        }
        try add(
            Item(key: key, stamp: stamp, id: known?.id, change: .text(title: title, body: text, hash: hash)),
            bytes: text.utf8.count)
    }

    private func readParagraphs(_ path: String, size: Int64) throws {
        guard let file = ControlFile(path: path, limit: limit) else {
            throw FolderIndexError(.source, "\(path) cannot be read (\(systemMessage())).")
        }
        state.totalBytes = size
        do {
            while let paragraph = try file.next() {
                state.seen += 1
                state.bytes = Int64(file.bytesRead)
                if paragraph.isCut { report.cut += 1 }
                // A description that is no text leaves the package's name, which is found all the same.
                let text = TextDecoding.text(paragraph.description, isCut: paragraph.isCut) ?? ""
                try take(paragraph.key, title: paragraph.package, text, stamp: "", try known(paragraph.key))
            }
        } catch let error as TextFile.ReadFailure {
            throw FolderIndexError(.source, "\(path) cannot be read (\(error.message)).")
        }
    }

    /// 63 bits that are as good as different for different texts; never 0, which stands for no text.
    private static func hash(_ text: String) -> Int64 {
        var text = text
        let hash = text.withUTF8 { SipHash.digest.hash(UnsafeRawBufferPointer($0)) }
        return max(1, Int64(truncatingIfNeeded: hash & 0x7FFF_FFFF_FFFF_FFFF))
    }
}
