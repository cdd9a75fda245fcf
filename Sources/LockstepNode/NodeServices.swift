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
    package let server: ServerSockets
    /// Who may talk to this node; nil without keys, and of a node that listens nowhere.
    package private(set) var access: AccessDesk?
    /// The access list of a node with keys; one that listens nowhere has it for the keys of others.
    private(set) var book: AccessBook?
    /// The configured cluster, or the one that was learnt.
    package var cluster: ClusterID?
    package var generator = SystemRandomNumberGenerator()
    /// Where this node's sockets are bound; empty texts without them.
    package var ingressEndpoint = ""
    package var broadcastEndpoint = ""
    package var bulkEndpoint = ""
    /// Of a data node: who keeps the records, and the connections to other data nodes.
    package private(set) var arbiter: ArbiterDesk?
    package private(set) var peers: PeerLinks?
    /// What the primaries of other data nodes say of their clocks.
    package var heardClock = HeardClock()
    /// Whether the arbiter answers; of no use without one.
    package var arbiterWatch: ArbiterWatch
    /// Encodes, decodes and hashes snapshots.
    package let background = DispatchQueue(label: "lockstep.snapshots", qos: .utility)
    /// Why the node must stop; nil while it need not.
    package private(set) var failure: (any Error)?
    /// Whether a node took this one since the start: then a refusal may pass, and what is here is served meanwhile.
    package var wasWelcomed = false
    /// How many stores this node has, and which of them the node that was asked does not have, of those that nobody has
    /// welcomed since the start.
    package var storeCount = 0
    package var unknownStores: Set<String> = []
    package let started = MonotonicClock.now

    package init(configuration: CheckedConfiguration, loop: NodeEventLoop, logger: Logger) throws {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        server = ServerSockets(connections: configuration.connectionsOfPort)
        boot = BootID(using: &generator)
        arbiterWatch = ArbiterWatch(began: started)
        cluster = configuration.given.cluster
        // The second thread is for bulk traffic's load; the bound counts a link with its monitor, a subscription and a
        // bulk link a store.
        do { context = try Context(ioThreads: 2, maxSockets: 8_192) } catch {
            throw LockstepError(.unavailable, "the node's context cannot be made: \(error)")
        }
    }

    /// Makes it a data node.
    package func becomeDataNode() {
        arbiter = ArbiterDesk()
        peers = PeerLinks(context: context)
    }

    /// The port for other data nodes comes so far after a node's first one.
    package static let replicationOffset: UInt16 = 3

    /// Another access list holds: ends the connections to data nodes whose key it does not have; returns how many.
    func reviewPeers() -> Int {
        peers?.withdraw { endpoint in
            guard let port = try? TCPEndpoint(endpoint, use: "a data node's address") else { return nil }
            return dialing(TCPEndpoint(host: port.host, port: port.port - Self.replicationOffset).description)
        } ?? 0
    }

    /// Who the arbiter says is there: connections to the others stand before they are needed.
    package func listed(_ nodes: [NodeAddress]) {
        for address in nodes where address.node.name != node && address.halt == nil {
            guard let endpoint = address.endpoints.first else { continue }
            connectReplication(to: address.node, at: endpoint, anew: false)
        }
    }

    /// Connects to the port for data nodes of the node that listens at `endpoint`.
    ///
    /// An address is a hint of others: one that leads nowhere ends nothing here.
    package func connectReplication(to node: NodeID, at endpoint: String, anew: Bool) {
        guard let peers, let ingress = try? TCPEndpoint(endpoint, use: "a data node's address"),
            ingress.port <= UInt16.max - Self.replicationOffset
        else { return }
        do {
            try peers.connect(
                to: node, at: ingress.advanced(by: Self.replicationOffset).description, keys: dialing(endpoint),
                anew: anew, now: MonotonicClock.now, poller: loop.poller)
        } catch {
            logger.debug(
                "a data node cannot be connected to",
                metadata: [LogKey.peer: "\(node)", LogKey.endpoint: "\(endpoint)", LogKey.reason: "\(error)"])
        }
    }

    package var node: String { configuration.given.node.name }

    /// Reads the access list, and sees to it that nobody gets in who is not in it; comes before any socket is bound.
    package func openAccess() throws {
        let keys = configuration.given.keys
        AccessMetrics.show(isPlaintext: configuration.isPlaintext)
        if configuration.isPlaintext {
            logger.warning(
                "no keys: whoever reaches this node's network can read and change everything",
                metadata: [LogKey.reason: "allowsPlaintext"])
        }
        if let warning = Self.libraryWarning(ZMQ.version), configuration.listen != nil || keys != nil {
            logger.warning("this libzmq has known defects", metadata: [LogKey.reason: "\(warning)"])
        }
        guard let keys, let file = keys.access else { return }
        let book = try AccessBook(file, logger: logger) { [signaller = loop.signaller] in signaller.signal() }
        self.book = book
        let upstreams = configuration.upstreams.map(\.description)
        if upstreams.count > 1, let unknown = upstreams.first(where: { dialing($0)?.isEmpty ?? false }) {
            throw LockstepError(
                .invalidConfiguration,
                "no public key of \(unknown) is known: add its address to the access list, or leave it out")
        }
        guard configuration.listen != nil else { return }
        let desk = try AccessDesk(keys, book, in: context, logger: logger)
        try desk.testSelf(in: context)
        desk.join(loop.poller)
        access = desk
    }

    /// What is wrong with a version of libzmq for a node on a network; nil if nothing is known.
    ///
    /// CVE-2020-15166, CVE-2021-20234 to 20237 and CVE-2020-36400 are mended in 4.3.3 and 4.3.4.
    package static func libraryWarning(_ version: ZMQ.Version) -> String? {
        guard version < ZMQ.Version(4, 3, 4) else { return nil }
        return "libzmq \(version): whoever reaches a port may stop the node or worse; install 4.3.4 or newer"
    }

    package func closeAccess() {
        access?.close()
        access = nil
    }

    /// With what to connect to a node's ingress: nil without keys; empty if no key of that node is known.
    package func dialing(_ endpoint: String) -> [DialKeys]? {
        configuration.given.keys?.dialing(endpoint, list: book?.list)
    }

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
