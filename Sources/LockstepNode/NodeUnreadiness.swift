internal import LockstepCore

extension StoreStatus.Phase {
    /// Whether a store of this phase admits, or follows the stream at its head.
    fileprivate var isServing: Bool { self == .admitting || self == .live }
}

extension StoreStatus {
    /// Whether the store admits, or follows the stream at its head.
    package var isServing: Bool { phase.isServing }
}

extension NodeStatus {
    /// What keeps an operator from leaving the node alone: a store that does not serve yet, or an alarm; nil if nothing.
    package var unreadiness: String? { Self.unreadiness(of: stores.map { ($0.name, $0.phase, $0.alarms) }) }

    fileprivate static func unreadiness(
        of stores: [(name: String, phase: StoreStatus.Phase, alarms: [StoreStatus.Alarm])]
    ) -> String? {
        if stores.isEmpty { return "it has no stores yet" }
        let reasons = stores.flatMap { store in
            (store.phase.isServing ? [] : ["\(store.name) is \(store.phase)"])
                + store.alarms.map { "\(store.name): \($0)" }
        }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }
}

/// What a node's thread says when it is asked how it is.
package struct NodeAnswer: Hashable, Sendable {
    /// It has opened its stores, and has not ended.
    package var isRunning: Bool
    /// What keeps the node from being ready; nil if nothing does.
    package var unreadiness: String?

    package init(isRunning: Bool, unreadiness: String? = nil) {
        self.isRunning = isRunning
        self.unreadiness = unreadiness
    }
}

extension Node {
    /// How the node is; its thread does not answer while it opens its stores.
    ///
    /// Cost: that of ``unreadiness()``.
    package func howItIs() -> NodeAnswer { NodeAnswer(isRunning: services != nil, unreadiness: unreadiness()) }

    /// ``NodeStatus/unreadiness`` of this node, without the rest of its status; of a node that does not run, that.
    ///
    /// An arbiter that is away is left out: all data nodes notice it at once, and serve as before.
    ///
    /// Cost: a look at each store's phase and alarms.
    package func unreadiness() -> String? {
        guard services != nil else { return "the node does not run" }
        let now = MonotonicClock.now
        return NodeStatus.unreadiness(
            of: hosts.map { host in
                (host.name, host.phase, host.alarms(at: now).filter { $0.kind != .arbiterAway })
            }.sorted { $0.name < $1.name })
    }
}
