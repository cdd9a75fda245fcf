import Foundation
import GRDB

/// The SQLite file of an index: its tables and its settings.
///
/// An item is a file below a folder, or a paragraph of a control file; its text, if it has one, is the row of `texts`
/// with the same number. `stamp` tells without reading whether an item may have changed, `hash` whether it has.
enum IndexSchema {
    /// "LKSI": what `PRAGMA application_id` says of an index.
    static let applicationID: Int64 = 0x4C4B_5349
    static let version: Int64 = 1
    /// Letters and digits make words; case does not count, and neither do diacritics, also those of letters with two.
    static let tokenizer = "unicode61 remove_diacritics 2"
    /// A word in a title counts as much as eight in a body.
    static let rank = "bm25(8.0, 1.0)"

    private static let tables = """
        CREATE TABLE facts(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE sources(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL);
        CREATE TABLE items(
            id INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL, stamp TEXT NOT NULL,
            hash INTEGER NOT NULL, has_text INTEGER NOT NULL, UNIQUE(source, key));
        CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize = '\(tokenizer)');
        INSERT INTO texts(texts, rank) VALUES ('rank', '\(rank)');
        INSERT INTO texts(texts, rank) VALUES ('hashsize', 8388608);
        """

    /// What the file says of itself; it is not changed.
    ///
    /// It is asked through SQLite: opening the file beside its connections would end their locks when it is closed.
    ///
    /// - Returns: False if there is no file, or an empty one.
    static func checkHeader(path: String) throws -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return false }
        var configuration = plainConfiguration(label: "lockstep.index.check")
        configuration.readonly = true
        do {
            let database = try DatabaseQueue(path: path, configuration: configuration)
            let (application, version, tables) = try database.read { db in
                (
                    try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0,
                    try Int64.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
                )
            }
            try database.close()
            if application == 0, tables == 0 { return false }
            try check(application: application, version: version, path: path)
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw FolderIndexError(.foreign, "\(path) is no SQLite file. Give the index another path.")
        } catch let error as DatabaseError {
            throw FolderIndexError(.file, "The index \(path) cannot be read (\(error.message ?? "\(error)")).")
        }
    }

    private static func check(application: Int64, version: Int64, path: String) throws {
        guard application == applicationID, version > 0 else {
            throw FolderIndexError(
                .foreign,
                "\(path) is an SQLite file of another program (application_id \(application)). Give the index another "
                    + "path.")
        }
        guard version <= Self.version else {
            throw FolderIndexError(
                .newer,
                "The index \(path) has schema \(version), this program knows \(Self.version). Use the newer version, "
                    + "or delete the index with \(path)-wal and \(path)-shm, and make it again.")
        }
    }

    /// Makes the tables in an empty file.
    static func create(path: String) throws {
        let configuration = plainConfiguration(label: "lockstep.index.create")
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                // Another process may have been faster.
                guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else { return .rollback }
                try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
                try db.execute(sql: tables)
                // A new index is told from an older one of the same path.
                try db.execute(
                    sql: "INSERT INTO facts VALUES ('identity', ?), ('generation', 0)",
                    arguments: [Int64.random(in: 0 ... .max)])
                return .commit
            }
        }
        try database.close()
    }

    /// What all connections have in common.
    ///
    /// GRDB's own class of service is above the default, and on Linux that asks for a priority that a node has no right to.
    private static func plainConfiguration(label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.qos = .default
        configuration.busyMode = .timeout(10)
        return configuration
    }

    /// The settings of the connections that search and write.
    ///
    /// The index can be made again, so a commit does not wait for the disk; it is whole after a crash all the same.
    static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = plainConfiguration(label: "lockstep.index")
        configuration.readonly = isReadOnly
        configuration.maximumReaderCount = 8
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON;
                    PRAGMA trusted_schema = OFF; PRAGMA cache_size = -8192
                    """)
        }
        return configuration
    }
}

/// What identifies an answer: the index, and how often its texts changed.
struct IndexVersion: Hashable, Sendable {
    var identity: Int64
    var generation: Int64

    init(_ db: Database) throws {
        identity = try Self.fact("identity", db)
        generation = try Self.fact("generation", db)
    }

    private static func fact(_ key: String, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT value FROM facts WHERE key = ?")
        guard let value = try Int64.fetchOne(statement, arguments: [key]) else {
            throw FolderIndexError(
                .file, "the index has no \(key); delete it, with its files -wal and -shm, and make it again")
        }
        return value
    }
}

/// The system's words for the last error.
func systemMessage() -> String { String(cString: strerror(errno)) }
