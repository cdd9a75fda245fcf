internal import LockstepCore
internal import Synchronization

/// How far a store of a node can be relied on; the same words on a primary and on a replica.
public enum StoreReadiness: String, Hashable, Sendable, Codable, CaseIterable {
    /// There is no primary yet: the state is what the journal held, or the initial one, which no read shows.
    case connecting
    /// The primary's entries, or a snapshot, are coming; of a primary, its journal is being taken up.
    case catchingUp
    /// All that the primary said it has is here; a primary admits actions.
    case live
    /// It was live, and is not now: the link is lost, or the node waits for an operator. The state stays readable.
    case stale
    /// The node has ended; nothing changes from here on.
    case stopped
}

/// A store's readiness, written by the node's thread and read by any other.
package final class ReadinessBoard: Sendable {
    private let contents = Mutex(Contents())

    private struct Contents {
        var readiness = StoreReadiness.connecting
        var wasLive = false
        var observer: (@Sendable (StoreReadiness) -> Void)?
    }

    package init() {}

    package var current: StoreReadiness { contents.withLock { $0.readiness } }

    /// Calls `observer` for each change from now on, on the node's thread; there is one.
    package func observe(_ observer: @escaping @Sendable (StoreReadiness) -> Void) {
        contents.withLock { $0.observer = observer }
    }

    /// Takes note of where the store is; what was live once is stale instead of coming up.
    func set(_ readiness: StoreReadiness) {
        let observer = contents.withLock { contents in
            if readiness == .live { contents.wasLive = true }
            let isComing = readiness == .connecting || readiness == .catchingUp
            let shown = contents.wasLive && isComing ? .stale : readiness
            guard contents.readiness != shown, contents.readiness != .stopped else {
                return nil as (@Sendable (StoreReadiness) -> Void)?
            }
            contents.readiness = shown
            return contents.observer
        }
        observer?(current)
    }
}

extension StoreHost {
    /// Where the machines are; a look at a phase.
    var readiness: StoreReadiness {
        driver?.readiness ?? (inPlace(&client) { $0.welcome == nil } ? .connecting : .live)
    }
}

extension PrimaryDriver {
    package var readiness: StoreReadiness {
        switch machine.phase {
        case .created, .opening, .awaiting: .catchingUp
        case .admitting: .live
        case .behind, .stopping, .halted: .stale
        }
    }
}

extension ReplicaDriver {
    package var readiness: StoreReadiness {
        switch machine.phase {
        case .connecting: .connecting
        case .joining, .catchingUp: .catchingUp
        case .live: .live
        case .quarantined, .ahead, .halted: .stale
        }
    }
}
