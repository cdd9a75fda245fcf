package import LockstepCore
package import Logging

/// One store of a node on the node's thread: its machines, its callers, its connections.
///
/// It executes what the client's machine directs; the driver of its ``role`` does so for the other. A node without a
/// state has only the client. All have the same path: a caller's actions become SUBMIT frames of the client's
/// machine, which go to the primary's machine over a socket or, on the primary itself, by hand.
package final class StoreHost {
    package let name: String
    package let port: StorePort
    package let services: NodeServices
    package let mailbox: Mailbox
    package let links: LinkSockets
    package let metrics: NodeMetrics
    package let state: ObservedState?
    /// What this node is for the store; nothing else says it, and only what belongs to one role asks which it is.
    ///
    /// It is set when the store is opened. On a data node `StoreHost+Roles.swift` changes it while the node runs, on the
    /// node's thread and between two events:
    /// - Nothing waits for the journal. What was asked for in the old role and ends in the new one is dropped by its desk.
    /// - The machine of the new driver has the log that ``state`` shows and that ``feed`` ends with.
    /// - The journal goes to the new driver's desk; it is not closed.
    /// - The client's machine goes to the other primary, with its session and its numbers.
    package var role = StoreRole.client

    package internal(set) var client: ClientStateMachine
    var directives: [ClientDirective] = []
    var desk: CallerDesk
    package var readers = ReaderDesk()
    package var feed = FeedDesk()
    var asks = AskDesk()
    var acknowledged = AcknowledgedPlace()
    var ends = EndDesk()
    var watchDesk = WatchDesk()
    var counters: [ProtocolCounter: UInt64] = [:]
    /// What an operator must know until it has passed.
    package internal(set) var alarms: AlarmBoard
    private var life: StoreLife
    var snapshotLines = LineLimit()
    var nextObservation = Tick.zero
    /// The node's logger with the store's name.
    package let logger: Logger
    /// When the primary that is away was last heard, or when the node started; nil while there is one.
    var lostPrimary: Tick?
    /// The last time that an operator had it give its post away; nil: never.
    var handover: HandoverNote?
    /// When the record is read again for what it may tell an operator.
    var nextRecordReading = Tick.zero
    /// What other data nodes have said of the store, the last of each.
    var reports: [NodeID: RecordReport] = [:]
    /// An operator had a standby look at the record: the others hear what it reads.
    var tellsRecord = false
    /// How far it is with its end; nil while it goes on.
    var stop: OrderlyStop?
    private var isLinked = false
    /// So long the alarm of what the access list denied stays, since it is denied again and again until then.
    var deniedUntil = Tick.zero
    /// A node had this store and took this one since the start.
    var wasWelcomed = false
    /// The node came to its first turn: all of its stores could be opened.
    var hasRun = false
    var isEnded = false
    /// Questions that were cancelled before they came; the last of them.
    var cancelledEarly: [UInt64] = []

    package init(
        port: StorePort, index: Int, services: NodeServices, mailbox: Mailbox, state: ObservedState?,
        client: ClientConfiguration
    ) {
        name = port.name
        self.port = port
        self.services = services
        self.mailbox = mailbox
        links = LinkSockets(index: index, context: services.context)
        metrics = NodeMetrics(store: port.name)
        desk = CallerDesk(metrics: CallerMetrics(store: port.name), traces: port.traces)
        var logger = services.logger
        logger[metadataKey: LogKey.store] = "\(port.name)"
        self.logger = logger
        alarms = AlarmBoard(logger: logger, metrics: metrics)
        life = StoreLife(logger: logger)
        self.state = state
        self.client = ClientStateMachine(configuration: client)
    }

    package func start(now: Tick) {
        client.start(now: now, into: &directives)
        execute(now: now)
    }

    /// Whose connection of the ingress it is, as the access list says; nil of a node without keys (PROTOCOL, R-71).
    ///
    /// The callers of this process have the node's own name.
    func sender(on connection: Connection) -> Sender? {
        guard services.book != nil else { return nil }
        guard connection != .local else { return Sender(name: services.node) }
        return services.server.peer(connection, on: .ingress)?.principal.sender(to: name)
    }

    // MARK: - The parts of a turn

    /// What other threads finished.
    package func takeMail() -> Bool {
        let events = mailbox.take()
        for event in events { event(self) }
        return !events.isEmpty
    }

    /// Handles what came on the links: up to 64 frames of the ingress, and 2 ms of the stream and of repairs.
    ///
    /// False if there are none, or what is left must wait for the journal.
    package func handleLinks(now: Tick) -> Bool {
        guard !links.isEmpty else { return false }
        for _ in 0..<64 {
            guard let (frame, _) = links.linkRing.popFirst() else { break }
            received(frame, now: now)
        }
        guard let replica else { return true }
        replica.handleStream(now: now)
        // The journal holds up the stream and repairs alone: frames of the ingress are taken in every turn.
        return !replica.isHeldUp || !links.linkRing.isEmpty
    }

    /// Takes what callers left, does some of their work, and submits what the credit allows.
    package func handleCallers(now: Tick) -> Bool {
        let (leaving, errands) = desk.take(from: port.inbox, withActions: true)
        for waiter in leaving { leave(waiter, because: CancellationError()) }
        handle(errands)
        let isAnySubmitted = submitStaged(now: now)
        return isAnySubmitted || !leaving.isEmpty || !errands.isEmpty
    }

    private func submitStaged(now: Tick) -> Bool {
        guard let session = client.session?.id else {
            if desk.hasStaged { client.openSession(now: now, into: &directives) }
            return false
        }
        return desk.submit(session: session) { actions, count in
            client.submit(actions, count: count, now: now, into: &directives)
        }
    }

    /// The end of a turn: what was submitted becomes frames, and the primary seals what arrived.
    package func endTurn(now: Tick, wall: LogTime) {
        client.turnEnded(now: now, into: &directives)
        execute(now: now)
        driver?.endTurn(now: now, wall: wall)
        setGate()
        showPublished()
        // At last: whoever waits for the store to be live reads it at once.
        port.readiness.set(readiness)
    }

    /// What time brings.
    package func tick(now: Tick, wall: LogTime) {
        if now >= inPlace(&client, { $0.nextDeadline }) {
            client.ticked(now: now, into: &directives)
            execute(now: now)
        }
        driver?.tick(now: now, wall: wall)
        lookAtLink(now: now)
        watchPrimary(now: now)
        watchArbiter(now: now)
        while let waiter = desk.popDue(now) { leave(waiter, because: lateness(of: waiter)) }
        readers.ticked(now, because: readRefusal)
        for id in asks.ticked(now, refusal: alarms[.refused]?.text) { client.cancelRead(id) }
        stopAsking()
        ends.ticked(now)
        for id in watchDesk.ticked(now) { client.unwatch(id, into: &directives) }
        alarms.tick(now: now)
        watch(now: now)
        observe(now: now)
    }

    /// Writes what has changed in the store's life.
    private func watch(now: Tick) {
        hasRun = true
        life.serves(driver?.service ?? .none, now: now)
        guard primary == nil else { return }
        let link: StoreLife.Link =
            switch inPlace(&client, { $0.phase }) {
            case .created, .greeting, .stopped: .greeting
            case .waiting: .lost
            case .welcomed:
                inPlace(&client) { client in
                    client.welcome.map { .found($0.boot, endpoint: client.endpoint, commit: $0.commit) } ?? .greeting
                }
            }
        life.links(link, own: inPlace(&client) { $0.known.position }, now: now)
    }

    /// Why a caller whose time is over has no answer.
    private func lateness(of waiter: Waiter) -> LockstepError {
        let why = (alarms[.refused] ?? alarms[.noPrimary])?.text ?? "nothing answers at \(places)"
        if let asked = waiter.asked {
            return LockstepError(
                .timeout, "what became of the action was not answered in time and stays open: \(why)", pending: asked)
        }
        // What is denied now is no matter of time.
        let code: LockstepError.Code = MonotonicClock.now < deniedUntil ? .refused : .timeout
        return LockstepError(code, "the action was not submitted in time, so it is without effect: \(why)")
    }

    package var nextDeadline: Tick {
        min(
            inPlace(&client) { $0.isHasty ? min($0.nextDeadline, links.nextLook) : $0.nextDeadline },
            min(desk.nextDeadline, readers.nextDeadline, asks.nextDeadline, ends.nextDeadline),
            watchDesk.nextDeadline, driver?.nextDeadline ?? .never)
    }

    /// Whether another thread left something.
    package var isWaiting: Bool {
        !mailbox.isEmpty || port.inbox.isWaiting(withActions: desk.wantsActions)
    }

    /// Lets readers in whose time has come.
    private func showPublished() {
        guard let state else { return }
        let sequence = state.published.sequence
        if port.publishedSequence != sequence {
            port.setPublished(sequence)
        }
        // A view of the same place may be let in later than it was made.
        readers.published(through: sequence, isReadable: readRefusal == nil)
        state.isAwaited = !readers.isEmpty
    }

    // MARK: - The client's machine

    /// A frame came from the primary.
    package func received(_ frame: WaitingFrame, now: Tick) {
        frame.withFrame { client.received($0, now: now, into: &directives) }
        execute(frame, now: now)
    }

    func execute(_ frame: WaitingFrame? = nil, now: Tick) {
        inPlace(&client) { $0.checkEvent() }
        guard !directives.isEmpty else { return }
        var held: ReplyFrame?
        var bytes: ReplyFrame {
            if let held { return held }
            guard let frame else { preconditionFailure("an answer comes in a frame") }
            let made = ReplyFrame(bytes: frame.bytes)
            held = made
            return made
        }
        let batch = directives
        directives.removeAll(keepingCapacity: true)
        for directive in batch {
            switch directive {
            case .connect(let endpoint): connect(to: endpoint, now: now)
            case .send(let frame): send(frame)
            case .welcomed(let welcome): welcomed(welcome, now: now)
            case .opened:
                deniedUntil = .zero
                clear(.refused)
                sessionOpened()
                _ = submitStaged(now: now)
            case .answered(let answers): answered(answers, in: bytes)
            case .lost(let session, _): sessionLost(session)
            case .ended(let ended): runEnded(ended, in: bytes)
            case .endLost(let run): ends.lost(run)
            case .readAnswered(let result): readAnswered(result, in: bytes, now: now)
            case .readDelayed(let result):
                asks.delayed(result.id, because: String(decoding: bytes.bytes[result.answer], as: UTF8.self))
            case .watchAnswered(let result): watchAnswered(result, in: bytes)
            case .queried(let result):
                asks.queried(result)
                stopAsking()
            case .queryAnswered(let session, let answers): queryAnswered(session, answers, in: bytes)
            case .refused(let refused): self.refused(refused)
            case .noPrimary(let endpoint): noPrimary(endpoint)
            case .closed: if stop?.stage == .closing { beginDraining(now: now) }
            case .count(let counter): count(counter)
            }
        }
    }

    private func connect(to endpoint: String, now: Tick) {
        // A standby that knows no primary yet connects to nobody.
        guard primary == nil, endpoint != Self.ownEndpoint else { return }
        if isLinked { replica?.linkLost(now: now) }
        isLinked = true
        let keys = services.dialing(endpoint)
        let isKnown = services.attempt { try links.connect(to: endpoint, keys: keys, poller: services.loop.poller) }
        if isKnown == false { keyIsMissing(of: endpoint) }
    }

    private func send(_ frame: [UInt8]) {
        if let primary {
            primary.fromLocal(frame)
        } else {
            count(isSent: services.attempt { try links.send(frame) })
        }
    }

    private func welcomed(_ welcome: Welcome, now: Tick) {
        // A WELCOME says nothing of what a session may do.
        if now >= deniedUntil { clear(.refused) }
        clear(.noPrimary)
        if let cluster = services.cluster, cluster != welcome.cluster {
            // Another store of this node is of another cluster.
            let text = "\(welcome.node) belongs to cluster \(welcome.cluster)"
            return refused(Refused(nonce: 0, reason: .wrongCluster, text: text))
        }
        services.wasWelcomed = true
        acknowledged.welcomed(isVolatile: welcome.isVolatile, welcome.incarnation)
        showAcknowledged()
        links.welcomed()
        storeIsKnown()
        services.learned(welcome.cluster)
        replica?.welcomed(welcome, endpoint: client.endpoint, now: now)
    }

    /// Where the primary should be there is a replica, which knows of no other way to go.
    private func noPrimary(_ endpoint: String) {
        if services.arbiter != nil {
            return raise(.noPrimary, "\(endpoint) is not the primary, and knows none: \(primaryAdvice)")
        }
        let cure = replica == nil ? "it knows no primary: name the primary" : "name the primary with --replica-of"
        raise(.noPrimary, "\(endpoint) is a replica; \(cure)")
    }

    private func refused(_ refused: Refused) {
        if !services.wasWelcomed, let error = foreignness(refused) { return services.halt(error) }
        if refused.reason == .denied { deniedUntil = MonotonicClock.now.advanced(byMilliseconds: Self.denialMemory) }
        raise(.refused, "\(client.endpoint) refuses: \(refused.text)")
        if refused.reason == .unknownStore { storeIsUnknown() }
    }

    package func count(_ counter: ProtocolCounter) {
        counters[counter, default: 0] += 1
        metrics.count(counter)
    }

    /// The replica's position moved: HELLO tells it.
    package func setKnown(_ known: KnownPosition, mark: LogState.Mark?) { client.setKnown(known, mark: mark) }

    /// The stream shows another boot: HELLO leaves with the turn's tick.
    package func sayHello(now: Tick) { client.sayHello(now: now) }

    // MARK: - Callers

    private func leave(_ waiter: Waiter, because error: any Error) {
        // The numbers of another session have other callers' actions.
        guard let numbers = desk.leave(waiter, because: error), waiter.session == client.session?.id else { return }
        client.giveUp(numbers)
    }
}
