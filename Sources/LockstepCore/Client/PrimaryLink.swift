/// The connection to the node that should be the primary: it says HELLO until a WELCOME comes, and again when nothing
/// is heard.
///
/// ```
///  created --> greeting --WELCOME--> welcomed
///               ^    |                | |
///     back-off  |    | 3 s, failed    | | RESYNC, REFUSED: greeting again on the same connection
///     is over   |    v                | |
///             waiting <---------------+ | 2.5 s without a frame, failed
///               ^-----------------------+
///  any --> stopped
/// ```
/// It follows the primary from one endpoint to the next, and knows nothing of sessions: those are of whom it connects.
/// It sends nothing itself; its owner does what ``due(now:)`` says.
///
/// Where several nodes are known, whatever leads to `waiting` here leads to the next of them at once, until each was
/// asked; and all that is waited for ends sooner.
package struct PrimaryLink: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case created
        /// Between two connections.
        case waiting
        /// HELLO was sent, or is to be sent.
        case greeting
        case welcomed
        case stopped
    }

    /// What the time brings.
    enum Due: Hashable, Sendable {
        case nothing
        /// Open a new connection to ``PrimaryRoute/endpoint``, then ``greet(nonce:now:)``.
        case connect
        case hello
        /// The connection is dead: ``fail(now:_:)``.
        case failure
    }

    private(set) var phase: Phase = .created
    /// The configured cluster, or that of the first WELCOME.
    private(set) var cluster: ClusterID?
    /// The newest WELCOME of the present connection; nil while there is none.
    private(set) var welcome: Welcome?
    /// Of the HELLOs on the present connection.
    private(set) var nonce: UInt64 = 0
    /// The first half of the ID of another cluster whose node answered, for the refusal's text.
    private(set) var foreignCluster: UInt64?
    private(set) var route: PrimaryRoute
    /// When the peer of a WELCOME, or one that refused, said something last; zero if none ever did.
    private(set) var lastHeard = Tick.zero
    /// The boots that said WELCOME on the present connection, the newest last; the last few.
    private var boots: [BootID] = []
    private var connectAt = Tick.never
    private var helloAt = Tick.never
    /// Milliseconds from one HELLO to the next.
    private var helloInterval = ClientTiming.firstHello
    /// Until when HELLO is not hurried again.
    private var helloHeld = Tick.zero
    /// Until when a RESYNC is not answered by HELLO at once.
    private var resyncHeld = Tick.zero
    /// The next HELLO is one that a RESYNC has caused.
    private var isAfterResync = false
    private var attemptEnds = Tick.never
    /// When the present connection was greeted first.
    private var greetedAt = Tick.zero
    /// Since when a HELLO is not answered that asks whether the peer is there; of several nodes.
    private var doubtedSince = Tick.never
    /// Since when the peer owes an answer, and gave none; of several nodes.
    private var owedSince = Tick.never
    /// Of the primaries that said WELCOME, and of what was known before them.
    private var highestEpoch = Epoch.zero

    init(endpoints: [String], cluster: ClusterID?) {
        route = PrimaryRoute(homes: endpoints)
        self.cluster = cluster
    }

    /// Whether there is a connection, on which frames may come.
    var isConnected: Bool {
        switch phase {
        case .created, .waiting, .stopped: false
        case .greeting, .welcomed: true
        }
    }

    var clusterRule: FrameHeader.ClusterRule { cluster.map { .member($0.hash) } ?? .any }

    func stamp(epoch: Epoch) -> FrameStamp {
        FrameStamp(channel: welcome?.channel ?? .none, clusterHash: cluster?.hash ?? 0, epoch: epoch)
    }

    // MARK: - Time

    /// When ``due(now:)`` says something else than nothing.
    var nextDeadline: Tick {
        switch phase {
        case .created, .stopped: .never
        case .waiting: connectAt
        case .greeting: min(helloAt, attemptEnds)
        case .welcomed: min(helloAt, silenceEnds)
        }
    }

    /// When the peer of a WELCOME is given up.
    private var silenceEnds: Tick {
        guard isOfSeveral else { return lastHeard.advanced(byMilliseconds: ClientTiming.silence) }
        return min(
            Self.end(of: route.patience, since: doubtedSince), Self.end(of: ClientTiming.progress, since: owedSince))
    }

    private static func end(of milliseconds: Int64, since tick: Tick) -> Tick {
        tick == .never ? .never : tick.advanced(byMilliseconds: milliseconds)
    }

    func due(now: Tick) -> Due {
        switch phase {
        case .created, .stopped: .nothing
        case .waiting: now >= connectAt ? .connect : .nothing
        case .greeting: now >= attemptEnds ? .failure : now >= helloAt ? .hello : .nothing
        case .welcomed: now >= silenceEnds ? .failure : now >= helloAt ? .hello : .nothing
        }
    }

    // MARK: - HELLO

    /// Begins anew on the connection: nothing that was said on it before counts.
    mutating func greet(nonce: UInt64, now: Tick) {
        begin(.greeting)
        isAfterResync = false
        self.nonce = nonce
        boots = []
        greetedAt = now
        helloInterval = isOfSeveral ? ClientTiming.quickHello : ClientTiming.firstHello
        attemptEnds = now.advanced(byMilliseconds: isOfSeveral ? route.patience : ClientTiming.attempt)
    }

    /// The peer does not know this connection: begins anew on it.
    ///
    /// Returns whether HELLO is to leave now; otherwise it is due 100 ms after the last one that a RESYNC caused.
    mutating func resynced(nonce: UInt64, now: Tick) -> Bool {
        greet(nonce: nonce, now: now)
        lastHeard = now
        isAfterResync = true
        guard now < resyncHeld else { return true }
        helloAt = resyncHeld
        return false
    }

    /// HELLO leaves; the next one follows later each time.
    mutating func greeted(now: Tick) {
        if isAfterResync { resyncHeld = now.advanced(byMilliseconds: ClientTiming.firstHello) }
        isAfterResync = false
        helloAt = now.advanced(byMilliseconds: helloInterval)
        helloInterval = min(helloInterval * 3 / 2, ClientTiming.slowestHello)
        if phase == .welcomed { doubtedSince = min(doubtedSince, now) }
    }

    /// Something shows that the peer may be another boot: HELLO is due at once, at most every 100 ms.
    mutating func hurryHello(now: Tick) {
        guard phase == .welcomed, now >= helloHeld else { return }
        helloHeld = now.advanced(byMilliseconds: ClientTiming.firstHello)
        helloAt = min(helloAt, now)
    }

    /// The peer lives: HELLO is due after a while without a further frame, or at once, where that is to be tried.
    mutating func heard(now: Tick, greetsAtOnce: Bool) {
        lastHeard = now
        helloInterval = ClientTiming.slowestHello
        doubtedSince = .never
        let rest = owedSince == .never ? ClientTiming.ping : ClientTiming.doubt
        helloAt = greetsAtOnce ? now : now.advanced(byMilliseconds: rest)
    }

    /// Whether the peer owes an answer now: who has others to ask does not wait for it as long.
    mutating func owes(_ isOwing: Bool, now: Tick) {
        guard isOfSeveral, isOwing != (owedSince != .never) else { return }
        owedSince = isOwing ? now : .never
        if isOwing {
            helloAt = min(helloAt, now.advanced(byMilliseconds: ClientTiming.doubt))
        } else if helloAt == lastHeard.advanced(byMilliseconds: ClientTiming.doubt) {
            // What came last was the last that it owed.
            helloAt = lastHeard.advanced(byMilliseconds: ClientTiming.ping)
        }
    }

    /// The peer gave one of the answers that it owes, or says why it cannot.
    mutating func paid(now: Tick) {
        if owedSince != .never { owedSince = now }
    }

    // MARK: - Answers

    /// Whether another boot has said WELCOME on this connection after this one: what still comes of it is old.
    func isReplaced(_ boot: BootID) -> Bool { boots.dropLast().contains(boot) }

    /// This epoch came to be.
    mutating func reached(_ epoch: Epoch) { highestEpoch = max(highestEpoch, epoch) }

    /// Whether another node is to be asked: a durable primary has a lower epoch than is known, so it has lost its post and
    /// does not know yet.
    func isOldNews(_ new: Welcome, known: Epoch) -> Bool {
        isOfSeveral && new.role == .primary && !new.isVolatile && new.commit.epoch < max(highestEpoch, known)
    }

    /// A WELCOME to this connection's HELLO; ``heard(now:greetsAtOnce:)`` follows.
    mutating func welcomed(_ new: Welcome, now: Tick) {
        if boots.last != new.boot { boots = boots.suffix(ClientTiming.rememberedBoots - 1) + [new.boot] }
        cluster = new.cluster
        welcome = new
        if phase == .greeting {
            route.arrived(atPrimary: new.role == .primary, took: (now - greetedAt) / Tick.milliseconds(1))
            paid(now: now)
        }
        if new.role == .primary { reached(new.commit.epoch) }
        phase = .welcomed
        attemptEnds = .never
    }

    /// The peer asks for a HELLO, or says no: it lives, although it has not taken this client.
    mutating func answered(now: Tick) { lastHeard = now }

    /// The peer refused this client: HELLO follows after a second on the same connection, or another node is asked.
    mutating func refused(now: Tick) {
        begin(.greeting)
        guard !isOfSeveral else {
            helloAt = .never
            attemptEnds = now.advanced(byMilliseconds: ClientTiming.quickRefusal)
            return
        }
        helloAt = now.advanced(byMilliseconds: ClientTiming.refusal)
        helloInterval = ClientTiming.refusal
        attemptEnds = now.advanced(byMilliseconds: ClientTiming.attempt)
    }

    /// A node of another cluster answered this connection's HELLO.
    mutating func metForeign(clusterHash: UInt64) { foreignCluster = clusterHash }

    // MARK: - Another connection

    /// Looks for the primary there from now on, and forgets every hint.
    mutating func relocate(to endpoint: String) { route = PrimaryRoute(homes: [endpoint]) }

    /// Whether there are others to ask than the one at ``PrimaryRoute/endpoint``.
    var isOfSeveral: Bool { route.isOfSeveral }

    /// The node here is not the primary and names another; where that leads, and when.
    mutating func sentOn(to hint: String) -> PrimaryRoute.Step { route.sentOn(to: hint) }

    /// The connection is no longer of use: a new one follows after a back-off; at once if this returns true.
    mutating func fail(now: Tick, _ generator: inout SplitMix64) -> Bool {
        guard route.failed() != .atOnce else { return true }
        wait(now: now, &generator)
        return false
    }

    /// Ends the connection; a new one follows after a back-off.
    mutating func wait(now: Tick, _ generator: inout SplitMix64) {
        begin(.waiting)
        connectAt = now.advanced(byMilliseconds: route.nextDelay(&generator))
    }

    /// Ends the connection for good.
    mutating func stop() {
        begin(.stopped)
    }

    private mutating func begin(_ phase: Phase) {
        self.phase = phase
        welcome = nil
        connectAt = .never
        doubtedSince = .never
    }

    func checkInvariants() {
        precondition((phase == .welcomed) == (welcome != nil), "a welcomed connection has its WELCOME")
        let isIdle = phase == .created || phase == .stopped
        precondition(isIdle || nextDeadline != .never, "a link that is up has a deadline; it is \(phase)")
        route.checkInvariants()
    }
}
