internal import Foundation
public import LockstepCore

/// What a node is, and with whom it talks.
///
///     let primary = NodeConfiguration.primary(listen: "tcp://127.0.0.1:7400", journal: .memory)
///     var replica = NodeConfiguration.replica(of: "tcp://127.0.0.1:7400")
///     replica.node = NodeID("replica-1")!
///
/// A value. It is checked as a whole when a ``Node`` is made of it; each refusal is one line that says what to change.
public struct NodeConfiguration: Sendable {
    /// The node's name in logs, in status and at its peers; by default the host's name and a random suffix.
    ///
    /// A replica or data node with ``keys`` needs the name that its keys have in the access lists of the others, and a
    /// data node the one with which its journals were made.
    public var node: NodeID { didSet { hasDefaultName = false } }
    private(set) var hasDefaultName = true
    /// The cluster that the node belongs to.
    ///
    /// A replica or client without one takes that of its primary, for the life of the process; a primary, and a replica
    /// whose journal has entries, takes its journal's. A replica's empty journal takes its primary's. Nodes of two
    /// clusters do not talk: ``Node/run()`` of one that was never welcomed ends with an error that names both.
    public var cluster: ClusterID?
    /// Where the running node can be asked for its status: a folder of this user alone (mode 0700), which is made if it
    /// is missing.
    ///
    /// One node a folder. `nil`, the default: the node cannot be asked.
    public var administrationFolder: String?
    /// The node's keys; with them its network is encrypted, and it talks to nobody whom it does not know.
    ///
    /// A node that listens needs ``NodeKeys/access``. `nil`, the default: no keys, and loopback addresses only, unless
    /// ``allowsPlaintext`` says otherwise.
    public var keys: NodeKeys?
    /// Allows plain text between hosts.
    ///
    /// Without it, and without ``keys``, only loopback addresses are taken, because anybody who reaches an open port may
    /// read and write everything. With keys it changes nothing.
    public var allowsPlaintext = false
    /// Waits, as long as this host does not have the address to listen at, and tries again each second; the wait is
    /// logged.
    ///
    /// For addresses that come after the program, such as a tunnel's. Without it, the default, ``Node/run()`` fails with
    /// the code `invalidConfiguration`.
    public var waitsForAddress = false
    /// How long the primary keeps this node's session when it hears nothing of it: 1 s to 7 days, by default 10 min.
    public var sessionTimeToLive: Duration = .seconds(600)
    /// Starts a primary although its clock is more than 7 days ahead of, or 1 h behind, the last log time.
    public var acceptsClock = false
    /// How long a primary that starts waits for the replicas that it last had before it admits: 0 to 10 min, by default 5 s.
    ///
    /// Each of them tells what it knows, and a primary whose journal is an old copy stops then, before it acknowledges
    /// anything (PRIMARY_BEHIND). It ends as soon as all of them have spoken, after a fraction of a second where they
    /// run. With 0 it does not wait: an old copy may then acknowledge actions that are given up later.
    public var audienceTimeout: Duration = .seconds(5)
    /// Starts a primary without running the accepted actions that its former boot left, without feedback and without
    /// sources, so that an operator can look and end what does harm; new actions have their effects.
    public var holdsEffects = false
    /// How large the batches after a journal's newest snapshot may become before the next is taken, in bytes.
    ///
    /// At least 1 MiB, by default 64 MiB. Four times the newest snapshot counts instead, if that is more. A start reads
    /// the newest snapshot and every batch after it, at some 100 MB a second. A snapshot costs the encoding of the
    /// whole state, beside the node's work, and its bytes on disk.
    public var snapshotAfterBytes = 64 << 20
    /// Serves a journal of the other role; by default a journal keeps its role.
    ///
    /// A journal notes the role in which it is served, and a node refuses one of the other role with the code
    /// `wrongRole`, since a forgotten address must not make a second primary. With `true` the journal takes this node's
    /// role. As a primary: the primary before must never come back, and what this journal does not have is lost. As a
    /// replica: if its new primary lacks what the journal has, it says AHEAD and follows nobody.
    public var changesRole = false
    package var role: Role

