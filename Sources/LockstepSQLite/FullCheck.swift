import GRDB
import LockstepCore
import LockstepNode

/// The verification of everything that a journal holds, in steps, so that it can run beside appends.
struct FullCheck: Sendable {
    private(set) var findings: [JournalFinding] = []
    private(set) var checkedBytes = 0
    private var chain: ChainCheck
    private var phase = Phase.listSnapshots
    private var snapshotHashes: [SequenceNumber: BatchHash] = [:]
    /// Batches after this one are left out: they were checked when the journal was opened.
    private let limit: SequenceNumber?

    /// More findings than this say nothing new.
    private static let findingLimit = 1_000

    private enum Phase: Hashable, Sendable {
        case listSnapshots
        case snapshots([SnapshotRow], hashes: [UInt128])
        case batches
        /// What was cut off and kept aside, after this row.
        case quarantine(after: Int64)
        case done
    }

    init(store: StoreID, through limit: SequenceNumber? = nil) {
        chain = ChainCheck(store: store, position: nil)
        self.limit = limit
    }

    /// Does the next part, about `bytes` of batches or one chunk of a snapshot; false when all is done.
    mutating func step(_ db: Database, bytes: Int) throws -> Bool {
        switch phase {
        case .listSnapshots: try listSnapshots(db)
        case .snapshots(let rows, let hashes): try checkChunk(of: rows, hashes: hashes, db)
        case .batches: try checkBatches(db, bytes: bytes)
        case .quarantine(let row): try checkQuarantine(after: row, db, bytes: bytes)
        case .done: return false
        }
        if findings.count >= Self.findingLimit { phase = .done }
        return phase != .done
    }

    private mutating func listSnapshots(_ db: Database) throws {
        var rows: [SnapshotRow] = []
        let finding = try Self.finding {
            for row in try SnapshotRow.fetchAll(db) {
                do { rows.append(try row.get()) } catch let finding as JournalFinding { findings.append(finding) }
            }
        }
        if let finding { findings.append(finding) }
        for row in rows { snapshotHashes[row.position.sequence] = row.position.hash }
        phase = .snapshots(rows, hashes: [])
    }

    private mutating func checkChunk(of rows: [SnapshotRow], hashes: [UInt128], _ db: Database) throws {
        guard let row = rows.first else {
            phase = .batches
            return
        }
        var hashes = hashes
        var isGone = false
        let finding = try Self.finding {
            // Retention may have taken it since the last step.
            isGone =
                try Row.fetchOne(
                    try db.cachedStatement(sql: "SELECT 1 FROM snapshots WHERE sequence = ?"),
                    arguments: [Int64(row.position.sequence.rawValue)])
                == nil
            if isGone { return }
            let chunk = try row.chunk(hashes.count, db)
            hashes.append(chunk.hash)
            checkedBytes += chunk.bytes.count
            guard hashes.count < row.chunkCount || row.expectedSum(hashes) == row.sum else {
                throw row.finding("its row does not match its chunks")
            }
        }
        if let finding { findings.append(finding) }
        let isOver = finding != nil || isGone || hashes.count == row.chunkCount
        phase = isOver ? .snapshots(Array(rows.dropFirst()), hashes: []) : .snapshots(rows, hashes: hashes)
    }

    private mutating func checkBatches(_ db: Database, bytes: Int) throws {
        let stop = checkedBytes + bytes
        var isOver = true
        let finding = try Self.finding {
            let oldest = try Row.fetchOne(try db.cachedStatement(sql: "SELECT min(first) FROM batches"))?.sequence(0)
            // Retention may have taken the rows after the last step: the chain then begins anew at the oldest.
            if let oldest, let position = chain.position, position.sequence.next < oldest, limit != nil {
                chain.position = nil
            }
            let from = Int64(chain.position?.sequence.rawValue ?? 0)
            let rows = try Row.fetchCursor(try db.cachedStatement(sql: ChainCheck.query), arguments: [from])
            while let row = try reading(.batch, chain.position?.sequence.next ?? .zero, { try rows.next() }) {
                if let limit, let first = row.sequence(0), first > limit { return }
                do {
                    let batch = try chain.next(row)
                    checkedBytes += batch.bytes.count
                    if let hash = snapshotHashes[batch.head.last], hash != batch.hash {
                        findings.append(
                            JournalFinding(.batch, batch.head.first, "the snapshot at its end has the hash \(hash)"))
                    }
                } catch let finding as JournalFinding {
                    findings.append(finding)
                    let before = chain.position
                    chain.skip(row)
                    if chain.position == nil || chain.position == before { return }
                }
                if checkedBytes >= stop || findings.count >= Self.findingLimit {
                    isOver = false
                    return
                }
            }
        }
        if let finding { findings.append(finding) }
        if finding != nil || isOver { phase = .quarantine(after: 0) }
    }

    /// A batch that was cut off was whole; one that an operator's recovery set aside may be there because it is
    /// damaged.
    private mutating func checkQuarantine(after row: Int64, _ db: Database, bytes: Int) throws {
        let stop = checkedBytes + bytes
        phase = .done
        let finding = try Self.finding {
            try reading(.quarantine, .zero) {
                let rows = try Row.fetchCursor(
                    try db.cachedStatement(
                        sql: """
                            SELECT first, last, epoch, hash, bytes, id, reason FROM quarantine WHERE id > ? ORDER BY id
                            """), arguments: [row])
                while let row = try rows.next() {
                    guard let id = row.integer(5), row.text(6)?.hasPrefix(JournalQuarantine.cutPrefix) == true else {
                        continue
                    }
                    var one = ChainCheck(store: chain.store, position: nil)
                    do { checkedBytes += try one.next(row).bytes.count } catch let finding as JournalFinding {
                        findings.append(JournalFinding(.quarantine, finding.sequence, finding.text))
                    }
                    guard checkedBytes < stop, findings.count < Self.findingLimit else {
                        phase = .quarantine(after: id)
                        return
                    }
                }
            }
        }
        if let finding { findings.append(finding) }
    }

    /// Runs a part and answers what it found wrong.
    private static func finding(_ body: () throws -> Void) throws -> JournalFinding? {
        do { try body() } catch let finding as JournalFinding { return finding }
        return nil
    }
}
