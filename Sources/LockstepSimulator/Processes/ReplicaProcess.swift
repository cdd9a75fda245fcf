import LockstepCore

/// A replica: executes what its machine directs, with a journal that follows its state.
final class ReplicaProcess: NodeProcess {
    private(set) var machine: ReplicaStateMachine?
    private var directives: [ReplicaDirective] = []
    private var link: Link?
    private var subscription: Link?
    private var bulk: Link?
    let hasJournal: Bool
    /// It was live in this life, or its journal brought entries: from then on it lets the state be read, with a primary
    /// or without.
    private(set) var holdsState = false

    init(id: Int, host: Int? = nil, name: String, store: SimulatedStore, random: SplitMix64, hasJournal: Bool) {
        self.hasJournal = hasJournal
        super.init(id: id, host: host, name: name, store: store, random: random)
    }

    override var shown: (epoch: Epoch, sequence: SequenceNumber) {
        guard let view = inPlace(&machine, { $0?.view }) else { return (.zero, .zero) }
        return (view.epoch, view.sequence)
    }

    var phase: ReplicaPhase? { inPlace(&machine) { $0?.phase } }
    /// Where its log ends.
    var logEnd: SequenceNumber? { inPlace(&machine) { $0?.log.position.sequence } }

    override var isReadable: Bool { phase != nil && inPlace(&machine) { $0?.readRefusal } == nil }

    /// Whether reads for which it has enough are to be answered; ``isReadable`` is what the machine says.
    var mayBeRead: Bool {
        guard holdsState, let phase else { return false }
        return phase != .quarantined && phase != .halted
    }

    override var channel: Channel? {
        FrameDispatch.channel(ofReplica: machine?.channel, welcome: caller?.machine.welcome?.channel)
    }

    override func listens(on port: Port) -> Bool { port != .broadcast && inPlace(&machine) { $0 != nil } }

    // MARK: - Life

    override func begin() -> Bool {
        guard !hasJournal || store.operatorDesk.mayServe(self, as: .replica) else { return false }
        makeState()
        state.mayRun = false
        var recovered: SimulatedDisk.Recovered?
        if hasJournal {
            do {
                recovered = try disk.recover(store: store.id, into: state, windowBytes: Limits.resendWindowBytes)
            } catch {
                store.operatorDesk.cannotStart(self, error)
                return false
            }
            disk.give(.replica)
        }
        let isEmpty = (recovered?.log.position.sequence ?? .zero) == .zero
        holdsState = !isEmpty
        let boot = BootID(rawValue: random.bits128())
        let incarnation = hasJournal ? disk.incarnation : Incarnation(rawValue: random.bits128())
        var buggify = Buggify.off
        if simulation.plan.isOn(.buggify) { buggify = Buggify(seed: random.next()) }
        let configuration = ReplicaConfiguration(
            storeName: store.name, node: name, cluster: hasJournal ? simulation.cluster : nil, boot: boot,
            incarnation: incarnation, channel: isEmpty ? nil : store.channel, hasJournal: hasJournal,
            bulkEndpoint: Endpoint(process: host, port: .bulk).text, seed: random.next(), buggify: buggify)
        machine = ReplicaStateMachine(
            configuration: configuration, recovered: recovered?.log, window: recovered?.window ?? ResendWindow(),
            joinBufferBytes: simulation.joinBufferBytes)
        machine?.start(now: now, state: state)
        if let recovered, !isEmpty {
            store.oracle.recovered(recovered.log, by: self)
        } else {
            store.oracle.forgot(self)
        }
        beginLine(retries: true)
        makeCaller(
            ClientConfiguration(
                store: store.name, node: name, role: .replica, client: ClientKey(rawValue: random.bits128()),
                boot: boot, incarnation: incarnation, cluster: hasJournal ? simulation.cluster : nil,
                endpoint: Endpoint(process: store.primary.host, port: .ingress).text,
                timeToLive: simulation.timeToLive(&random),
                seed: random.next(), wantsSession: true,
                buggify: simulation.plan.isOn(.buggify) ? Buggify(seed: random.next()) : .off))
        tellCaller()
        caller?.start()
        return true
    }

    override func end() {
        if let machine { simulation.coverage.noteFired(machine.buggify.fired) }
        if let caller { simulation.coverage.noteFired(caller.machine.buggify.fired) }
        machine = nil
        directives = []
        (link, subscription, bulk) = (nil, nil, nil)
        super.end()
    }

