import Foundation
import GRDB
import GRDBSQLite
import LockstepCore
import LockstepNode

/// The sizes that a journal works with.
///
/// Tests make them small; nothing else changes them.
package struct JournalTuning: Sendable {
    /// The write-ahead log is copied to the main file when it holds this much, after the answer of the commit that
    /// filled it.
    ///
    /// Smaller costs more syncs, larger a longer stall of the commit after it.
    package var checkpointBytes = 4 << 20
    /// A snapshot is written, checked and deleted in rows of this size, each in a transaction of its own, so an append
    /// waits for one row at most.
    package var chunkBytes = 1 << 20
    /// Batches that are kept although two snapshots cover them, for replicas that come back late.
    package var retainedBytes = 64 << 20
    /// A snapshot is saved only as long as this much will stay free: the file does not shrink again, and what is free
    /// is for batches.
    package var reservedBytes = PrimaryDriver.reserveBytes
    /// Says what is free for the journal; nil: the file system is asked.
    package var freeBytes: (@Sendable () -> Int64?)?

    package init() {}
}

/// The SQLite file of one store: its tables, its settings, and the table of facts about itself.
///
/// One row a batch, with the batch's own bytes (PROTOCOL, R-7). A snapshot is a run of chunk rows and becomes valid
/// with its row in `snapshots`, which is written last; chunks that no such row names are left-overs. Every row can be
/// checked by itself: batches by the chain, chunks and snapshots by their hashes, facts by their sums.
///
/// | key of `meta` | value |
/// |---|---|
/// | cluster, store, channel, incarnation | what the journal belongs to |
/// | generation | counts replacements and cuts of the log |
/// | note.NAME | a ``JournalNote`` |
/// | arbitrated | only of an arbitrated journal (R-85): the end at adoption, `epoch:sequence:hash:0` |
/// | committed, promised, arbiter | only beside it (R-84): commit number; epoch; `revision:number:epoch:boot` |
///
/// `quarantine` has what was moved out of the log: by an operator's recovery, which stays, and by cuts of a tail, whose
/// reasons begin with `cut: ` and which are kept for 7 days. `moved` is in seconds since 1970.
enum JournalSchema {
    /// "LKSJ": what `PRAGMA application_id` says of a journal.
    static let applicationID: Int64 = 0x4C4B_534A
    static let version: Int64 = 1
    /// That of a journal that is marked as arbitrated: no older program opens it, which would show its tail (R-85).
    static let arbitratedVersion: Int64 = 2
    /// The page of file system and memory.
    ///
    /// Larger pages make one small batch dearer, since a commit writes whole pages.
    static let pageBytes = 4_096
    static let snapshotsKept = 2

    private static let tables = """
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE batches(
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, epoch INTEGER NOT NULL, hash BLOB NOT NULL,
            bytes BLOB NOT NULL);
        CREATE TABLE snapshots(
            sequence INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, hash BLOB NOT NULL, size INTEGER NOT NULL,
            first_chunk INTEGER NOT NULL, chunk_count INTEGER NOT NULL, sum BLOB NOT NULL);
        CREATE TABLE chunks(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, bytes BLOB NOT NULL);
        CREATE TABLE quarantine(
            id INTEGER PRIMARY KEY, moved INTEGER NOT NULL, reason TEXT NOT NULL, first INTEGER NOT NULL,
            last INTEGER NOT NULL, epoch INTEGER NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL);
        """

