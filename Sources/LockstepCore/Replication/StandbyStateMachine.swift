/// The standby of one store: it keeps its primary's log, acknowledges it, and takes over when the primary is silent.
///
///     seeking --a record names a primary--> settling --all is durable--> fetching --tail, truncate--> streaming
///        ^                                     ^                            |  `-- snapshot --> lacking
///        |                                     +------ no plan, a gap ------+---------------------'
///        `------ another primary, from all of them but lacking
///
///     any --silence, the record says so, the promise is durable, applied--> won
///     any --what is committed would be lost, the disk was set back--> halted
///
/// It has no state of the user: a ``ReplicaStateMachine`` beside it follows the broadcast, which is committed. So a state
/// never rolls back; only the end of a log can be cut off. Who wins the election has the rest of its log applied to that
/// state.
///
/// Implements PROTOCOL, with ``ElectionStateMachine`` and ``KeptLog``.
package struct StandbyStateMachine: Hashable, Sendable {
    package struct Configuration: Hashable, Sendable {
        package var election: ElectionStateMachine.Configuration
        package var stamp: FrameStamp
        package var seed: UInt64

        package init(election: ElectionStateMachine.Configuration, stamp: FrameStamp, seed: UInt64) {
            (self.election, self.stamp, self.seed) = (election, stamp, seed)
        }

        package var member: Member { election.candidate.member }
        package var boot: BootID { election.candidate.boot }
    }

    package enum Phase: Hashable, Sendable {
        case seeking
        case settling
        case fetching(nonce: UInt64)
        case streaming(nonce: UInt64)
        /// Waits until its journal has begun anew with a snapshot; it follows nobody and does not campaign meanwhile.
        case lacking
        case won
        case halted
    }

    /// What another node has told.
    struct Knowledge: Hashable, Sendable {
        /// What the arbiter has shown it.
        var shown: ArbiterMemory
        var log: FollowerLog
    }

    package let configuration: Configuration
    package internal(set) var phase = Phase.seeking
    package internal(set) var log: KeptLog
    package internal(set) var election: ElectionStateMachine
    /// Whom it follows, and of which record that is.
    package internal(set) var followed: StoredRecord?
    /// What other nodes have told since this one began to ask: the highest epoch, and what each knows.
    var reportedEpoch = Epoch.zero
    var reports: [NodeID: Knowledge] = [:]
    /// The newest mark that the state has reached, with its own digest there.
    package var mark = LogState.Mark(sequence: .zero, digest: .none)
    /// The state is wrong: nothing is acknowledged.
    package var isDoubted = false
    /// Whether a primary's log came to it since it began.
    var hasFollowed = false
    /// The journal cuts off what is of another history.
    var isCutting = false
    /// When FETCH is said, or said again, or a stream that brings nothing is doubted.
    var nextFetch: Tick = .never
    /// How many plans in a row did not come.
    var missedPlans = 0
    var random: SplitMix64

    /// FETCH is said again after so long without a plan.
    static let fetchMilliseconds: Int64 = 500
    /// After a refusal, or a stream that had a gap.
    static let retryMilliseconds: Int64 = 200
    /// A heartbeat names an end that did not come for so long: the frame was lost.
    static let gapMilliseconds: Int64 = 300

    /// Begins with what the journal holds.
    package init(
        _ configuration: Configuration, log: KeptLog, promised: Epoch, memory: ArbiterMemory, now: Tick
    ) {
        self.configuration = configuration
        self.log = log
        random = SplitMix64(seed: configuration.seed)
        election = ElectionStateMachine(
            configuration.election, promised: max(promised, log.end.epoch), memory: memory, seed: configuration.seed,
            now: now)
    }

    /// Reads the record, to learn whom to follow; the first event, and whenever an operator wants it.
    package mutating func start(into directives: inout [StandbyDirective]) {
        directives.append(.readRecord(request: election.askRecord()))
    }

    package var nextDeadline: Tick {
        switch phase {
        case .won, .halted: .never
        case .seeking, .settling, .fetching, .streaming, .lacking: min(election.nextDeadline, nextFetch)
        }
    }

    // MARK: - Whom to follow

    /// Follows the primary that this record names.
    mutating func follow(_ stored: StoredRecord, now: Tick, into directives: inout [StandbyDirective]) {
        let primary = stored.record.primary
        let isSame = followed?.record.primary == primary && followed?.record.epoch == stored.record.epoch
        followed = stored
        // A record that names an earlier life of this process leaves nobody to follow.
        guard primary.member != configuration.member else {
            if phase != .lacking { phase = .seeking }
            nextFetch = .never
            return
        }
        guard !isSame || phase == .seeking else { return }
        directives.append(.connect(primary))
        // The journal begins anew with the snapshot, whoever reigns by then: no stream may follow from the old end.
        if phase != .lacking { settle(now: now, into: &directives) }
    }

    /// The connection to the primary is gone.
    ///
    /// `isRefused`: it was heard in this reign, was then reset, and refused to be connected to again. Its silence is not
    /// waited for.
    package mutating func disconnected(isRefused: Bool, now: Tick, into directives: inout [StandbyDirective]) {
        if isRefused { election.hurry(now: now) }
        switch phase {
        case .fetching, .streaming: settle(now: now, into: &directives)
        case .seeking, .settling, .lacking, .won, .halted: break
        }
    }

    /// FETCH names only what is durable: it waits for what is on its way to the journal.
    func isReadyToFetch() -> Bool { phase == .settling && log.isDurable && !isCutting && election.isLoyal }

    mutating func settle(
        after milliseconds: Int64 = 0, now: Tick, into directives: inout [StandbyDirective]
    ) {
        phase = .settling
        nextFetch = now.advanced(byMilliseconds: milliseconds)
        if milliseconds == 0 { fetch(now: now, into: &directives) }
    }

    mutating func fetch(now: Tick, into directives: inout [StandbyDirective]) {
        guard isReadyToFetch(), let followed else { return }
        let nonce = random.next()
        phase = .fetching(nonce: nonce)
        nextFetch = now.advanced(byMilliseconds: Self.fetchMilliseconds)
        let fetch = Fetch(
            nonce: nonce, store: log.store, member: configuration.member, boot: configuration.boot,
            promised: election.promised, log: log.summary)
        directives.append(.send(stamp(followed.record.epoch).frame(.replicationRequest(.fetch(fetch)))))
    }

    func stamp(_ epoch: Epoch) -> FrameStamp {
        var stamp = configuration.stamp
        stamp.epoch = epoch
        return stamp
    }

    // MARK: - Time

    package mutating func ticked(now: Tick, into directives: inout [StandbyDirective]) {
        guard phase != .won, phase != .halted else { return }
        elect(now: now, into: &directives) { election, directives in election.tick(now: now, into: &directives) }
        guard now >= nextFetch else { return }
        nextFetch = .never
        switch phase {
        case .settling:
            // During a campaign it is not ready, and is looked at again.
            nextFetch = now.advanced(byMilliseconds: Self.retryMilliseconds)
            fetch(now: now, into: &directives)
        case .fetching: planIsMissing(now: now, into: &directives)
        case .streaming: settle(now: now, into: &directives)
        case .seeking, .lacking, .won, .halted: break
        }
    }

    /// The plan did not come: FETCH is said again, every third time on a new socket, since TCP may hold back what waits.
    private mutating func planIsMissing(now: Tick, into directives: inout [StandbyDirective]) {
        missedPlans += 1
        if missedPlans.isMultiple(of: 3), let primary = followed?.record.primary {
            directives.append(.connect(primary))
        }
        settle(now: now, into: &directives)
    }

    mutating func halt(_ fault: StandbyFault, into directives: inout [StandbyDirective]) {
        phase = .halted
        directives.append(.halt(fault))
    }

    package func checkInvariants() {
        log.checkInvariants()
        election.checkInvariants()
        if case .streaming = phase { precondition(followed != nil, "a stream is of a primary") }
        precondition((phase == .won) == (election.phase == .won), "who has won is primary")
    }
}
