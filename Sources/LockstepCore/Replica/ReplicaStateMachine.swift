/// The replica of one store.
///
///                   WELCOME              plan, snapshot in place         a beacon's commit is applied
///     connecting ------------> joining ----------------------> catchingUp ------------------> live
///          ^                    |   ^                              |                           |
///          `-- link lost -------'   `-- silence, doubt, repair ----+---------------------------'
///                                       refused, another boot      |
///                                                                  | digest differs
///     ahead <-- WELCOME with a lower epoch,                        v           a snapshot is in place
///       |       AHEAD or DIVERGED                      quarantined ------------------------> catchingUp
///       `-----> joining at a WELCOME of another boot               | differs again within an hour
///                                                                  v
///     halted <---- the log cannot be applied ----------------------'
///
/// A ``Stage`` refines the phase; it says what is waited for next:
///
///     subscribing -- first frame --> syncing -- TAIL ----------------------------------------> following
///        ^  ^ 2 s                    ^  |  `--- SNAPSHOT --> fetching --> preparing -- installed --^
///        |  |                  until |  | BUSY                 |              |
///        |  `- 1.5 s of silence    waiting <---- damaged ------+--------------'
///
/// A frame of the stream is applied only while following, and only if it is the next one; before that, and after a
/// hole, it waits in ``FollowedStream``. Each wait for a peer has a deadline, since frames and whole connections are lost.
///
/// Invariants, checked by ``checkInvariants()``:
/// - the window ends at the log's position, or is empty;
/// - at most one repair and one SYNC are unanswered; a repair only while following;
/// - a snapshot that is required and following exclude each other: what is to be replaced is not continued;
/// - the buffer holds batches of the publisher's boot only: those of an earlier one may be of another history;
/// - what was live holds the cluster's state until that is discarded;
/// - chunks are held while joining only, the decoding of a snapshot is awaited in `preparing` only.
///
/// Implements PROTOCOL, and the serving side of
/// through ``JoinServer``.
package struct ReplicaStateMachine: Hashable, Sendable {
    package let configuration: ReplicaConfiguration
    package internal(set) var phase: ReplicaPhase = .connecting
    /// What was applied; its store is unknown (zero) until a WELCOME if neither journal nor configuration tell it.
    package internal(set) var log: LogState
    var window: ResendWindow
    /// Applied in this event, not yet handed to the driver.
    var newlyApplied: [SealedBatch] = []
    /// The state is the cluster's: this process was live with it, or its journal brought entries.
    package internal(set) var holdsCluster: Bool
    var generator: SplitMix64
    /// Switched off where a test wants rest.
    package var buggify: Buggify

    var stage: Stage = .idle
    var upstream: Upstream
    var stream: FollowedStream
    var repairs = RepairsUnderWay()
    var install = SnapshotInstall()

    var readers = ReaderSide(at: ViewPlace(epoch: .zero, sequence: .zero, time: .zero))
    var joins = JoinServer()
    var snapshots = ReplicaSnapshots()

    enum Stage: Hashable, Sendable {
        /// Nothing is under way: no WELCOME, or one that is not followed.
        case idle
        case subscribing(deadline: Tick)
        case syncing(nonce: UInt64, deadline: Tick)
        /// SYNC again at this time.
        case waiting(until: Tick)
        case fetching
        case preparing
        case following
    }

    /// Makes a replica, which waits for ``start(now:state:)`` and then for ``welcomed(_:endpoint:now:state:into:)``;
    /// `recovered` and `window` are what its journal held, already applied to its state.
    package init(
        configuration: ReplicaConfiguration, recovered: LogState? = nil, window: ResendWindow = ResendWindow(),
        joinBufferBytes: Int = Limits.joinBufferBytes
    ) {
        self.configuration = configuration
        let store = configuration.cluster.map { StoreID(cluster: $0, name: configuration.storeName) }
        log = recovered ?? LogState(store: store ?? .none)
        holdsCluster = log.position.sequence > .zero
        precondition(store == nil || store == log.store, "the journal belongs to another store")
        self.window = window
        generator = SplitMix64(seed: configuration.seed)
        buggify = configuration.buggify
        upstream = Upstream(
            cluster: configuration.cluster, channel: configuration.channel, highestEpoch: log.position.epoch)
        stream = FollowedStream(bufferBytes: joinBufferBytes)
        checkInvariants()
    }

    /// Shows what was recovered; the first event.
    package mutating func start(now: Tick, state: any FollowingState) {
        if log.position.sequence > .zero { showView(now: now, state: state) }
    }

    /// What HELLO says of this replica: the end of the last batch that tells anything.
    package var told: KnownPosition { log.told }
    /// What SYNC says of this replica, unless it asks whether its end may be given up, and its status.
    package var known: KnownPosition { log.position.sequence == .zero ? .none : log.known }

    package var status: ReplicaStatus {
        ReplicaStatus(
            phase: phase, known: known, time: log.time, mark: log.mark, target: stream.target,
            bufferedBytes: stream.buffer.byteCount, fetchReceived: install.fetch?.receivedCount,
            fetchCount: install.fetch?.count ?? 0, isPulling: repairs.isPulling)
    }

    /// Of the own journal, and since a WELCOME the primary's; it stays when the link to the primary is lost.
    package var channel: Channel? { upstream.channel }
    /// Of its log, and of every WELCOME that it took.
    package var highestEpoch: Epoch { upstream.highestEpoch }
    /// What readers see.
    package var view: ViewPlace { readers.view }
    /// Reads of other nodes that wait here.
    package var waitingReads: Int { readers.queue.count }
    /// How the driver cuts the snapshot that it is to encode.
    package var snapshotChunkBytes: Int { snapshots.chunkBytes }
    package var stamp: FrameStamp { upstream.stamp(epoch: log.position.epoch) }

    /// A random time from zero to so many milliseconds.
    mutating func jitter(_ milliseconds: UInt64) -> Int64 { Int64(generator.next(below: milliseconds + 1)) }

    /// Checks the relations that the machine's header names, in constant time: nodes do so after every event.
    package func checkEvent() {
        if let last = window.last { precondition(last.position == log.position, "the window ends at the position") }
        if repairs.progress != .none { precondition(stage == .following, "a repair belongs to following") }
        if stream.hasMore { precondition(stage == .following, "the buffer is applied while following") }
        if install.isRequired { precondition(stage != .following, "what is to be replaced is not continued") }
        precondition(install.isPreparing == (stage == .preparing), "a snapshot is decoded in its stage only")
        if stage == .fetching { precondition(install.fetch != nil, "fetching needs something to fetch") }
        if phase == .live || phase == .catchingUp { precondition(stage == .following, "live without following") }
        if phase == .live { precondition(holdsCluster, "what is live has the cluster's state") }
        if phase == .ahead || phase == .halted { precondition(stage == .idle, "a replica that stopped waits for none") }
        precondition(newlyApplied.isEmpty, "what was applied is handed over within its event")
        precondition(upstream.highestEpoch >= log.position.epoch, "the log's epoch is known")
        upstream.checkInvariants()
        repairs.checkInvariants()
        snapshots.checkInvariants()
    }

    /// The same, with a walk over what is held: for tests and the simulator.
    package func checkInvariants() {
        checkEvent()
        stream.checkInvariants(epoch: upstream.publisher?.epoch)
        install.checkInvariants()
        joins.checkInvariants()
        readers.watches.checkInvariants()
    }
}

