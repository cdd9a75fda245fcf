package import LockstepCore
package import ZeroMQ

/// One of the sockets that peers connect to, with what is known of its connections; on the node's thread.
package final class ServerPort {
    private let link: AccessLink
    private var socket: Socket<Router>?
    private var monitor: SocketMonitor?
    private var watch: PeerWatch
    /// Who the peers are; nil of a node without keys, which lets everybody in.
    private var peers: AccessPeers?
    private var access: AccessDesk?
    private var message = ZeroMQ.Message()
    /// Handshakes that failed since the last look.
    private var failedHandshakes = 0
    /// Connections that have ended, of a port on which somebody asks for them.
    private var gone: [Connection] = []

    /// Events that one look takes from a monitor.
    private static let eventsAtOnce = 4_096

    package init(_ link: AccessLink, bounds: PeerWatch.Bounds) {
        self.link = link
        watch = PeerWatch(bounds: bounds)
    }

    /// How many connections were ended, by any rule.
    package var ended: UInt64 { watch.ended }

    /// Takes a socket that is bound, and is polled as `token`.
    package func open(
        _ socket: consuming Socket<Router>, as token: LoopToken, poller: Poller<LoopToken>, access: AccessDesk?
    ) throws {
        poller.add(socket, as: token)
        monitor = try SocketMonitor(socket)
        self.socket = consume socket
        self.access = access
        peers = access == nil ? nil : AccessPeers()
    }

    package func close() {
        monitor = nil
        socket = nil
        access = nil
    }

    // MARK: - Receiving

    /// Takes what has arrived, until a moment; each message goes to `body`, and the connection ends if that says no.
    ///
    /// A flood may come faster than it is taken; so there is an end, and the peers' watch.
    package func drain(until end: Tick, _ body: (WaitingFrame, Connection) -> Bool) throws -> Int {
        try drainMessages(until: end) { message, _, connection in body(WaitingFrame(message), connection) }.taken
    }

    /// The same for a body that copies nothing.
    ///
    /// Returns how many messages were taken, and how many of them were not of one frame, or of nobody who has a handle.
    package func drainMessages(
        until end: Tick, _ body: (ZeroMQ.Message, RoutingID, Connection) throws -> Bool
    ) throws -> (taken: Int, malformed: UInt64) {
        var count = 0
        var malformed: UInt64 = 0
        while let routed = try socket?.receive(into: &message) {
            count += 1
            if case .message(let peer) = routed, let connection = Connection(peer) {
                if try isAdmitted(peer, connection), try !body(message, peer, connection) { watch.end(peer) }
                if count % 256 == 0 { watch.look(at: peer) }
            } else {
                malformed += 1
            }
            if count % 256 == 0, MonotonicClock.now >= end { break }
        }
        return (count, malformed)
    }

    /// Whether the message at hand is of somebody who may be here.
    private func isAdmitted(_ peer: RoutingID, _ connection: Connection) throws -> Bool {
        guard let access else { return watch.taken(message, from: peer) }
        guard peers?[connection] == nil else { return watch.taken(message, from: peer) }
        let now = MonotonicClock.now
        // The event of the connection's beginning comes before its first message: then it can be ended, too.
        try readEvents(now: now)
        guard watch.taken(message, from: peer) else { return false }
        // Of the payload, in which libzmq 4.3.4 never loses it. A key that was withdrawn since the handshake ends here.
        let address = message.property(.peerAddress) ?? ""
        let key = message.property(.peerKey).flatMap { CurvePublicKey(z85: $0) }
        let meeting = key.flatMap { peers?.met(connection, key: $0, address: address, list: access.list) }
        switch meeting {
        case .known?: return true
        case .tooMany(let known, let most)?:
            access.denied(AccessDoor.connectionDenial(known.principal, most: most), known, now: now)
        case .stranger?, nil: access.withdrawn(key, address: address, now: now)
        }
        watch.end(peer)
        return false
    }

    // MARK: - Peers

    /// Who is at the other end of a connection; nil of a node without keys, and of one that has been given up.
    package func peer(_ connection: Connection) -> AccessPeer? { peers?[connection] }

    /// A HELLO was let through.
    package func greeted(_ connection: Connection, store: String, nonce: UInt64) {
        peers?.greeted(connection, store: store, nonce: nonce)
    }

    /// Another access list holds: ends the connections whose rights have changed, and returns them.
    package func review(_ list: AccessList) -> [RoutingID] {
        let changed = (peers?.reviewed(by: list) ?? []).compactMap { RoutingID($0) }
        for peer in changed { watch.end(peer) }
        return changed
    }

    /// Ten times a second: takes notice of connections that came and went, and ends those that cost too much.
    package func look(now: Tick) throws {
        try readEvents(now: now)
        watch.look(now: now)
        peers?.forget(now: now)
        access?.handshakesFailed(failedHandshakes, now: now)
        failedHandshakes = 0
    }

    private func readEvents(now: Tick) throws {
        for _ in 0..<Self.eventsAtOnce {
            guard let event = try monitor?.next() else { break }
            watch.happened(event, now: now)
            switch event.kind {
            case .handshakeFailed, .handshakeBroken: failedHandshakes += 1
            default: break
            }
        }
        for connection in watch.takeGone().compactMap(Connection.init) {
            peers?.left(connection, now: now)
            if link == .replication { gone.append(connection) }
        }
    }

    /// Connections that have ended since the last call; only of the port for data nodes.
    package func takeGone() -> [Connection] {
        defer { gone = [] }
        return gone
    }

    // MARK: - Sending

    /// Nil if there is no socket, or the peer may not be told anything.
    package func send(_ frame: [UInt8], to peer: RoutingID) throws -> SendOutcome? {
        guard mayBeTold(peer) else { return nil }
        return try socket?.send(frame, to: peer)
    }

    /// To a subscriber, which the table of subscribers has only while it may be told.
    package func publish(_ frame: borrowing SharedMessage, to peer: RoutingID) throws -> SendOutcome? {
        try socket?.send(frame, to: peer)
    }

    private func mayBeTold(_ peer: RoutingID) -> Bool {
        guard let peers else { return true }
        return Connection(peer).map { peers[$0] != nil } ?? false
    }
}

extension Connection {
    /// The handle of a peer: its routing id of at most 7 bytes, below the number of those bytes.
    ///
    /// libzmq's own ids have 5 bytes. A peer that gave itself a longer one gets no handle, so its frames are dropped.
    package init?(_ id: RoutingID) {
        let bytes = id.bytes
        guard bytes.count <= 7 else { return nil }
        var value = UInt64(bytes.count) << 56
        for (place, byte) in bytes.enumerated() { value |= UInt64(byte) << (8 * UInt64(place)) }
        self.init(rawValue: value)
    }
}

extension RoutingID {
    package init?(_ connection: Connection) {
        let count = connection.rawValue >> 56
        self.init((0..<count).map { UInt8(truncatingIfNeeded: connection.rawValue >> (8 * $0)) })
    }
}
