package import LockstepCore

/// What a name of the access list may do.
///
/// Nobody may do anything that no role of theirs allows: section 2 of docs/SECURITY.md has the whole table.
public enum AccessRole: String, CaseIterable, Hashable, Comparable, Sendable {
    /// A node of the cluster: all that ``replica``, ``writer`` and ``reader`` may do.
    case node
    /// Follows a primary: joins, repairs, the broadcast, and the reads that a replica's own callers need.
    case replica
    /// Has sessions, sends actions, and reads.
    case writer
    /// Reads and watches.
    case reader
    /// Administers a node over the network.
    case admin

    /// The order of the names.
    public static func < (left: AccessRole, right: AccessRole) -> Bool { left.rawValue < right.rawValue }
}

/// What one name may take of a node, all its connections together; `nil`: as much as anybody (PROTOCOL, R-73).
///
/// One broken client is then not everybody's outage. Sessions, actions and bytes count for each store by itself.
public struct AccessQuota: Hashable, Sendable, Codable {
    /// Sessions of a store, 1 at least; one more is refused.
    public var sessions: Int?
    /// Actions sent to a store whose answers were not acknowledged, 1 at least; more wait at their sender.
    public var inFlight: Int?
    /// Bytes of actions that a store takes in a second, 1 to 2^40; more wait at their sender.
    public var bytesPerSecond: Int?
    /// Connections of one port, 1 at least; one more is ended.
    public var connections: Int?

    /// Makes a quota; what is not given is not limited.
    public init(
        sessions: Int? = nil, inFlight: Int? = nil, bytesPerSecond: Int? = nil, connections: Int? = nil
    ) {
        self.sessions = sessions
        self.inFlight = inFlight
        self.bytesPerSecond = bytesPerSecond
        self.connections = connections
    }

    /// The names that the list has for the limits.
    package static let names = ["sessions", "inFlight", "bytesPerSecond", "connections"]

    /// Takes limits by their names; of one that is there twice, the last.
    package init(limits: [(name: String, value: Int)]) {
        let values = Dictionary(limits.map { ($0.name, $0.value) }) { $1 }
        self.init(
            sessions: values["sessions"], inFlight: values["inFlight"], bytesPerSecond: values["bytesPerSecond"],
            connections: values["connections"])
    }

    /// The limits that are set, by the names that the list has for them, in their order.
    package var limits: [(name: String, value: Int)] {
        [
            ("sessions", sessions), ("inFlight", inFlight), ("bytesPerSecond", bytesPerSecond),
            ("connections", connections),
        ].compactMap { name, value in value.map { (name, $0) } }
    }
}

/// Who is at the other end of a connection: a name of the access list, with what it may do.
///
/// A connection gets it by the key that it proved to have. A name that a frame carries is a label only.
public struct Principal: Hashable, Sendable {
    /// The name in the access list.
    public var name: String
    /// What it may do.
    public var roles: Set<AccessRole>
    /// The stores that it may do it with; `nil`: all of them.
    public var stores: Set<String>?
    /// The kinds of actions that it may send to a store, by the store's name; a store that is not there: all kinds.
    public var actions: [String: Set<String>]
    /// What it may take.
    public var quota: AccessQuota

    /// Names somebody.
    ///
    /// - Parameters:
    ///   - name: As in the access list.
    ///   - roles: What it may do.
    ///   - stores: The stores that it may do it with; `nil`, the default: all of them.
    ///   - actions: The kinds of actions that it may send to a store; none, the default: all kinds to all stores.
    ///   - quota: What it may take; by default as much as anybody.
    public init(
        name: String, roles: Set<AccessRole>, stores: Set<String>? = nil, actions: [String: Set<String>] = [:],
        quota: AccessQuota = AccessQuota()
    ) {
        self.name = name
        self.roles = roles
        self.stores = stores
        self.actions = actions
        self.quota = quota
    }

    /// How a store's machine knows it.
    package func sender(to store: String) -> Sender {
        Sender(
            name: name, kinds: actions[store],
            quota: SenderQuota(
                sessions: quota.sessions, inFlight: quota.inFlight, bytesPerSecond: quota.bytesPerSecond))
    }

    /// Whether it has a role, by itself or as a part of ``AccessRole/node``.
    ///
    /// - Parameter role: The role that something needs.
    /// - Returns: `false` also of a `node` for ``AccessRole/admin``.
    public func has(_ role: AccessRole) -> Bool {
        switch role {
        case .node, .admin: roles.contains(role)
        case .replica, .writer, .reader: roles.contains(role) || roles.contains(.node)
        }
    }

    /// Whether a store is among those that it may do anything with.
    ///
    /// - Parameter store: A store's name.
    /// - Returns: `true` for every store if it is not limited to some.
    public func mayUse(store: String) -> Bool { stores?.contains(store) ?? true }
}