    package enum Role: Sendable {
        case primary(listen: String?, journal: JournalSource)
        case replica(of: [String], listen: String?, journal: JournalSource?)
        case client(of: [String])
        case data(listen: String, journal: JournalSource, arbiter: ArbiterSource)

        /// Whether a node of the role has a port for the broadcast.
        var publishes: Bool {
            switch self {
            case .primary, .data: true
            case .replica, .client: false
            }
        }

        /// Whether others take the node only under the name of its keys, since it tells them what it has of the log.
        var isGreetedByName: Bool {
            switch self {
            case .replica, .data: true
            case .primary, .client: false
            }
        }
    }

    package init(role: Role) {
        self.role = role
        node = Self.defaultNode()
    }

    /// The one node that writes the log.
    ///
    /// - Parameters:
    ///   - listen: `tcp://HOST:PORT`; the node takes this port and the two after it. `nil`: no network.
    ///   - journal: Where the log is kept; ``JournalSource/memory`` keeps nothing beyond the process.
    /// - Returns: A primary's configuration, with defaults for the rest.
    public static func primary(listen: String?, journal: JournalSource) -> NodeConfiguration {
        NodeConfiguration(role: .primary(listen: listen, journal: journal))
    }

    /// A node that holds the same state as its primary, and passes actions on to it.
    ///
    /// - Parameters:
    ///   - primary: The primary's `tcp://HOST:PORT`.
    ///   - listen: Where this node answers reads and helps others to join; `nil`, the default: nowhere.
    ///   - journal: Keeps what was applied, so that a restart needs no snapshot; `nil`, the default: none.
    /// - Returns: A replica's configuration, with defaults for the rest.
    public static func replica(
        of primary: String, listen: String? = nil, journal: JournalSource? = nil
    ) -> NodeConfiguration {
        replica(of: [primary], listen: listen, journal: journal)
    }

    /// A node that holds the same state as its primary, wherever that is, and passes actions on to it.
    ///
    /// It asks the nodes one after the other until one of them is the primary or names it, and again when the primary
    /// is gone.
    ///
    /// - Parameters:
    ///   - nodes: 1 to 16 different addresses `tcp://HOST:PORT` of nodes that may be the primary, or know it.
    ///   - listen: Where this node answers reads and helps others to join; `nil`, the default: nowhere.
    ///   - journal: Keeps what was applied, so that a restart needs no snapshot; `nil`, the default: none.
    /// - Returns: A replica's configuration, with defaults for the rest.
    public static func replica(
        of nodes: [String], listen: String? = nil, journal: JournalSource? = nil
    ) -> NodeConfiguration {
        NodeConfiguration(role: .replica(of: nodes, listen: listen, journal: journal))
    }

    /// A node without state: it sends actions and asks questions.
    ///
    /// - Parameter node: The `tcp://HOST:PORT` of a primary, or of a replica, which passes actions on.
    /// - Returns: A client's configuration, with defaults for the rest.
    public static func client(of node: String) -> NodeConfiguration { client(of: [node]) }

    /// A node without state that knows several nodes: it sends actions to whichever of them is the primary.
    ///
    /// It asks them one after the other until one of them is the primary or names it, and again when the primary is
    /// gone; its sessions go on there. Reads may be answered by any of them.
    ///
    /// - Parameter nodes: 1 to 16 different addresses `tcp://HOST:PORT`.
    /// - Returns: A client's configuration, with defaults for the rest.
    public static func client(of nodes: [String]) -> NodeConfiguration {
        NodeConfiguration(role: .client(of: nodes))
    }