    static func create(_ identity: JournalIdentity, in db: Database) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
            try db.execute(sql: tables)
            var meta = JournalMeta()
            meta[.cluster] = identity.cluster.description
            meta[.store] = identity.storeName
            meta[.channel] = String(identity.channel.rawValue)
            meta[.incarnation] = identity.incarnation.description
            meta[.generation] = "1"
            try meta.writeAll(to: db)
            return .commit
        }
    }

    /// The settings of the one connection that writes and checkpoints.
    ///
    /// `locking_mode = EXCLUSIVE` keeps every other connection out, which the defect of SQLite's write-ahead log up to
    /// 3.51.2 (https://www.sqlite.org/wal.html#walresetbug) demands, and saves the locks of each transaction.
    /// `secure_delete` is on in some distributions and would write every deleted page once more.
    static func writerConfiguration(label: String, isCreating: Bool) -> Configuration {
        var configuration = plainConfiguration(label: label)
        configuration.prepareDatabase { db in
            if isCreating { try db.execute(sql: "PRAGMA page_size = \(pageBytes); PRAGMA auto_vacuum = NONE") }
            try db.execute(
                sql: """
                    PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON;
                    PRAGMA trusted_schema = OFF; PRAGMA cache_size = -8192; PRAGMA mmap_size = 0
                    """)
            let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
                    PRAGMA wal_autocheckpoint = 0
                    """)
            let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
            guard mode == "wal", synchronous == 2 else {
                throw LockstepError(
                    .journalFailed,
                    "SQLite did not take the settings a journal needs (journal_mode \(mode ?? "?"), synchronous "
                        + "\(synchronous ?? -1)); use a local file system.")
            }
        }
        return configuration
    }

    /// The settings of a connection that reads only: it neither writes nor checkpoints, also not when it closes.
    ///
    /// It goes with ``readerPath(_:)``: exclusive mode has the index of the write-ahead log in memory.
    static func readerConfiguration(label: String) -> Configuration {
        var configuration = plainConfiguration(label: label)
        configuration.readonly = true
        configuration.prepareDatabase { db in
            // A write-ahead log whose first frame is damaged is empty for SQLite, which would remove it at the end.
            var keepsLog: CInt = 1
            let code = sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_PERSIST_WAL, &keepsLog)
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            try db.execute(
                sql: """
                    PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON; PRAGMA cell_size_check = ON;
                    PRAGMA trusted_schema = OFF
                    """)
        }
        return configuration
    }

    /// How a connection that reads only names a journal's file.
    ///
    /// With SQLite's own locks a reader keeps the index of the write-ahead log in a file beside the journal. That file
    /// has to grow, and where the disk is full this fails, or ends the process with SIGBUS. `node.lock` keeps writers
    /// away already, so a reader does without SQLite's locks, and then without that file too.
    static func readerPath(_ path: String) -> String {
        guard sqlite3_compileoption_used("USE_URI") != 0 else { return path }
        let name = path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "%"): "%25"
            case UInt8(ascii: "?"): "%3F"
            case UInt8(ascii: "#"): "%23"
            default: byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
            }
        }.joined()
        return (path.hasPrefix("/") ? "file://" : "file:") + name + "?vfs=unix-none"
    }

    private static func plainConfiguration(label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.qos = .journal
        configuration.foreignKeysEnabled = false
        return configuration
    }
}

/// The facts that a journal holds about itself, each with a checksum over key and value.
struct JournalMeta: Sendable {
    struct Key: Hashable, Sendable {
        let name: String
        static let cluster = Key(name: "cluster")
        static let store = Key(name: "store")
        static let channel = Key(name: "channel")
        static let incarnation = Key(name: "incarnation")
        /// Counts the times at which the log was replaced or cut; the side mark has it too.
        static let generation = Key(name: "generation")
        static func note(_ note: JournalNote) -> Key { Key(name: "note." + note.rawValue) }
    }

    private(set) var values: [Key: String] = [:]

    init() {}

    subscript(key: Key) -> String? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// Reads and checks every fact.
    init(from db: Database) throws {
        let rows = try Row.fetchCursor(
            try db.cachedStatement(sql: "SELECT key, value, sum FROM meta ORDER BY key"))
        while let row = try rows.next() { try add(row) }
    }

    /// Checks one fact and takes it over.
    mutating func add(_ row: Row) throws {
        guard let key = row.text(0), let value = row.text(1), row.integer(2) == Self.sum(key, value) else {
            throw JournalFinding(.meta, .zero, "a row of the table of facts does not match its checksum")
        }
        values[Key(name: key)] = value
    }

    func writeAll(to db: Database) throws {
        for (key, value) in values.sorted(by: { $0.key.name < $1.key.name }) {
            try Self.write(value, for: key, to: db)
        }
    }

    static func write(_ value: String?, for key: Key, to db: Database) throws {
        guard let value else {
            return try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key.name])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta(key, value, sum) VALUES (?, ?, ?)").execute(
            arguments: [key.name, value, sum(key.name, value)])
    }

    static func sum(_ key: String, _ value: String) -> Int64 {
        var writer = ByteWriter()
        writer.writeString(key)
        writer.writeString(value)
        var checksum = CRC32C()
        withBytes(of: writer.bytes) { checksum.update($0, 0..<writer.count) }
        return Int64(checksum.value)
    }

    /// What the journal belongs to; nil if a fact is missing or malformed.
    var identity: JournalIdentity? {
        guard let cluster = values[.cluster].flatMap({ ClusterID(hexadecimal: $0) }), let store = values[.store],
            let channel = values[.channel].flatMap({ UInt16($0) }),
            let incarnation = values[.incarnation].flatMap({ Incarnation(hexadecimal: $0) })
        else { return nil }
        return JournalIdentity(
            cluster: cluster, storeName: store, channel: Channel(rawValue: channel), incarnation: incarnation)
    }

    var generation: UInt64? { values[.generation].flatMap { UInt64($0) } }
}
