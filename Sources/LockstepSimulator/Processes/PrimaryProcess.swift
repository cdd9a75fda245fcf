import DequeModule
import LockstepCore

/// The primary: executes what its machine directs, as the node's own driver does.
final class PrimaryProcess: NodeProcess {
    private(set) var machine: PrimaryStateMachine?
    /// Carries out the effects of this life.
    private var executor: (any EffectExecutor)?
    private(set) var directives: [PrimaryDirective] = []
    private var toMachine: Deque<[UInt8]> = []
    private var toCaller: Deque<[UInt8]> = []
    var watch = SessionWatch(recovered: [], now: .zero)
    /// Sessions that have expired since the watch looked.
    var expired = 0
    var audience = AudienceWatch([])
    /// The stop in good order that is under way.
    var nodeStop: NodeStop?

    override var shown: (epoch: Epoch, sequence: SequenceNumber) {
        guard let view = inPlace(&machine, { $0?.view }) else { return (.zero, .zero) }
        return (view.epoch, view.sequence)
    }

    override var isReadable: Bool { phase != nil && inPlace(&machine) { $0?.readRefusal } == nil }

    var phase: PrimaryStateMachine.Phase? { inPlace(&machine) { $0?.phase } }
    var committedThrough: SequenceNumber? { inPlace(&machine) { $0?.committed.position.sequence } }

    override var owesAnswers: Bool {
        switch phase {
        case .awaiting, .admitting, .behind: true
        case .stopping: isEpochOpen
        case nil, .created, .opening, .deposed, .halted: false
        }
    }

    /// Before, it says nothing, also when it is told to stop then (PROTOCOL R-5).
    var isEpochOpen: Bool { machine.map { $0.committed.position.epoch == $0.epoch } ?? false }

    override var takesCalls: Bool { !isStopping }

    override func listens(on port: Port) -> Bool { inPlace(&machine) { $0 != nil } }

    // MARK: - Life

    override func begin() -> Bool {
        guard store.operatorDesk.mayServe(self, as: .primary) else { return false }
        makeState()
        let options = simulation.options
        if options.isVolatile {
            disk.wipe(incarnation: Incarnation(rawValue: random.bits128()))
            store.oracle.began()
        }
        let recovered: SimulatedDisk.Recovered
        do {
            recovered = try disk.recover(store: store.id, into: state, windowBytes: Limits.resendWindowBytes)
        } catch {
            store.operatorDesk.cannotStart(self, error)
            return false
        }
        store.operatorDesk.serves(self)
        let boot = BootID(rawValue: random.bits128())
        var buggify = Buggify.off
        if simulation.plan.isOn(.buggify) { buggify = Buggify(seed: random.next()) }
        var configuration = PrimaryConfiguration(
            cluster: simulation.cluster, node: name, incarnation: disk.incarnation, boot: boot,
            channel: store.channel, storeName: store.name, isVolatile: options.isVolatile,
            publishEndpoint: Endpoint(process: host, port: .broadcast).text,
            bulkEndpoint: Endpoint(process: host, port: .bulk).text,
            lossAccepted: disk.notes.lossAccepted, buggify: buggify)
        configuration.audience = disk.notes.audience
        audience = AudienceWatch(options.isVolatile ? [] : disk.notes.audience)
        store.oracle.recovered(recovered.log, by: self)
        beginLine(retries: false)
        machine = PrimaryStateMachine(
            configuration: configuration, recovered: recovered.log, window: recovered.window,
            wall: wall, now: now)
        if let machine { store.oracle.began(machine.epoch) }
        step { $0.start(&$1) }
        watch = SessionWatch(recovered: recovered.log.sessions.ids(after: .none), now: now)
        executor = store.workload.makeExecutor(self, random: random.fork())
        makeCaller(
            ClientConfiguration(
                store: store.name, node: name, role: .client, client: ClientKey(rawValue: random.bits128()),
                boot: boot, incarnation: disk.incarnation, cluster: simulation.cluster, endpoint: "local",
                timeToLive: simulation.timeToLive(&random), seed: random.next(), wantsSession: false))
        execute()
        caller?.start()
        return true
    }

    override func end() {
        if let machine { simulation.coverage.noteFired(machine.buggify.fired) }
        machine = nil
        executor?.end()
        executor = nil
        directives = []
        toMachine = []
        toCaller = []
        nodeStop = nil
        super.end()
    }

    // MARK: - Events