    // MARK: - Events

    override func handle(_ arrival: Arrival) {
        switch arrival {
        case .link(let from, let frame):
            simulation.trace(id, .received, UInt64(frame.count > 5 ? frame[5] : 0), UInt64(from.id))
            if from === link {
                caller?.received(frame)
            } else if from === subscription {
                withBytes(of: frame) {
                    machine?.broadcastReceived($0, now: now, state: state, into: &directives)
                }
            } else if from === bulk {
                withBytes(of: frame) { machine?.bulkReceived($0, now: now, state: state, into: &directives) }
            }
        case .server(.ingress, let connection, let frame):
            simulation.silence.arrived(frame, from: connection, at: self)
            withBytes(of: frame) {
                machine?.ingressReceived($0, from: connection, now: now, state: state, into: &directives)
            }
        case .server(.bulk, let connection, let frame):
            simulation.silence.arrived(frame, from: connection, at: self)
            withBytes(of: frame) {
                machine?.joinReceived($0, from: connection, now: now, state: state, into: &directives)
            }
        case .server(.broadcast, _, _): break
        case .mail(let mail): handle(mail)
        }
        execute()
    }

    private func handle(_ mail: Mail) {
        switch mail {
        case .written(let ticket, let outcome): written(ticket, outcome)
        case .saved: saveEnded()
        case .encoded(let number):
            if let info = encoded(number, chunkBytes: machine?.snapshotChunkBytes ?? Limits.chunkBytes) {
                machine?.snapshotEncoded(number, info: info, now: now, into: &directives)
            } else {
                machine?.snapshotFailed(number, into: &directives)
            }
        case .prepared(let ticket, .ready(let prepared)):
            machine?.snapshotPrepared(ticket, prepared, now: now, state: state, into: &directives)
        case .prepared(let ticket, .failed): machine?.snapshotRefused(ticket, now: now, into: &directives)
        case .cancelRun(let id): caller?.cancelRun(id)
        case .effect: break
        }
    }

    override func finishTurn() {
        execute()
        guard isUp else { return }
        if inPlace(&machine, { $0?.isTickDue(now: now, state: state) }) == true {
            machine?.ticked(now: now, state: state, into: &directives)
            execute()
        }
        if now >= line.nextDeadline { advance() }
        if now >= nextLook {
            nextLook = now.advanced(byMilliseconds: 1_000)
            if hasJournal, isSnapshotDue { machine?.snapshotDue() }
        }
        tellCaller()
        caller?.finishTurn()
        execute()
        answerReaders()
    }

    /// Tells the node's own caller what is known to be in the log.
    private func tellCaller() {
        guard let told = inPlace(&machine, { $0?.told }) else { return }
        caller?.setKnown(told, mark: inPlace(&machine) { $0?.log.mark })
    }

    override var nextDeadline: Tick {
        let ofMachine = inPlace(&machine) { $0?.nextDeadline } ?? .never
        var deadline = min(ofMachine, nextLook, line.nextDeadline, caller?.nextDeadline ?? .never)
        if isWaitingToRead { deadline = min(deadline, now.advanced(byMilliseconds: 10)) }
        return deadline
    }

    override func takeUsualWays() {
        machine?.buggify.end()
        caller?.machine.buggify.end()
    }

    override func checkInvariants() {
        // The newest part stays, however large it is.
        let buffered = inPlace(&machine) { $0?.status.bufferedBytes } ?? 0
        if buffered > simulation.joinBufferBytes + store.oracle.largestBatch + 1_024 {
            simulation.fail(.boundedMemory, "\(name) buffers \(buffered) bytes of the stream")
            return
        }
        inPlace(&machine) { $0?.checkInvariants() }
        checkBounds()
        if state.hasRun { simulation.fail(.effects, "\(name) performed or ran something; it only follows") }
    }

    // MARK: - Directives

    private func execute() {
        while !directives.isEmpty {
            let batch = directives
            directives.removeAll(keepingCapacity: true)
            for directive in batch where isUp { execute(directive) }
        }
    }

