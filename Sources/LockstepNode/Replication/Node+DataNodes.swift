internal import LockstepCore
internal import Logging

// What data nodes say to each other: streams of the stores, and the heartbeat of the whole node (PROTOCOL, R-87).
extension Node {
    private static let framesAtOnce = 256

    /// Where other nodes reach this one, and with which journals; nil of a node that is no data node.
    var dataNodeAddress: NodeAddress? {
        guard let services, services.arbiter != nil else { return nil }
        let journals = hosts.compactMap { $0.driver?.desk.journal?.identity }
        return NodeAddress(
            node: configuration.given.node, boot: services.boot, endpoints: [services.ingressEndpoint],
            journals: journals.map { NodeAddress.Journal(store: $0.store, incarnation: $0.incarnation) })
    }

    /// Runs `body`, and beside it what asks a data node's arbiter, which is closed afterwards if it is the node's own.
    func whileArbiterIsAsked(_ body: () async -> Void) async {
        guard case .data(_, _, let source) = configuration.given.role, let address = dataNodeAddress,
            let arbiter = openedArbiter.take(), let desk = services?.arbiter, let mailbox = hosts.first?.mailbox
        else { return await body() }
        let logger = logger
        await withTaskGroup { group in
            group.addTask { await desk.run(arbiter, address, mailbox, logger) }
            await body()
            if let failure = services?.failure { desk.list([.init(store: nil, text: "\(failure)")]) }
            // Not cancelled: who stops in order is taken off the list, and who has halted says so there.
            desk.finish()
        }
        if source.isOwned { await arbiter.close() }
    }

    /// Has the alarms of all stores listed; once a second.
    private func listTroubles(_ services: NodeServices, now: Tick) {
        guard now >= nextTroubles, let arbiter = services.arbiter else { return }
        nextTroubles = now.advanced(byMilliseconds: 1_000)
        arbiter.list(hosts.flatMap(\.troubles))
    }

    func nextDataNodeDeadline(_ services: NodeServices) -> Tick {
        guard let peers = services.peers else { return .never }
        return min(peers.nextDeadline, followers.isEmpty ? .never : nextHeartbeat)
    }

    /// Handles what other data nodes said, and what happened to the connections; says the heartbeat when it is due.
    func handleDataNodes(_ services: NodeServices, now: Tick, wall: LogTime) -> Bool {
        guard let peers = services.peers else { return false }
        var count = 0
        let rule = services.cluster.map { FrameHeader.ClusterRule.member($0.hash) } ?? .any
        while count < Self.framesAtOnce, let (frame, connection) = replicationRing.popFirst() {
            count += 1
            guard isKnown(connection, on: .replication) else { continue }
            guard let host = host(ofChannelIn: frame) else {
                hosts.first?.count(.framesRefused)
                continue
            }
            guard let frame = admitted(frame, from: connection, on: .replication, for: host, now: now) else { continue }
            request(frame, of: connection, to: host, rule)
        }
        while count < 2 * Self.framesAtOnce, let (frame, node) = peers.popFirst() {
            count += 1
            reply(frame, of: node, rule, now: now, wall: wall)
        }
        for connection in services.server.takeGoneReplication() {
            followers.remove(connection)
            for host in hosts { host.primary?.replicationDisconnected(connection) }
        }
        for happened in services.attempt({ try peers.look(now: now) }) ?? [] {
            for host in hosts { host.standby?.happened(happened.event, to: happened.node, now: now) }
        }
        listTroubles(services, now: now)
        if !followers.isEmpty, now >= nextHeartbeat { sayHeartbeat(services, now: now, wall: wall) }
        return count > 0
    }

    private func host(ofChannelIn frame: WaitingFrame) -> StoreHost? {
        let channel = frame.withFrame { bytes -> Channel? in
            var reader = ByteReader(offset: 2, end: bytes.byteCount)
            return (try? reader.read(UInt16.self, from: bytes)).map(Channel.init(rawValue:))
        }
        return hosts.first { $0.channel == channel && channel != Channel.none }
    }

