import LockstepCore
import LockstepNode
import LockstepSQLite

/// Rows and side marks that were not written by this program: each is refused by name, or is what was written.
enum JournalTarget {
    enum Mode: UInt8 {
        /// Rows of the table of facts.
        case facts
        /// Rows of batches; their columns are made to fit the bytes, or are any.
        case batches
        /// A slot of the side mark, its checksum made right or not.
        case slot
    }

    /// Makes what stands beside the input's bytes fit them.
    static let fits: UInt8 = 0x80

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let flags = input.byte()
        do {
            switch Mode(rawValue: flags & 7) {
            case .facts, nil: try facts(&input, fits: flags & fits != 0, checks)
            case .batches: try batches(&input, fits: flags & fits != 0, checks)
            case .slot: try slot(&input, fits: flags & fits != 0, checks)
            }
        } catch {
            try named(error)
        }
    }

    /// All tables of a journal, in memory, and the checks of a whole journal.
    static func runTables(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        do { try tables(&input, checks) } catch { try named(error) }
    }

    /// Damage is found and named; everything else is not what was promised.
    private static func named(_ error: any Error) throws(FuzzFinding) {
        if let finding = error as? FuzzFinding { throw finding }
        guard error is JournalFinding else { throw FuzzFinding(description: "damage got no name: \(error)") }
    }

    private static func facts(_ input: inout FuzzInput, fits: Bool, _ checks: Checks) throws {
        var rows: [[JournalDecoding.Column]] = []
        while !input.isAtEnd, rows.count < 16 {
            if fits {
                let key = String(decoding: input.block(), as: UTF8.self)
                rows.append(JournalDecoding.fact(key, String(decoding: input.block(), as: UTF8.self)))
            } else {
                rows.append(columns(&input, 3))
            }
        }
        let facts = try JournalDecoding.facts(rows)
        guard let identity = facts.identity else { return }
        let again = try JournalDecoding.facts([
            JournalDecoding.fact("cluster", "\(identity.cluster)"), JournalDecoding.fact("store", identity.storeName),
            JournalDecoding.fact("channel", "\(identity.channel.rawValue)"),
            JournalDecoding.fact("incarnation", "\(identity.incarnation)"),
        ])
        try checks.same(again.identity, identity, "an identity that was written again")
    }

    private static func batches(_ input: inout FuzzInput, fits: Bool, _ checks: Checks) throws {
        var rows: [[JournalDecoding.Column]] = []
        while !input.isAtEnd, rows.count < 16 {
            guard fits else {
                rows.append(columns(&input, 5))
                continue
            }
            let bytes = input.block()
            rows.append((try? SealedBatch(bytes: bytes)).map(JournalDecoding.batch) ?? [.blob(bytes)])
        }
        let start = Position.start(of: Golden.store)
        let read = try JournalDecoding.batches(rows, of: Golden.store, after: start)
        try checks.holds(
            read.batches.count + read.findings.count == rows.count, "a row is neither read nor found wrong")
        for batch in read.batches {
            try checks.same(rows.contains(JournalDecoding.batch(batch)), true, "a batch's row that was written again")
        }
        if read.findings.isEmpty, let first = read.batches.first {
            try checks.holds(first.head.previous == start.hash, "a log that begins elsewhere is accepted")
        }
    }

    private static func slot(_ input: inout FuzzInput, fits: Bool, _ checks: Checks) throws(FuzzFinding) {
        var bytes = input.rest()
        if fits {
            bytes = Array(bytes.prefix(72)) + [UInt8](repeating: 0, count: 72 - min(72, bytes.count))
            var crc = CRC32C()
            withBytes(of: bytes) { crc.update($0, 0..<72) }
            var writer = ByteWriter(appendingTo: bytes)
            writer.write(crc.value)
            bytes = writer.bytes
        }
        guard let slot = JournalDecoding.slot(bytes) else { return }
        try checks.same(
            JournalDecoding.slot(slot.mark, counter: slot.counter), bytes, "a slot that was encoded again")
    }

    // MARK: - Whole journals

    /// One for all runs: making the tables takes longer than a run.
    private static let journal: JournalTables? = {
        do { return try JournalTables() } catch { preconditionFailure("no tables in memory: \(error)") }
    }()

    private static func tables(_ input: inout FuzzInput, _ checks: Checks) throws {
        let mark = Position(
            epoch: Epoch(rawValue: input.integer()), sequence: SequenceNumber(rawValue: input.integer()),
            hash: BatchHash(rawValue: UInt128(input.integer()) << 64 | UInt128(input.integer())))
        var rows: [(table: String, columns: [JournalDecoding.Column])] = []
        while !input.isAtEnd, rows.count < 12 {
            switch input.byte() & 3 {
            case 0: rows.append(("meta", columns(&input, 3)))
            case 1: rows.append(("batches", columns(&input, 5)))
            case 2: rows.append(("snapshots", columns(&input, 7)))
            default: rows.append(("chunks", columns(&input, 3)))
            }
        }
        let findings = try Self.journal?.findings(rows, mark: mark, of: Golden.store)
        if defectIsPlanted(checks), let findings, findings.all.isEmpty, findings.atStart == nil {
            throw FuzzFinding(description: "a journal without damage")
        }
    }

    private static func defectIsPlanted(_ checks: Checks) -> Bool { checks.defect == .comparison }

    /// Values of any type, as SQLite may hold them in any column.
    private static func columns(_ input: inout FuzzInput, _ count: Int) -> [JournalDecoding.Column] {
        (0..<count).map { _ in
            switch input.byte() % 6 {
            case 0: return .null
            case 1: return .integer(Int64(bitPattern: input.integer()))
            case 2: return .real(Double(bitPattern: input.integer()))
            case 3: return .text(String(decoding: input.block(), as: UTF8.self))
            case 4: return .integer(Int64(input.byte()))
            default: return .blob(input.block())
            }
        }
    }
}
