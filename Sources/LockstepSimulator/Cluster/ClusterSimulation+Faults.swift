import LockstepCore

// What strikes while clients act.
extension ClusterSimulation {
    /// From then on faults strike, until everything is healed.
    func beginStrikes(after delay: Int64) {
        guard !isStriking else { return }
        isStriking = true
        add(.fault, after: delay)
    }

    /// Fifty times a second: each fault that has moments has its chance.
    func strike() {
        guard !isHealed else {
            isStriking = false
            return
        }
        add(.fault, after: 20 * Span.millisecond)
        for fault in ClusterFault.allCases {
            let strength = options.strength(fault)
            guard strength > 0, let rate = fault.rate, random.chance(rate * strength / 50) else { continue }
            strike(fault)
        }
    }

    private func strike(_ fault: ClusterFault) {
        // Primaries are struck more often than their share.
        var node = random.pick(nodes)
        if random.chance(0.3), let primary = nodes.first(where: \.isPrimary) { node = primary }
        switch fault {
        case .kill: kill(node, isSilent: false)
        case .hostDeath: kill(node, isSilent: true)
        case .pause where node.isUp: node.pause(until: now + random.between(10, 4_000) * Span.millisecond)
        case .orderlyStop where node.isPrimary && now >= node.pausedUntil:
            node.isStopping = true
            withPrimary(node) { machine, _ in machine.stop() }
        case .stuckDisk: node.stick(until: now + random.between(10, 5_000) * Span.millisecond)
        case .lostDisk: guard loseDisk(node) else { return }
        case .cutConnection:
            let open = allLinks(of: node).filter { !$0.isClosed }
            guard !open.isEmpty else { return }
            close(random.pick(open))
        case .partition: partition()
        case .oneWay:
            let other = random.pick(nodes)
            guard other !== node else { return }
            cut([[node.index, other.index]])
        case .arbiterAway: arbiter.awayUntil = now + random.between(100, 5_000) * Span.millisecond
        case .arbiterCut: arbiter.cutUntil[node.index] = now + random.between(100, 8_000) * Span.millisecond
        case .arbiterSetBack:
            guard setBack(to: random.pick(arbiter.history)) else { return }
            add(.operate(.looks), after: random.between(500, 6_000) * Span.millisecond)
        case .handover: guard handOver(node) else { return }
        case .promotion: guard isolateCandidate() else { return }
        case .wallClock: node.wallOffset += random.between(-3_000, 3_000) * 1_000_000
        case .pause, .orderlyStop, .slowDisk, .slowFrames, .smallWindow, .arbiterLoss, .arbiterDelay, .arbiterDouble,
            .clockRate:
            return
        }
        fire(fault, node.index)
    }

    func kill(_ node: ClusterNode, isSilent: Bool) {
        guard node.isUp else { return }
        losePending(node)
        node.isHostDead = isSilent
        crash(node, isSilent: isSilent)
        let length = random.chance(0.5) ? random.between(20, 300) : random.between(300, 6_000)
        add(.boot(node), after: length * Span.millisecond)
    }

    private func partition() {
        let side = Set(nodes.indices.filter { _ in random.chance(0.5) })
        var ways: [[Int]] = []
        for one in nodes.indices {
            for other in nodes.indices where side.contains(one) != side.contains(other) { ways.append([one, other]) }
        }
        cut(ways)
    }

    /// Cuts these ways; all cuts end when the next one begins, or when everything is healed.
    private func cut(_ ways: [[Int]]) {
        cuts = random.chance(0.4) ? [] : Set(ways)
        // Connections break that nothing comes through for long, and others live on.
        guard random.chance(0.5), !cuts.isEmpty else { return }
        // In their order: that of a set is another one in each process.
        for way in ways { if let link = links[way[0]][way[1]] { close(link) } }
    }

    /// A disk is lost, if a member remains that has all that was committed; the node comes back as another member.
    func loseDisk(_ node: ClusterNode) -> Bool {
        let record = arbiter.stored.record
        let others = nodes.filter { record.contains($0.member) && $0 !== node }
        guard !arbiter.wasSetBack, arbiter.attemptsUnderWay == 0 else { return false }
        guard !record.contains(node.member) || record.inSync.count > record.minimum && !others.isEmpty else {
            return false
        }
        kill(node, isSilent: false)
        giveDisk(to: node)
        return true
    }

    /// The node has an empty disk, and is another member.
    func giveDisk(to node: ClusterNode) {
        counts.lostDisks += 1
        node.disk = ClusterNode.Disk(base: ClusterNode.Shown(log: LogState(store: Self.store)))
        node.recover()
        if options.defect != .incarnationIsKept {
            node.incarnation = Incarnation(rawValue: node.incarnation.rawValue + 1)
        }
    }

    /// The arbiter shows an older copy, if every member of it is known to know that it is older.
    func setBack(to older: StoredRecord) -> Bool {
        guard !arbiter.wasSetBack, arbiter.attemptsUnderWay == 0, older != arbiter.stored,
            nodes.allSatisfy({ $0.isUp && $0.disk.memory.isBeyond(older) })
        else { return false }
        arbiter.setBack(to: older)
        return true
    }
}