    /// A node that may become the primary of its stores, as the arbiter has it (PROTOCOL, R-75).
    ///
    /// Its journals are marked as arbitrated, and the arbiter has a record of each store.
    ///
    /// - Parameters:
    ///   - listen: `tcp://HOST:PORT` of an address that the others reach; the node takes this port and the three after it.
    ///   - journal: Where the log is kept.
    ///   - arbiter: Keeps the records of the cluster.
    /// - Returns: A data node's configuration, with defaults for the rest.
    package static func dataNode(
        listen: String, journal: JournalSource, arbiter: any Arbiter
    ) -> NodeConfiguration {
        NodeConfiguration(role: .data(listen: listen, journal: journal, arbiter: ArbiterSource(arbiter)))
    }

    /// A primary without network, for tests, previews and programs of one process.
    ///
    /// - Parameter journal: By default in memory.
    /// - Returns: A local primary's configuration, with defaults for the rest.
    public static func local(journal: JournalSource = .memory) -> NodeConfiguration {
        NodeConfiguration(role: .primary(listen: nil, journal: journal))
    }

    /// The host's name, as far as a node's name may hold it, and six random digits.
    private static func defaultNode() -> NodeID {
        let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
        let suffix = String(UInt32.random(in: 0..<0x100_0000), radix: 16)
        return NodeID("\(host.prefix(48))-\(suffix)") ?? NodeID("node-\(suffix)") ?? NodeID.unnamed
    }
}

extension NodeID {
    /// Stands where no better name can be made.
    fileprivate static let unnamed: NodeID = {
        guard let node = NodeID("node") else { preconditionFailure("\"node\" is a valid name") }
        return node
    }()
}

