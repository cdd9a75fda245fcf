internal import LockstepCore
package import ZeroMQ

/// The one place that makes sockets, so that none lacks an option that it needs (PROTOCOL, section 10).
///
/// A socket has either keys or none: with keys it talks only to who has keys, and a socket that listens asks the context's
/// ZAP handler about each peer.
///
/// Receiving is unlimited on every socket, because libzmq aborts the process when a peer pings after it has filled a
/// receive queue; the node drains its sockets each turn into rings of its own, which are bounded.
package enum Endpoints {
    /// ROUTER of clients and replicas.
    package static func ingress(
        _ context: Context, at endpoint: TCPEndpoint, keys: CurveKeyPair?
    ) throws -> Socket<Router> {
        var options = listening(at: endpoint, as: .ingress, keys: keys)
        options[.sendHighWaterMark] = 2 * Limits.creditActions
        options[.backlog] = 1_024
        return try bound(Socket<Router>(in: context, options: options), to: endpoint)
    }

    /// ROUTER of joins and repairs.
    package static func bulk(
        _ context: Context, at endpoint: TCPEndpoint, keys: CurveKeyPair?
    ) throws -> Socket<Router> {
        var options = listening(at: endpoint, as: .bulk, keys: keys)
        options[.sendHighWaterMark] = 64
        options[.sendBufferSize] = 1 << 20
        options[.backlog] = 1_024
        return try bound(Socket<Router>(in: context, options: options), to: endpoint)
    }

    /// ROUTER of committed batches: a subscriber that is slower than its queue misses frames and repairs them.
    ///
    /// No XPUB: that keeps whatever a peer subscribes to, and reads it without end inside of a send (PROTOCOL, R-39).
    package static func broadcast(
        _ context: Context, at endpoint: TCPEndpoint, keys: CurveKeyPair?
    ) throws -> Socket<Router> {
        var options = listening(at: endpoint, as: .broadcast, keys: keys)
        options[.sendHighWaterMark] = 1_024
        // Subscribers send five bytes; a handshake takes some hundred, also with keys.
        options[.maxMessageSize] = Limits.subscriptionMessageBytes
        options[.backlog] = 1_024
        return try bound(Socket<Router>(in: context, options: options), to: endpoint)
    }

    /// ROUTER of the other data nodes: the streams of the stores whose primary this node is.
    package static func replication(
        _ context: Context, at endpoint: TCPEndpoint, keys: CurveKeyPair?
    ) throws -> Socket<Router> {
        var options = listening(at: endpoint, as: .replication, keys: keys)
        // A stream has a bound of bytes, of which small batches make many frames.
        options[.sendHighWaterMark] = 16_384
        options[.sendBufferSize] = 1 << 20
        options[.backlog] = 1_024
        return try bound(Socket<Router>(in: context, options: options), to: endpoint)
    }

    /// DEALER to another data node's socket for streams; `prepare` sees the socket before it connects.
    package static func replicationLink(
        _ context: Context, to endpoint: String, keys: DialKeys?, prepare: (borrowing Socket<Dealer>) throws -> Void
    ) throws -> Socket<Dealer> {
        var options = connecting(isIPv6: endpoint.contains("["), keys: keys)
        options[.sendHighWaterMark] = 1_024
        options[.receiveBufferSize] = 1 << 20
        options[.immediate] = true
        let socket = try Socket<Dealer>(in: context, options: options)
        try prepare(socket)
        return try connected(socket, to: endpoint)
    }

    /// DEALER to a primary's ingress; `prepare` sees the socket before it connects.
    package static func link(
        _ context: Context, to endpoint: String, keys: DialKeys? = nil,
        prepare: (borrowing Socket<Dealer>) throws -> Void = { _ in }
    ) throws -> Socket<Dealer> {
        var options = connecting(isIPv6: endpoint.contains("["), keys: keys)
        options[.sendHighWaterMark] = 2 * Limits.creditActions
        // Nothing is queued for a peer that is not there, to reach it when it is long stale.
        options[.immediate] = true
        let socket = try Socket<Dealer>(in: context, options: options)
        try prepare(socket)
        return try connected(socket, to: endpoint)
    }

    /// DEALER to a node's bulk socket.
    package static func bulkLink(
        _ context: Context, to endpoint: String, keys: DialKeys? = nil
    ) throws -> Socket<Dealer> {
        var options = connecting(isIPv6: endpoint.contains("["), keys: keys)
        options[.sendHighWaterMark] = 64
        options[.receiveBufferSize] = 1 << 20
        options[.immediate] = true
        return try connected(Socket<Dealer>(in: context, options: options), to: endpoint)
    }

    /// DEALER to a primary's broadcast.
    package static func subscription(
        _ context: Context, to endpoint: String, keys: DialKeys? = nil
    ) throws -> Socket<Dealer> {
        var options = connecting(isIPv6: endpoint.contains("["), keys: keys)
        // The first wish waits for the connection; those that find it waiting are not needed.
        options[.sendHighWaterMark] = 2
        return try connected(Socket<Dealer>(in: context, options: options), to: endpoint)
    }

    /// ROUTER of the administration, on a path that only the owner reaches.
    package static func administration(_ context: Context, at path: String) throws -> Socket<Router> {
        var options = SocketOptions()
        options[.maxMessageSize] = 1 << 20
        options[.sendHighWaterMark] = 64
        options[.handshakeTimeout] = .seconds(4)
        var socket = try Socket<Router>(in: context, options: options)
        do throws(ZMQError) { try socket.bind(to: "ipc://\(path)") } catch { throw refusal(error) }
        return socket
    }

    /// DEALER to the administration of a running node.
    package static func administrationLink(_ context: Context, at path: String) throws -> Socket<Dealer> {
        var options = SocketOptions()
        options[.maxMessageSize] = Limits.messageBytes
        options[.sendHighWaterMark] = 64
        options[.immediate] = false
        return try connected(Socket<Dealer>(in: context, options: options), to: "ipc://\(path)")
    }

    /// DEALER of somebody who asks a node elsewhere for its status.
    package static func statusLink(
        _ context: Context, to endpoint: TCPEndpoint, keys: DialKeys? = nil
    ) throws -> Socket<Dealer> {
        var options = connecting(isIPv6: endpoint.isIPv6, keys: keys)
        options[.sendHighWaterMark] = 1
        return try connected(Socket<Dealer>(in: context, options: options), to: endpoint.description)
    }

    /// What every TCP socket that is bound has; with keys the ZAP handler is asked under the link's name.
    private static func listening(
        at endpoint: TCPEndpoint, as link: AccessLink, keys: CurveKeyPair?
    ) -> SocketOptions {
        var options = network(isIPv6: endpoint.isIPv6)
        guard let keys else { return options }
        options.serveCurve(keys)
        options[.zapDomain] = link.rawValue
        // Without a handler nobody gets in, instead of everybody.
        options[.zapEnforceDomain] = true
        return options
    }

    /// What every TCP socket that connects has.
    private static func connecting(isIPv6: Bool, keys: DialKeys?) -> SocketOptions {
        var options = network(isIPv6: isIPv6)
        if let keys { options.useCurve(keys.own, serverKey: keys.server) }
        return options
    }

    /// What every TCP socket has.
    private static func network(isIPv6: Bool) -> SocketOptions {
        var options = SocketOptions()
        options[.maxMessageSize] = Limits.messageBytes
        options[.handshakeTimeout] = .seconds(4)
        options[.reconnectInterval] = .milliseconds(50)
        options[.reconnectIntervalMax] = .seconds(1)
        options[.connectTimeout] = .seconds(1)
        options[.tcpKeepAlive] = true
        options[.tcpKeepAliveIdle] = .seconds(5)
        options[.tcpKeepAliveInterval] = .seconds(2)
        options[.tcpKeepAliveCount] = 3
        options[.tcpRetransmissionTimeout] = .seconds(5)
        if isIPv6 { options[.ipv6] = true }
        return options
    }

    private static func bound<Kind>(_ socket: consuming Socket<Kind>, to endpoint: TCPEndpoint) throws -> Socket<Kind> {
        var socket = socket
        do throws(ZMQError) { try socket.bind(to: endpoint.description) } catch { throw refusal(error) }
        return socket
    }

    private static func connected<Kind>(_ socket: consuming Socket<Kind>, to endpoint: String) throws -> Socket<Kind> {
        var socket = socket
        do throws(ZMQError) { try socket.connect(to: endpoint) } catch { throw refusal(error) }
        return socket
    }

    /// The user's error for what libzmq refuses at start.
    private static func refusal(_ error: ZMQError) -> LockstepError {
        let place = error.endpoint ?? "its endpoint"
        switch error.code {
        case .addressInUse:
            return LockstepError(
                .addressInUse, "\(place) is in use: another process listens there; stop it or choose another port")
        case .addressNotAvailable:
            return LockstepError(
                .invalidConfiguration, "\(place) names an address that this host does not have: \(error)",
                underlying: error)
        default:
            return LockstepError(.invalidConfiguration, "the socket cannot be set up: \(error)")
        }
    }
}