    private func execute(_ directive: ReplicaDirective) {
        let network = simulation.network
        switch directive {
        case .subscribe(let endpoint, let channel):
            if let subscription { network.close(subscription) }
            subscription = Endpoint(endpoint).map { network.connect(self, to: $0, channel: channel) }
        case .connectBulk(let endpoint):
            if let bulk { network.close(bulk) }
            bulk = Endpoint(endpoint).map { network.connect(self, to: $0) }
        case .sendBulk(let frame):
            guard let bulk else { return }
            simulation.trace(id, .sent, UInt64(frame.count > 5 ? frame[5] : 0), UInt64(bulk.id))
            network.send(frame, on: bulk)
        case .sayHello: caller?.sayHello()
        case .applied(let batches): applied(batches)
        case .prepare(let ticket, let content): prepare(ticket, content)
        case .installed(let log, let digest, let encoded): installed(log, digest, encoded)
        case .discarded:
            holdsState = false
            store.oracle.gaveUp(self)
        case .phaseChanged(let phase): phaseChanged(phase)
        case .send(let frame, let connection): send(frame, to: connection)
        case .sendBulkReply(let frame, let connection):
            simulation.coverage.note(.joinServed)
            send(frame, to: connection)
        case .sendChunks(let number, let indices, let connection):
            guard let machine else { return }
            simulation.coverage.note(.chunksServed)
            let stamp = FrameStamp(
                channel: store.channel, clusterHash: simulation.cluster.hash,
                epoch: machine.log.position.epoch)
            sendChunks(number, indices, to: connection, stamp: stamp)
        case .captureSnapshot(let number, let log, let digest): capture(number, log: log, digest: digest)
        case .encodeSnapshot(let number): encode(number)
        case .saveSnapshot(let number): save(number)
        case .dropSnapshot(let number): drop(number)
        case .alarm(let alarm): store.operatorDesk.raised(alarm, by: self)
        case .halt(let reason): store.operatorDesk.halted(self, reason)
        case .count(let counter): simulation.coverage.count(counter)
        }
    }

    private func applied(_ batches: [SealedBatch]) {
        guard let last = batches.last else { return }
        simulation.trace(id, .applied, last.head.epoch.rawValue, last.head.last.rawValue)
        store.oracle.applied(batches, by: self)
        if hasJournal { append(batches) }
    }

    private func prepare(_ ticket: PrepareTicket, _ content: SnapshotContent.StateBytes) {
        let prepared = try? state.prepare(content.bytes)
        let outcome = prepared.map(PreparedOutcome.ready) ?? .failed
        mail(.prepared(ticket, outcome), after: random.between(1, 50) * Span.millisecond)
    }

    private func installed(_ log: LogState, _ digest: Digest, _ encoded: [UInt8]) {
        simulation.trace(id, .installed, log.position.epoch.rawValue, log.position.sequence.rawValue)
        store.oracle.installed(log, digest, by: self)
        if hasJournal, !encoded.isEmpty { replace(with: encoded, at: log.position) }
    }

    private func phaseChanged(_ phase: ReplicaPhase) {
        simulation.trace(id, .phase, phase.number, machine?.log.position.sequence.rawValue ?? 0)
        simulation.coverage.note(phase)
        if phase == .live {
            holdsState = true
            store.operatorDesk.isLive(self)
        }
        if phase == .quarantined, isReadable { store.oracle.checkServes("may be read", self) }
    }

    // MARK: - The journal

    private func written(_ ticket: UInt64, _ outcome: WriteOutcome) {
        guard settle(ticket, outcome) != nil else { return }
        if outcome == .failed { return store.operatorDesk.halted(self, .journalFailed("simulated")) }
        advance()
    }

    // MARK: - The caller

    override func connect(to endpoint: String, for caller: Caller) {
        if let link {
            simulation.network.close(link)
            machine?.linkLost(now: now, into: &directives)
        }
        link = Endpoint(endpoint).map { simulation.network.connect(self, to: $0) }
    }

    override func send(_ frame: [UInt8], for caller: Caller) {
        if let link { simulation.network.send(frame, on: link) }
    }

    override func welcomed(_ welcome: Welcome, for caller: Caller) {
        machine?.welcomed(welcome, endpoint: caller.machine.endpoint, now: now, state: state, into: &directives)
    }

    /// A state that is wrong from here on: it must be found.
    func diverge() { state.skipsNextItem = true }
}

extension ReplicaPhase {
    /// For traces.
    var number: UInt64 {
        switch self {
        case .connecting: 0
        case .joining: 1
        case .catchingUp: 2
        case .live: 3
        case .quarantined: 4
        case .ahead: 5
        case .halted: 6
        }
    }
}