/// A configuration whose parts were checked, alone and together.
package struct CheckedConfiguration: Sendable {
    package var given: NodeConfiguration
    package var listen: TCPEndpoint?
    /// Where a replica or client looks for its primary's ingress, in this order; empty for other nodes.
    package var upstreams: [TCPEndpoint] = []

    package init(_ given: NodeConfiguration) throws {
        Limits.check()
        self.given = given
        // With keys, or where it is said in so many words, a network may lie between.
        let isOpen = given.keys != nil || given.allowsPlaintext
        switch given.role {
        case .primary(let listen, _):
            self.listen = try listen.map { try Self.listening($0, isOpen: isOpen) }
        case .replica(let nodes, let listen, _):
            upstreams = try Self.connecting(nodes, isOpen: isOpen)
            self.listen = try listen.map { try Self.listening($0, isOpen: isOpen) }
        case .data(let listen, _, let arbiter):
            try arbiter.check()
            let endpoint = try Self.listening(listen, isOpen: isOpen)
            guard !endpoint.isWildcard else {
                throw LockstepError(
                    .invalidConfiguration,
                    "\(endpoint) is no address that other nodes reach: name the one at which this data node listens")
            }
            self.listen = endpoint
        case .client(let nodes):
            upstreams = try Self.connecting(nodes, isOpen: isOpen)
        }
        try given.keys?.check(listens: self.listen != nil, upstreams: upstreams)
        if given.keys != nil, given.hasDefaultName, given.role.isGreetedByName {
            throw LockstepError(
                .invalidConfiguration,
                "the node has keys and no name: set node to the name of its keys in the access list of its primary")
        }
        if let listen, listen.port != 0, upstreams.contains(listen) {
            throw LockstepError(
                .invalidConfiguration, "the node would be a replica of itself: \(listen) is its own address")
        }
        guard given.sessionTimeToLive >= .seconds(1), given.sessionTimeToLive <= .seconds(7 * 86_400) else {
            throw LockstepError(
                .invalidConfiguration,
                "\(SettingName.sessionTimeToLive.property) is \(given.sessionTimeToLive); choose 1 s to 7 days")
        }
        guard given.audienceTimeout >= .zero, given.audienceTimeout <= .seconds(600) else {
            throw LockstepError(
                .invalidConfiguration, "audienceTimeout is \(given.audienceTimeout); choose 0 s to 10 min")
        }
        guard given.snapshotAfterBytes >= 1 << 20 else {
            throw LockstepError(
                .invalidConfiguration,
                "\(SettingName.snapshotAfter.property) is \(given.snapshotAfterBytes); choose 1 MiB or more")
        }
        if let folder = given.administrationFolder { _ = try AdministrationPath(folder: folder) }
        if listen != nil { try Self.checkDescriptors() }
    }

    /// Whether the node talks to other hosts without keys, as it was told to.
    package var isPlaintext: Bool {
        given.keys == nil && ([listen].compactMap { $0 } + upstreams).contains { !$0.isLoopback }
    }

    private static func listening(_ text: String, isOpen: Bool) throws -> TCPEndpoint {
        let endpoint = try TCPEndpoint(text, use: "the address to listen at")
        try endpoint.checkListening()
        try check(endpoint, isOpen: isOpen)
        return endpoint
    }

    /// The most nodes that a client or replica is told of.
    package static let mostUpstreams = 16

    private static func connecting(_ texts: [String], isOpen: Bool) throws -> [TCPEndpoint] {
        guard (1...mostUpstreams).contains(texts.count) else {
            throw LockstepError(
                .invalidConfiguration,
                "\(texts.count) addresses of nodes are named: name 1 to \(mostUpstreams) of those that may be the primary"
            )
        }
        var endpoints: [TCPEndpoint] = []
        for text in texts {
            let endpoint = try connecting(text, isOpen: isOpen)
            guard !endpoints.contains(endpoint) else {
                throw LockstepError(.invalidConfiguration, "\(endpoint) is named twice: name each node once")
            }
            endpoints.append(endpoint)
        }
        return endpoints
    }

    private static func connecting(_ text: String, isOpen: Bool) throws -> TCPEndpoint {
        let endpoint = try TCPEndpoint(text, use: "the primary's address")
        guard endpoint.port != 0, !endpoint.isWildcard else {
            throw LockstepError(
                .invalidConfiguration, "\(text) cannot be connected to: name the primary's host and port")
        }
        try check(endpoint, isOpen: isOpen)
        return endpoint
    }

    private static func check(_ endpoint: TCPEndpoint, isOpen: Bool) throws {
        guard !endpoint.isLoopback, !isOpen else { return }
        throw LockstepError(
            .invalidConfiguration,
            "\(endpoint) is not a loopback address, and without keys everybody who reaches it may read and write: "
                + "give the node keys, use 127.0.0.1, or set \(SettingName.plaintext.property) in a network that you "
                + "trust")
    }

    /// The smallest number of descriptors with which a listening node starts.
    package static let smallestDescriptorLimit: UInt64 = 1_024

    /// How many connections one of its three ports takes: journals, searches and its own links have their descriptors.
    package var connectionsOfPort: Int {
        max(64, (Int(clamping: Self.descriptorLimit) - 256) / 3)
    }

    /// How many descriptors this process may open.
    private static var descriptorLimit: UInt64 {
        #if canImport(Darwin)
            let resource = RLIMIT_NOFILE
        #else
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return smallestDescriptorLimit }
        return UInt64(limit.rlim_cur)
    }

    /// Raises the limit of open descriptors as far as it may be; without descriptors libzmq's accept spins.
    private static func checkDescriptors() throws {
        #if canImport(Darwin)
            let resource = RLIMIT_NOFILE
        #else
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = min(limit.rlim_max, 65_536)
            setrlimit(resource, &limit)
            guard getrlimit(resource, &limit) == 0 else { return }
        }
        guard limit.rlim_cur < smallestDescriptorLimit else { return }
        throw LockstepError(
            .invalidConfiguration,
            "the process may open only \(limit.rlim_cur) descriptors; raise the limit to \(smallestDescriptorLimit) at "
                + "least, better 65536 (ulimit -n, LimitNOFILE)")
    }
}
