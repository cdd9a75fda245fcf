/// The stream as it reaches a replica: what waits to be applied, and how far the publisher has shown itself to be.
///
/// Three numbers say how far that is, and each answers another question:
/// - `target`, the highest commit number on either link: is anything missing here?
/// - `floor`, what this subscription has shown: does a beacon go back, which a publisher never does?
/// - ``firstFrame``: which batches does this subscription bring, so that a plan need not?
///
/// While it is followed, a beacon comes at least every 300 ms, so silence tells that the subscription is dead.
struct FollowedStream: Hashable, Sendable {
    /// What cannot be applied yet.
    private(set) var buffer: StreamBuffer
    /// The first sequence number of the first frame of this subscription.
    private(set) var firstFrame: SequenceNumber = .zero
    /// The highest commit number that the publisher has shown on either link.
    private(set) var target: SequenceNumber = .zero
    /// What the stream itself has shown, or what was applied when it was subscribed to.
    private var floor: SequenceNumber = .zero
    private var lastHeard: Tick = .zero
    private(set) var lastBatch: Tick = .zero
    /// More of the buffer can be applied at once, in the next turn.
    private(set) var hasMore = false

    init(bufferBytes: Int) { buffer = StreamBuffer(capacity: bufferBytes) }

    // MARK: - Whom it comes from

    /// Another publisher, or the same one anew, will say how far it is.
    mutating func anotherPublisher() { target = .zero }

    /// A subscription begins, with the log at `applied`.
    mutating func subscribed(at applied: SequenceNumber, now: Tick) {
        hasMore = false
        floor = applied
        lastHeard = now
    }

    /// The first frame of a subscription names this number.
    mutating func began(with first: SequenceNumber) { firstFrame = first }

    /// The publisher's plan: whatever claimed more than it has is forgotten, the stream shows what came since.
    mutating func planned(through commit: SequenceNumber, isTail: Bool) {
        target = commit
        if isTail { floor = min(floor, commit) }
    }

    // MARK: - Silence

    mutating func heard(now: Tick) { lastHeard = now }

    /// When the stream has said nothing for this long.
    func silenceEnds(after milliseconds: Int64) -> Tick { lastHeard.advanced(byMilliseconds: milliseconds) }

    /// When no batch has come for so long that a hole which only a beacon shows is not about to be filled.
    var holeIsCertain: Tick { lastBatch.advanced(byMilliseconds: ReplicaTiming.repairSilence) }

    // MARK: - What it shows

    /// A batch with this head came.
    mutating func showed(_ head: BatchHead, now: Tick) {
        lastBatch = now
        target = max(target, head.last)
        floor = max(floor, head.last)
    }

    /// A beacon claims this commit number.
    mutating func claimed(_ commit: SequenceNumber) { target = max(target, commit) }

    /// Whether a beacon's commit number goes back.
    ///
    /// One below what is applied is AHEAD, except in this race:
    /// 1. the publisher P sends beacon B(100), which waits in the queue of this replica's socket;
    /// 2. P commits 120, and a plan and a repair over the other link bring this replica to 120;
    /// 3. the replica reads B(100).
    ///
    /// So B is compared with what the same queue has shown before, and with what was applied when it was opened: both
    /// were committed before P sent B.
    func goesBack(_ commit: SequenceNumber) -> Bool { commit < floor }

    /// The beacon with this commit number was believed.
    mutating func confirmed(_ commit: SequenceNumber) { floor = max(floor, commit) }

    // MARK: - What waits

    /// Keeps a part until it can be applied; with less room on purpose in the simulator.
    mutating func keep(_ part: StreamBuffer.Part, isTiny: Bool) -> StreamBuffer.Insertion {
        buffer.insert(part, capacity: isTiny ? min(2_048, buffer.capacity) : buffer.capacity)
    }

    /// The first part was applied, or is of no use.
    mutating func removeFirst() { buffer.removeFirst() }

    /// What waits need not be of the publisher's history.
    mutating func forgetBuffer() { buffer.removeAll() }

    /// One event has applied as much of the buffer as it may: the next turn goes on.
    mutating func goOnLater() { hasMore = true }

    /// The next turn need not go on.
    mutating func pause() { hasMore = false }

    /// Through where batches are known to exist that neither the log, which ends at `applied`, nor the buffer has; nil
    /// if there is no hole.
    func missing(after applied: SequenceNumber) -> SequenceNumber? {
        if let first = buffer.first {
            let before = SequenceNumber(rawValue: first.head.first.rawValue - 1)
            if before > applied { return before }
            return first.bytes == nil ? first.head.last : nil
        }
        return target > applied ? target : nil
    }

    /// Checks what is held, and that it is of `epoch`, the publisher's.
    func checkInvariants(epoch: Epoch?) {
        buffer.checkInvariants(epoch: epoch)
        precondition(!hasMore || !buffer.isEmpty, "there is more of what is held only")
    }
}
