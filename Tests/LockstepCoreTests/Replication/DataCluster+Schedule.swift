import LockstepCore

/// What is broken on purpose around the machines; a schedule must notice.
enum ClusterDefect: CaseIterable, Sendable {
    /// A disk says that it has what it has not.
    case diskLies
    /// What was not known to be committed is left behind at a takeover.
    case tailIsForgotten
    /// A disk that was lost comes back under the same incarnation.
    case incarnationIsKept
}

extension DataCluster {
    /// Runs a random schedule, heals, and looks whether the cluster works.
    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            now = now.advanced(byMilliseconds: 1)
            try step()
        }
        try heal()
    }

    mutating func step() throws {
        runErrands()
        for index in nodes.indices where nodes[index].isUp && now >= nodes[index].pausedUntil { turn(index) }
        deliver()
        talk()
        if isHealed { for index in nodes.indices where !nodes[index].isUp { boot(index) } } else { disturb() }
        if let violation = client.violation ?? reader.violation {
            throw ClusterViolation(text: "\(violation), at \(now.rawValue / 1_000_000) ms")
        }
    }

    /// Time, the disk, heartbeats.
    private mutating func turn(_ index: Int) {
        let node = nodes[index]
        if now >= node.stuckUntil, chance(0.5) { write(index) }
        if let deadline = node.standby?.nextDeadline, now >= deadline {
            withStandby(index) { $0.ticked(now: $1, into: &$2) }
        }
        if let primary = node.primary {
            if now >= primary.nextDeadline { withPrimary(index) { $0.ticked(&$1) } }
            withPrimary(index) { $0.turnEnded(&$1) }
            // A process that stops in order ends when its post is taken, or nobody takes it.
            if let primary = node.primary, primary.phase == .stopping, primary.isDrained { crash(index) }
        }
        if let primary = node.primary, now >= node.nextHeartbeat {
            node.nextHeartbeat = now.advanced(byMilliseconds: 100)
            let pulse = primary.replication?.pulse(channel: Self.channel, end: primary.log.position.sequence, now: now)
            guard let pulse else { return }
            let heartbeat = Heartbeat(node: node.name, boot: node.boot, time: wall, stores: [pulse])
            let stamp = FrameStamp(channel: .none, clusterHash: Self.cluster.hash, epoch: .zero)
            let frame = stamp.frame(.replicationReply(.heartbeat(heartbeat)))
            for place in links.indices where links[place].to == index { links[place].toStandby.append(frame) }
        }
    }

    /// The disk does its next write.
    private mutating func write(_ index: Int) {
        switch nodes[index].write() {
        case .batches(let batches, _):
            withPrimary(index) { $0.persisted(&$1) }
            guard let end = batches.last?.head.last else { return }
            withStandby(index) { $0.appended(through: end, now: $1, into: &$2) }
        case .truncate: withStandby(index) { $0.truncated(now: $1, into: &$2) }
        case .promise(let epoch): withStandby(index) { $0.promiseStored(epoch, now: $1, into: &$2) }
        case nil: break
        }
    }

    /// Each connection brings a frame in each direction, sometimes; a primary learns of those that are gone.
    private mutating func deliver() {
        for link in orphans where !isCut(link.from, link.to) && now >= nodes[link.to].pausedUntil {
            guard isHealed || chance(0.02) else { continue }
            orphans.removeAll { $0.connection == link.connection }
            withPrimary(link.to) { $0.replicationDisconnected(link.connection, &$1) }
        }
        for link in links where !isCut(link.from, link.to) {
            let isReady = { [nodes, now] (index: Int) in nodes[index].isUp && now >= nodes[index].pausedUntil }
            if isReady(link.to), isHealed || chance(0.6),
                let place = links.firstIndex(where: { $0.connection == link.connection }),
                !links[place].toPrimary.isEmpty
            {
                serve(links[place].toPrimary.removeFirst(), link)
            }
            if isReady(link.from), isHealed || chance(0.6),
                let place = links.firstIndex(where: { $0.connection == link.connection }),
                !links[place].toStandby.isEmpty
            {
                follow(links[place].toStandby.removeFirst(), link)
            }
        }
    }

    private mutating func serve(_ frame: [UInt8], _ link: Link) {
        let decoded = withBytes(of: frame) { try? Message.decode($0, rule: .member(Self.cluster.hash)) }
        guard let (header, message) = decoded, let request = ReplicationRequest(message) else { return }
        withPrimary(link.to) {
            $0.replicationReceived(request, epoch: header.epoch, from: link.connection, &$1)
        }
        guard let answer = nodes[link.to].standby?.answer(to: request),
            let place = links.firstIndex(where: { $0.connection == link.connection })
        else { return }
        links[place].toStandby.append(answer)
    }

    private mutating func follow(_ frame: [UInt8], _ link: Link) {
        withBytes(of: frame) { span in
            guard let (header, message) = try? Message.decode(span, rule: .member(Self.cluster.hash)) else { return }
            if case .resync = message { return withStandby(link.from) { $0.resyncReceived(now: $1, into: &$2) } }
            guard let reply = ReplicationReply(message) else { return }
            guard case .heartbeat(let heartbeat) = reply else {
                // A span cannot be captured by what escapes, and this does not.
                guard case .standby(var machine) = nodes[link.from].role else { return }
                var directives: [StandbyDirective] = []
                machine.received(reply, span, epoch: header.epoch, now: now, into: &directives)
                nodes[link.from].role = .standby(machine)
                withStandby(link.from) { $2 += directives }
                return
            }
            for pulse in heartbeat.stores {
                withStandby(link.from) {
                    $0.pulseReceived(pulse, from: heartbeat.node, boot: heartbeat.boot, now: $1, into: &$2)
                }
            }
        }
    }

    // MARK: - The client

    private mutating func talk() {
        if chance(0.3) { client.act() }
        if chance(0.1) { client.read(client.answered) }
        if chance(0.1) { reader.read(client.answered) }
        talk(\.client)
        talk(\.reader)
    }

    private mutating func talk(_ one: WritableKeyPath<DataCluster, ClusterClient>) {
        if let target = self[keyPath: one].target,
            nodes[target.index].boot != target.boot || nodes[target.index].primary == nil
        {
            self[keyPath: one].lost()
        }
        if self[keyPath: one].target == nil || chance(0.002) {
            let primaries = nodes.indices.filter { nodes[$0].primary != nil && now >= nodes[$0].pausedUntil }
            guard !primaries.isEmpty else { return }
            let index = primaries[pick(primaries.count)]
            self[keyPath: one].greet(index, nodes[index].boot, nonce: random.next())
        }
        guard let target = self[keyPath: one].target, let primary = nodes[target.index].primary,
            now >= nodes[target.index].pausedUntil
        else { return }
        let stamp = FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: primary.epoch)
        let messages = self[keyPath: one].outgoing
        self[keyPath: one].outgoing = []
        for message in messages {
            let frame = withBytes(of: self[keyPath: one].actions) { stamp.frame(message, source: $0) }
            receive(frame, from: self[keyPath: one].connection, at: target.index)
        }
    }

    private mutating func receive(_ frame: [UInt8], from connection: Connection, at index: Int) {
        withBytes(of: frame) { span in
            guard case .primary(var machine) = nodes[index].role else { return }
            var directives: [PrimaryDirective] = []
            machine.step(now: now, wall: wall, state: nodes[index].state, into: &directives) {
                $0.received(span, from: connection, &$1)
            }
            nodes[index].role = .primary(machine)
            passOn(directives, at: index)
        }
    }

    // MARK: - Trouble

    private mutating func disturb() {
        let index = pick(nodes.count)
        let node = nodes[index]
        if !node.isUp {
            if chance(0.02) { boot(index) }
        } else if chance(0.0008) {
            crash(index)
        } else if chance(0.0008) {
            withPrimary(index) { machine, _ in machine.stop() }
        } else if chance(0.003) {
            handOver(index, to: chance(0.5) ? nil : nodes[pick(nodes.count)].name)
        } else if chance(0.0008) {
            node.pausedUntil = now.advanced(byMilliseconds: Int64(pick(3_000)))
        } else if chance(0.0008) {
            node.stuckUntil = now.advanced(byMilliseconds: Int64(pick(4_000)))
        }
        if chance(0.0004) { loseDisk(index) }
        if chance(0.002), !links.isEmpty { close(links[pick(links.count)]) }
        if chance(0.0005) {
            let other = pick(nodes.count)
            if other != index { cuts.insert([min(index, other), max(index, other)]) }
        }
        if !cuts.isEmpty, chance(0.001) { cuts.removeFirst() }
        if chance(0.0003) { arbiterAwayUntil = now.advanced(byMilliseconds: Int64(pick(3_000))) }
    }

    /// An operator has a primary give its post away.
    mutating func handOver(_ index: Int, to target: NodeID?) {
        var isOrdered = false
        withPrimary(index) { machine, _ in isOrdered = machine.giveAwayPost(to: target) == nil }
        if isOrdered { counts.handovers += 1 }
    }

    /// A disk is lost, if others have all that was on it: its node comes back with another incarnation.
    private mutating func loseDisk(_ index: Int) {
        let record = stored.record
        let isWanted = record.contains(nodes[index].member)
        let isAsking = errands.contains { if case .transact = $0.1 { true } else { false } }
        let others = nodes.filter { record.contains($0.member) && $0 !== nodes[index] }
        guard !isAsking, !isWanted || record.inSync.count > record.minimum && !others.isEmpty else { return }
        counts.lostDisks += 1
        crash(index)
        nodes[index].disk = DataNode.Disk()
        if defect != .incarnationIsKept {
            nodes[index].incarnation = Incarnation(rawValue: nodes[index].incarnation.rawValue + 1)
        }
    }

    /// All faults end; within 20 s there is a primary that answers, and all disks have the same log.
    private mutating func heal() throws {
        isHealed = true
        cuts = []
        arbiterAwayUntil = .zero
        for index in nodes.indices {
            (nodes[index].pausedUntil, nodes[index].stuckUntil) = (.zero, .zero)
        }
        let goal = client.answered + 20
        let end = now.advanced(byMilliseconds: 30_000)
        while client.answered < goal {
            now = now.advanced(byMilliseconds: 1)
            try step()
            guard now < end else { throw ClusterViolation(text: "healed, and not at work: \(summary)") }
        }
    }

    /// Where each node is, in one line.
    var summary: String {
        nodes.map { node in
            switch node.role {
            case .down: "\(node.name) down"
            case .standby(let machine):
                "\(node.name) \(machine.phase) \(machine.election.phase) \(machine.log.end.sequence)"
            case .primary(let machine):
                "\(node.name) primary \(machine.phase) of \(machine.epoch), \(machine.committed.position.sequence)/\(machine.log.position.sequence), required \(machine.replication?.inSync.required ?? [])"
            }
        }.joined(separator: "; ")
            + "; links \(links.map { "\($0.from)>\($0.to) \($0.toPrimary.count)/\($0.toStandby.count)" })"
            + "; record \(stored.record.epoch) of \(stored.record.primary.member)"
    }
}
