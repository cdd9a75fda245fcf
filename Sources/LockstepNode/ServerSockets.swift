package import LockstepCore
package import ZeroMQ

/// The sockets that peers connect to; on the node's thread.
package final class ServerSockets {
    private let ingress: ServerPort
    private let bulk: ServerPort
    private let broadcast: ServerPort
    /// Of a data node; not open on another one.
    private let replication: ServerPort
    private var access: AccessDesk?
    private var subscribers = SubscriberTable()
    private var nextLook = Tick.zero

    /// Makes none yet; one port takes so many connections.
    package init(connections: Int = 4_096) {
        let bounds = PeerWatch.Bounds(connections: connections)
        ingress = ServerPort(.ingress, bounds: bounds)
        broadcast = ServerPort(.broadcast, bounds: bounds)
        // Replicas and data nodes connect before they have anything to say, so that a connection stands when it is needed;
        // what libzmq connects anew brings nothing either.
        var quiet = bounds
        quiet.firstMessage = .max
        bulk = ServerPort(.bulk, bounds: quiet)
        replication = ServerPort(.replication, bounds: quiet)
    }

    /// Binds the ports that follow from `listen`; returns the endpoints, wildcards of ports resolved.
    ///
    /// A replica has no broadcast of its own. With `access` they take peers with keys only, and those that it lets in.
    package func bind(
        _ listen: TCPEndpoint, in context: Context, publishes: Bool, poller: Poller<LoopToken>,
        access: AccessDesk? = nil
    ) throws -> (ingress: String, broadcast: String, bulk: String) {
        self.access = access
        let keys = access?.keys.own
        let ingressSocket = try Endpoints.ingress(context, at: listen, keys: keys)
        let bulkSocket = try Endpoints.bulk(context, at: listen.advanced(by: 2), keys: keys)
        let names = (try Self.name(ingressSocket, listen), try Self.name(bulkSocket, listen))
        try ingress.open(ingressSocket, as: .ingress, poller: poller, access: access)
        try bulk.open(bulkSocket, as: .bulk, poller: poller, access: access)
        guard publishes else { return (names.0, "", names.1) }
        let broadcastSocket = try Endpoints.broadcast(context, at: listen.advanced(by: 1), keys: keys)
        let name = try Self.name(broadcastSocket, listen)
        try broadcast.open(broadcastSocket, as: .broadcast, poller: poller, access: access)
        return (names.0, name, names.1)
    }

    /// What peers are told: the configured host, and the port that was bound.
    private static func name<Kind>(_ socket: borrowing Socket<Kind>, _ listen: TCPEndpoint) throws -> String {
        let bound = try TCPEndpoint(try socket.lastEndpoint, use: "the bound endpoint")
        return TCPEndpoint(host: listen.host, port: bound.port).description
    }

    /// Binds the port for other data nodes, the third after `listen`; returns its endpoint.
    package func bindReplication(
        _ listen: TCPEndpoint, in context: Context, poller: Poller<LoopToken>
    ) throws -> String {
        let socket = try Endpoints.replication(
            context, at: listen.advanced(by: NodeServices.replicationOffset), keys: access?.keys.own)
        let name = try Self.name(socket, listen)
        try replication.open(socket, as: .replication, poller: poller, access: access)
        return name
    }

    private var ports: [ServerPort] { [ingress, bulk, broadcast, replication] }

    package func close() {
        for port in ports { port.close() }
        access = nil
    }

    // MARK: - Receiving

    /// Takes what has arrived for the ingress; see ``ServerPort/drain(until:_:)``.
    package func drainIngress(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        try ingress.drain(until: end, body)
    }

    /// Takes what has arrived for the bulk socket; see ``ServerPort/drain(until:_:)``.
    package func drainBulk(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        try bulk.drain(until: end, body)
    }

    /// Takes what other data nodes have said; see ``ServerPort/drain(until:_:)``.
    package func drainReplication(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        try replication.drain(until: end, body)
    }

    /// Connections of other data nodes that have ended since the last call.
    package func takeGoneReplication() -> [Connection] { replication.takeGone() }

    /// Takes the wishes of subscribers; whoever says anything else, or says it too often, is disconnected (PROTOCOL,
    ///
    ///
    /// `store` names the store of a channel. Returns how many messages were taken, and how many of them were in vain.
    package func drainSubscriptions(
        until end: Tick, now: Tick, store: (Channel) -> String? = { _ in nil }
    ) throws -> (taken: Int, refused: UInt64) {
        var refused: UInt64 = 0
        let (taken, malformed) = try broadcast.drainMessages(until: end) { message, peer, connection in
            guard let wish = message.withBytes({ Subscription($0) }) else {
                refused += 1
                return false
            }
            guard mayFollow(connection, store(wish.channel), now: now) else {
                refused += 1
                subscribers.remove(peer)
                return true
            }
            switch subscribers.subscribe(
                peer, to: wish.channel, from: { message.property(.peerAddress) ?? "" }, now: now)
            {
            case .added, .renewed: return true
            case .refused:
                refused += 1
                return true
            case .tooOften:
                refused += 1
                return false
            }
        }
        return (taken, refused + malformed)
    }

    private func mayFollow(_ connection: Connection, _ store: String?, now: Tick) -> Bool {
        guard let access else { return true }
        guard let peer = broadcast.peer(connection) else { return false }
        guard let denial = access.door.judge(subscriptionOf: peer.principal, to: store) else { return true }
        access.denied(denial, peer, now: now)
        return false
    }

    /// Ten times a second: takes notice of connections that came and went, and ends those that cost too much;
    /// returns how many were ended since the start.
    package func look(now: Tick) throws -> UInt64 {
        guard now >= nextLook else { return ended }
        nextLook = now.advanced(byMilliseconds: 100)
        for port in ports { try port.look(now: now) }
        subscribers.expire(now: now)
        return ended
    }

    private var ended: UInt64 { ports.reduce(0) { $0 + $1.ended } }

    /// How many connections get a channel.
    package var subscriberCount: Int { subscribers.count }

    // MARK: - Peers

    /// Who is at the other end of a connection of a link; nil of a node without keys, and of one that was given up.
    package func peer(_ connection: Connection, on link: AccessLink) -> AccessPeer? { port(of: link).peer(connection) }

    /// A HELLO was let through.
    package func greeted(_ connection: Connection, store: String, nonce: UInt64) {
        ingress.greeted(connection, store: store, nonce: nonce)
    }

    /// Another access list holds: ends the connections whose rights have changed; returns how many (PROTOCOL, R-70).
    package func review(_ list: AccessList) -> Int {
        let publishing = broadcast.review(list)
        for peer in publishing { subscribers.remove(peer) }
        return publishing.count + [ingress, bulk, replication].reduce(0) { $0 + $1.review(list).count }
    }

    private func port(of link: AccessLink) -> ServerPort {
        switch link {
        case .ingress: ingress
        case .bulk: bulk
        case .broadcast: broadcast
        case .replication: replication
        }
    }

    // MARK: - Sending

    /// False if the peer is gone or its queue is full: the protocol repairs it.
    package func send(_ frame: [UInt8], to connection: Connection) throws -> Bool {
        guard let peer = RoutingID(connection), let outcome = try ingress.send(frame, to: peer) else { return false }
        return outcome == .sent
    }

    package func sendBulk(_ frame: [UInt8], to connection: Connection) throws -> Bool {
        guard let peer = RoutingID(connection), let outcome = try bulk.send(frame, to: peer) else { return false }
        return outcome == .sent
    }

    package func sendReplication(_ frame: [UInt8], to connection: Connection) throws -> Bool {
        guard let peer = RoutingID(connection), let outcome = try replication.send(frame, to: peer) else {
            return false
        }
        return outcome == .sent
    }

    /// Sends a frame to everybody who wants its channel; returns how many it did not reach.
    ///
    /// A subscriber that is slower than its queue misses frames and repairs them; one that is gone leaves the table.
    package func publish(_ frame: [UInt8]) throws -> UInt64 {
        guard let channel = withBytes(of: frame, { Subscription.channel(of: $0) }) else { return 0 }
        let peers = subscribers.subscribers(of: channel)
        guard !peers.isEmpty else { return 0 }
        let shared = try SharedMessage(frame)
        var dropped: UInt64 = 0
        for peer in peers {
            switch try broadcast.publish(shared, to: peer) {
            case .sent, nil: break
            case .wouldBlock: dropped += 1
            case .unroutable: subscribers.remove(peer)
            }
        }
        return dropped
    }
}
