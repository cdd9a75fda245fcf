import LockstepCore

/// An operator's `lockstep recover --from`: the machine that ships, with the simulated network and a disk of its own.
///
/// It fetches from one replica all that it has, and makes a journal of it; the primary is stopped meanwhile. A command
/// that fails for want of an answer is run again.
final class RecoveryProcess: SimulatedProcess {
    /// What a recovery came to.
    struct Result {
        var disk: SimulatedDisk
        var position: Position
        /// The replica's name.
        var source: String
    }

    private var target: ReplicaProcess?
    private var machine: RecoveryStateMachine?
    private var link: Link?
    private var bulk: Link?
    private var fetched = SimulatedDisk(incarnation: .none)
    /// When the operator runs a command again that failed.
    private var runAt = Tick.never
    /// When the replica last brought the recovery on, in virtual time.
    private var heardAt: Int64 = 0

    /// The program gives up after 30 s; unusual ways may keep a request waiting longer.
    private var patience: Int64 { (simulation.options.plan.isOn(.buggify) ? 60 : 30) * Span.second }

    var isAtWork: Bool { target != nil }

    override var nextDeadline: Tick { min(runAt, machine?.nextDeadline ?? .never) }

    override func end() {
        (link, bulk, machine, target) = (nil, nil, nil, nil)
        runAt = .never
    }

    override func checkInvariants() { machine?.checkInvariants() }

    // MARK: - Events

    /// Begins with a node; what it came to is given to the operator.
    func recover(from replica: ReplicaProcess) {
        if !isUp { start() }
        target = replica
        heardAt = simulation.now
        runCommand()
    }

    private func runCommand() {
        runAt = .never
        fetched = SimulatedDisk(incarnation: Incarnation(rawValue: random.bits128()))
        var configuration = RecoveryConfiguration(
            storeName: store.name, cluster: simulation.cluster, boot: BootID(rawValue: 1), seed: random.next())
        configuration.patience.answer = patience / Span.millisecond
        configuration.patience.greeting = configuration.patience.answer
        machine = RecoveryStateMachine(configuration: configuration, log: LogState(store: store.id))
        step { $0.start(now: now, into: &$1) }
        wake(at: simulation.now)
    }

    override func handle(_ arrival: Arrival) {
        guard case .link(let from, let frame) = arrival, from === link || from === bulk else { return }
        let name: RecoveryLinkName = from === link ? .ingress : .bulk
        let before = machine?.awaited
        withBytes(of: frame) { bytes in step { $0.received(bytes, on: name, now: now, into: &$1) } }
        if let after = machine?.awaited, after != before { heardAt = simulation.now }
    }

    override func finishTurn() {
        guard let target, now >= nextDeadline else { return }
        guard target.isUp, target.mayBeRecoveredFrom else { return store.operatorDesk.recoverFromSomebody() }
        if now >= runAt { return runCommand() }
        step { $0.ticked(now: now, into: &$1) }
    }

    // MARK: - Directives

    private func step(_ event: (inout RecoveryStateMachine, inout [RecoveryDirective]) -> Void) {
        guard var machine else { return }
        let awaited = machine.awaited
        var directives: [RecoveryDirective] = []
        event(&machine, &directives)
        self.machine = machine
        for directive in directives { execute(directive, awaited) }
    }

    private func execute(_ directive: RecoveryDirective, _ awaited: RecoveryWait?) {
        switch directive {
        case .connectIngress:
            if let link { simulation.network.close(link) }
            if let bulk { simulation.network.close(bulk) }
            bulk = nil
            link = target.map { simulation.network.connect(self, to: Endpoint(process: $0.host, port: .ingress)) }
        case .connectBulk(let endpoint):
            if let bulk { simulation.network.close(bulk) }
            bulk = Endpoint(endpoint).map { simulation.network.connect(self, to: $0) }
        case .send(let frame, let name):
            guard let link = name == .ingress ? link : bulk else { return }
            simulation.network.send(frame, on: link)
        case .continueFrom:
            // The journal is new, so nothing comes after the place.
            step { $0.continued(at: $0.log, now: now, into: &$1) }
        case .replace(let snapshot):
            fetched.replace(with: snapshot.encoded, at: snapshot.position.sequence)
            step { $0.continued(at: $0.log, now: now, into: &$1) }
        case .append(let batches): fetched.append(batches)
        case .progressed: break
        case .finished(let position): finished(at: position)
        case .failed(let failure): failed(failure, awaited)
        }
    }

    private func finished(at position: Position) {
        guard let target else { return }
        // Without a primary it stands still, so it may not keep anything back.
        if let held = target.machine?.log.position.sequence, held > position.sequence, !store.primary.isUp {
            simulation.fail(.durability, "an operator got the log through \(position.sequence) of \(held)")
        }
        fetched.mark()
        let result = Result(disk: fetched, position: position, source: target.name)
        stop()
        store.operatorDesk.recovered(result)
    }

    private func failed(_ failure: RecoveryFailure, _ awaited: RecoveryWait?) {
        guard let target else { return }
        switch failure {
        case .noCommonPlace, .servesNoSnapshots:
            return simulation.fail(.falseAlarm, "\(target.name) says \(failure) to an operator who has nothing")
        case .batchUnreadable, .batchUnfit:
            return simulation.fail(.agreement, "an operator is given batches that do not go on: \(failure)")
        case .snapshotTooLarge, .chunksDoNotBelongTogether, .snapshotUnreadable, .otherSnapshot:
            return simulation.fail(.agreement, "an operator is given a snapshot that is of no use: \(failure)")
        // The network damages frames.
        case .noNode, .welcomeUnreadable, .noAnswer, .refused:
            guard simulation.now - max(heardAt, simulation.health.since(id, target.id)) < patience else {
                let wait = awaited.map { "\($0)" } ?? "nothing"
                return simulation.fail(
                    .waiting, "\(target.name) stopped answering an operator, who waits for \(wait): \(failure)")
            }
        // It answers, so nobody waits in vain.
        case .preparesTooLong, .asksToBeginAgain, .noLongerHeld: break
        }
        machine = nil
        runAt = now.advanced(byMilliseconds: 1_000)
    }
}

extension ReplicaProcess {
    /// Whether an operator would take a primary's journal from it.
    var mayBeRecoveredFrom: Bool {
        guard let machine, !state.isTainted else { return false }
        return machine.readRefusal == nil && machine.log.position.sequence > .zero
    }
}
