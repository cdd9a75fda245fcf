import LockstepCore

/// A client that is wrong: numbers out of order, other bodies under used numbers, acknowledgements of nothing, noise; and
/// whatever a client may send, in the sessions of others.
///
/// It must harm nobody. What it gets answered counts like any other answer: a number has one, whatever was sent for it.
final class RogueProcess: SimulatedProcess {
    private var link: Link?
    /// To the same node's other port that takes requests.
    private var bulk: Link?
    private var welcome: Welcome?
    private var nonce: UInt64 = 0
    private var session = SessionID.none
    private var openNonce: UInt64 = 0
    private var answeredThrough: RequestNumber = 0
    private var nextAct = Tick.zero
    private let client: ClientKey
    /// A session of another, for a while.
    private var victim = SessionID.none

    override init(id: Int, host: Int? = nil, name: String, store: SimulatedStore, random: SplitMix64) {
        var random = random
        client = ClientKey(rawValue: random.bits128())
        super.init(id: id, host: host, name: name, store: store, random: random)
    }

    override func begin() -> Bool {
        connect()
        return true
    }

    override func end() {
        link = nil
        bulk = nil
        welcome = nil
        session = .none
    }

    private func connect() {
        for link in [link, bulk] { link.map(simulation.network.close) }
        welcome = nil
        let node = store.primary.host
        link = simulation.network.connect(self, to: Endpoint(process: node, port: .ingress))
        bulk = simulation.network.connect(self, to: Endpoint(process: node, port: .bulk))
    }

    override var nextDeadline: Tick { nextAct }

    override func finishTurn() {
        guard now >= nextAct else { return }
        let pace = simulation.plan[.rogueClient]
        nextAct = now.advanced(byMilliseconds: pace > 0 ? random.between(5, 400) : 10_000)
        guard pace > 0 else { return }
        act()
    }

    override func handle(_ arrival: Arrival) {
        guard case .link(let from, let frame) = arrival, from === link else { return }
        withBytes(of: frame) { span in
            guard let (_, message) = try? Message.decode(span, rule: .any) else { return }
            switch message {
            case .welcome(let welcome): self.welcome = welcome
            case .opened(let opened):
                guard opened.nonce == openNonce else { return }
                session = opened.session
                store.oracle.rogueSessions.insert(session)
                answeredThrough = 0
            case .result(let run): resulted(run, span, frame)
            case .runEnded(let ended): store.oracle.told.insert(ended.id)
            case .sessionExpired(session), .sessionUnknown(session): session = .none
            case .resync: welcome = nil
            default: break
            }
        }
    }

    private func resulted(_ run: ResultSeries, _ bytes: RawSpan, _ frame: [UInt8]) {
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for place in 0..<run.count {
            guard let item = try? ReplyItem(from: bytes, &reader) else { return }
            store.oracle.answered(
                run.session, run.first + UInt64(place), epoch: run.epoch, run.firstSequence.advanced(by: place),
                item.status, Array(frame[item.reply]), by: self)
        }
        if run.session == session { answeredThrough = max(answeredThrough, run.first + UInt64(run.count) - 1) }
    }

    // MARK: - What it does

