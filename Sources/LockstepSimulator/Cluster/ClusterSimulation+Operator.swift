import LockstepCore

/// What an operator of a simulated cluster does next.
enum OperatorStep {
    /// Asks all nodes what they know, since the arbiter was set back.
    case looks
    /// Binds the store to it again, with this node as the only member.
    case binds(RecordAttempt, Int)
    /// All of the set but this node are gone.
    case loses(candidate: Int)
    /// Promotes this node.
    case promotes(candidate: Int)
    /// Brings back whose hosts were gone.
    case restores(candidate: Int)
    /// The hosts of all but this node are gone for as long as a script wants.
    case endsOthers(Int)
    /// Gives a node that has halted, in this life, another disk.
    case replaces(Int, life: Int)
}

/// What a node says of a store's post when an operator asks.
struct ClusterPost {
    var candidate: ConfigurationRecord.Primary
    var log: FollowerLog
    /// The highest that it knows of.
    var number: UInt64
    var epoch: Epoch

    init(_ node: ClusterNode) {
        let (server, standby) = (node.primary?.replication, node.standby)
        let memory = server?.memory ?? standby?.election.memory ?? node.disk.memory
        let known = server?.inSync.confirmed ?? standby?.followed
        candidate = node.place
        // It is a standby that is to campaign.
        candidate.boot = .none
        log = standby?.log.summary ?? node.primary?.replicationLog.summary ?? .empty(of: ClusterSimulation.store)
        number = max(memory.number, known?.record.number ?? 0)
        epoch = max(memory.epoch, log.end.epoch, standby?.election.promised ?? .zero, server?.epoch ?? .zero)
    }

    /// Whether the log of this one lacks nothing that another knows to be committed, and goes as far as any other that
    /// lacks nothing of that kind.
    func goesFurthest(of posts: [ClusterPost]) -> Bool {
        posts.allSatisfy { other in
            !log.lacksCommitted(of: other.log)
                && (posts.contains { other.log.lacksCommitted(of: $0.log) }
                    || !other.log.goesFurther(than: log))
        }
    }
}

// What operators do to a cluster: they hand posts over, bind the store to an arbiter that was set back, and promote who is
// left of a set. What they write are the records that the commands write, too.
extension ClusterSimulation {
    func operate(_ step: OperatorStep) {
        switch step {
        case .looks: look(after: .looks)
        case .binds(let attempt, let candidate):
            guard write(attempt) else { return add(.operate(.looks), after: Span.second) }
            counts.bindings += 1
            checker.bound = nodes[candidate].member
            readRecord(nodes[candidate])
        case .loses(let candidate): loseSet(but: nodes[candidate])
        case .promotes(let candidate): promote(nodes[candidate])
        case .restores(let candidate): restore(nodes[candidate])
        case .endsOthers(let index): for node in nodes where node.index != index { remove(node) }
        case .replaces(let index, let life):
            guard nodes[index].life == life else { return }
            kill(nodes[index], isSilent: false)
            giveDisk(to: nodes[index])
        }
    }

    /// The command waits until the node is the primary, and has it read the record meanwhile.
    private func readRecord(_ node: ClusterNode) {
        withStandby(node) { $0.start(into: &$2) }
        withPrimary(node) { $0.readRecord(&$1) }
    }

    // MARK: - Handover

    /// The primary is told to give its post to some node, or to whoever has everything.
    func handOver(_ node: ClusterNode) -> Bool {
        guard node.isPrimary, now >= node.pausedUntil else { return false }
        return giveAwayPost(of: node, to: random.chance(0.5) ? random.pick(nodes).name : nil) == nil
    }

    func giveAwayPost(of node: ClusterNode, to name: NodeID?) -> HandoverRefusal? {
        var refusal: HandoverRefusal?
        withPrimary(node) { machine, _ in refusal = machine.giveAwayPost(to: name) }
        if refusal == nil { counts.handovers += 1 }
        return refusal
    }

    /// Who is asked to take a post over has everything, and everything is committed.
    func check(_ frame: [UInt8], to link: ClusterLink, _ node: ClusterNode) {
        guard node.primary?.replication?.isHandingOver == true else { return }
        let decoded = withBytes(of: frame) { try? Message.decode($0, rule: .member(Self.cluster.hash)) }
        guard let message = decoded?.message, case .takeOver(let takeOver)? = ReplicationReply(message),
            case .node(let dialer) = link.dialer, nodes[dialer].life == link.lives.dialer
        else { return }
        let end = takeOver.end
        // In an epoch that has ended another history may have gone on.
        guard arbiter.stored.record.primary.boot == node.boot else { return }
        if end.sequence != checker.committed || end.hash != checker.committedHash {
            fail(.leadership, "\(node.name) hands over at \(end.sequence), and \(checker.committed) is committed")
        }
        if nodes[dialer].disk.hash(at: end.sequence) != end.hash {
            fail(.leadership, "\(node.name) hands over to \(nodes[dialer].name), which lacks \(end.sequence)")
        }
    }

    // MARK: - An arbiter that was set back

