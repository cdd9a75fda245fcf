import LockstepCore

// The processes: their lives, their machines, and what these want done.
extension ClusterSimulation {
    // MARK: - Lives

    /// A process begins, as a standby with what its disk has.
    func start(_ node: ClusterNode) {
        node.end()
        node.boot = BootID(rawValue: UInt128(random.next()) << 64 | UInt128(node.index))
        trace(node, .started, UInt64(node.life), node.disk.end.sequence.rawValue)
        reopen(node)
        for other in nodes where other !== node {
            // Those of the process before it are no longer its own, whatever still comes of them at the other end.
            links[node.index][other.index] = nil
            add(.dial(from: node.index, to: other.index), after: 0)
        }
        add(.heartbeat(node, life: node.life), after: random.between(0, 100 * Span.millisecond))
    }

    /// The store is opened anew from the journal.
    private func reopen(_ node: ClusterNode) {
        node.primary = nil
        node.endReign()
        recover(node)
        let stamp = FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: .zero)
        var machine = StandbyStateMachine(
            .init(election: .init(candidate: node.place), stamp: stamp, seed: random.next()),
            log: node.keptLog(windowBytes: windowBytes), promised: node.disk.promised, memory: node.disk.memory,
            now: tick(of: node))
        var directives: [StandbyDirective] = []
        machine.start(into: &directives)
        node.standby = machine
        finish(directives, at: node)
    }

    /// What a node shows is what its disk knows to be committed.
    func recover(_ node: ClusterNode) {
        node.recover()
        if let reason = node.unreadable { fail(.digest, reason) }
    }

    private var windowBytes: Int { options.strength(.smallWindow) > 0 ? 2_048 : Limits.resendWindowBytes }

    /// The process is gone; its host says so to those that are connected, or not.
    func crash(_ node: ClusterNode, isSilent: Bool = false) {
        trace(node, .stopped, UInt64(node.life), 0)
        node.end()
        for link in allLinks(of: node) { close(link, goneNode: node, isSilent: isSilent) }
    }

    // MARK: - Machines

    func withStandby(
        _ node: ClusterNode, _ event: (inout StandbyStateMachine, Tick, inout [StandbyDirective]) -> Void
    ) {
        guard node.isStandby else { return }
        let now = tick(of: node)
        var directives: [StandbyDirective] = []
        node.standby?.take { event(&$0, now, &directives) }
        finish(directives, at: node)
    }

    /// Does what a standby's machine wants after an event.
    func finish(_ directives: [StandbyDirective], at node: ClusterNode) {
        if let memory = inPlace(&node.standby, { $0?.election.memory }) { node.disk.memory = memory }
        execute(directives, at: node)
        if node.isStandby { schedule(node) }
    }

    func withPrimary(
        _ node: ClusterNode, isTurn: Bool = false, _ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Void
    ) {
        let (now, wall) = (tick(of: node), wall(of: node))
        guard let state = node.state, node.isPrimary else { return }
        var directives: [PrimaryDirective] = []
        node.primary?.step(now: now, wall: wall, state: state, into: &directives, event)
        finish(directives, at: node, isTurn: isTurn)
    }

    /// Does what a primary's machine wants after an event.
    func finish(_ directives: [PrimaryDirective], at node: ClusterNode, isTurn: Bool) {
        if let memory = inPlace(&node.primary, { $0?.replication?.memory }) { node.disk.memory = memory }
        for directive in directives { execute(directive, at: node) }
        tellOfMemory(node)
        guard node.isPrimary else { return }
        node.effects?.turnEnded()
        if !isTurn { turnIsDue(of: node) }
        schedule(node)
    }

    /// A primary's turn ends soon: it has taken something, or its effects have.
    func turnIsDue(of node: ClusterNode) {
        guard !node.isTurnDue else { return }
        node.isTurnDue = true
        add(.turn(node, life: node.life), after: random.between(0, Span.millisecond))
    }

    private func execute(_ directives: [StandbyDirective], at node: ClusterNode) {
        for directive in directives { execute(directive, at: node) }
        guard let committed = inPlace(&node.standby, { $0?.log.committed }),
            let durable = inPlace(&node.standby, { $0?.log.durable })
        else { return }
        show(node, through: min(committed, durable))
    }

    private func show(_ node: ClusterNode, through end: SequenceNumber) {
        let before = node.shown.log.position.sequence
        if let error = node.show(through: end) { fail(.digest, "\(node.name) cannot apply its log: \(error)") }
        if node.shown.log.position.sequence > before { checker.shows(node.shown, node) }
    }

    private func execute(_ directive: StandbyDirective, at node: ClusterNode) {
        switch directive {
        case .connect(let primary): follow(node, primary)
        case .send(let frame):
            if let target = node.dials, let link = links[node.index][target] { send(frame, link, .up) }
        case .tell(let name, let frame):
            guard let target = nodes.first(where: { $0.name == name }) else { return }
            if let link = links[node.index][target.index] { send(frame, link, .up) }
        case .append(let batches, let committed):
            // The commit number alone is written now and then.
            guard !batches.isEmpty || random.chance(0.1) else { return }
            write(.batches(batches, committed: committed), at: node)
            guard options.defect == .diskLies, let end = batches.last?.head.last else { return }
            withStandby(node) { $0.appended(through: end, now: $1, into: &$2) }
        case .truncate(let position):
            counts.truncations += 1
            trace(node, .truncated, position.epoch.rawValue, position.sequence.rawValue)
            // Who is no member may cut what others have committed since: a primary before told it to.
            if arbiter.stored.record.contains(node.member), let first = node.disk.index(after: position.sequence) {
                checker.cuts(node.disk.batches[first...], node)
            }
            if position.sequence < node.disk.committed {
                return fail(.durability, "\(node.name) cuts off \(node.disk.committed), which it knows to be committed")
            }
            write(.truncate(position), at: node)
        case .wantsSnapshot:
            if let epoch = node.standby?.followed?.record.epoch, checker.isSilent(in: epoch, node) {
                let name = node.name
                return fail(.durability, "\(name) knows to be committed what was given up, and does not say so")
            }
            add(.snapshot(node, life: node.life), after: random.between(20, 500) * Span.millisecond)
        case .readRecord(let request):
            ask(.init(node: node.index, life: node.life, request: request))
            askPeers(node, request)
        case .transact(let attempt, let request):
            ask(.init(node: node.index, life: node.life, request: request, attempt: attempt))
        case .promise(let epoch): write(.promise(epoch), at: node)
        case .withdrawPromise(let stored):
            write(.promise(max(stored.record.epoch, node.standby?.log.end.epoch ?? .zero)), at: node)
        case .won(let stored): win(node, stored)
        case .arbiterWasSetBack, .count: break
        case .halt(let fault): halted(fault, node)
        }
    }

    private func askPeers(_ node: ClusterNode, _ request: UInt64) {
        let epoch = node.standby?.election.promised ?? .zero
        let stamp = FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: epoch)
        let frame = stamp.frame(.replicationRequest(.recordRequest(nonce: request)))
        for link in links[node.index] { if let link { send(frame, link, .up) } }
    }

    /// The election is won: the rest of the log is applied, and the epoch is opened.
    private func win(_ node: ClusterNode, _ stored: StoredRecord) {
        guard let standby = node.standby else { return }
        counts.elections += 1
        let epoch = stored.record.epoch
        trace(node, .won, epoch.rawValue, node.disk.end.sequence.rawValue)
        // The newest records are last.
        if !arbiter.history.reversed().contains(where: { $0.record.epoch == epoch && $0.record.primary == node.place })
        {
            fail(.leadership, "\(node.name) opens \(epoch), which no record gave it")
        }
        let histories = checker.givenUp.count
        checker.won(stored.record, node)
        if checker.givenUp.count > histories, let gone = checker.givenUp.last {
            counts.losses += 1
            for client in clients { client.forgets(above: gone.kept) }
        }
        var configuration = PrimaryConfiguration(
            cluster: Self.cluster, node: node.name.name, incarnation: node.incarnation, boot: node.boot,
            channel: Self.channel, storeName: "counters", isVolatile: false, publishEndpoint: "", bulkEndpoint: "")
        configuration.audienceMilliseconds = 0
        configuration.reign = Reign(
            won: stored, member: node.member, memory: standby.election.memory, seed: random.next())
        var window = ResendWindow(capacity: windowBytes)
        let end = node.shown.log.position.sequence
        let next = node.disk.index(after: end) ?? 0
        for batch in node.disk.batches[..<next] { window.append(batch) }
        var tail = Array(node.disk.batches[next...])
        if options.defect == .tailIsForgotten {
            node.disk.batches.removeLast(tail.count)
            tail = []
        }
        node.beginReign()
        if let reason = node.unreadable { return fail(.digest, reason) }
        node.standby = nil
        node.primary = PrimaryStateMachine(
            configuration: configuration, recovered: node.shown.log, window: window, wall: wall(of: node),
            now: tick(of: node))
        makeExecutor(of: node)
        withPrimary(node) { $0.start(inheriting: tail, &$1) }
        tellPeers(of: stored, standby.log.summary, node)
    }

    /// Whoever is reached need not wait for the silence of the primary before.
    private func tellPeers(of stored: StoredRecord, _ log: FollowerLog, _ node: ClusterNode) {
        var shown = ArbiterMemory()
        shown.wrote(stored)
        let epoch = stored.record.epoch
        let report = RecordReport(
            nonce: 0, highest: epoch, log: log, shown: shown, leads: true, record: stored)
        let stamp = FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: epoch)
        let frame = stamp.frame(.replicationRequest(.stepDown(report)))
        for link in links[node.index] { if let link { send(frame, link, .up) } }
    }

    private func execute(_ directive: PrimaryDirective, at node: ClusterNode) {
        switch directive {
        case .persist(let batches):
            for batch in batches { checker.issued(batch, by: node) }
            let committed = inPlace(&node.primary) { $0?.committed.position.sequence } ?? .zero
            write(.batches(batches, committed: committed), at: node)
        case .committed(let batches):
            for batch in batches {
                committed(batch, by: node)
                trace(node, .committed, batch.head.epoch.rawValue, batch.head.last.rawValue)
                if let error = node.show(batch) { fail(.digest, "\(node.name) cannot apply its log: \(error)") }
            }
            checker.shows(node.shown, node)
            if let last = batches.last {
                check(last, node)
                node.effects?.executor?.committed(through: last.head.last)
            }
            checkMembers()
            scriptSees(committed: batches, by: node)
        case .send(let frame, let connection):
            guard let link = clientLinks[connection] else { return }
            if let epoch = node.epoch { checker.speaks(as: epoch, node) }
            send(frame, link, .down)
        case .replication(let wanted): replicate(wanted, at: node)
        case .beginRun(let start): node.effects?.executor?.begin(start)
        case .stopRun(let id): node.effects?.executor?.stop(id)
        case .emission(let ticket, let outcome): node.effects?.executor?.emissionEnded(ticket, outcome)
        case .runEnd(let id, let outcome): node.effects?.executor?.runEnded(id, outcome)
        case .halt(let reason): fail(.falseAlarm, "\(node.name) halts: \(reason)")
        case .alarm(.primaryBehind(_, let reported, _)) where checker.isGivenUp(reported.position): break
        case .alarm(let alarm): fail(.falseAlarm, "\(node.name): \(alarm)")
        default: break  // What broadcasts and snapshots want is not simulated here.
        }
    }

    /// A reign commits nothing before its opening; what is committed is on as many disks as the minimum says, where none
    /// is lost.
    private func check(_ batch: SealedBatch, _ node: ClusterNode) {
        if batch.head.epoch != node.epoch {
            fail(.committedOnly, "\(node.name) commits \(batch.head.last) before its epoch's opening")
        }
        guard options.strength(.lostDisk) == 0 else { return }
        let end = batch.head.last
        let count = nodes.count { $0.disk.base.log.position.sequence >= end || $0.disk.hash(at: end) == batch.hash }
        let minimum = inPlace(&node.primary) { $0?.replication?.inSync.minimum } ?? options.minimum
        if count < minimum { fail(.durability, "\(node.name) commits \(end), which \(count) disks have") }
    }

    private func replicate(_ directive: ReplicationDirective, at node: ClusterNode) {
        switch directive {
        case .send(let frame, let connection):
            guard let link = nodeLinks[connection] else { return }
            check(frame, to: link, node)
            send(frame, link, .down)
        case .transact(let attempt, let request):
            ask(.init(node: node.index, life: node.life, request: request, attempt: attempt))
        case .readRecord(let request): ask(.init(node: node.index, life: node.life, request: request))
        case .changed(.adds): counts.additions += 1
        case .changed(.removes): counts.removals += 1
        case .postKept: counts.keptPosts += 1
        case .changed, .refused, .count: break
        case .over:
            counts.depositions += 1
            trace(node, .deposed, node.epoch?.rawValue ?? 0, 0)
            // What is at the disk is waited for, and what is known to be committed is kept with it.
            let committed = node.primary?.committed.position.sequence ?? .zero
            flush(node)
            node.write(.batches([], committed: committed))
            reopen(node)
        }
    }
}

extension StandbyStateMachine {
    /// Takes an event where it lies: a call through optional chaining makes no copy.
    fileprivate mutating func take(_ event: (inout Self) -> Void) { event(&self) }
}
