import LockstepCore

/// An operator's `lockstep recover --from`.
///
/// It fetches from one replica, over the network, all that it has, and makes a journal of it; the primary is stopped
/// meanwhile. It says HELLO, asks for a plan, and fetches the snapshot's chunks and the rest of the log, each request
/// again until its answer comes, as the program does.
final class RecoveryProcess: SimulatedProcess {
    /// What a recovery came to.
    struct Result {
        var disk: SimulatedDisk
        var position: Position
    }

    fileprivate enum Step {
        case idle
        case greeting
        case planning
        case fetching(SnapshotInfo, content: [UInt8], next: UInt32)
        case repairing
    }

    private var target: ReplicaProcess?
    private var step = Step.idle
    private var link: Link?
    private var bulk: Link?
    private var welcome: Welcome?
    private var nonce: UInt64 = 0
    private var planEnd = SequenceNumber.zero
    private var position = Position(epoch: .zero, sequence: .zero, hash: BatchHash(rawValue: 0))
    private var fetched = SimulatedDisk(incarnation: .none)
    private var askAt = Tick.never
    /// When the request was first made, in virtual time.
    private var askedAt: Int64 = 0

    /// The program gives up after 30 s; unusual ways may keep a request waiting longer.
    private var patience: Int64 { (simulation.options.plan.isOn(.buggify) ? 60 : 30) * Span.second }

    var isAtWork: Bool { target != nil }

    override var nextDeadline: Tick { askAt }

    override func end() {
        (link, bulk, welcome, target) = (nil, nil, nil, nil)
        step = .idle
        askAt = .never
    }

    // MARK: - Steps

    /// Begins with a node; what it came to is given to the operator.
    func recover(from replica: ReplicaProcess) {
        if !isUp { start() }
        target = replica
        if let link { simulation.network.close(link) }
        if let bulk { simulation.network.close(bulk) }
        (bulk, welcome) = (nil, nil)
        link = simulation.network.connect(self, to: Endpoint(process: replica.host, port: .ingress))
        fetched = SimulatedDisk(incarnation: Incarnation(rawValue: random.bits128()))
        position = LogState(store: store.id).position
        go(to: .greeting)
    }

    private func go(to next: Step) {
        step = next
        nonce = random.next()
        askedAt = simulation.now
        askAt = now
        wake(at: simulation.now)
    }

    override func finishTurn() {
        guard let target, now >= askAt else { return }
        guard target.isUp, target.mayBeRecoveredFrom else { return simulation.operatorDesk.recoverFromSomebody() }
        let since = max(askedAt, simulation.health.since(id, target.id))
        guard simulation.now - since < patience else {
            return simulation.fail(.waiting, "\(target.name) stopped answering an operator, who is \(step.name)")
        }
        askAt = now.advanced(byMilliseconds: 300)
        ask(target)
    }

    private func ask(_ target: ReplicaProcess) {
        switch step {
        case .idle: break
        case .greeting:
            let hello = Hello(
                nonce: nonce, role: .client, node: "recovery", incarnation: .none, boot: BootID(rawValue: 1),
                store: store.name, known: .none)
            send(.hello(hello), on: link)
        case .planning:
            let sync = Sync(
                nonce: nonce, store: store.id, node: "recovery", have: LogState(store: store.id).known,
                firstFrame: .zero,
                wantsSnapshot: false)
            send(.sync(sync), on: bulk)
        case .fetching(let info, _, let next):
            send(.chunkRequest(ChunkRequest(snapshot: info.id, index: next, window: 1)), on: bulk)
        case .repairing:
            let request = RepairRequest(
                nonce: nonce, after: position, through: planEnd, largestReply: UInt32(Limits.actionBytes))
            send(.repairRequest(request), on: bulk)
        }
    }

    private func send(_ message: Message, on link: Link?) {
        guard let link else { return }
        let stamp = FrameStamp(
            channel: welcome?.channel ?? .none, clusterHash: simulation.cluster.hash, epoch: .zero)
        simulation.network.send(stamp.frame(message), on: link)
    }

