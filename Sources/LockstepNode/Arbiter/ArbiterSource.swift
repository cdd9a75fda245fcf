package import LockstepCore

/// Where a data node has its arbiter from: what a configuration names.
package struct ArbiterSource: Sendable {
    /// What is wrong with it, before anything is opened; throws ``LockstepError``.
    let check: @Sendable () throws -> Void
    /// Opens the arbiter of a cluster; throws ``LockstepError``.
    let open: @Sendable (ClusterID) throws -> any Arbiter
    /// Whether a node closes at its end what it has opened.
    let isOwned: Bool

    /// An arbiter that is open, and that its owner closes.
    package init(_ arbiter: any Arbiter) {
        (check, open, isOwned) = ({}, { _ in arbiter }, false)
    }

    /// One that each node opens and closes by itself.
    package init(
        check: @escaping @Sendable () throws -> Void, open: @escaping @Sendable (ClusterID) throws -> any Arbiter
    ) {
        (self.check, self.open, isOwned) = (check, open, true)
    }
}
