/// What was sequenced, on its way to the commit.
///
///     open ---seal---> sealed ---hand over---> at the journal ---persisted---> persisted ---commit---> committed
///     (one batch)      (in order)              (one transaction)              (durable here)
///
/// What has not come as far as `committed` may be shown to nobody. A batch is persisted when the local disk has
/// it, and committed when all have it whose word counts: the disk alone, or every required member too, which `commitEnd`
/// in PrimaryStateMachine+Commit.swift says. Then the resend window takes it.
///
/// Invariants, checked by ``checkInvariants(logEnd:)``: the stages follow each other without holes, the window ends
/// at ``committed``, and ``unpersistedBytes`` counts what it says.
package struct CommitPipeline: Hashable, Sendable {
    /// The epoch of this boot: all that is sequenced here is of it.
    package let epoch: Epoch
    /// The batch under construction.
    package private(set) var open: BatchBuilder?
    /// Waiting for the journal to be free.
    package private(set) var sealed: [SealedBatch] = []
    /// At the journal, in one transaction.
    package private(set) var atJournal: [SealedBatch] = []
    /// In the journal, and not committed.
    package private(set) var persisted: [SealedBatch] = []
    /// Of what is not committed, in the order of the log.
    private var marks: [LogState.Mark] = []
    private var sealedBytes = 0
    private var persistedBytes = 0
    /// Actions that this boot has rejected, in batches that are complete.
    package private(set) var rejectedActions: UInt64 = 0

    /// The end of what has committed.
    package private(set) var committed: KnownPosition
    package private(set) var committedTime: LogTime
    package private(set) var committedMark: LogState.Mark?
    /// Where the last committed batch ends that tells anything.
    package private(set) var told: SequenceNumber
    package private(set) var window: ResendWindow

    /// Until when what is sequenced waits on purpose; zero: until the next turn.
    private var heldUntil: Tick = .never
    /// The bound of ``unpersistedBytes``.
    package var unpersistedLimit = Limits.unpersistedBytes

    /// Begins after what was recovered, with the batches after its snapshot in `window`.
    package init(epoch: Epoch, recovered: LogState, window: ResendWindow) {
        self.epoch = epoch
        committed = recovered.known
        committedTime = recovered.time
        committedMark = recovered.mark
        told = recovered.told.position.sequence
        self.window = window
    }

    /// Bytes that have been sequenced and are not committed.
    package var unpersistedBytes: Int { sealedBytes + persistedBytes + (open?.byteCount ?? 0) }
    package var isFull: Bool { unpersistedBytes > unpersistedLimit }
    /// Whether the journal has nothing to write.
    package var isJournalFree: Bool { atJournal.isEmpty }
    /// Whether the journal has everything sequenced.
    package var isWritten: Bool { atJournal.isEmpty && sealed.isEmpty && (open?.isEmpty ?? true) }
    /// Whether everything sequenced has committed.
    package var isDrained: Bool { isWritten && persisted.isEmpty }
    /// The end of what the journal has.
    package var persistedEnd: SequenceNumber { persisted.last?.head.last ?? committed.position.sequence }

    /// Whether an entry at `sequence` will commit together with what is sequenced now, so that one answer covers both.
    package func isBeforeHandOver(_ sequence: SequenceNumber) -> Bool {
        guard let last = atJournal.last ?? persisted.last else { return true }
        return sequence > last.head.last
    }

    // MARK: - Waiting on purpose

    package var isHolding: Bool { heldUntil != .never }

    /// What is sequenced waits until `end`, though the journal is free.
    package mutating func hold(until end: Tick) { heldUntil = end }

    /// Lets it go on in the turn that ends now, if its time is over; false if not.
    package mutating func releaseHold(now: Tick) -> Bool {
        if now >= heldUntil { heldUntil = .never }
        return !isHolding
    }

    /// When a turn is to come in which what is held goes on.
    package var heldDeadline: Tick { heldUntil == .zero ? .never : heldUntil }
    package mutating func holdEnds(now: Tick) { if now >= heldUntil { heldUntil = .zero } }

    // MARK: - Stages

    /// Begins a batch; there is none under construction.
    package mutating func begin(_ batch: BatchBuilder) { open = batch }

    /// Lends the batch under construction, which is there.
    package mutating func withOpenBatch<Result>(_ body: (inout BatchBuilder) -> Result) -> Result {
        guard var batch = open.take() else { preconditionFailure("a batch is under construction") }
        let result = body(&batch)
        open = batch
        return result
    }

    /// Takes the batch under construction out, to be sealed or, if it is empty, forgotten.
    package mutating func takeOpen() -> BatchBuilder? {
        rejectedActions += open?.rejectedActions ?? 0
        return open.take()
    }

    /// The batch is complete; `mark` is its last entry, if it is one.
    package mutating func append(_ batch: SealedBatch, mark: LogState.Mark?) {
        sealed.append(batch)
        sealedBytes += batch.bytes.count
        if let mark { marks.append(mark) }
    }

    /// A batch of an earlier reign, which the journal has, and which commits with this epoch's opening.
    mutating func inherit(_ batch: SealedBatch, mark: LogState.Mark?) {
        precondition(sealed.isEmpty && atJournal.isEmpty, "what is inherited comes first")
        persisted.append(batch)
        persistedBytes += batch.bytes.count
        if let mark { marks.append(mark) }
    }

    /// Moves what is sealed to the journal, which is free; returns it.
    package mutating func handOver() -> [SealedBatch] {
        precondition(atJournal.isEmpty, "the journal has one transaction at a time")
        swap(&atJournal, &sealed)
        return atJournal
    }

    /// The journal has what it was given.
    package mutating func wasPersisted() {
        precondition(!atJournal.isEmpty, "something is at the journal")
        for batch in atJournal {
            sealedBytes -= batch.bytes.count
            persistedBytes += batch.bytes.count
        }
        if persisted.isEmpty { swap(&persisted, &atJournal) } else { persisted += atJournal }
        atJournal = []
    }

    /// Commits what is persisted up to `end`, which is the end of a batch, or before all of it; returns it in order.
    package mutating func commit(through end: SequenceNumber, boot: BootID) -> [SealedBatch] {
        let batches: [SealedBatch]
        if end >= persistedEnd {
            batches = persisted
            persisted = []
            persistedBytes = 0
        } else {
            batches = Array(persisted.prefix { $0.head.last <= end })
            persisted.removeFirst(batches.count)
            for batch in batches { persistedBytes -= batch.bytes.count }
        }
        guard let last = batches.last else { return [] }
        for batch in batches {
            window.append(batch)
            if batch.tellsSomething { told = batch.head.last }
        }
        committed = KnownPosition(position: last.position, boot: boot)
        committedTime = last.head.time
        let count = marks.prefix { $0.sequence <= last.head.last }.count
        if count > 0 {
            committedMark = marks[count - 1]
            marks.removeFirst(count)
        }
        return batches
    }

    /// Forgets the oldest batches that are kept for repairs.
    package mutating func shrinkWindow(to bytes: Int) { window.shrink(to: bytes) }

    // MARK: - Checks

    /// Cheap: what costs no walk.
    package func checkEvent() {
        precondition(sealedBytes >= 0, "what is sealed has a size")
        precondition(!sealed.isEmpty || !atJournal.isEmpty || sealedBytes == 0, "nothing that waits has no size")
        precondition(told <= committed.position.sequence, "what tells something has committed")
        if let mark = committedMark {
            precondition(mark.sequence <= committed.position.sequence, "a mark commits with its batch")
        }
        if let last = window.last { precondition(last.position == committed.position, "the window ends at the commit") }
    }

    /// A walk over the batches; `end` is where the log ends, the open batch apart.
    package func checkInvariants(logEnd end: Position) {
        checkEvent()
        var position = committed.position
        for batch in persisted + atJournal + sealed {
            precondition(batch.head.previous == position.hash, "batches follow the commit without holes")
            position = batch.position
        }
        precondition(position == end, "the log ends with the last sealed batch")
        let bytes = (atJournal + sealed).reduce(0) { $0 + $1.bytes.count }
        precondition(bytes == sealedBytes, "the pipeline knows its size")
        precondition(persisted.reduce(0) { $0 + $1.bytes.count } == persistedBytes, "also of what is persisted")
        if let open, !open.isEmpty { precondition(open.head.first == position.sequence.next, "the open batch is next") }
        for (mark, next) in zip(marks, marks.dropFirst()) {
            precondition(mark.sequence < next.sequence, "marks are in order")
        }
        if let first = marks.first {
            precondition(first.sequence > committed.position.sequence, "a mark commits with its batch")
        }
    }
}
