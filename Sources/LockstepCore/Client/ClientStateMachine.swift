/// The session of one store of one node with the primary, over one connection; also a replica's HELLO.
///
/// ```
///  created --start--> greeting --WELCOME--> welcomed
///                      ^    |                | |
///     back-off is over |    | 3 s, failed    | | RESYNC, REFUSED: greeting again on the same connection
///                      |    v                | |
///                    waiting <---------------+ | 2.5 s without a frame, failed
///                      ^-----------------------+
///  any --CLOSED, or 1 s after close--> stopped
///
///  On a welcomed connection:  none --OPEN--> opening --OPENED--> bound
///                             none --RESUME--> resuming --RESUMED--> bound
///  bound --SESSION_MOVED--> resuming
///  bound, resuming --SESSION_EXPIRED, five times _MOVED, 10 s of _UNKNOWN, volatile primary anew--> lost, then opening
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
    package internal(set) var phase: Phase = .created
    /// The configured cluster, or that of the first WELCOME.
    package internal(set) var cluster: ClusterID?
    /// The newest WELCOME of the present connection; nil while there is none.
    package internal(set) var welcome: Welcome?
    package internal(set) var session: OpenSession?
    var binding: Binding = .none
    var pending = PendingActions()
    /// Accepted actions whose end is awaited.
    var runs = PendingRuns()
    var generator: SplitMix64
    /// Switched off where a test wants rest.
    package var buggify: Buggify
    #if LOCKSTEP_PLANTED_DEFECTS
        var plantedChunks: [PendingActions.Chunk] = []
    #endif

    // The connection
    var nonce: UInt64 = 0
    /// The first half of the ID of another cluster whose node answered, for the refusal's text.
    package internal(set) var foreignCluster: UInt64?
    /// Where a node that is not the primary sent this client; it is forgotten when it fails twice.
    var redirect: String?
    var failures = 0
    var redirects = 0
    /// The nodes that sent this client on since a node took it, so that it does not go in a circle.
    var sentOnBy: [String] = []
    var backOff = ClientTiming.firstBackOff
    var connectAt = Tick.never
    var helloAt = Tick.never
    var helloInterval = ClientTiming.firstHello
    /// Until when HELLO is not hurried again.
    var helloHeld = Tick.zero
    var attemptEnds = Tick.never
    /// When the peer of a WELCOME, or one that refused, said something last; zero if none ever did.
    package internal(set) var lastHeard = Tick.zero

    // The session
    /// Whether a session is to be opened when there is none.
    var wantsSession: Bool
    var openNonce: UInt64 = 0
    /// When OPEN, RESUME or CLOSE is to be repeated.
    var sessionAt = Tick.never
    /// When SESSION_UNKNOWN is believed; it outlives connections, or one that breaks again and again would never end
    /// the session.
    var unknownEnds = Tick.never
    var closeEnds = Tick.never
    /// How often the session went to another connection since the last answer.
    var moves = 0
    var busyUntil = Tick.never
    var lastProgress = Tick.zero
    /// The hole in the answers for which the machine went back, so that it does so once for each hole.
    var holeAt: RequestNumber = 0
    var acknowledged: RequestNumber = 0
    var acknowledgeAt = Tick.never
    var keepAliveAt = Tick.never

    // What is known of the log
    var given = KnownPosition.none
    var answeredPosition = KnownPosition.none

    var requests = PendingRequests()

    package enum Phase: Hashable, Sendable {
        case created
        /// Between two connections.
        case waiting
        /// HELLO was sent, or is to be sent.
        case greeting
        case welcomed
        case stopped
    }

    enum Binding: Hashable, Sendable {
        case none
        case opening
        case resuming
        case bound
    }

    /// A session as the primary granted it.
    package struct OpenSession: Hashable, Sendable {
        package var id: SessionID
        package var openNonce: UInt64
        package var timeToLive: Int64
        package var windowNumbers: UInt32
        package var windowBytes: UInt32
        /// Of the primary that opened it: if that is volatile, the session ends with it (PROTOCOL, R-43).
        package var incarnation: Incarnation
    }

    package init(configuration: ClientConfiguration) {
        self.configuration = configuration
        cluster = configuration.cluster
        wantsSession = configuration.wantsSession
        generator = SplitMix64(seed: configuration.seed)
        buggify = configuration.buggify
    }

    /// Whether the primary said that it cannot take actions now; it is asked again by itself.
    package var isBusy: Bool { busyUntil != .never }
    /// Whether actions can be sent now.
    package var isBound: Bool { binding == .bound && phase == .welcomed }
    /// The numbers that were given and have no answer.
    package var unanswered: ClosedRange<RequestNumber>? { pending.unanswered }
    package var endpoint: String { redirect ?? configuration.endpoint }

    /// The highest position that this client knows (PROTOCOL, R-40).
    package var known: KnownPosition {
        let (answered, told) = (answeredPosition.position, given.position)
        let isHigher = (answered.epoch, answered.sequence) > (told.epoch, told.sequence)
        return isHigher ? answeredPosition : given
    }

    /// The replica's machine applied something, or began anew; a client is told of a position that was kept elsewhere.
    package mutating func setKnown(_ position: KnownPosition) { given = position }

    package mutating func start(now: Tick, into directives: inout [ClientDirective]) {
        precondition(phase == .created, "a client is started once; it is \(phase)")
        connect(now: now, into: &directives)
    }

    /// When ``ticked(now:into:)`` has something to do.
    package var nextDeadline: Tick {
        switch phase {
        case .created, .stopped: .never
        case .waiting: min(connectAt, closeEnds)
        case .greeting: min(helloAt, attemptEnds, closeEnds)
        case .welcomed:
            min(
                min(helloAt, silenceEnds, closeEnds, sessionAt), min(busyUntil, progressEnds),
                min(acknowledgeAt, keepAliveAt, requests.nextDeadline, isBound ? runs.nextAsk : .never))
        }
    }

    var silenceEnds: Tick { lastHeard.advanced(byMilliseconds: ClientTiming.silence) }

    var progressEnds: Tick {
        guard binding == .bound, pending.hasSent, !isBusy else { return .never }
        return lastProgress.advanced(byMilliseconds: ClientTiming.progress)
    }

    /// Time passed.
    ///
    /// The driver calls ``turnEnded(now:into:)`` afterwards, as after every event.
    package mutating func ticked(now: Tick, into directives: inout [ClientDirective]) {
        if now >= closeEnds { return finishClosing(into: &directives) }
        switch phase {
        case .created, .stopped: break
        case .waiting: if now >= connectAt { connect(now: now, into: &directives) }
        case .greeting:
            if now >= attemptEnds {
                reconnectLater(now: now, into: &directives)
            } else if now >= helloAt {
                sendHello(now: now, into: &directives)
            }
        case .welcomed:
            let speaks = now >= min(helloAt, acknowledgeAt, keepAliveAt)
            guard now < silenceEnds, !(speaks && buggify(.reconnects)) else {
                return reconnectLater(now: now, into: &directives)
            }
            if now >= helloAt { sendHello(now: now, into: &directives) }
            if now >= sessionAt { repeatSessionRequest(now: now, into: &directives) }
            if now >= busyUntil { busyUntil = .never }
            if now >= progressEnds { submitAgain(now: now) }
            if now >= min(acknowledgeAt, keepAliveAt) { sendKeepAlive(now: now, into: &directives) }
            if now >= requests.nextDeadline { repeatRequests(now: now, into: &directives) }
            if isBound, now >= runs.nextAsk { askForRuns(now: now, into: &directives) }
        }
    }

    var stamp: FrameStamp {
        FrameStamp(
            channel: welcome?.channel ?? .none, clusterHash: cluster?.hash ?? 0, epoch: known.position.epoch)
    }

    func send(_ message: Message, into directives: inout [ClientDirective]) {
        directives.append(.send(stamp.frame(message)))
    }

    /// Checks what must hold after every event, in time that does not depend on what waits: nodes do so in production.
    package func checkEvent() {
        precondition(binding == .none || phase == .welcomed, "a session is bound to a welcomed connection")
        precondition(binding != .bound || session != nil, "what is bound is a session")
        precondition(session != nil || pending.isEmpty, "numbers belong to a session")
        precondition((phase == .welcomed) == (welcome != nil), "a welcomed connection has its WELCOME")
        precondition(acknowledged <= pending.answered, "only answered numbers are acknowledged")
        let owesNothing = phase == .created || phase == .stopped
        precondition(owesNothing || nextDeadline != .never, "a client that runs has a deadline; it is \(phase)")
    }

    /// Checks what must hold after every event, with a walk over all that waits: for tests and the simulator.
    package func checkInvariants() {
        checkEvent()
        pending.checkInvariants()
        checkRunInvariants()
    }
}
