public import LockstepCore
public import ZeroMQ

/// Who may talk to a node: names, with their public keys and what they may do.
///
/// A value that was checked: no key and no name is there twice. The nodes of a cluster have the same one. Its text form
/// is JSON, see ``AccessFile``:
///
///     {
///       "version": 1,
///       "entries": [
///         {"name": "web-1", "keys": ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"], "roles": ["writer"],
///          "stores": ["counters"]}
///       ]
///     }
public struct AccessList: Hashable, Sendable {
    /// Sorted by name.
    public let entries: [Entry]
    /// The cluster whose nodes have this list; `nil` if it does not say.
    public let cluster: ClusterID?
    private let places: [CurvePublicKey: Int]
    private let names: Set<String>
    private let addresses: [String: Int]

    /// One name of the list.
    public struct Entry: Hashable, Sendable {
        /// 1 to 64 bytes of letters, digits, `-`, `_` and `.`, as a node's name (``NodeID``).
        public var name: String
        /// One key, or two while one takes the place of the other.
        public var keys: [CurvePublicKey]
        /// One at least.
        public var roles: Set<AccessRole>
        /// The stores that it may use; `nil`: all of them.
        public var stores: Set<String>?
        /// The kinds of actions that it may send to a store, by the store's name; a store that is not there: all kinds.
        ///
        /// A kind is the name of the action's case, or what the reactor names (`Reactor.kind(of:)`).
        public var actions: [String: Set<String>]
        /// What it may take.
        public var quota: AccessQuota
        /// Where a node listens, as `tcp://HOST:PORT`; `nil` of one that does not.
        ///
        /// Other nodes find its keys by this.
        public var address: String?

        /// Makes an entry, which is checked when a list is made of it.
        public init(
            name: String, keys: [CurvePublicKey], roles: Set<AccessRole>, stores: Set<String>? = nil,
            actions: [String: Set<String>] = [:], quota: AccessQuota = AccessQuota(), address: String? = nil
        ) {
            self.name = name
            self.keys = keys
            self.roles = roles
            self.stores = stores
            self.actions = actions
            self.quota = quota
            self.address = address
        }

        /// What a connection with one of the keys may do.
        public var principal: Principal {
            Principal(name: name, roles: roles, stores: stores, actions: actions, quota: quota)
        }
    }

    /// The most entries that a list has.
    public static let largestCount = 10_000
    /// The most stores that one entry names, and the most kinds of actions for a store.
    static let largestStoreCount = 1_000

    /// A list that lets nobody in.
    public static let empty = AccessList()

    private init() { (entries, cluster, places, names, addresses) = ([], nil, [:], [], [:]) }

    /// Checks entries, alone and together.
    ///
    /// - Parameters:
    ///   - entries: In any order, at most ``largestCount``.
    ///   - cluster: The cluster whose nodes have this list; `nil`, the default: not said.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`; its line names the entry, and says what to change.
    public init(_ entries: [Entry], cluster: ClusterID? = nil) throws {
        guard entries.count <= Self.largestCount else {
            throw Self.refusal("it has \(entries.count) entries, and at most \(Self.largestCount) are allowed")
        }
        let sorted = entries.sorted { $0.name < $1.name }
        var places: [CurvePublicKey: Int] = [:]
        var names: Set<String> = []
        var addresses: [String: Int] = [:]
        for (place, entry) in sorted.enumerated() {
            try entry.check()
            guard names.insert(entry.name).inserted else {
                throw Self.refusal("the name \(entry.name) is there twice: give each its own, or one entry both keys")
            }
            for key in entry.keys {
                if let other = places.updateValue(place, forKey: key) {
                    throw Self.refusal(
                        "\(sorted[other].name) and \(entry.name) have the same key \(key): a key belongs to one name, "
                            + "once")
                }
            }
            guard let address = entry.address else { continue }
            let endpoint = try Self.endpoint(address, of: entry.name)
            if let other = addresses.updateValue(place, forKey: endpoint) {
                throw Self.refusal("\(sorted[other].name) and \(entry.name) have the same address \(address)")
            }
        }
        self.entries = sorted
        self.cluster = cluster
        (self.places, self.names, self.addresses) = (places, names, addresses)
    }

