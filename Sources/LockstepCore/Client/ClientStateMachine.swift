/// The session of one store of one node with the primary, over one connection; also a replica's HELLO.
///
/// The connection goes through the phases of ``PrimaryLink``; on a welcomed one a ``SessionBinding`` is
///
/// ```
///  none --OPEN--> opening --OPENED--> bound
///  none --RESUME--> resuming --RESUMED--> bound
///  bound --SESSION_MOVED, _UNKNOWN--> resuming
///  bound, resuming --SESSION_EXPIRED, five times _MOVED, 10 s of _UNKNOWN, volatile primary anew--> lost, then opening
///  any --CLOSED, or 1 s after close--> stopped, and the link with it
/// ```
///
/// Invariants:
/// - Numbers are given only while there is a session, contiguous from 1; each is answered once, in order, or lost with
///   the session, and stays in ``pending`` until then.
/// - SUBMIT is sent only while bound, by ``turnEnded(now:into:)`` alone, always from the first unsent number on.
/// - What is sent has a deadline: every state in which the peer owes a frame has a time at which it is asked again.
///
/// Implements PROTOCOL for the side of the client.
package struct ClientStateMachine: Hashable, Sendable {
    package let configuration: ClientConfiguration
    var link: PrimaryLink
    package internal(set) var session: OpenSession?
    var binding = SessionBinding()
    /// Whether a session is to be opened when there is none.
    var wantsSession: Bool
    /// When the machine ends, whether or not the primary has closed the session.
    var closeEnds = Tick.never
    var pending = PendingActions()
    var pace = SubmissionPace()
    var keepAlives = KeepAlives()
    /// Accepted actions whose end is awaited.
    var runs = PendingRuns()
    var requests = PendingRequests()
    var watches = PendingWatches()
    var knowledge = LogKnowledge()
    var generator: SplitMix64
    /// Switched off where a test wants rest.
    package var buggify: Buggify

    /// A session as the primary granted it.
    package struct OpenSession: Hashable, Sendable {
        package var id: SessionID
        package var openNonce: UInt64
        /// Microseconds.
        package var timeToLive: Int64
        package var windowNumbers: UInt32
        package var windowBytes: UInt32
        /// Of the primary that opened it: if that is volatile, the session ends with it (PROTOCOL, R-43).
        package var incarnation: Incarnation
    }

    package init(configuration: ClientConfiguration) {
        self.configuration = configuration
        link = PrimaryLink(endpoints: [configuration.endpoint] + configuration.others, cluster: configuration.cluster)
        wantsSession = configuration.wantsSession
        generator = SplitMix64(seed: configuration.seed)
        buggify = configuration.buggify
    }

    package var phase: PrimaryLink.Phase { link.phase }
    /// The configured cluster, or that of the first WELCOME.
    package var cluster: ClusterID? { link.cluster }
    /// The newest WELCOME of the present connection; nil while there is none.
    package var welcome: Welcome? { link.welcome }
    /// The first half of the ID of another cluster whose node answered, for the refusal's text.
    package var foreignCluster: UInt64? { link.foreignCluster }
    /// When the peer of a WELCOME, or one that refused, said something last; zero if none ever did.
    package var lastHeard: Tick { link.lastHeard }
    /// Where the present connection leads, or the next one.
    package var endpoint: String { link.route.endpoint }
    /// Where the primary may be: all nodes that are known, or where the one that is known has led.
    package var places: [String] { link.isOfSeveral ? link.route.homes : [endpoint] }
    /// Whether a broken connection is to be told at once: another node can be asked, and somebody waits.
    package var isHasty: Bool { link.isOfSeveral && (phase == .greeting || isOwed) }
    /// Whether the primary said that it cannot take actions now; it is asked again by itself.
    package var isBusy: Bool { pace.isBusy }
    /// Whether actions can be sent now.
    package var isBound: Bool { binding.stage == .bound && phase == .welcomed }
    /// The numbers that were given and have no answer.
    package var unanswered: ClosedRange<RequestNumber>? { pending.unanswered }

    /// The highest position that this client knows (PROTOCOL, R-40).
    package var known: KnownPosition { knowledge.highest }

    /// The mark that was told with the position.
    package var knownMark: LogState.Mark? { knowledge.mark }

    /// The replica's machine applied something, or began anew; a client is told of a position that was kept elsewhere.
    package mutating func setKnown(_ position: KnownPosition, mark: LogState.Mark? = nil) {
        knowledge.give(position, mark)
    }

    /// An epoch that was seen before this machine was made: what is below is old news.
    package mutating func reached(_ epoch: Epoch) { link.reached(epoch) }

    package mutating func start(now: Tick, into directives: inout [ClientDirective]) {
        precondition(phase == .created, "a client is started once; it is \(phase)")
        connect(now: now, into: &directives)
    }

    /// When ``ticked(now:into:)`` has something to do.
    package var nextDeadline: Tick {
        switch phase {
        case .created, .stopped: .never
        case .waiting, .greeting: min(link.nextDeadline, closeEnds)
        case .welcomed:
            min(
                min(link.nextDeadline, closeEnds, binding.repeatAt), min(pace.busyUntil, progressEnds),
                min(keepAlives.nextDeadline, requests.nextDeadline, watches.nextDeadline),
                isBound ? runs.nextAsk : .never)
        }
    }

    /// Whether the peer of a WELCOME owes an answer to anything but a HELLO.
    var isOwed: Bool {
        switch binding.stage {
        case .opening, .resuming: true
        case .bound: !pending.isEmpty || !requests.isEmpty
        case .none: !requests.isEmpty
        }
    }

    /// When what was sent is sent again.
    private var progressEnds: Tick { binding.stage == .bound && pending.hasSent ? pace.progressEnds : .never }

    /// Time passed.
    ///
    /// The driver calls ``turnEnded(now:into:)`` afterwards, as after every event.
    package mutating func ticked(now: Tick, into directives: inout [ClientDirective]) {
        if now >= closeEnds { return finishClosing(into: &directives) }
        let due = link.due(now: now)
        let speaks = phase == .welcomed && (due == .hello || now >= keepAlives.nextDeadline)
        guard due != .failure, !(speaks && buggify(.reconnects)) else {
            return reconnectLater(now: now, into: &directives)
        }
        switch due {
        case .nothing, .failure: break
        case .connect: connect(now: now, into: &directives)
        case .hello: sendHello(now: now, into: &directives)
        }
        if phase == .welcomed { welcomedTicked(now: now, into: &directives) }
    }

    private mutating func welcomedTicked(now: Tick, into directives: inout [ClientDirective]) {
        if now >= binding.repeatAt { repeatSessionRequest(now: now, into: &directives) }
        if now >= pace.busyUntil { pace.release() }
        if now >= progressEnds { submitAgain(now: now) }
        if now >= keepAlives.nextDeadline { sendKeepAlive(now: now, into: &directives) }
        if now >= requests.nextDeadline { repeatRequests(now: now, into: &directives) }
        if now >= watches.nextDeadline { repeatWatches(now: now, into: &directives) }
        if isBound, now >= runs.nextAsk { askForRuns(now: now, into: &directives) }
    }

    var stamp: FrameStamp { link.stamp(epoch: known.position.epoch) }

    func send(_ message: Message, into directives: inout [ClientDirective]) {
        directives.append(.send(stamp.frame(message)))
    }

    /// Checks what must hold after every event, in time that does not depend on what waits: nodes do so in production.
    package func checkEvent() {
        precondition(binding.stage == .none || phase == .welcomed, "a session is bound to a welcomed connection")
        precondition(binding.stage != .bound || session != nil, "what is bound is a session")
        precondition(session != nil || pending.isEmpty, "numbers belong to a session")
        precondition(keepAlives.acknowledged <= pending.answered, "only answered numbers are acknowledged")
        let owesNothing = phase == .created || phase == .stopped
        precondition(owesNothing || nextDeadline != .never, "a client that runs has a deadline; it is \(phase)")
        link.checkInvariants()
        binding.checkInvariants()
    }

    /// Checks what must hold after every event, with a walk over all that waits: for tests and the simulator.
    package func checkInvariants() {
        checkEvent()
        pending.checkInvariants()
        precondition(session != nil || runs == PendingRuns(), "runs belong to a session")
        runs.checkInvariants(pending)
        requests.checkInvariants()
        watches.checkInvariants()
    }
}