    /// Looks at all nodes; a second later at most, what was seen is written down.
    private func look(after step: OperatorStep) {
        guard arbiter.wasSetBack else { return }
        // Who reigns goes on meanwhile, so nobody else may be bound, and of two the one with less is restarted; who is listed
        // has to answer.
        let reigning = nodes.filter(\.isPrimary).sorted {
            ($0.epoch ?? .zero) < ($1.epoch ?? .zero)
        }
        for node in reigning.dropLast() { kill(node, isSilent: false) }
        let asked = reigning.last ?? random.pick(nodes)
        let isSeen = nodes.allSatisfy { node in
            node.isUp && now >= node.pausedUntil && isReachable(asked.index, node.index)
        }
        let posts = nodes.map { ClusterPost($0) }
        let post = ClusterPost(asked)
        // What a disk has not written yet may be gone before the node leads.
        guard isSeen, post.goesFurthest(of: posts), asked.standby?.log.isDurable != false else {
            return add(.operate(step), after: random.between(100, 500) * Span.millisecond)
        }
        // Who is asked looks at the record itself.
        readRecord(asked)
        let record = arbiter.stored.record.rebinding(
            post.candidate, aboveNumber: posts.map(\.number).max() ?? 0, above: posts.map(\.epoch).max() ?? .zero,
            after: post.log.end, minimum: nil, attempt: AttemptID(using: &random))
        guard let record else { return fail(.invariant, "there is no number for a record") }
        let attempt = RecordAttempt(replacing: arbiter.stored, with: record)
        add(.operate(.binds(attempt, asked.index)), after: random.between(5, 1_000) * Span.millisecond)
    }

    // MARK: - A set that is gone

    /// A node is cut off, and the others go on without it for some time.
    func isolateCandidate() -> Bool {
        let standbys = nodes.filter { $0.isStandby && !$0.isGone }
        guard !isPromoting, !arbiter.wasSetBack, nodes.count > 1, !standbys.isEmpty else { return false }
        isPromoting = true
        let candidate = random.pick(standbys)
        cutOff(candidate)
        add(.operate(.loses(candidate: candidate.index)), after: random.between(10, 3_000) * Span.millisecond)
        return true
    }

    func cutOff(_ node: ClusterNode) {
        let others = nodes.filter { $0 !== node }
        cuts = Set(others.flatMap { [[$0.index, node.index], [node.index, $0.index]] })
    }

    /// All hosts of the set are gone but the candidate's.
    private func loseSet(but candidate: ClusterNode) {
        guard !isHealed, !arbiter.wasSetBack else {
            (isPromoting, cuts) = (false, [])
            return
        }
        for node in nodes where node !== candidate && arbiter.stored.record.contains(node.member) {
            kill(node, isSilent: random.chance(0.5))
            node.isGone = true
        }
        cuts = []
        add(.operate(.promotes(candidate: candidate.index)), after: random.between(500, 3_000) * Span.millisecond)
    }

    /// The operator states that the set is gone, and that what the node lacks may be lost.
    private func promote(_ node: ClusterNode) {
        let stored = arbiter.stored
        let isSetGone = nodes.allSatisfy { $0 === node || $0.isGone || !stored.record.contains($0.member) }
        guard !isHealed, !arbiter.wasSetBack, isSetGone, let standby = node.standby, standby.phase != .lacking,
            now >= node.pausedUntil
        else { return add(.operate(.restores(candidate: node.index)), after: 0) }
        let post = ClusterPost(node)
        let known = nodes.filter { $0.isUp && isReachable(node.index, $0.index) }.map { ClusterPost($0).epoch }
        let record = stored.record.promoting(
            post.candidate, above: max(post.epoch, known.max() ?? .zero), after: post.log.end,
            minimum: random.chance(0.7) ? 1 : nil, attempt: AttemptID(using: &random))
        guard let record else { return fail(.invariant, "there is no number for a record") }
        if write(RecordAttempt(replacing: stored, with: record)) {
            counts.promotions += 1
            checker.promoted = node.member
            readRecord(node)
        }
        add(.operate(.restores(candidate: node.index)), after: random.between(500, 8_000) * Span.millisecond)
    }

    /// The hosts come back, some with a new disk.
    private func restore(_ candidate: ClusterNode) {
        isPromoting = false
        for node in nodes where node.isGone {
            node.isGone = false
            let isNeeded = arbiter.stored.record.contains(node.member) || arbiter.attemptsUnderWay > 0
            if !isNeeded, random.chance(0.4) { giveDisk(to: node) }
            add(.boot(node), after: random.between(0, 1_000) * Span.millisecond)
        }
        // Who waits for a snapshot takes no post; it goes on from its log when it is started again.
        if arbiter.stored.record.primary == ClusterPost(candidate).candidate, candidate.standby?.phase == .lacking {
            kill(candidate, isSilent: false)
        }
    }

    /// A standby stops for good: who knows to be committed what was given up must, and gets another disk.
    func halted(_ fault: StandbyFault, _ node: ClusterNode) {
        if fault == .wasSetBack, node.hasOlderDisk {
            node.hasOlderDisk = false
            return isReplaced(node, after: 100 * Span.millisecond)
        }
        guard case .committedIsLost(_, let committed) = fault,
            checker.isGivenUp(committed, hash: node.disk.hash(at: committed))
        else { return fail(.falseAlarm, "\(node.name) halts: \(fault)") }
        // Not now: its directives are still being done.
        isReplaced(node, after: random.between(10, 500) * Span.millisecond)
    }

    /// Its disk cannot be followed up: an operator gives it another one.
    func isReplaced(_ node: ClusterNode, after delay: Int64) {
        counts.halts += 1
        add(.operate(.replaces(node.index, life: node.life)), after: delay)
    }
}
