/// The way of a snapshot into a replica: its chunks are fetched, its state is decoded elsewhere, then it is put in place.
///
/// ```
///  nothing --plan--> fetching --all chunks--> preparing --decoded, digest is right--> nothing
///                     |    ^                     |
///                     |    `- the same snapshot  `-- damaged: asked for again
///                     `-- another one, or a tail: what came is thrown away
/// ```
/// It also knows whether only a snapshot goes on, and since when: a state that differs twice within an hour is not
/// healed again.
struct SnapshotInstall: Hashable, Sendable {
    /// A snapshot whose state is being decoded.
    struct Pending: Hashable, Sendable {
        var log: LogState
        var digest: Digest
        /// The whole snapshot for the journal; empty without one.
        var encoded: [UInt8]
    }

    /// More chunks than any sensible snapshot has; their bookkeeping is allocated before the first one comes.
    private static let mostChunks = 1 << 20

    private(set) var fetch: SnapshotFetch?
    private var pending: Pending?
    /// Of the newest decoding; the end of an older one changes nothing.
    private var ticket: PrepareTicket = 0
    /// The state is wrong, or belongs to what is gone: only a snapshot goes on.
    private(set) var isRequired = false
    /// When a digest differed and a snapshot was asked for.
    private var healedAt: Tick?

    var isPreparing: Bool { pending != nil }

    // MARK: - Why

    /// Only a snapshot goes on.
    mutating func require() { isRequired = true }

    /// What there is, and whatever was wrong with it, belongs to a memory that is gone: only a snapshot goes on.
    mutating func requireAnew() {
        healedAt = nil
        require()
    }

    /// The digest differs: only a snapshot goes on, unless one was asked for within the last hour already.
    mutating func heals(now: Tick) -> Bool {
        if let healedAt, now - healedAt < Tick.milliseconds(ReplicaTiming.heal) { return false }
        healedAt = now
        require()
        return true
    }

    // MARK: - Fetching

    /// Whether a snapshot leads on from `applied`, and is not larger than `most`.
    ///
    /// Only what is to be replaced may go back; everything else only goes on.
    func isOfUse(_ info: SnapshotInfo, after applied: SequenceNumber, most: UInt64) -> Bool {
        (isRequired || info.position.sequence > applied) && info.byteCount <= most
            && info.chunkCount <= Self.mostChunks
    }

    /// The plan names a snapshot; chunks of the same one that came before a break are kept.
    mutating func begin(_ info: SnapshotInfo, now: Tick) {
        if fetch?.info == info { fetch?.restart(now: now) } else { fetch = SnapshotFetch(info, now: now) }
    }

    /// What to ask for now.
    mutating func requests(now: Tick, window: Int) -> [ChunkRequest] { fetch?.requests(now: now, window: window) ?? [] }

    mutating func receive(_ chunk: Chunk, _ frame: RawSpan, now: Tick) -> SnapshotFetch.Acceptance {
        fetch?.receive(chunk, frame, now: now) ?? .duplicate
    }

    /// The log leads on by itself: what came of a snapshot is of no use.
    mutating func endFetch() { fetch = nil }

    // MARK: - Preparing

    /// All chunks are here: what the driver is to decode, if the whole can be read and is what the plan promised.
    mutating func prepare(store: StoreID, forJournal: Bool) -> ReplicaDirective? {
        guard let fetch else { preconditionFailure("nothing was fetched") }
        self.fetch = nil
        guard let bytes = fetch.content(), let content = Self.content(bytes, is: fetch.info, of: store) else {
            return nil
        }
        ticket += 1
        pending = Pending(log: content.log, digest: content.digest, encoded: forJournal ? bytes : [])
        return .prepare(ticket, SnapshotContent.StateBytes(bytes: content.state))
    }

    /// The content of a snapshot if it can be read and is what the plan promised.
    private static func content(_ bytes: [UInt8], is info: SnapshotInfo, of store: StoreID) -> SnapshotContent? {
        // Why it cannot be read does not matter: it is fetched again.
        guard let content = try? SnapshotContent(bytes) else { return nil }
        let log = content.log
        guard log.store == store, log.position == info.position, log.boot == info.boot, content.digest == info.digest
        else { return nil }
        return content
    }

    /// The snapshot that this decoding was for, unless it is no longer wanted.
    func awaited(_ ticket: PrepareTicket) -> Pending? { ticket == self.ticket ? pending : nil }

    /// The decoding is of no use: it failed, or another publisher is followed.
    mutating func endPreparing() { pending = nil }

    /// The snapshot is in place: the log goes on from it.
    mutating func installed() {
        pending = nil
        isRequired = false
    }

    /// Nothing is under way from here on; what is required stays so.
    mutating func stop() {
        fetch = nil
        pending = nil
    }

    func checkInvariants() {
        fetch?.checkInvariants()
        precondition(pending == nil || ticket > 0, "what is decoded has its ticket")
        precondition(pending == nil || fetch == nil, "what is decoded is not fetched")
    }
}
