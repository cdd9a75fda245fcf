internal import Foundation
internal import LockstepCore

extension Node {
    /// The node as an operator sees it.
    ///
    /// Cost: a few microseconds a store and a peer; with digests also a walk over each state that does not keep its own,
    /// on the node's thread, which does nothing else meanwhile.
    ///
    /// - Parameter withDigests: Take the digest of every state; by default a store shows one only where it has it.
    /// - Returns: The node and its stores.
    /// - Throws: ``LockstepError`` of code `stopped` unless the node runs.
    public func status(withDigests: Bool = false) throws -> NodeStatus {
        try status(withDigests: withDigests, listing: Self.listLimit(stores: hosts.count))
    }

    /// The same, with at most `limit` elements in each list.
    package func status(withDigests: Bool = false, listing limit: Int) throws -> NodeStatus {
        guard let services else { throw LockstepError(.stopped, "the node does not run, so it has no status") }
        return NodeStatus(
            node: services.node, role: services.configuration.given.role.inStatus,
            cluster: services.cluster?.description, boot: "\(services.boot)", process: Int(getpid()),
            uptimeSeconds: Double(MonotonicClock.now - services.started) / 1e9,
            endpoint: services.ingressEndpoint.isEmpty ? nil : services.ingressEndpoint,
            primary: primaryEndpoint,
            isPlaintext: services.configuration.isPlaintext,
            access: services.book.map { .init(entries: $0.list.entries.count, problem: $0.problem) },
            stores: hosts.map { $0.status(withDigest: withDigests, limit: limit) }
                .sorted { $0.name < $1.name })
    }

    /// What is raised now, by the stores' names: a look, cheap enough for some a second.
    package var alarms: [String: [StoreStatus.Alarm]] {
        Dictionary(uniqueKeysWithValues: hosts.map { ($0.name, $0.alarms(at: MonotonicClock.now)) })
    }

    /// The elements of each list of a status: an answer of the administration is one frame, of all stores together.
    static func listLimit(stores: Int) -> Int { min(1_000, 3_000 / max(1, stores)) }

    /// The node that this one was told to follow, or of several the one that it follows now; nil for a primary.
    ///
    /// Of a data node it is the primary of the first of its stores that has another one, by the record that it knows.
    package var primaryEndpoint: String? {
        if case .data = configuration.given.role {
            let own = [StoreHost.ownEndpoint, services?.ingressEndpoint]
            return hosts.filter { $0.primary == nil }.map(\.client.endpoint).first { !own.contains($0) }
        }
        let upstreams = configuration.given.role.upstreams
        return upstreams.count > 1 ? hosts.first?.client.endpoint ?? upstreams.first : upstreams.first
    }

    /// Where this node's ingress is bound; nil before ``run()`` has bound it, and without network.
    package var ingressEndpoint: String? {
        services.flatMap { $0.ingressEndpoint.isEmpty ? nil : $0.ingressEndpoint }
    }

    /// What ``AdministrationServer`` answers.
    func answer(_ request: AdministrationServer.Request) throws -> Data {
        switch request {
        case .status(let withDigests): try status(withDigests: withDigests).json()
        case .dump(let store): try dump(store)
        case .runs(let store, let after): try encoder.encode(try runs(of: store, after: after))
        case .abandon(let store, let run): try abandon(run, of: store)
        case .sessions(let store, let after): try encoder.encode(try sessions(of: store, after: after))
        case .closeSessions(let store, let choice):
            try encoder.encode(["closed": try closeSessions(of: store, choice)])
        case .post(let store, let look):
            try encoder.encode(try post(of: store, after: look))
        case .handover(let store, let node):
            try encoder.encode(try beginHandover(of: store, to: node))
        }
    }

    private var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return encoder
    }

    func primary(of name: String) throws -> StoreHost {
        guard let host = hosts.first(where: { $0.name == name }), host.primary != nil else {
            throw LockstepError(.administration, "this node is not the primary of a store named \(name)")
        }
        return host
    }

    private func abandon(_ text: String, of store: String) throws -> Data {
        let host = try primary(of: store)
        guard let id = RunID(text) else {
            throw LockstepError(
                .administration, "\(text) names no action: EPOCH:SEQUENCE#NUMBER, as \"actions list\" prints it")
        }
        guard host.primary?.abandonRun(id, reason: "an operator abandoned it") ?? false else {
            throw LockstepError(
                .administration, "\(text) has ended, or was never accepted, or the primary admits nothing now")
        }
        return try encoder.encode(["abandoned": text])
    }

    private struct Dump: Encodable {
        var store: String
        var sequence: UInt64
        var digest: String
        var state: Data
    }

    /// The encoded state of a store.
    ///
    /// Nothing else happens on this node while the state is encoded, and its size is known only then: one above the
    /// bound, which is that of an answer, is encoded in vain.
    private func dump(_ name: String) throws -> Data {
        guard let host = hosts.first(where: { $0.name == name }), let state = host.state else {
            throw LockstepError(.administration, "this node holds no state of a store named \(name)")
        }
        let status = host.status(withDigest: true)
        guard status.sequence == status.commit else {
            throw LockstepError(.unavailable, "entries are on their way to the journal: ask again")
        }
        let bytes = try state.image().encoded()
        guard bytes.count <= AdministrationServer.dumpBound else {
            throw LockstepError(
                .tooLarge,
                "the state has \(bytes.count) bytes, a dump at most \(AdministrationServer.dumpBound): "
                    + "use lockstep journal dump")
        }
        return try encoder.encode(
            Dump(store: name, sequence: status.sequence, digest: status.digest ?? "", state: Data(bytes)))
    }
}

extension NodeConfiguration.Role {
    /// The nodes that a replica or a client was told of; empty for others.
    package var upstreams: [String] {
        switch self {
        case .primary, .data: []
        case .replica(let nodes, _, _), .client(let nodes): nodes
        }
    }

    /// The role as a status has it.
    package var inStatus: NodeStatus.Role {
        switch self {
        case .primary: .primary
        case .data: .data
        case .replica: .replica
        case .client: .client
        }
    }
}
