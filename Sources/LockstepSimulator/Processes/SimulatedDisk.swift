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

    /// What is kept beside the rows for the next start, or by an operator.
    struct Notes: Hashable {
        /// The role in which it was last served.
        var role: JournalRole?
        /// What the alarm PRIMARY_BEHIND of the last boot named.
        var reportedBehind: KnownPosition?
        /// What an operator gave up.
        var lossAccepted: KnownPosition?
        /// The replicas that the primary had.
        var audience: [String] = []
    }

    /// All that is in the folder.
    private struct Content {
        var incarnation: Incarnation
        var rows: [Row]
        var snapshot: SavedSnapshot?
        var sideMark: SequenceNumber
        var notes: Notes
        var served: JournalRole?
    }

    private(set) var incarnation: Incarnation
    private(set) var rows: [Row] = []
    private(set) var snapshot: SavedSnapshot?
    /// Written beside the rows after each commit; the journal must reach it.
    private(set) var sideMark = SequenceNumber.zero
    var notes = Notes()
    /// For the checkers alone: the role in which it really was served last, or that an operator gave it.
    private(set) var served: JournalRole?
    /// A whole earlier content, to be put back.
    private var copy: Content?

    init(incarnation: Incarnation) { self.incarnation = incarnation }

    private var content: Content {
        get {
            Content(
                incarnation: incarnation, rows: rows, snapshot: snapshot, sideMark: sideMark, notes: notes,
                served: served)
        }
        set {
            (incarnation, rows, snapshot) = (newValue.incarnation, newValue.rows, newValue.snapshot)
            (sideMark, notes, served) = (newValue.sideMark, newValue.notes, newValue.served)
        }
    }

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

    /// Takes another's batches: what was here is kept aside, and nobody reads it.
    ///
    /// A journal that is made anew has no notes; one that is repaired keeps them but for what its alarm named. `source`
    /// is the replica whose batches they are, which may apply more meanwhile: the next start hears it first.
    func become(_ other: SimulatedDisk, of source: String, isMadeAnew: Bool) {
        rows = other.rows
        snapshot = other.snapshot
        sideMark = other.sideMark
        notes.reportedBehind = nil
        if isMadeAnew { (notes, served) = (Notes(), nil) }
        notes.audience = [source] + notes.audience.filter { $0 != source }
    }

    var batchBytes: Int { rows.reduce(0) { $0 + $1.bytes.count } }
    var snapshotBytes: Int { snapshot?.bytes.count ?? 0 }

    /// Everything is lost: a new journal.
    func wipe(incarnation: Incarnation) {
        self.incarnation = incarnation
        (rows, snapshot, sideMark) = ([], nil, .zero)
        (notes, served) = (Notes(), nil)
        copy = nil
    }

    // MARK: - Faults

    func takeCopy() { copy = content }

    /// Puts an older content back; false if there is none, or nothing was written since.
    func putCopyBack() -> Bool {
        guard let copy, copy.sideMark > .zero, sideMark > copy.sideMark else { return false }
        content = copy
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

    // MARK: - Roles

    /// It is served, or an operator says that it is to be.
    func give(_ role: JournalRole) { (notes.role, served) = (role, role) }

    /// Two folders change their places.
    func swap(with other: SimulatedDisk) { (content, other.content) = (other.content, content) }

    /// Where its log ends; none if it is empty, or cannot be read.
    var position: Position? {
        if let row = rows.last { return (try? SealedBatch(bytes: row.bytes))?.position }
        return snapshot.flatMap { try? SnapshotContent($0.bytes).log.position }
    }

    /// Keeps an end aside in which nobody was told anything, as `lockstep demote` does; true if there was one.
    func cutEmptyEnd(of store: StoreID) -> Bool {
        let start = snapshot.map { try? SnapshotContent($0.bytes).log.position } ?? .start(of: store)
        guard let start else { return false }
        var end = EmptyEnd(after: start)
        for row in rows {
            guard let batch = try? SealedBatch(bytes: row.bytes) else { return false }
            end.saw(batch)
        }
        guard let cut = end.start?.sequence else { return false }
        rows.removeAll { $0.last > cut }
        mark()
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
