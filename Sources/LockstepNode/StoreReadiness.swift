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

/// How far a store is, and why it will not be live before somebody acts.
package struct StoreStanding: Sendable {
    package var readiness: StoreReadiness
    /// The node that was asked does not have the store, which nobody has welcomed yet (PROTOCOL, R-9); nil otherwise.
    package var refusal: LockstepError?
}

/// A store's standing, written by the node's thread and read by any other.
package final class ReadinessBoard: Sendable {
    private let contents = Mutex(Contents())

    private struct Contents {
        var standing = StoreStanding(readiness: .connecting)
        var wasLive = false
        var observer: (@Sendable (StoreStanding) -> Void)?
    }

    package init() {}

    package var current: StoreReadiness { standing.readiness }
    package var standing: StoreStanding { contents.withLock { $0.standing } }

    /// Calls `observer` for each change from now on, on the node's thread; there is one.
    package func observe(_ observer: @escaping @Sendable (StoreStanding) -> Void) {
        contents.withLock { $0.observer = observer }
    }

    /// Takes note of where the store is; what was live once is stale instead of coming up.
    func set(_ readiness: StoreReadiness) {
        let observer = contents.withLock { contents in
            if readiness == .live { contents.wasLive = true }
            let isComing = readiness == .connecting || readiness == .catchingUp
            let shown = contents.wasLive && isComing ? .stale : readiness
            guard contents.standing.readiness != shown, contents.standing.readiness != .stopped else {
                return nil as (@Sendable (StoreStanding) -> Void)?
            }
            contents.standing.readiness = shown
            return contents.observer
        }
        observer?(standing)
    }

    /// Notes why nobody should wait for the store, or that this has passed.
    func refuse(_ refusal: LockstepError?) {
        let observer = contents.withLock { contents in
            guard contents.standing.refusal?.message != refusal?.message else {
                return nil as (@Sendable (StoreStanding) -> Void)?
            }
            contents.standing.refusal = refusal
            return contents.observer
        }
        observer?(standing)
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
        case .behind, .stopping, .deposed, .halted: .stale
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