    // MARK: - Answers

    override func handle(_ arrival: Arrival) {
        guard let target, case .link(let from, let frame) = arrival, from === link || from === bulk else { return }
        let message = withBytes(of: frame) { try? Message.decode($0, rule: .member(simulation.cluster.hash)).message }
        switch (step, message) {
        case (.greeting, .welcome(let welcome)) where welcome.nonce == nonce:
            self.welcome = welcome
            bulk = Endpoint(welcome.bulkEndpoint).map { simulation.network.connect(self, to: $0) }
            go(to: .planning)
        case (.planning, .syncPlan(let plan)) where plan.nonce == nonce: planned(plan)
        case (.fetching(let info, let content, let next), .chunk(let chunk))
        where chunk.snapshot == info.id && chunk.index == next: took(chunk, frame, info, content)
        case (.repairing, .repair(let repair)) where repair.nonce == nonce: repaired(repair, frame)
        // Its life is another one, or it no longer holds what was asked for: the operator begins again.
        case (_, .resync): recover(from: target)
        default: break
        }
    }

    private func planned(_ plan: SyncPlan) {
        planEnd = plan.commit.sequence
        switch plan.decision {
        case .busy(let retryAfter):
            // A snapshot is being made; it answers, so nobody waits in vain.
            askedAt = simulation.now
            askAt = now.advanced(byMilliseconds: max(1, Int64(retryAfter) / 1_000))
        case .tail: goOn()
        case .snapshot(let info): go(to: .fetching(info, content: [], next: 0))
        case .diverged, .ahead:
            simulation.fail(.falseAlarm, "a replica says \(plan.decision) to an operator who has nothing")
        }
    }

    private func took(_ chunk: Chunk, _ frame: [UInt8], _ info: SnapshotInfo, _ content: [UInt8]) {
        let bytes = Array(frame[chunk.content])
        guard sha256Prefix(bytes) == chunk.hash else { return }
        let all = content + bytes
        guard Int(chunk.index) + 1 == info.chunkCount else {
            return go(to: .fetching(info, content: all, next: chunk.index + 1))
        }
        fetched.replace(with: all, at: info.position.sequence)
        position = info.position
        goOn()
    }

    private func repaired(_ repair: Repair, _ frame: [UInt8]) {
        guard repair.status == .batches else {
            if let target { recover(from: target) }
            return
        }
        for range in repair.batches {
            guard let batch = try? SealedBatch(bytes: Array(frame[range])), batch.head.previous == position.hash else {
                return simulation.fail(.agreement, "an operator is given batches that do not go on from \(position)")
            }
            fetched.append([batch])
            position = batch.position
        }
        goOn()
    }

    private func goOn() {
        guard position.sequence >= planEnd else { return go(to: .repairing) }
        // Without a primary it stands still, so it may not keep anything back.
        if let held = target?.machine?.log.position.sequence, held > position.sequence, !store.primary.isUp {
            simulation.fail(.durability, "an operator got the log through \(position.sequence) of \(held)")
        }
        fetched.mark()
        let result = Result(disk: fetched, position: position)
        stop()
        simulation.operatorDesk.recovered(result)
    }
}

extension RecoveryProcess.Step {
    /// What the operator waits for.
    fileprivate var name: String {
        switch self {
        case .idle: "idle"
        case .greeting: "saying HELLO"
        case .planning: "asking for a plan"
        case .fetching(let info, _, let next): "fetching chunk \(next) of \(info.chunkCount)"
        case .repairing: "fetching the rest of the log"
        }
    }
}

extension ReplicaProcess {
    /// Whether an operator would take a primary's journal from it.
    var mayBeRecoveredFrom: Bool {
        guard let machine, !state.isTainted else { return false }
        return machine.readRefusal == nil && machine.log.position.sequence > .zero
    }
}
