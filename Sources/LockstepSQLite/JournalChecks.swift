import GRDB
import LockstepCore

/// What the row of a snapshot says.
struct SnapshotRow: Hashable, Sendable {
    var position: Position
    var size: Int
    var firstChunk: Int64
    var chunkCount: Int
    /// Over all other columns and the chunks' hashes.
    var sum: UInt128

    static let columns = "sequence, epoch, hash, size, first_chunk, chunk_count, sum"

    init(position: Position, size: Int, firstChunk: Int64, chunkHashes: [UInt128]) {
        self.position = position
        self.size = size
        self.firstChunk = firstChunk
        chunkCount = chunkHashes.count
        sum = 0
        sum = expectedSum(chunkHashes)
    }

    init(_ row: Row) throws {
        let sequence = row.sequence(0) ?? .zero
        guard sequence > .zero, let epoch = row.integer(1), let hash = row.number128(2), let size = row.integer(3),
            let firstChunk = row.integer(4), let count = row.integer(5), let sum = row.number128(6), size >= 0,
            firstChunk > 0, (1...1 << 32).contains(count), firstChunk <= .max - count
        else { throw JournalFinding(.snapshot, sequence, "its row is malformed") }
        position = Position(
            epoch: Epoch(rawValue: UInt64(bitPattern: epoch)), sequence: sequence, hash: BatchHash(rawValue: hash))
        self.size = Int(size)
        self.firstChunk = firstChunk
        chunkCount = Int(count)
        self.sum = sum
    }

    func expectedSum(_ chunkHashes: [UInt128]) -> UInt128 {
        var writer = ByteWriter()
        writer.write(position.epoch.rawValue)
        writer.write(position.sequence.rawValue)
        writer.write128(position.hash.rawValue)
        writer.write(UInt64(size))
        writer.write(firstChunk)
        for hash in chunkHashes { writer.write128(hash) }
        return sha256Prefix(writer.bytes)
    }

    func finding(_ text: String) -> JournalFinding { JournalFinding(.snapshot, position.sequence, text) }

    /// All rows, the newest first.
    static func fetchAll(_ db: Database) throws -> [Result<SnapshotRow, any Error>] {
        try reading(.snapshot, .zero) {
            let rows = try Row.fetchCursor(
                try db.cachedStatement(sql: "SELECT \(columns) FROM snapshots ORDER BY sequence DESC"))
            var result: [Result<SnapshotRow, any Error>] = []
            while let row = try rows.next() { result.append(Result { try SnapshotRow(row) }) }
            return result
        }
    }

    /// Reads the chunk at `index` from 0 and compares it with its hash, which is returned with it.
    func chunk(_ index: Int, _ db: Database) throws -> (bytes: [UInt8], hash: UInt128) {
        try reading(.snapshot, position.sequence) {
            let statement = try db.cachedStatement(sql: "SELECT hash, bytes FROM chunks WHERE id = ?")
            let rows = try Row.fetchCursor(statement, arguments: [firstChunk + Int64(index)])
            guard let row = try rows.next(), let hash = row.number128(0) else {
                throw finding("chunk \(index + 1) of \(chunkCount) is missing")
            }
            guard let bytes = row.bytes(1), sha256Prefix(bytes) == hash else {
                throw finding("chunk \(index + 1) of \(chunkCount) does not match its hash")
            }
            return (bytes, hash)
        }
    }

    /// Reads and checks the whole snapshot.
    ///
    /// Memory: twice its size for a moment.
    func content(_ db: Database, store: StoreID) throws -> SnapshotContent {
        var bytes: [UInt8] = []
        var hashes: [UInt128] = []
        for index in 0..<chunkCount {
            let chunk = try chunk(index, db)
            bytes.append(contentsOf: chunk.bytes)
            hashes.append(chunk.hash)
        }
        guard expectedSum(hashes) == sum, bytes.count == size else {
            throw finding("its row does not match its chunks")
        }
        do {
            let content = try SnapshotContent(bytes)
            guard content.log.store == store, content.log.position == position else {
                throw finding("its content belongs to \(content.log.position) of store \(content.log.store)")
            }
            return content
        } catch let error as WireError {
            throw finding("its content cannot be decoded: \(error)")
        }
    }
}

/// Follows the chain through the rows of batches (PROTOCOL, R-7, R-46).
struct ChainCheck: Sendable {
    let store: StoreID
    /// The end of the last row; nil lets the first row begin anywhere.
    var position: Position?

    static let query = "SELECT first, last, epoch, hash, bytes FROM batches WHERE first > ? ORDER BY first"

    /// Checks the next row and everything in it against the chain.
    mutating func next(_ row: Row) throws -> SealedBatch {
        let expected = position?.sequence.next
        guard let first = row.sequence(0), first > .zero else {
            throw JournalFinding(.batch, expected ?? .zero, "a row has no number")
        }
        if position == nil, first == SequenceNumber.zero.next { position = .start(of: store) }
        if let expected, first != expected {
            throw JournalFinding(.batch, expected, "it is missing; the next batch begins at \(first)")
        }
        guard let bytes = row.bytes(4) else { throw JournalFinding(.batch, first, "its row holds no bytes") }
        let batch: SealedBatch
        do throws(WireError) { batch = try SealedBatch(bytes: bytes) } catch {
            throw JournalFinding(.batch, first, "its head cannot be decoded: \(error)")
        }
        guard row.number128(3) == batch.hash.rawValue else {
            let stored = row.number128(3).map(hexadecimal) ?? "nothing"
            throw JournalFinding(.batch, first, "its bytes have the hash \(batch.hash), but \(stored) was stored")
        }
        let head = batch.head
        guard head.store == store else { throw JournalFinding(.batch, first, "it belongs to store \(head.store)") }
        guard head.first == first, row.sequence(1) == head.last,
            row.integer(2) == Int64(bitPattern: head.epoch.rawValue)
        else { throw JournalFinding(.batch, first, "its row and its head disagree") }
        if let position {
            guard head.previous == position.hash else {
                throw JournalFinding(
                    .batch, first, "it follows the hash \(head.previous), but the batch before has \(position.hash)")
            }
            guard head.epoch >= position.epoch else {
                throw JournalFinding(.batch, first, "its epoch \(head.epoch) is lower than \(position.epoch) before it")
            }
        }
        position = batch.position
        return batch
    }

    /// Goes on after a row that ``next(_:)`` refused, as far as its columns can be believed.
    mutating func skip(_ row: Row) {
        guard let last = row.sequence(1), let epoch = row.integer(2), let hash = row.number128(3) else {
            position = nil
            return
        }
        position = Position(
            epoch: Epoch(rawValue: UInt64(bitPattern: epoch)), sequence: last, hash: BatchHash(rawValue: hash))
    }
}

/// Names the place where SQLite itself finds its file damaged.
func reading<Value>(
    _ subject: JournalFinding.Subject, _ sequence: SequenceNumber, _ body: () throws -> Value
) throws -> Value {
    do { return try body() } catch let error as DatabaseError {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG:
            throw JournalFinding(subject, sequence, "SQLite cannot read it: \(error.message ?? "damaged")")
        default: throw error
        }
    }
}
