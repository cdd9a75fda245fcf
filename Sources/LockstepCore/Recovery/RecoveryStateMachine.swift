/// Fetches from one node what a stopped node's journal lacks: `lockstep recover --from`.
///
/// ```
///  created --> greeting --WELCOME--> planning --TAIL--> continuing --continued--> repairing --> ended
///                 ^                  |  ^  |                                       ^  |
///                 |                  |  +--+ BUSY; AHEAD, DIVERGED: an older place |  |
///                 |                  +--SNAPSHOT--> fetching --> continuing --------+  |
///                 +-----------------------------------+-------------------------------+
///                  RESYNC, no longer held: from what the journal has now
///  any --> ended
/// ```
///
/// It asks as a joiner does, SYNC, CHUNK_REQ and REPAIR_REQ, but it is no replica, whose machine could not do this:
/// - It is needed when there is no primary. A replica follows primaries only, and sends SYNC only after a first
///   frame of the stream, which no replica publishes.
/// - The journal may hold what the node does not. A replica is AHEAD then and stays so; here an operator has
///   decided, so the last place that both know is looked for, and what is after it is kept aside.
/// - It has no state: a journal is also recovered that its reactor cannot be run on.
///
/// Invariants:
/// - Nothing is directed to the journal before the node has named a place that both know; then that place is the
///   journal's own end, and it only moves forward.
/// - Each request is repeated until its answer comes, and each wait ends. Who is answered without gaining anything also
///   gives up.
///
/// Implements PROTOCOL for the side of a joiner.
package struct RecoveryStateMachine: Hashable, Sendable {
    package let configuration: RecoveryConfiguration
    /// The log at the end of the journal, as it is when all directives are executed.
    package internal(set) var log: LogState
    /// The newest WELCOME; nil if none ever came.
    package internal(set) var welcome: Welcome?
    /// Why the newest answer to HELLO could not be read; nil if all could.
    var unreadable: WireError?
    var stage = Stage.created
    /// The places that the node is asked for, newest first; the first is asked for now.
    var candidates: [KnownPosition]
    /// Whether the journal was directed to change: its end is common to both then.
    var hasBegun = false
    /// Whether the newest plan was BUSY.
    var isPreparing = false
    /// What the newest plan promises.
    var planEnd = SequenceNumber.zero
    /// Kept when the recovery begins again, for the same snapshot may be offered again.
    var fetch: SnapshotFetch?
    /// How many snapshots were begun to be fetched.
    var snapshots = 0
    /// Of the present request.
    var nonce: UInt64 = 0
    var askAt = Tick.never
    /// When the present request was first made, or a part of its answer came.
    var answeredAt = Tick.zero
    /// When the recovery last came closer to its end.
    var gainedAt = Tick.zero
    var generator: SplitMix64

    enum Stage: Hashable, Sendable {
        case created
        case greeting
        case planning
        /// The driver sets the journal back to the common place, or begins it anew.
        case continuing
        case fetching
        case repairing
        case ended
    }

    /// Makes a machine for a journal that ends where `log` does.
    package init(configuration: RecoveryConfiguration, log: LogState) {
        self.configuration = configuration
        self.log = log
        generator = SplitMix64(seed: configuration.seed)
        let ends = log.epochEnds.reversed().map {
            KnownPosition(position: Position(epoch: $0.epoch, sequence: $0.sequence, hash: $0.hash), boot: $0.boot)
        }
        candidates = [log.known] + ends
    }

    /// Whether nothing follows any more.
    package var hasEnded: Bool { stage == .ended }

    /// What is waited for; nil while nothing is owed by the node.
    package var awaited: RecoveryWait? {
        switch stage {
        case .created, .continuing, .ended: nil
        case .greeting: .welcome
        case .planning: isPreparing ? .snapshot : .plan
        case .fetching: .chunk(after: fetch?.receivedCount ?? 0, of: fetch?.count ?? 0)
        case .repairing: .rest(after: log.position.sequence)
        }
    }

    // MARK: - Events

    package mutating func start(now: Tick, into directives: inout [RecoveryDirective]) {
        precondition(stage == .created, "a recovery is started once; it is \(stage)")
        gainedAt = now
        directives.append(.connectIngress)
        go(to: .greeting, now: now, into: &directives)
    }

    /// The journal ends at the place that ``RecoveryDirective/continueFrom(_:)`` named, or with the snapshot that it was
    /// given; `log` is its end.
    package mutating func continued(at log: LogState, now: Tick, into directives: inout [RecoveryDirective]) {
        precondition(stage == .continuing, "nothing is to be continued; it is \(stage)")
        precondition(log.position == candidates[0].position, "the journal ends at the place that was named")
        // However long the journal took.
        gainedAt = now
        began(at: log)
        goOn(now: now, into: &directives)
    }

    /// When ``ticked(now:into:)`` has something to do.
    package var nextDeadline: Tick { awaited == nil ? .never : min(askAt, patienceEnds) }

    package mutating func ticked(now: Tick, into directives: inout [RecoveryDirective]) {
        guard awaited != nil else { return }
        if now >= patienceEnds {
            fail(silence, into: &directives)
        } else if now >= askAt {
            ask(now: now, into: &directives)
        }
    }

    /// What it means that the present request has no answer.
    private var silence: RecoveryFailure {
        guard welcome == nil else { return .noAnswer }
        return unreadable.map { .welcomeUnreadable($0) } ?? .noNode
    }

    private var patienceEnds: Tick {
        let patience = configuration.patience
        return answeredAt.advanced(byMilliseconds: welcome == nil ? patience.greeting : patience.answer)
    }

    // MARK: - Steps

    /// Enters a stage with a request, which leaves now, or after a while.
    mutating func go(
        to stage: Stage, after milliseconds: Int64 = 0, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        self.stage = stage
        nonce = generator.next()
        answeredAt = now
        askAt = now.advanced(byMilliseconds: milliseconds)
        if milliseconds == 0 { ask(now: now, into: &directives) }
    }

    /// Makes the present request, for the first time or again.
    mutating func ask(now: Tick, into directives: inout [RecoveryDirective]) {
        askAt = now.advanced(byMilliseconds: configuration.patience.repeat)
        switch stage {
        case .created, .continuing, .ended: break
        case .greeting:
            let hello = Hello(
                nonce: nonce, role: .client, node: "recovery", incarnation: .none,
                boot: configuration.boot, store: configuration.storeName, known: .none)
            send(.hello(hello), on: .ingress, into: &directives)
        case .planning:
            let sync = Sync(
                nonce: nonce, store: log.store, node: "recovery", have: candidates[0], firstFrame: .zero,
                wantsSnapshot: false)
            send(.sync(sync), on: .bulk, into: &directives)
        case .fetching: askForChunk(now: now, into: &directives)
        case .repairing:
            let request = RepairRequest(
                nonce: nonce, after: log.position, through: planEnd, largestReply: UInt32(Limits.actionBytes))
            send(.repairRequest(request), on: .bulk, into: &directives)
        }
    }

    private mutating func askForChunk(now: Tick, into directives: inout [RecoveryDirective]) {
        guard var fetch else { preconditionFailure("what is being fetched is known") }
        // Long without a chunk: none of the requests counts any more.
        if fetch.lastProgress.advanced(byMilliseconds: ReplicaTiming.fetchProgress) <= now { fetch.restart(now: now) }
        for request in fetch.requests(now: now, window: 1) {
            send(.chunkRequest(request), on: .bulk, into: &directives)
        }
        askAt = fetch.nextDeadline
        self.fetch = fetch
    }

    private func send(_ message: Message, on link: RecoveryLinkName, into directives: inout [RecoveryDirective]) {
        let channel = link == .ingress ? Channel.none : welcome?.channel ?? .none
        let stamp = FrameStamp(channel: channel, clusterHash: configuration.cluster.hash, epoch: .zero)
        directives.append(.send(stamp.frame(message), on: link))
    }

    /// The journal is directed to end here, in a place that the node knows too.
    mutating func began(at log: LogState) {
        self.log = log
        hasBegun = true
        candidates = [log.known]
        fetch = nil
    }

    /// Fetches the rest of what the plan promises, if there is any.
    mutating func goOn(now: Tick, into directives: inout [RecoveryDirective]) {
        guard log.position.sequence >= planEnd else { return go(to: .repairing, now: now, into: &directives) }
        stage = .ended
        directives.append(.finished(log.position))
    }

    /// The node answers that it cannot go on; whether it may be asked again.
    mutating func mayAskAgain(
        after failure: RecoveryFailure, now: Tick, into directives: inout [RecoveryDirective]
    ) -> Bool {
        guard now >= gainedAt.advanced(byMilliseconds: configuration.patience.progress) else { return true }
        fail(failure, into: &directives)
        return false
    }

    mutating func fail(_ failure: RecoveryFailure, into directives: inout [RecoveryDirective]) {
        stage = .ended
        directives.append(.failed(failure))
    }

    /// Relations that hold after every event; no walk, so whoever runs the machine checks them in production too.
    package func checkEvent() {
        precondition(!candidates.isEmpty || hasEnded, "there is a place to ask for")
        precondition(!hasBegun || candidates == [log.known] || hasEnded, "what was written is common to both")
        precondition(awaited == nil || nextDeadline != .never, "every wait has a deadline; it is \(stage)")
        precondition(!isPreparing || stage == .planning || hasEnded, "a snapshot is prepared while a plan is awaited")
        precondition(snapshots <= configuration.largestSnapshotCount, "so many snapshots are fetched, and no more")
        switch stage {
        case .created: precondition(!hasBegun && welcome == nil, "nothing comes before the start")
        case .greeting, .ended: break
        case .planning, .continuing: precondition(welcome != nil, "who is asked has said WELCOME; it is \(stage)")
        case .fetching: precondition(welcome != nil && fetch != nil, "what is being fetched is known")
        case .repairing:
            precondition(welcome != nil && hasBegun, "the rest goes on from a place that is common to both")
            precondition(log.position.sequence < planEnd, "there is a rest to be fetched")
        }
    }

    /// All relations, also those that take a walk.
    package func checkInvariants() {
        checkEvent()
        for (newer, older) in zip(candidates, candidates.dropFirst()) {
            precondition(newer.position.sequence >= older.position.sequence, "newer places are asked for first")
        }
        fetch?.checkInvariants()
    }
}
