import LockstepNode

/// By which keys a command connects: one after the other, while a key of the node takes the place of another.
struct LinkKeys: Sendable {
    private let keys: NodeKeys?
    private let list: AccessList?
    private var turns = 0

    /// How long one key is tried before the other is.
    static let patience: Duration = .seconds(2)

    /// Reads the list of the nodes; nil: nodes without keys are asked.
    init(_ keys: NodeKeys?) throws {
        self.keys = keys
        list = try keys?.access?.read()
    }

    /// Whether there are keys, with which any address may be connected to.
    var areThere: Bool { keys != nil }

    /// The keys for connections to a node, in the order in which they are tried; nil: none are needed.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if no key of the node is known.
    func all(for endpoint: String) throws -> [DialKeys]? {
        guard let keys else { return nil }
        let found = keys.dialing(endpoint, list: list)
        guard !found.isEmpty else {
            throw LockstepError(
                .invalidConfiguration,
                "no public key of \(endpoint) is known: name the node by the address that it has in the list")
        }
        return found
    }

    /// The keys for the next connection to a node, and whether there are others to try after it.
    mutating func next(for endpoint: String) throws -> (keys: DialKeys?, hasOthers: Bool) {
        guard let found = try all(for: endpoint) else { return (nil, false) }
        defer { turns += 1 }
        return (found[turns % found.count], found.count > 1)
    }
}
