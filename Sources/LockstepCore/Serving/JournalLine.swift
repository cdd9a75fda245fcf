internal import DequeModule

/// What waits for a store's journal, and which of it comes next.
///
/// One write is under way at a time; batches that wait together are written together. A snapshot is saved beside
/// batches, but never while the journal is begun anew. Whoever owns the line asks ``next(now:)`` after each event until
/// nothing is left, executes what it says, and reports the outcome.
package struct JournalLine {
    package enum Write {
        case batches([SealedBatch])
        /// The journal forgets everything and begins with this snapshot.
        case replacement([UInt8], at: Position)

        var byteCount: Int {
            switch self {
            case .batches(let batches): batches.reduce(0) { $0 + $1.bytes.count }
            case .replacement(let bytes, _): bytes.count
            }
        }

        /// Where the journal ends after it.
        var end: SequenceNumber? {
            switch self {
            case .batches(let batches): batches.last?.head.last
            case .replacement(_, let position): position.sequence
            }
        }
    }

    package enum Work {
        case write(Write)
        case save(SnapshotNumber)
    }

    /// How long a replica's write waits that found no room; the state goes on meanwhile (PROTOCOL, R-45).
    package static let retryMilliseconds: Int64 = 250

    private var waiting: Deque<Write> = []
    private var underWay: Write?
    private var notBefore = Tick.zero
    /// Bytes of all that is not written, what is under way among them.
    package private(set) var byteCount = 0
    /// Those of the batches among them; a replacement is in memory anyway, and no stream waits for it.
    package private(set) var batchByteCount = 0
    /// How far the journal has come.
    package private(set) var writtenThrough: SequenceNumber
    private var saving = SnapshotSaving()
    private var retries: Bool

    /// A line for a journal that ends at `writtenThrough`.
    ///
    /// `retries` says whether a write that found no room comes again by itself. A replica's does; a primary's machine
    /// decides for itself what it writes next.
    package init(writtenThrough: SequenceNumber, retries: Bool) {
        self.writtenThrough = writtenThrough
        self.retries = retries
    }

    /// Nothing waits to be written.
    ///
    /// A snapshot may be under way; nothing is lost if it is cut off.
    package var isDrained: Bool { waiting.isEmpty && underWay == nil }

    /// When ``next(now:)`` is to be asked without an event.
    package var nextDeadline: Tick { !waiting.isEmpty && underWay == nil && notBefore > .zero ? notBefore : .never }

    // MARK: - What is wanted

    package mutating func append(_ batches: [SealedBatch]) { add(.batches(batches)) }

    /// The state was replaced: what waited belongs to the one before, and only what is under way is finished.
    package mutating func replace(with snapshot: [UInt8], at position: Position) {
        saving.forget()
        for write in waiting { count(write, -1) }
        waiting.removeAll()
        add(.replacement(snapshot, at: position))
    }

    /// The snapshot is to be saved, which shows the state at `sequence`.
    package mutating func offer(_ number: SnapshotNumber, at sequence: SequenceNumber) {
        saving.offer(number, at: sequence)
    }

    /// Whether a snapshot is to be taken now: the batches after the newest one are four times its size and more than
    /// `atLeast`, and none is on its way into the journal, nor has one failed lately.
    package func isSnapshotDue(batchBytes: Int, snapshotBytes: Int, atLeast: Int, now: Tick) -> Bool {
        batchBytes > max(4 * snapshotBytes, atLeast) && saving.isReady(at: now)
    }

    private mutating func add(_ write: Write) {
        waiting.append(write)
        count(write, 1)
    }

    private mutating func count(_ write: Write, _ sign: Int) {
        byteCount += sign * write.byteCount
        if case .batches = write { batchByteCount += sign * write.byteCount }
    }

    // MARK: - What is done

    /// What the journal is to be given now, which is then under way; nil if there is nothing.
    package mutating func next(now: Tick) -> Work? {
        if let write = nextWrite(now: now) {
            underWay = write
            return .write(write)
        }
        // Also while one waits: what is saved now would lie beside the batches of another history.
        if isReplacing { return nil }
        return saving.next(written: writtenThrough).map(Work.save)
    }

    private var isReplacing: Bool {
        if case .replacement = underWay { return true }
        return isReplacementWaiting
    }

    private var isReplacementWaiting: Bool {
        waiting.contains { if case .replacement = $0 { true } else { false } }
    }

    private mutating func nextWrite(now: Tick) -> Write? {
        guard underWay == nil, now >= notBefore, let first = waiting.first else { return nil }
        notBefore = .zero
        guard case .batches(var batches) = first else {
            guard !saving.isSaving else { return nil }
            return waiting.removeFirst()
        }
        waiting.removeFirst()
        while case .batches(let more) = waiting.first {
            batches += more
            waiting.removeFirst()
        }
        return .batches(batches)
    }

    /// The write that was under way is durable.
    package mutating func written() {
        guard let done = underWay else { return }
        underWay = nil
        count(done, -1)
        writtenThrough = done.end ?? writtenThrough
    }

    /// The store has another role; nothing may wait to be written.
    ///
    /// A snapshot that is being saved goes on.
    package mutating func roleChanged(retries: Bool) {
        precondition(isDrained, "a role changes when nothing is on its way to the journal")
        saving.forget()
        self.retries = retries
    }

    /// The journal was cut off after this end of a batch; nothing may be under way.
    package mutating func truncated(to end: SequenceNumber) {
        precondition(isDrained, "a journal is cut when nothing is on its way to it")
        writtenThrough = min(writtenThrough, end)
    }

    /// There was no room: nothing was written.
    ///
    /// What comes again brings along what has come meanwhile.
    package mutating func foundNoRoom(at now: Tick) {
        guard let refused = underWay.take() else { return }
        // What belongs to the state before a replacement that waits is of no use any more.
        if !retries || isReplacementWaiting { count(refused, -1) } else { waiting.prepend(refused) }
        guard retries else { return }
        notBefore = now.advanced(byMilliseconds: Self.retryMilliseconds)
    }

    /// A save has ended; after one that failed there is a pause.
    package mutating func saved(isFailed: Bool, at now: Tick) {
        saving.ended()
        if isFailed { snapshotFailed(at: now) }
    }

    /// A snapshot could not be made.
    package mutating func snapshotFailed(at now: Tick) { saving.failed(at: now) }

    /// Relations that hold between events; a walk over what waits.
    package func checkInvariants() {
        let sum = waiting.reduce(underWay?.byteCount ?? 0) { $0 + $1.byteCount }
        precondition(sum == byteCount, "the line knows its size")
        let all = waiting + (underWay.map { [$0] } ?? [])
        let batches = all.reduce(0) { if case .batches = $1 { $0 + $1.byteCount } else { $0 } }
        precondition(batches == batchByteCount, "the line knows the size of its batches")
        if case .replacement = underWay {
            precondition(!saving.isSaving, "nothing is saved while the journal begins anew")
        }
    }
}
