package import LockstepNode

/// The stores that every program hosts, by name.
package enum Hosted {
    package static let counters = "counters"
    package static let search = "search"
    /// Those of a node that was not told otherwise.
    ///
    /// In the order in which a node shows them; a place is a channel, so those of one program come after these.
    package static let usual = [counters, search]
}

/// A store that one program hosts beside ``Hosted/usual``.
package struct HostedStore: Sendable {
    /// Its name, in `init --store` and in `node.json`.
    package let name: String
    /// Puts it on a node, under its name.
    package let attach: @Sendable (Node) throws -> Void

    package init(name: String, attach: @escaping @Sendable (Node) throws -> Void) {
        self.name = name
        self.attach = attach
    }
}
