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

    /// Names somebody.
    ///
    /// - Parameters:
    ///   - name: As in the access list.
    ///   - roles: What it may do.
    ///   - stores: The stores that it may do it with; `nil`, the default: all of them.
    public init(name: String, roles: Set<AccessRole>, stores: Set<String>? = nil) {
        self.name = name
        self.roles = roles
        self.stores = stores
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
