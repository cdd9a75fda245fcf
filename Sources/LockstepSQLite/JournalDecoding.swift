import Foundation
import GRDB
package import LockstepCore
package import LockstepNode

/// The decoders of the journal's tables and of its side mark by themselves: what fuzzing feeds without a file.
package enum JournalDecoding {
    /// What SQLite may hold in a column, whatever the table says.
    package enum Column: Hashable, Sendable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
    }

    /// A row of the table of facts.
    package static func fact(_ key: String, _ value: String) -> [Column] {
        [.text(key), .text(value), .integer(JournalMeta.sum(key, value))]
    }

    /// What the rows of the table of facts say; throws ``JournalFinding`` for one that is damaged.
    package static func facts(_ rows: [[Column]]) throws -> (identity: JournalIdentity?, generation: UInt64?) {
        var meta = JournalMeta()
        for row in rows { try meta.add(fact(row)) }
        return (meta.identity, meta.generation)
    }

    /// The row of a batch, as the journal writes it.
    package static func batch(_ batch: SealedBatch) -> [Column] {
        [
            .integer(Int64(bitPattern: batch.head.first.rawValue)),
            .integer(Int64(bitPattern: batch.head.last.rawValue)),
            .integer(Int64(bitPattern: batch.head.epoch.rawValue)), .blob([UInt8](blob(batch.hash.rawValue))),
            .blob(batch.bytes),
        ]
    }

    /// The batches that the rows hold, each checked against the one before, and what is wrong with the others.
    package static func batches(
        _ rows: [[Column]], of store: StoreID, after position: Position?
    ) throws -> (batches: [SealedBatch], findings: [JournalFinding]) {
        var chain = ChainCheck(store: store, position: position)
        var batches: [SealedBatch] = []
        var findings: [JournalFinding] = []
        for row in rows {
            let row = batch(row)
            do { batches.append(try chain.next(row)) } catch let finding as JournalFinding {
                findings.append(finding)
                chain.skip(row)
            }
        }
        return (batches, findings)
    }

    /// Encodes a slot of the side mark.
    package static func slot(_ mark: SideMark, counter: UInt64) -> [UInt8] {
        SideMarkFile.encode(mark, counter: counter)
    }

    /// Reads a slot of the side mark; nil if it is none.
    package static func slot(_ bytes: [UInt8]) -> (mark: SideMark, counter: UInt64)? {
        bytes.count == SideMarkFile.slotBytes ? SideMarkFile.decode(bytes) : nil
    }

    private static func fact(_ columns: [Column]) -> Row {
        let values = padded(columns, to: 3)
        return Row(dictionaryLiteral: ("key", values[0]), ("value", values[1]), ("sum", values[2]))
    }

    private static func batch(_ columns: [Column]) -> Row {
        let values = padded(columns, to: 5)
        return Row(
            dictionaryLiteral: ("first", values[0]), ("last", values[1]), ("epoch", values[2]), ("hash", values[3]),
            ("bytes", values[4]))
    }

    private static func padded(_ columns: [Column], to count: Int) -> [DatabaseValue] {
        columns.prefix(count).map(value) + [DatabaseValue](repeating: .null, count: max(0, count - columns.count))
    }

    fileprivate static func value(_ column: Column) -> DatabaseValue {
        switch column {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}

/// The tables of a journal in memory, filled with any rows, and the checks of a whole journal on them.
package final class JournalTables: Sendable {
    private let database: DatabaseQueue

    package init() throws {
        database = try DatabaseQueue()
        let identity = JournalIdentity(
            cluster: .none, storeName: "tables", channel: Channel(rawValue: 1), incarnation: .none)
        try database.writeWithoutTransaction { try JournalSchema.create(identity, in: $0) }
    }

    /// What is wrong with a journal that holds these rows and this mark.
    ///
    /// - Parameters:
    ///   - rows: Rows by the names of their tables; one that a table refuses is left out.
    ///   - mark: Where the side mark says that a commit returned; none counts as a missing file.
    ///   - store: Whose journal it is.
    /// - Returns: What the check of everything found, and what a start would refuse it for.
    /// - Throws: What has no name as damage.
    package func findings(
        _ rows: [(table: String, columns: [JournalDecoding.Column])], mark: Position?, of store: StoreID
    ) throws -> (all: [JournalFinding], atStart: JournalFinding?) {
        try database.writeWithoutTransaction { db in
            // Prepared once: preparing takes longer than all else here.
            try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            let result = Result {
                for row in rows { Self.insert(row.columns, into: row.table, db) }
                return (try Self.all(db, store: store), try Self.atStart(db, mark: mark, store: store))
            }
            try db.cachedStatement(sql: "ROLLBACK").execute()
            return try result.get()
        }
    }

    private static func all(_ db: Database, store: StoreID) throws -> [JournalFinding] {
        var check = FullCheck(store: store)
        while try check.step(db, bytes: 4_096) {}
        return check.findings
    }

    private static func atStart(_ db: Database, mark: Position?, store: StoreID) throws -> JournalFinding? {
        let content = mark.map { position in
            SideMarkFile.Content.mark(SideMark(incarnation: .none, generation: 1, position: position), isWhole: true)
        }
        do {
            let meta = try JournalMeta(from: db)
            _ = try RecoveryCheck(store: store, meta: meta, mark: content ?? .missing).run(db)
        } catch let finding as JournalFinding { return finding }
        return nil
    }

    private static func insert(_ columns: [JournalDecoding.Column], into table: String, _ db: Database) {
        guard table == "meta" || columns.first.map(canBeRowNumber) == true else { return }
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        // A row that the table's own rules refuse is none that a journal can hold; IGNORE, since an error costs the
        // prepared statement.
        try? db.cachedStatement(sql: "INSERT OR IGNORE INTO \(table) VALUES (\(places))").execute(
            arguments: StatementArguments(columns.map(JournalDecoding.value)))
    }

    /// Whether SQLite may take the value for an integer primary key: it takes texts of integers, and a number for NULL.
    private static func canBeRowNumber(_ column: JournalDecoding.Column) -> Bool {
        switch column {
        case .blob: false
        case .real(let number): number.isNaN || Int64(exactly: number) != nil
        case .null, .integer, .text: true
        }
    }
}