    override func handle(_ arrival: Arrival) {
        switch arrival {
        case .server(.ingress, let connection, let frame):
            simulation.trace(id, .received, UInt64(frame.count > 5 ? frame[5] : 0), connection.rawValue)
            simulation.silence.arrived(frame, from: connection, at: self)
            receive(frame, from: connection)
        case .server(.bulk, let connection, let frame):
            simulation.silence.arrived(frame, from: connection, at: self)
            withBytes(of: frame) { bytes in step { $0.bulkReceived(bytes, from: connection, &$1) } }
        case .server(.broadcast, _, _), .link: break
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
                step { $0.snapshotEncoded(number, info: info, &$1) }
            } else {
                step { $0.snapshotFailed(number, &$1) }
            }
        case .effect(let token): executor?.due(token)
        case .cancelRun(let id): caller?.cancelRun(id)
        case .prepared: break
        }
    }

    private func written(_ ticket: UInt64, _ outcome: WriteOutcome) {
        guard case .batches(let batches) = settle(ticket, outcome) else { return }
        switch outcome {
        case .done:
            store.oracle.committed(batches, by: self)
            if let last = batches.last {
                simulation.trace(id, .committed, last.head.epoch.rawValue, last.head.last.rawValue)
            }
            step { $0.persisted(&$1) }
            if isEpochOpen { audience.opened(now: now) }
        case .full:
            step { $0.persistFailed(isDiskFull: true, reason: "no room", &$1) }
        case .failed:
            step { $0.persistFailed(isDiskFull: false, reason: "simulated", &$1) }
        }
    }

    override func finishTurn() {
        pump()
        caller?.finishTurn()
        pump()
        guard isUp else { return }
        step { $0.turnEnded(&$1) }
        execute()
        pump()
        guard isUp else { return }
        if now >= inPlace(&machine, { $0?.nextDeadline }) ?? .never {
            step { $0.ticked(&$1) }
            execute()
            pump()
        }
        guard isUp else { return }
        if now >= nextLook { look() }
        answerReaders()
        executor?.turnEnded()
        continueStop()
    }

    /// Once a second: room on the disk, the growth of the journal.
    private func look() {
        nextLook = now.advanced(byMilliseconds: 1_000)
        step { $0.freeSpaceChanged(isLow: isDiskFull && random.chance(0.5), &$1) }
        if !simulation.options.isVolatile, isSnapshotDue { machine?.snapshotDue() }
        if store.workload.hasScriptedEffects { abandonOne() }
        execute()
        checkSilence()
    }

    /// At times an operator ends what runs.
    private func abandonOne() {
        let unfinished = unfinishedRuns
        guard !unfinished.isEmpty, random.chance(0.03) else { return }
        let id = random.pick(unfinished)
        let reason = random.chance(0.5) ? "an operator ended it" : nil
        let isDone = step { $0.abandonRun(id, reason: reason, &$1) }
        if isDone == true { note(.abandoned, id.number) }
    }

    /// Hands frames between the node's own caller and the machine until both lines are empty.
    private func pump() {
        while isUp {
            if let frame = toMachine.popFirst() {
                receive(frame, from: .local)
                execute()
            } else if let frame = toCaller.popFirst() {
                caller?.received(frame)
            } else {
                return
            }
        }
    }

    override var nextDeadline: Tick {
        var deadline = min(inPlace(&machine) { $0?.nextDeadline } ?? .never, nextLook, caller?.nextDeadline ?? .never)
        if isWaitingToRead || isStopping { deadline = min(deadline, now.advanced(byMilliseconds: 10)) }
        return deadline
    }

    override func takeUsualWays() { machine?.buggify.end() }

    override func checkInvariants() {
        inPlace(&machine) { $0?.checkInvariants() }
        checkBounds()
        guard let status = inPlace(&machine, { $0?.status }) else { return }
        if status.unpersistedBytes > Limits.unpersistedBytes + Limits.messageBytes {
            simulation.fail(.boundedMemory, "\(status.unpersistedBytes) bytes wait for the journal")
        }
    }

    // MARK: - Directives

    private func execute() {
        while !directives.isEmpty {
            let batch = directives
            directives.removeAll(keepingCapacity: true)
            for directive in batch where isUp { execute(directive) }
        }
        if expired > 0 { checkExpiry() }
    }

    private func execute(_ directive: PrimaryDirective) {
        switch directive {
        case .send(let frame, .local):
            store.oracle.wasSent(frame, by: self)
            noteOpened(frame, .local)
            toCaller.append(frame)
        case .send(let frame, let connection), .sendBulk(let frame, let connection):
            send(frame, to: connection)
            noteOpened(frame, connection)
        case .sendChunks(let number, let indices, let connection):
            guard let machine else { return }
            let stamp = FrameStamp(
                channel: machine.configuration.channel, clusterHash: simulation.cluster.hash, epoch: machine.epoch)
            sendChunks(number, indices, to: connection, stamp: stamp)
        case .publish(let frame):
            store.oracle.wasSent(frame, by: self)
            let count = simulation.network.publish(frame, from: self)
            simulation.trace(id, .published, UInt64(frame.count > 5 ? frame[5] : 0), UInt64(count))
        case .persist(let batches):
            store.oracle.handedOver(batches)
            if let first = batches.first, let last = batches.last {
                simulation.trace(id, .persisting, first.head.first.rawValue, last.head.last.rawValue)
            }
            append(batches)
        case .committed(let batches): if let last = batches.last { executor?.committed(through: last.head.last) }
        case .beginRun(let start): executor?.begin(start)
        case .stopRun(let id): executor?.stop(id)
        case .emission(let ticket, let outcome): executor?.emissionEnded(ticket, outcome)
        case .runEnd(let id, let outcome): executor?.runEnded(id, outcome)
        case .captureSnapshot(let number, let log, let digest): capture(number, log: log, digest: digest)
        case .encodeSnapshot(let number): encode(number)
        case .saveSnapshot(let number): save(number)
        case .dropSnapshot(let number): drop(number)
        // What an executor does here, it does when its run begins.
        case .awaiting, .opened: break
        case .audienceChanged(let names): disk.notes.audience = names
        case .alarm(let alarm): store.operatorDesk.raised(alarm, by: self)
        case .halt(let reason): store.operatorDesk.halted(self, reason)
        case .encodeCommitted, .replication: preconditionFailure("this primary has no standbys")
        case .count(let counter):
            simulation.coverage.count(counter)
            if counter == .sessionsExpired { expired += 1 }
        }
    }

    /// Lets the machine take one event, if it is there; what it directs comes after what is directed now.
    @discardableResult
    func step<Result>(_ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Result) -> Result? {
        defer { noteAwaited() }
        return machine?.step(now: now, wall: wall, state: state, into: &directives, event)
    }

    // MARK: - The caller

    override func connect(to endpoint: String, for caller: Caller) {}
    override func send(_ frame: [UInt8], for caller: Caller) { toMachine.append(frame) }
    override func welcomed(_ welcome: Welcome, for caller: Caller) {}
}