// MARK: - What every event ends with

extension ReplicaStateMachine {
    mutating func setPhase(_ new: ReplicaPhase, into directives: inout [ReplicaDirective]) {
        handOver(into: &directives)
        guard phase != new else { return }
        phase = new
        if new == .live { holdsCluster = true }
        directives.append(.phaseChanged(new))
        guard new == .quarantined || new == .halted else { return }
        for answer in readers.takeAll(because: readRefusal, stamp) {
            directives.append(.send(answer.frame, to: answer.connection))
        }
    }

    /// Hands over what was applied; called before whatever must come after it.
    mutating func handOver(into directives: inout [ReplicaDirective]) {
        guard !newlyApplied.isEmpty else { return }
        directives.append(.applied(newlyApplied))
        newlyApplied = []
    }

    mutating func finish(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        handOver(into: &directives)
        if snapshots.isCaptureDue, stage == .following { captureSnapshot(state: state, into: &directives) }
        snapshots.eventEnded()
        refreshView(now: now, state: state, into: &directives)
    }

    mutating func halt(_ reason: HaltReason, into directives: inout [ReplicaDirective]) {
        stop()
        setPhase(.halted, into: &directives)
        directives.append(.halt(reason))
    }

    /// Nothing is under way from here on; log and state stay.
    mutating func stop() {
        stage = .idle
        pause()
        stream.forgetBuffer()
        install.stop()
    }

    /// Nothing is asked for or applied until the stream is followed again.
    mutating func pause() {
        repairs.end()
        stream.pause()
    }
}
