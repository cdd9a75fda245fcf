package import Dispatch
package import LockstepCore
package import Logging
package import ZeroMQ

/// What the stores of a node share, on the node's thread: sockets, names, the end of it all.
package final class NodeServices {
    package let configuration: CheckedConfiguration
    package let loop: NodeEventLoop
    package let logger: Logger
    package let boot: BootID
    package let context: Context
    package let server = ServerSockets()
    /// The configured cluster, or the one that was learnt.
    package var cluster: ClusterID?
    package var generator = SystemRandomNumberGenerator()
    /// Where this node's sockets are bound; empty texts without them.
    package var ingressEndpoint = ""
    package var broadcastEndpoint = ""
    package var bulkEndpoint = ""
    /// Encodes, decodes and hashes snapshots.
    package let background = DispatchQueue(label: "lockstep.snapshots", qos: .utility)
    /// Why the node must stop; nil while it need not.
    package private(set) var failure: (any Error)?
    /// Whether a node took this one since the start: then a refusal may pass, and what is here is served meanwhile.
    package var wasWelcomed = false
    package let started = MonotonicClock.now

    package init(configuration: CheckedConfiguration, loop: NodeEventLoop, logger: Logger) throws {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        boot = BootID(using: &generator)
        cluster = configuration.given.cluster
        // The second thread is for bulk traffic's load; the bound counts a link, a subscription and a bulk link a store.
        do { context = try Context(ioThreads: 2, maxSockets: 4_096) } catch {
            throw LockstepError(.unavailable, "the node's context cannot be made: \(error)")
        }
    }

    package var node: String { configuration.given.node.name }

    /// The first WELCOME tells a node without a cluster which one it is in.
    package func learned(_ cluster: ClusterID) {
        guard self.cluster == nil else { return }
        self.cluster = cluster
        logger.info("cluster learnt", metadata: [LogKey.cluster: "\(cluster)"])
    }

    /// Notes why the node must stop; the first reason stays.
    package func halt(_ error: any Error) {
        guard failure == nil else { return }
        failure = error
        logger.error("halted", metadata: [LogKey.reason: "\(error)"])
    }

    /// Runs an operation on a socket; a failure that is no answer of the protocol stops the node.
    package func attempt<Value>(_ operation: () throws -> Value) -> Value? {
        do { return try operation() } catch {
            halt(LockstepError(.unavailable, "a socket failed: \(error)", underlying: error))
            return nil
        }
    }
}

/// The sockets that peers connect to; on the node's thread.
package final class ServerSockets {
    private var ingress: Socket<Router>?
    private var bulk: Socket<Router>?
    private var broadcast: Socket<XPublisher>?
    private var message = ZeroMQ.Message()

    package init() {}

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
        self.ingress = consume ingress
        self.bulk = consume bulk
        guard publishes else { return (names.0, "", names.1) }
        let broadcast = try Endpoints.broadcast(context, at: listen.advanced(by: 1))
        let name = try Self.name(broadcast, listen)
        poller.add(broadcast, as: .broadcast)
        self.broadcast = consume broadcast
        return (names.0, name, names.1)
    }

    /// What peers are told: the configured host, and the port that was bound.
    private static func name<Kind>(_ socket: borrowing Socket<Kind>, _ listen: TCPEndpoint) throws -> String {
        let bound = try TCPEndpoint(try socket.lastEndpoint, use: "the bound endpoint")
        return TCPEndpoint(host: listen.host, port: bound.port).description
    }

    package func close() {
        ingress = nil
        bulk = nil
        broadcast = nil
    }

    // MARK: - Receiving

    /// Takes everything that has arrived for the ingress; each message goes to `body`.
    package func drainIngress(_ body: (WaitingFrame, Connection) -> Void) throws -> Int {
        guard ingress != nil else { return 0 }
        var count = 0
        while let routed = try ingress?.receive(into: &message) {
            count += 1
            guard case .message(let peer) = routed, let connection = Connection(peer) else { continue }
            body(WaitingFrame(message), connection)
        }
        return count
    }

    package func drainBulk(_ body: (WaitingFrame, Connection) -> Void) throws -> Int {
        guard bulk != nil else { return 0 }
        var count = 0
        while let routed = try bulk?.receive(into: &message) {
            count += 1
            guard case .message(let peer) = routed, let connection = Connection(peer) else { continue }
            body(WaitingFrame(message), connection)
        }
        return count
    }

    /// Takes notice of subscriptions, as libzmq does only on the thread that uses the socket.
    package func drainSubscriptions() throws {
        while try broadcast?.receive(into: &message) != nil {}
    }

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

    package func publish(_ frame: [UInt8]) throws { try broadcast?.publish(frame) }
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