    /// Another data node says something to this one.
    private func request(
        _ frame: WaitingFrame, of connection: Connection, to host: StoreHost, _ rule: FrameHeader.ClusterRule
    ) {
        let decoded = frame.withFrame { bytes in try? Message.decode(bytes, rule: rule) }
        guard let (header, message) = decoded, let request = ReplicationRequest(message) else {
            return host.count(.framesRefused)
        }
        if let primary = host.primary {
            if case .fetch = request { followers.insert(connection) }
            primary.replicationReceived(request, epoch: header.epoch, from: connection)
        } else if let standby = host.standby {
            if case .stepDown(let report) = request { standby.step { $0.laterReignTold(report, into: &$1) } }
            guard let answer = standby.answer(to: request) else { return }
            host.count(
                isSent: host.services.attempt { try host.services.server.sendReplication(answer, to: connection) })
        }
    }

    /// A node to which this one has connected says something.
    private func reply(
        _ frame: WaitingFrame, of node: NodeID, _ rule: FrameHeader.ClusterRule, now: Tick, wall: LogTime
    ) {
        if let host = host(ofChannelIn: frame) {
            if let standby = host.standby {
                standby.received(frame, from: node, now: now)
            } else {
                told(host, frame, node, rule)
            }
            return
        }
        let decoded = frame.withFrame { bytes in try? Message.decode(bytes, rule: rule) }
        guard let (_, message) = decoded, case .heartbeat(let heartbeat)? = ReplicationReply(message),
            heartbeat.node == node
        else {
            hosts.first?.count(.framesRefused)
            return
        }
        services?.peers?.heard(node, now: now)
        heard(heartbeat.time, of: node, now: now, wall: wall)
        for pulse in heartbeat.stores {
            for host in hosts where host.channel == pulse.channel {
                host.standby?.pulseReceived(pulse, from: node, boot: heartbeat.boot, now: now)
            }
        }
    }

    /// A primary's clock bounds what this node begins with when it takes over.
    private func heard(_ time: LogTime, of node: NodeID, now: Tick, wall: LogTime) {
        guard let services else { return }
        let wasFar = services.heardClock.isFar
        services.heardClock.heard(time, own: wall, now: now)
        guard services.heardClock.isFar, !wasFar else { return }
        logger.warning(
            "this host's clock and that of a primary differ by more than an hour: correct the wrong one",
            metadata: [LogKey.peer: "\(node)"])
    }

    /// What a primary has asked other nodes.
    private func told(_ host: StoreHost, _ frame: WaitingFrame, _ node: NodeID, _ rule: FrameHeader.ClusterRule) {
        let decoded = frame.withFrame { bytes in try? Message.decode(bytes, rule: rule) }
        guard let (_, message) = decoded else { return host.count(.framesRefused) }
        switch ReplicationReply(message) {
        case .record(let report)?: host.reports[node] = report
        // It was said to the standby that the store had before.
        case .plan?, .append?, .confirmRequest?, .takeOver?: host.count(.staleFrames)
        case .heartbeat?, nil: host.count(message == .resync ? .staleFrames : .framesRefused)
        }
    }

    /// One frame to each node that follows a store of this one, for all of them.
    private func sayHeartbeat(_ services: NodeServices, now: Tick, wall: LogTime) {
        nextHeartbeat = now.advanced(byMilliseconds: ReplicationServer.heartbeatMilliseconds)
        let pulses = hosts.compactMap { $0.primary?.pulse(now: now) }
        guard !pulses.isEmpty else { return }
        let heartbeat = Heartbeat(node: configuration.given.node, boot: services.boot, time: wall, stores: pulses)
        let stamp = FrameStamp(channel: .none, clusterHash: services.cluster?.hash ?? 0, epoch: .zero)
        let frame = stamp.frame(.replicationReply(.heartbeat(heartbeat)))
        for connection in followers {
            services.attempt { _ = try services.server.sendReplication(frame, to: connection) }
        }
    }
}
