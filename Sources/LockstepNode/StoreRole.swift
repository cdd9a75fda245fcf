package import LockstepCore

/// What a node is for one of its stores.
///
/// `StoreOpening.open()` chooses it, from the role that the node was configured with, which is the same for all of its
/// stores; the journal's note must agree (PROTOCOL, R-49).
package enum StoreRole {
    /// It has no state, and sends what callers want to a node that has one.
    case client
    case primary(PrimaryDriver)
    case replica(ReplicaDriver)
    /// A data node that is not the primary, with a replica beside the standby.
    case standby(StandbyDriver)

    /// Who runs the role's machine; a client has none beside its own.
    package var driver: (any StoreDriver)? {
        switch self {
        case .client: nil
        case .primary(let driver): driver
        case .replica(let driver): driver
        case .standby(let driver): driver
        }
    }
}

/// Runs the machine of a store's role, on the node's thread: what is asked of it in either role.
package protocol StoreDriver: AnyObject {
    /// The way to the store's journal.
    var desk: JournalDesk { get }
    /// What the machine directs about snapshots.
    var snapshots: SnapshotDesk { get }
    /// The store's channel, as far as it is known.
    var channel: Channel? { get }
    /// The end of what has committed, as far as this node has it.
    var position: Position { get }
    /// The digest of the state and the log's tables at ``position``; nil while the state is ahead of it.
    ///
    /// Cost: a walk over the state, unless it keeps its digest, and over the sessions.
    var digest: Digest? { get }
    /// Who opened each session for which somebody is named.
    var senders: [SessionID: String] { get }
    /// Why the state must not be read; nil if it may.
    var readRefusal: ReadRefusal? { get }
    /// How far the store is, as an operator sees it.
    var phase: StoreStatus.Phase { get }
    /// How far the store can be relied on.
    var readiness: StoreReadiness { get }
    /// How far the store serves, for the log.
    var service: StoreLife.Service { get }
    /// When ``tick(now:wall:)`` has something to do.
    var nextDeadline: Tick { get }
    /// Nothing waits to be written.
    var isDrained: Bool { get }

    /// Begins; the role is the host's already, with what the journal held.
    func start(now: Tick, wall: LogTime)
    /// A peer's frame came in at the node's ingress.
    func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime)
    /// A peer's frame came in at the node's bulk port.
    func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime)
    func endTurn(now: Tick, wall: LogTime)
    func tick(now: Tick, wall: LogTime)
    /// What became of a write.
    func written(_ outcome: Result<Void, JournalFailure>, now: Tick)
    /// A snapshot is encoded; `info` is nil if it could not be.
    func encoded(_ number: SnapshotNumber, _ info: SnapshotInfo?, now: Tick)
    /// Sets the gauges of what only this role has.
    func observe(_ metrics: NodeMetrics, now: Tick)
    /// Adds what the machine knows to a status.
    func fill(_ status: inout StoreStatus, limit: Int)
    /// Begins nothing more; what is sequenced is still written.
    func beginStop()
    /// Lets go of the journal.
    func close()
}

extension StoreHost {
    /// What runs the machine of the store's role; nil for a client.
    package var driver: (any StoreDriver)? { role.driver }

    /// What only a primary has: its effects, its sessions, a machine that is reached by hand; nil in another role.
    package var primary: PrimaryDriver? {
        guard case .primary(let driver) = role else { return nil }
        return driver
    }

    /// What only a replica has: the stream, and a primary that may be away; nil in another role.
    package var replica: ReplicaDriver? {
        switch role {
        case .replica(let driver): driver
        case .standby(let driver): driver.replica
        case .client, .primary: nil
        }
    }

    /// What only a data node has that is not the primary; nil in another role.
    package var standby: StandbyDriver? {
        guard case .standby(let driver) = role else { return nil }
        return driver
    }
}

// What the machines of both roles direct in the same words.
extension StoreHost {
    /// Sends a frame to a peer of the node's ingress.
    package func send(_ frame: [UInt8], to connection: Connection) {
        count(isSent: services.attempt { try services.server.send(frame, to: connection) })
    }

    /// Sends a frame to a peer of the node's bulk port; false if it found no room.
    @discardableResult
    package func sendBulk(_ frame: [UInt8], to connection: Connection) -> Bool {
        let isSent = services.attempt { try services.server.sendBulk(frame, to: connection) }
        count(isSent: isSent)
        return isSent != false
    }

    /// Counts a frame that found no room; whoever waits for it asks again.
    package func count(isSent: Bool?) {
        if isSent == false { metrics.dropped(.sent) }
    }

    /// Batches have committed, as far as this node is concerned: its consumers get them.
    package func committed(_ batches: [SealedBatch]) {
        feed.append(batches)
        guard let first = batches.first, let last = batches.last else { return }
        metrics.committed(
            entries: Int(last.head.last.rawValue - first.head.first.rawValue) + 1, batches: batches.count)
    }
}
