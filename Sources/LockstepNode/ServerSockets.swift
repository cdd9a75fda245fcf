package import LockstepCore
package import ZeroMQ

/// The sockets that peers connect to; on the node's thread.
package final class ServerSockets {
    private var ingress: Socket<Router>?
    private var bulk: Socket<Router>?
    private var broadcast: Socket<Router>?
    private var ingressMonitor: SocketMonitor?
    private var bulkMonitor: SocketMonitor?
    private var broadcastMonitor: SocketMonitor?
    private var ingressWatch: PeerWatch
    private var bulkWatch: PeerWatch
    private var broadcastWatch: PeerWatch
    private var message = ZeroMQ.Message()
    private var subscribers = SubscriberTable()
    private var nextLook = Tick.zero

    /// Events that one look takes from a monitor.
    private static let eventsAtOnce = 4_096

    /// Makes none yet; one port takes so many connections.
    package init(connections: Int = 4_096) {
        let bounds = PeerWatch.Bounds(connections: connections)
        ingressWatch = PeerWatch(bounds: bounds)
        bulkWatch = PeerWatch(bounds: bounds)
        broadcastWatch = PeerWatch(bounds: bounds)
    }

    /// Binds the ports that follow from `listen`; returns the endpoints, wildcards of ports resolved.
    ///
    /// A replica has no broadcast of its own.
    package func bind(
        _ listen: TCPEndpoint, in context: Context, publishes: Bool, poller: Poller<LoopToken>
    ) throws -> (ingress: String, broadcast: String, bulk: String) {
        let ingress = try Endpoints.ingress(context, at: listen)
        let bulk = try Endpoints.bulk(context, at: listen.advanced(by: 2))
        let names = (try Self.name(ingress, listen), try Self.name(bulk, listen))
        poller.add(ingress, as: .ingress)
        poller.add(bulk, as: .bulk)
        ingressMonitor = try SocketMonitor(ingress)
        bulkMonitor = try SocketMonitor(bulk)
        self.ingress = consume ingress
        self.bulk = consume bulk
        guard publishes else { return (names.0, "", names.1) }
        let broadcast = try Endpoints.broadcast(context, at: listen.advanced(by: 1))
        let name = try Self.name(broadcast, listen)
        poller.add(broadcast, as: .broadcast)
        broadcastMonitor = try SocketMonitor(broadcast)
        self.broadcast = consume broadcast
        return (names.0, name, names.1)
    }

    /// What peers are told: the configured host, and the port that was bound.
    private static func name<Kind>(_ socket: borrowing Socket<Kind>, _ listen: TCPEndpoint) throws -> String {
        let bound = try TCPEndpoint(try socket.lastEndpoint, use: "the bound endpoint")
        return TCPEndpoint(host: listen.host, port: bound.port).description
    }

    package func close() {
        ingressMonitor = nil
        bulkMonitor = nil
        broadcastMonitor = nil
        ingress = nil
        bulk = nil
        broadcast = nil
    }

    // MARK: - Receiving

    /// Takes what has arrived for the ingress, until a moment; each message goes to `body`, and the connection ends if
    /// that says no.
    ///
    /// A flood may come faster than it is taken; so there is an end, and the peers' watch.
    package func drainIngress(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        var count = 0
        while let routed = try ingress?.receive(into: &message) {
            count += 1
            if case .message(let peer) = routed, let connection = Connection(peer) {
                if ingressWatch.taken(message, from: peer), !body(WaitingFrame(message), connection) {
                    ingressWatch.end(peer)
                }
                if count % 256 == 0 { ingressWatch.look(at: peer) }
            }
            if count % 256 == 0, MonotonicClock.now >= end { break }
        }
        return count
    }

    /// Takes what has arrived for the bulk socket; see ``drainIngress(until:_:)``.
    package func drainBulk(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        var count = 0
        while let routed = try bulk?.receive(into: &message) {
            count += 1
            if case .message(let peer) = routed, let connection = Connection(peer) {
                if bulkWatch.taken(message, from: peer), !body(WaitingFrame(message), connection) {
                    bulkWatch.end(peer)
                }
                if count % 256 == 0 { bulkWatch.look(at: peer) }
            }
            if count % 256 == 0, MonotonicClock.now >= end { break }
        }
        return count
    }

    /// Takes the wishes of subscribers; whoever says anything else, or says it too often, is disconnected (PROTOCOL,
    ///
    ///
    /// Returns how many messages were taken, and how many of them were in vain.
    package func drainSubscriptions(until end: Tick, now: Tick) throws -> (taken: Int, refused: UInt64) {
        var taken = 0
        var refused: UInt64 = 0
        while let routed = try broadcast?.receive(into: &message) {
            taken += 1
            if taken % 256 == 0, MonotonicClock.now >= end { break }
            guard case .message(let peer) = routed, Connection(peer) != nil else {
                refused += 1
                continue
            }
            guard broadcastWatch.taken(message, from: peer) else { continue }
            guard let wish = message.withBytes({ Subscription($0) }) else {
                refused += 1
                broadcastWatch.end(peer)
                continue
            }
            switch subscribers.subscribe(
                peer, to: wish.channel, from: { message.property(.peerAddress) ?? "" }, now: now)
            {
            case .added, .renewed: break
            case .refused: refused += 1
            case .tooOften:
                refused += 1
                broadcastWatch.end(peer)
            }
        }
        return (taken, refused)
    }

    /// Ten times a second: takes notice of connections that came and went, and ends those that cost too much;
    /// returns how many were ended since the start.
    package func look(now: Tick) throws -> UInt64 {
        guard now >= nextLook else { return ended }
        nextLook = now.advanced(byMilliseconds: 100)
        for _ in 0..<Self.eventsAtOnce {
            guard let event = try ingressMonitor?.next() else { break }
            ingressWatch.happened(event, now: now)
        }
        for _ in 0..<Self.eventsAtOnce {
            guard let event = try bulkMonitor?.next() else { break }
            bulkWatch.happened(event, now: now)
        }
        for _ in 0..<Self.eventsAtOnce {
            guard let event = try broadcastMonitor?.next() else { break }
            broadcastWatch.happened(event, now: now)
        }
        ingressWatch.look(now: now)
        bulkWatch.look(now: now)
        broadcastWatch.look(now: now)
        subscribers.expire(now: now)
        return ended
    }

    private var ended: UInt64 { ingressWatch.ended + bulkWatch.ended + broadcastWatch.ended }

    /// How many connections get a channel.
    package var subscriberCount: Int { subscribers.count }

    // MARK: - Sending

    /// False if the peer is gone or its queue is full: the protocol repairs it.
    package func send(_ frame: [UInt8], to connection: Connection) throws -> Bool {
        guard let peer = RoutingID(connection), let outcome = try ingress?.send(frame, to: peer) else { return false }
        return outcome == .sent
    }

    package func sendBulk(_ frame: [UInt8], to connection: Connection) throws -> Bool {
        guard let peer = RoutingID(connection), let outcome = try bulk?.send(frame, to: peer) else { return false }
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
            switch try broadcast?.send(shared, to: peer) {
            case .sent, nil: break
            case .wouldBlock: dropped += 1
            case .unroutable: subscribers.remove(peer)
            }
        }
        return dropped
    }
}

extension Connection {
    /// The handle of a peer: its routing id of at most 7 bytes, below the number of those bytes.
    ///
    /// libzmq's own ids have 5 bytes. A peer that gave itself a longer one gets no handle, so its frames are dropped.
    fileprivate init?(_ id: RoutingID) {
        let bytes = id.bytes
        guard bytes.count <= 7 else { return nil }
        var value = UInt64(bytes.count) << 56
        for (place, byte) in bytes.enumerated() { value |= UInt64(byte) << (8 * UInt64(place)) }
        self.init(rawValue: value)
    }
}

extension RoutingID {
    fileprivate init?(_ connection: Connection) {
        let count = connection.rawValue >> 56
        self.init((0..<count).map { UInt8(truncatingIfNeeded: connection.rawValue >> (8 * $0)) })
    }
}
