import DequeModule

/// The primary of one store.
///
///              start            epochOpen is durable            its replicas were heard
///     created -------> opening ---------------------> awaiting -------------------------> admitting
///                                                         |                                   |
///                                                         +---- a replica knows more (R-41) --+--> behind
///
/// `stop` leads to `stopping` from all of them but `behind`, which admits nothing anyway; a journal that fails leads to
/// `halted` from everywhere.
///
/// An action's life here: ``submitReceived`` performs it into the batch under construction; at the end of a turn, when
/// the journal is free, ``turnEnded`` seals that batch and hands all sealed ones over in one transaction; ``persisted``
/// publishes them, sends the answers and shows the state. Nothing leaves before: answers wait in ``PendingAnswers``
/// with the sequence number that must be committed first.
///
/// Invariants, checked by ``checkInvariants()``:
/// - the stages of ``CommitPipeline`` follow each other without holes, and the log ends with the last sealed batch;
/// - answers are ordered by the sequence number that they wait for, and all wait for one above the commit.
///
/// Implements PROTOCOL; R-31
/// to R-34 are ``JoinServer``'s.
package struct PrimaryStateMachine: Hashable, Sendable {
    package let configuration: PrimaryConfiguration
    package internal(set) var phase: Phase = .created
    /// Everything sequenced, also what has not committed.
    package internal(set) var log: LogState
    /// What was sequenced, on its way to the commit.
    var pipeline: CommitPipeline
    /// What may leave when it has committed.
    var answers = PendingAnswers()
    /// Log time.
    var clock: LogClock
    /// Switched off where a test wants rest.
    package var buggify: Buggify

    var peers = PeerTable()
    /// Who holds which session.
    var bindings = SessionBindings()
    /// How many sessions there may be.
    package var sessionRoom = SessionRoom()
    /// The replicas of this log, and those for which it waits.
    package internal(set) var audience: Audience
    /// Who runs, and who waits for its turn.
    var scheduler = RunScheduler()
    /// When the state's next time may have come.
    var due = DueSchedule()
    var joins = JoinServer()
    var readers: ReaderSide

    var journalRoom = JournalRoom()
    var snapshots = SnapshotTaking()
    var marks = MarkSchedule()
    var beacons = BeaconSchedule()
    /// Its standbys and the arbiter; nil without, and before its epoch's opening is sealed.
    package internal(set) var replication: ReplicationServer?

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
        /// The reign is over: nothing more is said, and the store is opened anew.
        case deposed
        case halted
    }

    /// Makes the machine of a boot that recovered `recovered`, with the batches after its snapshot in `window`.
    ///
    /// Its epoch is higher than every one that the journal has seen.
    package init(
        configuration: PrimaryConfiguration, recovered: LogState, window: ResendWindow, wall: LogTime, now: Tick
    ) {
        self.configuration = configuration
        log = recovered
        let milliseconds = UInt64(max(0, wall.rawValue / 1_000))
        // Above what was given up, too: an acceptance must not cover what is written from now on.
        let highest = max(recovered.position.epoch, configuration.lossAccepted?.position.epoch ?? .zero)
        let ownEpoch = Epoch(rawValue: max(highest.rawValue + 1, milliseconds))
        let epoch = configuration.reign?.won.record.epoch ?? ownEpoch
        pipeline = CommitPipeline(epoch: epoch, recovered: recovered, window: window)
        clock = LogClock(last: recovered.time, wall: wall, now: now)
        audience = Audience(configuration.audience, now: now)
        buggify = configuration.buggify
        readers = ReaderSide(
            at: ViewPlace(
                epoch: recovered.position.epoch, sequence: recovered.position.sequence, time: recovered.time))
    }

    /// Opens the epoch: its first entry goes to the journal, and nothing is said until that is durable.
    ///
    /// `tail` is what follows `recovered` in the log and is not known to be committed; only a primary with standbys has it.
    package mutating func start(inheriting tail: [SealedBatch] = [], _ step: inout PrimaryStep) {
        precondition(phase == .created, "a machine starts once")
        phase = .opening
        marks.start(now: step.now)
        bindings.sweeps(at: step.now.advanced(byMilliseconds: 1_000))
        // The initial state is nobody's: what is shown first comes after the first entry.
        if committed.position.sequence > .zero {
            step.state.capture(at: committed.position.sequence, epoch: committed.position.epoch, time: committedTime)
            step.state.publish(through: committed.position.sequence)
        }
        guard inherit(tail, &step) else { return }
        let entry = Entry.epochOpen(
            node: configuration.node, incarnation: configuration.incarnation, boot: configuration.boot)
        withOpenBatch(at: step.moment) { _ = $0.append(entry) }
        log.epochOpened(by: configuration.boot, epoch: epoch)
        handOver(&step)
        if let reign = configuration.reign { reignBegins(reign, now: step.now) }
    }

    /// The end of a turn: everything that has arrived is sequenced.
    ///
    /// Hands over to the journal if it is free.
    package mutating func turnEnded(_ step: inout PrimaryStep) {
        guard phase != .created, !isOver else { return }
        admitIfHeard(&step)
        emitDue(&step)
        if !isHandOverHeld(now: step.now) {
            if snapshots.isIdle, marks.isUnmarked || pipeline.open?.isEmpty == false, buggify(.earlySnapshot) {
                snapshotDue()
            }
            // A snapshot ends with an entry, and who takes the post over has the whole log.
            if snapshots.isDue, isEpochOpen, pipeline.isJournalFree, !isGivingAwayPost { takeSnapshot(&step) }
            if snapshots.isDue, isFeeding { takeCommitted(&step) }
            handOver(&step)
        }
        refreshView(&step)
        answerReads(&step)
    }

    /// Whether what is sequenced waits on purpose; ``nextDeadline`` brings the turn in which it goes on.
    private mutating func isHandOverHeld(now: Tick) -> Bool {
        guard !pipeline.isHolding else { return !pipeline.releaseHold(now: now) }
        guard buggify.isOn, pipeline.isJournalFree, !isDrained, buggify(.lateHandOver) else { return false }
        pipeline.hold(until: now.advanced(byMilliseconds: 2))
        return true
    }

    /// Stops admitting; ``isDrained`` tells when everything sequenced has committed.
    ///
    /// One that is behind stays so, since it must not answer reads either.
    package mutating func stop() {
        guard !isOver, phase != .behind else { return }
        phase = .stopping
        replication?.giveUpPost()
    }

    /// Whether the epoch's `epochOpen` is durable; before, nothing may be said in it.
    var isEpochOpen: Bool { committed.position.epoch == epoch }

    /// Nothing waits for the journal, and no standby for the post.
    ///
    /// With standbys only its own disk is waited for: they may be too few for anything to commit, and who reigns next has
    /// what is written.
    package var isDrained: Bool {
        guard !isOver, let replication else { return isOver || pipeline.isDrained }
        return pipeline.isWritten && !replication.isHandingOver
    }

    /// Nothing more is said or done: it has stopped, or somebody else reigns.
    var isOver: Bool { phase == .halted || phase == .deposed }

    package var epoch: Epoch { pipeline.epoch }
    /// The end of what has committed.
    package var committed: KnownPosition { pipeline.committed }
    package var committedTime: LogTime { pipeline.committedTime }
    package var committedMark: LogState.Mark? { pipeline.committedMark }
    /// What readers see.
    package var view: ViewPlace { readers.view }
    /// How the driver cuts the snapshot that it is to encode.
    package var snapshotChunkBytes: Int { snapshots.chunkBytes }

    /// A journal's write is under way.
    package var isPersisting: Bool { !pipeline.isJournalFree }

    /// Whether something new may be logged.
    var admits: Bool {
        phase == .admitting && !journalRoom.isMissing && !pipeline.isFull && !lacksMembers && !isGivingAwayPost
    }

    /// Why nothing is admitted, for a person.
    var admissionProblem: String {
        if journalRoom.isMissing { return "its disk is full" }
        if lacksMembers { return "too few data nodes are in sync" }
        if isGivingAwayPost { return "another node takes its place" }
        return switch phase {
        case .behind: "it is behind its audience"
        case .stopping: "it is stopping"
        case .created, .opening: "it is starting"
        case .awaiting: "it waits for its replicas"
        case .deposed: "another node is the primary"
        case .halted: "it has stopped"
        case .admitting: "it is overloaded"
        }
    }

    // MARK: - The batch under construction

    /// Of all frames but those for standbys: while the epoch opens they carry that of what has committed.
    package var stamp: FrameStamp { stamp(of: committed.position.epoch) }

    func stamp(of epoch: Epoch) -> FrameStamp {
        FrameStamp(channel: configuration.channel, clusterHash: configuration.cluster.hash, epoch: epoch)
    }

    /// The last sequence number given.
    var head: SequenceNumber { pipeline.open?.head.last ?? log.position.sequence }

    /// Lends the open batch, after opening one if there is none; its log time is that of this moment.
    @discardableResult
    mutating func withOpenBatch<Result>(at moment: PrimaryStep.Moment, _ body: (inout BatchBuilder) -> Result) -> Result
    {
        let time = batchTime(at: moment)
        if pipeline.open == nil {
            let fullBytes = buggify(.tinyBatch) ? 256 : Limits.batchFullBytes
            pipeline.begin(
                BatchBuilder(store: log.store, epoch: epoch, after: log.position, time: time, fullBytes: fullBytes))
        }
        return pipeline.withOpenBatch(body)
    }

    private mutating func batchTime(at moment: PrimaryStep.Moment) -> LogTime {
        max(log.time, clock.read(now: moment.now, wall: moment.wall))
    }

    /// Appends an entry without ranges, which `change` brings into the tables; one that fills the batch ends it.
    @discardableResult
    mutating func append(
        _ entry: Entry, _ step: inout PrimaryStep, _ change: (inout PrimaryStateMachine, SequenceNumber) -> Void
    ) -> SequenceNumber {
        withBytes(of: []) { append(entry, source: $0, &step, change) }
    }

    /// The same for an entry whose ranges point into `source`.
    @discardableResult
    mutating func append(
        _ entry: Entry, source: RawSpan, _ step: inout PrimaryStep,
        _ change: (inout PrimaryStateMachine, SequenceNumber) -> Void
    ) -> SequenceNumber {
        let (sequence, isFull) = withOpenBatch(at: step.moment) { ($0.append(entry, source: source), $0.isFull) }
        change(&self, sequence)
        if isFull { seal(&step) }
        return sequence
    }

    /// Seals the open batch, if it has entries or a mark is forced; a mark that is due becomes its last entry.
    mutating func seal(forcingMark: Bool = false, _ step: inout PrimaryStep) {
        let isMarked = forcingMark || marks.isDue(step.now)
        if forcingMark { withOpenBatch(at: step.moment) { _ in } }
        guard var batch = pipeline.takeOpen(), forcingMark || !batch.isEmpty else { return }
        var mark: LogState.Mark?
        if isMarked || buggify(.extraMark) {
            let digest = step.state.digest + log.digest
            marks.marked(now: step.now, cost: step.state.digestCost)
            mark = LogState.Mark(sequence: batch.append(.digestMark(digest)), digest: digest)
        }
        marks.sealed(isMarked: mark != nil)
        let head = batch.head
        let result = batch.sealed()
        log.finish(head: head, hash: result.hash, tells: result.tellsSomething)
        pipeline.append(result, mark: mark)
        if let mark { log.mark = mark }
    }

    /// Ends a batch with a mark and has the state there captured.
    ///
    /// Only at the end of a turn: the driver takes the image when it runs the directives, and a batch that fills in the
    /// middle of a SUBMIT is followed by more actions before that.
    private mutating func takeSnapshot(_ step: inout PrimaryStep) {
        seal(forcingMark: true, &step)
        guard let mark = log.mark else { preconditionFailure("the batch was sealed with a mark") }
        let number = snapshots.captured(
            at: mark.sequence, chunkBytes: buggify(.tinyChunks) ? 1_024 : Limits.chunkBytes)
        step.directives.append(.captureSnapshot(number, log: log, digest: mark.digest))
    }
}
