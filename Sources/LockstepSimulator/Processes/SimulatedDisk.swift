import LockstepCore

/// What a node's journal holds: it outlives the process.
///
/// A transaction is durable as a whole when its outcome is reported; a crash before that leaves none of it, all of it,
/// or, where the fault says so, the batches at its beginning.
final class SimulatedDisk {
    /// One row of the journal: a batch's bytes and the hash that was computed when it was written.
    struct Row: Hashable {
        var bytes: [UInt8]
        var hash: BatchHash
        var last: SequenceNumber
    }

    /// A snapshot with the hash of its bytes.
    struct SavedSnapshot: Hashable {
        var bytes: [UInt8]
        var hash: UInt128
        var sequence: SequenceNumber
    }

    private(set) var incarnation: Incarnation
    private(set) var rows: [Row] = []
    private(set) var snapshot: SavedSnapshot?
    /// Written beside the rows after each commit; the journal must reach it.
    private(set) var sideMark = SequenceNumber.zero
    /// A whole earlier content, to be put back.
    private var copy: (rows: [Row], snapshot: SavedSnapshot?, sideMark: SequenceNumber)?

    init(incarnation: Incarnation) { self.incarnation = incarnation }

    // MARK: - Writing

    func append(_ batches: [SealedBatch]) {
        for batch in batches { rows.append(Row(bytes: batch.bytes, hash: batch.hash, last: batch.head.last)) }
    }

    /// A commit has returned.
    func mark() { sideMark = end }

    /// The last sequence number that it holds.
    var end: SequenceNumber { rows.last?.last ?? snapshot?.sequence ?? .zero }

    /// Saves a snapshot; the rows that it makes superfluous go.
    func save(_ bytes: [UInt8], at sequence: SequenceNumber) {
        guard sequence > snapshot?.sequence ?? .zero else { return }
        snapshot = SavedSnapshot(bytes: bytes, hash: sha256Prefix(bytes), sequence: sequence)
        rows.removeAll { $0.last <= sequence }
    }

    /// Starts anew from a snapshot.
    func replace(with bytes: [UInt8], at sequence: SequenceNumber) {
        rows = []
        snapshot = SavedSnapshot(bytes: bytes, hash: sha256Prefix(bytes), sequence: sequence)
        mark()
    }

    /// Takes another's content: what was here is kept aside, and nobody reads it.
    func become(_ other: SimulatedDisk) {
        rows = other.rows
        snapshot = other.snapshot
        sideMark = other.sideMark
    }

    var batchBytes: Int { rows.reduce(0) { $0 + $1.bytes.count } }
    var snapshotBytes: Int { snapshot?.bytes.count ?? 0 }

    /// Everything is lost: a new journal.
    func wipe(incarnation: Incarnation) {
        self.incarnation = incarnation
        rows = []
        snapshot = nil
        sideMark = .zero
        copy = nil
    }

    // MARK: - Faults

    func takeCopy() { copy = (rows, snapshot, sideMark) }

    /// Puts an older content back; false if there is none, or nothing was written since.
    func putCopyBack() -> Bool {
        guard let copy, copy.sideMark > .zero, sideMark > copy.sideMark else { return false }
        rows = copy.rows
        snapshot = copy.snapshot
        sideMark = copy.sideMark
        self.copy = nil
        return true
    }

    /// Flips a bit of a row or of the snapshot; false if there is nothing.
    func flipBit(_ random: inout SplitMix64) -> Bool {
        if !rows.isEmpty, random.chance(0.7) {
            let row = Int(random.next(below: UInt64(rows.count)))
            rows[row].bytes[Int(random.next(below: UInt64(rows[row].bytes.count)))] ^= 1 << UInt8(random.next(below: 8))
            return true
        }
        guard let bytes = snapshot?.bytes, !bytes.isEmpty else { return false }
        snapshot?.bytes[Int(random.next(below: UInt64(bytes.count)))] ^= 1 << UInt8(random.next(below: 8))
        return true
    }

    // MARK: - Recovery

    /// What a journal holds, applied.
    struct Recovered {
        var log: LogState
        var window: ResendWindow
    }

    /// Why a journal cannot be used.
    enum Damage: Error, Hashable {
        case snapshot
        case row(SequenceNumber)
        case short(SequenceNumber)
        case digest(SequenceNumber)
    }

    /// Reads everything into `state`, with the checks that a node makes at its start (PROTOCOL ).
    func recover(store: StoreID, into state: any ReplicatedState, windowBytes: Int) throws(Damage) -> Recovered {
        var recovered = Recovered(log: LogState(store: store), window: ResendWindow(capacity: windowBytes))
        if let snapshot {
            guard sha256Prefix(snapshot.bytes) == snapshot.hash, let content = try? SnapshotContent(snapshot.bytes),
                let prepared = try? state.prepare(content.state),
                prepared.digest + content.log.digest == content.digest
            else { throw .snapshot }
            state.install(prepared)
            recovered.log = content.log
        }
        for row in rows {
            let batch: SealedBatch
            let mark: LogState.Mark?
            do {
                batch = try SealedBatch(bytes: row.bytes)
                guard batch.hash == row.hash else { throw Damage.row(row.last) }
                mark = try recovered.log.apply(batch, to: state)
            } catch {
                throw .row(row.last)
            }
            if let mark, mark.digest != state.digest + recovered.log.digest { throw .digest(mark.sequence) }
            recovered.window.append(batch)
        }
        guard recovered.log.position.sequence >= sideMark else { throw .short(sideMark) }
        return recovered
    }
}