    private func act() {
        guard let link, link.connection != nil else { return }
        guard let welcome else {
            nonce = random.next()
            let hello = Hello(
                nonce: nonce, role: .client, node: name, incarnation: .none, boot: BootID(rawValue: 1),
                store: store.name, known: .none)
            send(.hello(hello), channel: .none)
            return
        }
        simulation.fired(.rogueClient, 0)
        chooseVictim()
        let choice = random.next(below: 13)
        switch choice {
        case 0: connect()
        case 1:
            simulation.network.send(
                (0..<random.between(0, 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }, on: link)
        case 2:
            openNonce = random.chance(0.3) ? openNonce : random.next() | 1
            let open = Open(
                client: client, nonce: openNonce, timeToLive: random.between(1, 5) * 1_000_000,
                windowNumbers: UInt32(random.between(0, 64)), windowBytes: UInt32(random.between(0, 1 << 18)))
            send(.open(open), channel: welcome.channel)
        case 3:
            let resume = Resume(
                session: random.chance(0.5) ? session : victim,
                openNonce: random.chance(0.5) ? openNonce : random.next(),
                connectionNonce: nonce, ackedThrough: random.chance(0.5) ? answeredThrough : random.next(below: 1_000))
            send(.resume(resume), channel: welcome.channel)
        case 4:
            let isOwn = random.chance(0.5)
            let keepAlive = KeepAlive(
                session: isOwn ? session : victim,
                ackedThrough: !isOwn ? 0 : random.chance(0.7) ? answeredThrough : random.next(),
                applied: SequenceNumber(rawValue: random.next()))
            send(.keepAlive(keepAlive), channel: welcome.channel)
        case 5 where random.chance(0.1): askNobody()
        case 5:
            let query =
                random.chance(0.5)
                ? Query(session: session, number: random.next(below: answeredThrough + 3))
                : Query(session: victim, number: random.next(below: numberOfVictim + 3))
            send(.query(query), channel: welcome.channel)
        case 6 where random.chance(0.2): send(.close(session), channel: welcome.channel)
        case 6: send(.close(victim), channel: welcome.channel)
        case 7: askForRuns(channel: welcome.channel)
        default: submit(channel: welcome.channel)
        }
    }

    /// Asks on a channel that no store has, which is answered all the same, on either port.
    private func askNobody() {
        let nobody = Channel(rawValue: 9)
        guard random.chance(0.5), let bulk else {
            return send(.query(Query(session: victim, number: 1)), channel: nobody)
        }
        let request = RepairRequest(
            nonce: random.next(), after: .start(of: store.id), through: SequenceNumber(rawValue: 1), largestReply: 1_024
        )
        let stamp = FrameStamp(channel: nobody, clusterHash: simulation.cluster.hash, epoch: .zero)
        simulation.network.send(stamp.frame(.repairRequest(request)), on: bulk)
    }

    /// Goes after the session of another, also when that has left: nobody may keep it alive then.
    private func chooseVictim() {
        guard victim == .none || random.chance(0.01) else { return }
        let others = simulation.callers.filter { $0.process.store === store }.compactMap { $0.machine.session?.id }
        victim = others.isEmpty ? .none : random.pick(others)
    }

    /// The last number of the victim's session in the log.
    private var numberOfVictim: RequestNumber { store.oracle.sessions[victim]?.last ?? 0 }

    /// Awaits, cancels and acknowledges runs, its own and those of others.
    private func askForRuns(channel: Channel) {
        let target = random.chance(0.5) ? session : victim
        let wishes = (0..<random.between(0, 4)).map { _ in
            RunMessage.Wish(
                number: random.next(below: answeredThrough + 40),
                kind: random.pick([RunWish.await, .cancel, .acknowledge]))
        }
        // Of its own it may say that it has what it was not told.
        if target == session {
            for wish in wishes where wish.kind == .acknowledge {
                store.oracle.told.insert(RunID(session: session, number: wish.number))
            }
        }
        send(.runRequest(RunMessage(session: target, wishes: wishes)), channel: channel)
    }

    private func submit(channel: Channel) {
        let isOwn = victim == .none || random.chance(0.7)
        let known = isOwn ? answeredThrough : numberOfVictim
        let first: RequestNumber
        switch random.next(below: 4) {
        case 0: first = 1 + random.next(below: known + 1)
        case 1: first = known + 1 + random.next(below: 10)
        default: first = known + 1
        }
        var writer = ByteWriter()
        let count = Int(random.between(1, 3))
        let isVoid = random.chance(0.1)
        if !isVoid {
            for _ in 0..<count {
                guard case .action(let action)? = store.workload.next(caller: -1, random: &random) else {
                    writer.writeBytes([UInt8(truncatingIfNeeded: random.next())])
                    continue
                }
                writer.writeBytes(random.chance(0.1) ? Array(action.dropLast()) : action)
            }
        }
        let submit = Submit(
            session: isOwn ? session : victim, first: first,
            ackedThrough: !isOwn ? 0 : random.chance(0.8) ? min(known, first - 1) : random.next(below: first + 3),
            count: count, isVoid: isVoid, actions: 0..<writer.bytes.count)
        let stamp = FrameStamp(channel: channel, clusterHash: simulation.cluster.hash, epoch: .zero)
        let frame = withBytes(of: writer.bytes) { stamp.frame(.submit(submit), source: $0) }
        if let link { simulation.network.send(frame, on: link) }
    }

    private func send(_ message: Message, channel: Channel) {
        guard let link else { return }
        let stamp = FrameStamp(channel: channel, clusterHash: simulation.cluster.hash, epoch: .zero)
        simulation.network.send(stamp.frame(message), on: link)
    }
}