    /// Who has a key.
    ///
    /// - Parameter key: The one that a connection proved to have.
    /// - Returns: `nil` if the key is not in the list: nothing is allowed then.
    public func principal(of key: CurvePublicKey) -> Principal? { places[key].map { entries[$0].principal } }

    /// The keys of the node that listens at an address.
    ///
    /// - Parameter address: `tcp://HOST:PORT`, as in the list.
    /// - Returns: One or two; none if no entry has that address.
    public func keys(at address: String) -> [CurvePublicKey] {
        // What is no address is nobody's.
        guard let endpoint = try? TCPEndpoint(address, use: "an address") else { return [] }
        return addresses[endpoint.description].map { entries[$0].keys } ?? []
    }

    /// Whether a name is in the list.
    public func contains(name: String) -> Bool { names.contains(name) }

    static func refusal(_ text: String) -> LockstepError {
        LockstepError(.invalidConfiguration, "the access list cannot be used: \(text)")
    }

    fileprivate static func endpoint(_ address: String, of name: String) throws -> String {
        let endpoint = try TCPEndpoint(address, use: "the address of \(name) in the access list")
        guard endpoint.port != 0, !endpoint.isWildcard else {
            throw refusal("others cannot connect to \(name) at \(address): name its host and port")
        }
        return endpoint.description
    }
}

extension AccessList.Entry {
    /// Checks what concerns this entry alone.
    fileprivate func check() throws {
        guard NodeID(name) != nil else {
            throw AccessList.refusal(
                "the name \"\(AccessText.escaped(name))\" is not 1 to 64 letters, digits, \"-\", \"_\" and \".\"")
        }
        guard (1...2).contains(keys.count) else {
            throw AccessList.refusal("\(name) has \(keys.count) keys; give it one, or two while one replaces the other")
        }
        guard !keys.contains(where: \.isZero) else {
            throw AccessList.refusal("\(name) has a key of zeros, which everybody could use: give it its own")
        }
        guard !roles.isEmpty else {
            throw AccessList.refusal("\(name) has no role; choose of \(AccessRole.namesInOrder)")
        }
        try checkActions()
        for (limit, value) in quota.limits where !(1...SenderBudgets.largestRate).contains(value) {
            throw AccessList.refusal("\(name) has the quota \(value) for \(limit), which is not 1 to 2^40")
        }
        if let stores {
            guard !stores.isEmpty else {
                throw AccessList.refusal("\(name) has no store; name some, or leave \"stores\" out for all of them")
            }
            guard stores.count <= AccessList.largestStoreCount else {
                throw AccessList.refusal(
                    "\(name) has \(stores.count) stores, and at most \(AccessList.largestStoreCount) are allowed")
            }
            guard let wrong = stores.sorted().first(where: { !(1...64).contains($0.utf8.count) }) else { return }
            throw AccessList.refusal(
                "\(name) has the store \"\(AccessText.escaped(wrong))\", which is not 1 to 64 bytes")
        }
    }
}

extension AccessList.Entry {
    private static let kindBytes = 1...64

    /// Checks the kinds of actions, store by store.
    fileprivate func checkActions() throws {
        guard actions.count <= AccessList.largestStoreCount else {
            throw AccessList.refusal(
                "\(name) has kinds of actions for \(actions.count) stores, and at most "
                    + "\(AccessList.largestStoreCount) are allowed")
        }
        for (store, kinds) in actions.sorted(by: { $0.key < $1.key }) {
            let label = AccessText.escaped(store)
            guard (1...64).contains(store.utf8.count), stores?.contains(store) ?? true else {
                throw AccessList.refusal(
                    "\(name) has kinds of actions for the store \"\(label)\", which is not among its stores")
            }
            guard !kinds.isEmpty, kinds.count <= AccessList.largestStoreCount else {
                throw AccessList.refusal(
                    "\(name) has \(kinds.count) kinds of actions for \(label); name 1 to "
                        + "\(AccessList.largestStoreCount), or leave the store out for all of them")
            }
            guard let wrong = kinds.sorted().first(where: { !Self.kindBytes.contains($0.utf8.count) }) else { continue }
            throw AccessList.refusal(
                "\(name) has the kind \"\(AccessText.escaped(wrong))\" for \(label), which is not 1 to 64 bytes")
        }
    }
}

extension AccessRole {
    static var namesInOrder: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
