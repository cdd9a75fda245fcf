import DequeModule

/// The primary of one store.
///
///                start             epochOpen is durable          its replicas were heard
///     created ----------> opening ---------------------> awaiting -----------> admitting
///                            |                               |                  |      |
///                            | the journal fails             | a replica knows  |      | stop
///                            v                               v more      v      v
///                          halted <---------------------------------------- behind  stopping
///
/// An action's life here: ``submitReceived`` performs it into the batch under construction; at the end of a turn, when
/// the journal is free, ``turnEnded`` seals that batch and hands all sealed ones over in one transaction; ``persisted``
/// publishes them, sends the answers and shows the state. Nothing leaves before: answers wait in `answers`
/// with the sequence number that must be committed first.
///
/// Invariants, checked by ``checkInvariants()``:
/// - `committed` <= the end of `inFlight` <= the end of `sealed` <= the open batch, without holes;
/// - the window ends at `committed`;
/// - `answers` are ordered by the sequence number that they wait for, and all wait for one above `committed`.
///
/// Implements PROTOCOL; R-31
/// to R-34 are ``JoinServer``'s.
package struct PrimaryStateMachine: Hashable, Sendable {
    package let configuration: PrimaryConfiguration
    package internal(set) var phase: Phase = .created
    package internal(set) var epoch: Epoch
    /// Everything sequenced, also what has not committed.
    package internal(set) var log: LogState
    /// The end of what has committed.
    package internal(set) var committed: KnownPosition
    package internal(set) var committedTime: LogTime
    package internal(set) var committedMark: LogState.Mark?
    /// The newest mark at or below the end of ``inFlight``.
    var inFlightMark: LogState.Mark?
    var window: ResendWindow
    var clock: LogClock
    var generator: SplitMix64
    /// Switched off where a test wants rest.
    package var buggify: Buggify
    #if LOCKSTEP_PLANTED_DEFECTS
        var plantedDigest: Digest?
    #endif

    /// The batch under construction.
    var open: BatchBuilder?
    /// Sealed, waiting for the journal to be free.
    var sealed: [SealedBatch] = []
    /// At the journal.
    var inFlight: [SealedBatch] = []
    var sealedBytes = 0
    /// What may wait for the journal.
    var unpersistedLimit = Limits.unpersistedBytes
    /// What the kept replies of all sessions may have.
    package var keptLimit = Limits.keptBytes
    /// Until when what is sequenced waits on purpose; zero: until the next turn.
    var handOverHeld: Tick = .never
    var answers: Deque<PendingAnswer> = []
    /// How many of ``answers`` are messages; those to numbers are bounded by what is not persisted.
    var waitingMessages = 0

    var peers: [Connection: Peer] = [:]
    /// Replicas whose connections were forgotten, each once, in the order in which they were last heard.
    var lost: [Peer] = []
    var bindings: [SessionID: Binding] = [:]
    /// How many sessions are bound to each connection.
    var sessionCounts: [Connection: Int] = [:]
    /// How many sessions the store may have; a test, or the simulator, takes fewer.
    package var sessionLimit = Limits.sessions
    /// When sessions that were never used may be looked for again.
    var nextSessionLook: Tick = .zero
    var isSessionAlarmRaised = false
    var acknowledgements: [SessionID: RequestNumber] = [:]
    /// Who runs, and who waits for its turn.
    var scheduler = RunScheduler()
    /// What may begin waits on purpose, until the next tick or commit.
    var areRunsHeld = false
    /// Ends that their senders have, for the next `runAck`.
    var endAcknowledgements: Set<RunID> = []
    /// When the state's next time may have come.
    var nextDue: Tick = .never
    /// Until when nothing that is due is emitted.
    var dueHeld: Tick = .zero
    /// The hash of the mutations that time brought last, if they were as many as an entry may have.
    var fullDue: UInt128?
    var joins: JoinServer
    var reads = ReadQueue()
    /// What readers see.
    package internal(set) var view: ViewPlace
    /// What was captured last; it is shown when it has committed.
    var captured: ViewPlace
    var views = ViewSchedule()

    var snapshot: SnapshotProgress = .none
    var isSnapshotWanted = false
    /// The journal has grown, and gets the next snapshot.
    var isSaveDue = false
    var nextSnapshot: SnapshotNumber = 1
    /// How the driver cuts the snapshot that it is to encode.
    package internal(set) var snapshotChunkBytes = Limits.chunkBytes
    var lastMark: Tick = .zero
    var digestCost: Int64 = 0
    var isUnmarked = false

    var isDiskFull = false
    var isSpaceLow = false
    var retryPersist: Tick = .never
    var lastBeacon: Tick = .zero
    /// Until when beacons leave every 100 ms, and not as at rest.
    var livelyUntil: Tick = .zero
    var nextSweep: Tick = .zero
    var alarmedBehind: KnownPosition?
    /// The replicas of this log, and those for which it waits.
    package internal(set) var audience: Audience
    var awaitEnds: Tick = .never
    /// Where the last committed batch ends that tells anything.
    var told: SequenceNumber
    /// The names for which the alarm stands.
    var alarmedDuplicates: [String] = []
    /// How many looks in a row found two processes of a name.
    var suspectedNames: [String: Int] = [:]

    package enum Phase: Hashable, Sendable {
        case created
        /// `epochOpen` is on its way to the journal; nothing is answered.
        case opening
        /// Nothing is admitted until the replicas of the boot before have said what they know, or a bound is over.
        case awaiting
        case admitting
        /// A peer knows of a history that this log does not have; nothing is admitted.
        case behind
        /// Nothing more is admitted; what was sequenced goes to the journal.
        case stopping
        case halted
    }

    /// A node or client that said HELLO on a connection.
    struct Peer: Hashable, Sendable {
        var hello: Hello
        /// The first HELLO of its process on this connection.
        var firstHeard: Tick
        var lastHeard: Tick
        /// What it last said that it has applied.
        var applied: SequenceNumber
    }

    /// Where a session's answers go.
    struct Binding: Hashable, Sendable {
        var connection: Connection?
        var lastHeard: Tick
        /// The expected number that OUT_OF_ORDER named last on this connection.
        var outOfOrderSent: RequestNumber?
    }

    /// An answer that may leave when `sequence` has committed.
    struct PendingAnswer: Hashable, Sendable {
        var sequence: SequenceNumber
        var content: Content
        enum Content: Hashable, Sendable {
            case results(SessionID, ClosedRange<RequestNumber>)
            case message(Message, Connection)
            case emission(UInt64, SequenceNumber)
            case end(RunID)
        }
    }

    enum SnapshotProgress: Hashable, Sendable {
        case none
        case captured(SnapshotNumber, at: SequenceNumber)
        case encoding(SnapshotNumber)
    }

    /// Makes the machine of a boot that recovered `recovered`, with the batches behind its snapshot in `window`.
    ///
    /// Its epoch is higher than every one that the journal has seen.
    package init(
        configuration: PrimaryConfiguration, recovered: LogState, window: ResendWindow, wall: LogTime, now: Tick
    ) {
        self.configuration = configuration
        log = recovered
        committed = recovered.known
        committedTime = recovered.time
        committedMark = recovered.mark
        self.window = window
        let milliseconds = UInt64(max(0, wall.rawValue / 1_000))
        // Above what was given up, too: an acceptance must not cover what is written from now on.
        let highest = max(recovered.position.epoch, configuration.lossAccepted?.position.epoch ?? .zero)
        epoch = Epoch(rawValue: max(highest.rawValue + 1, milliseconds))
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.epochReused), recovered.position.epoch > .zero {
                epoch = recovered.position.epoch
            }
        #endif
        clock = LogClock(last: recovered.time, wall: wall, now: now)
        audience = Audience(configuration.audience, now: now)
        told = recovered.told(in: window).position.sequence
        generator = SplitMix64(seed: configuration.seed)
        buggify = configuration.buggify
        joins = JoinServer()
        view = ViewPlace(
            epoch: recovered.position.epoch, sequence: recovered.position.sequence, time: recovered.time)
        captured = view
        for session in recovered.sessions.sorted {
            bindings[session.id] = Binding(lastHeard: now)
            #if LOCKSTEP_PLANTED_DEFECTS
                if PlantedDefect.isActive(.halfTimeAfterRestart) {
                    bindings[session.id]?.lastHeard = Tick(rawValue: now.rawValue - session.timeToLive * 500)
                }
            #endif
        }
    }

    /// Opens the epoch: its first entry goes to the journal, and nothing is said until that is durable.
    package mutating func start(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        precondition(phase == .created, "a machine starts once")
        phase = .opening
        lastMark = now
        nextSweep = now.advanced(byMilliseconds: 1_000)
        // The initial state is nobody's: what is shown first is behind the first entry.
        if committed.position.sequence > .zero {
            state.capture(at: committed.position.sequence, epoch: committed.position.epoch, time: committedTime)
            state.publish(through: committed.position.sequence)
        }
        let entry = Entry.epochOpen(
            node: configuration.node, incarnation: configuration.incarnation, boot: configuration.boot)
        withOpenBatch(now: now, wall: wall) { _ = $0.append(entry) }
        log.epochOpened(by: configuration.boot, epoch: epoch)
        handOver(now: now, wall: wall, state: state, into: &directives)
    }

    /// The end of a turn: everything that has arrived is sequenced.
    ///
    /// Hands over to the journal if it is free.
    package mutating func turnEnded(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard phase != .created, phase != .halted else { return }
        admitIfHeard(now: now, wall: wall, state: state, into: &directives)
        emitDue(now: now, wall: wall, state: state)
        if !isHandOverHeld(now: now) {
            if snapshot == .none, isUnmarked || open?.isEmpty == false, buggify(.earlySnapshot) {
                snapshotDue()
            }
            if isSnapshotWanted, snapshot == .none, isEpochOpen, inFlight.isEmpty {
                takeSnapshot(now: now, wall: wall, state: state, into: &directives)
            }
            handOver(now: now, wall: wall, state: state, into: &directives)
        }
        refreshView(now: now, state: state)
        answerReads(state: state, into: &directives)
    }

    /// Whether what is sequenced waits on purpose; ``nextDeadline`` brings the turn in which it goes on.
    private mutating func isHandOverHeld(now: Tick) -> Bool {
        guard handOverHeld == .never else {
            if now >= handOverHeld { handOverHeld = .never }
            return handOverHeld != .never
        }
        guard buggify.isOn, inFlight.isEmpty, !isDrained, buggify(.lateHandOver) else { return false }
        handOverHeld = now.advanced(byMilliseconds: 2)
        return true
    }

    /// Stops admitting; ``isDrained`` tells when everything sequenced has committed.
    package mutating func stop() {
        guard phase != .halted else { return }
        phase = .stopping
    }

    /// Whether the epoch's `epochOpen` is durable; before, nothing may be said in it.
    var isEpochOpen: Bool { committed.position.epoch == epoch }

    /// Nothing waits for the journal.
    package var isDrained: Bool { phase == .halted || (inFlight.isEmpty && sealed.isEmpty && (open?.isEmpty ?? true)) }

    /// A journal's write is under way.
    package var isPersisting: Bool { !inFlight.isEmpty }

    // MARK: - The batch under construction

    var stamp: FrameStamp {
        FrameStamp(channel: configuration.channel, clusterHash: configuration.cluster.hash, epoch: epoch)
    }

    /// The last sequence number given.
    var head: SequenceNumber { open?.head.last ?? log.position.sequence }

    /// Bytes that have been sequenced and are not durable.
    var unpersistedBytes: Int { sealedBytes + (open?.byteCount ?? 0) }

    /// Lends the open batch, after opening one if there is none; its log time is that of this moment.
    @discardableResult
    mutating func withOpenBatch<Result>(now: Tick, wall: LogTime, _ body: (inout BatchBuilder) -> Result) -> Result {
        let time = batchTime(now: now, wall: wall)
        var batch: BatchBuilder
        if let open = open.take() {
            batch = open
        } else {
            batch = BatchBuilder(
                store: log.store, epoch: epoch, after: log.position, time: time,
                fullBytes: buggify(.tinyBatch) ? 256 : Limits.batchFullBytes)
        }
        let result = body(&batch)
        open = batch
        return result
    }

    private mutating func batchTime(now: Tick, wall: LogTime) -> LogTime {
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.logTimeGoesBack) { return wall }
        #endif
        return max(log.time, clock.read(now: now, wall: wall))
    }

    /// Appends an entry of its own, which `change` brings into the tables; one that fills the batch ends it.
    @discardableResult
    mutating func append(
        _ entry: Entry, now: Tick, wall: LogTime, state: any ReplicatedState,
        _ change: (inout PrimaryStateMachine, SequenceNumber) -> Void
    ) -> SequenceNumber {
        let (sequence, isFull) = withOpenBatch(now: now, wall: wall) { ($0.append(entry), $0.isFull) }
        change(&self, sequence)
        if isFull { seal(now: now, wall: wall, state: state) }
        return sequence
    }

    /// Seals the open batch, if it has entries or a mark is forced; a mark that is due becomes its last entry.
    mutating func seal(now: Tick, wall: LogTime, forcingMark: Bool = false, state: any ReplicatedState) {
        let isMarked = forcingMark || isMarkDue(now)
        if forcingMark { withOpenBatch(now: now, wall: wall) { _ in } }
        guard var batch = open.take(), forcingMark || !batch.isEmpty else { return }
        var mark: LogState.Mark?
        if isMarked || buggify(.extraMark) {
            let digest = markDigest(state)
            digestCost = state.digestCost
            mark = LogState.Mark(sequence: batch.append(.digestMark(digest)), digest: digest)
            lastMark = now
        }
        isUnmarked = mark == nil
        let head = batch.head
        let result = batch.sealed()
        log.finish(head: head, hash: result.hash)
        sealed.append(result)
        sealedBytes += result.bytes.count
        if let mark { log.mark = mark }
    }

    private mutating func markDigest(_ state: any ReplicatedState) -> Digest {
        let digest = state.digest + log.digest
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.digestOfWrongPosition) {
                defer { plantedDigest = digest }
                return plantedDigest ?? digest
            }
        #endif
        return digest
    }

    /// Ends a batch with a mark and has the state there captured.
    ///
    /// Only at the end of a turn: the driver takes the image when it runs the directives, and a batch that fills in the
    /// middle of a SUBMIT is followed by more actions before that.
    private mutating func takeSnapshot(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        #if LOCKSTEP_PLANTED_DEFECTS
            let before = log.position
        #endif
        seal(now: now, wall: wall, forcingMark: true, state: state)
        guard let mark = log.mark else { preconditionFailure("the batch was sealed with a mark") }
        isSnapshotWanted = false
        snapshotChunkBytes = buggify(.tinyChunks) ? 1_024 : Limits.chunkBytes
        snapshot = .captured(nextSnapshot, at: mark.sequence)
        directives.append(.captureSnapshot(nextSnapshot, log: log, digest: mark.digest))
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.snapshotOneShort) {
                var short = log
                short.position = before
                directives[directives.count - 1] = .captureSnapshot(nextSnapshot, log: short, digest: mark.digest)
            }
        #endif
        nextSnapshot += 1
    }

    /// At least 1 s after the last mark, and so long after it that digests take less than 1 % of the time.
    func isMarkDue(_ now: Tick) -> Bool {
        now - lastMark >= max(Tick.milliseconds(1_000), 100 * digestCost)
    }
}
