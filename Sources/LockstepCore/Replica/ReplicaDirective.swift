/// What a replica's machine wants done.
///
/// Directives are executed in the order given, before the next event.
package enum ReplicaDirective: Hashable, Sendable {
    /// Close the subscribing socket if there is one, open a new one to this endpoint, and ask for this channel.
    case subscribe(endpoint: String, channel: Channel)
    /// Close the bulk socket if there is one and open a new one to this endpoint.
    case connectBulk(endpoint: String)
    /// Send a frame on the bulk socket.
    case sendBulk([UInt8])
    /// Another boot publishes: let the client's machine say HELLO soon, since the primary waits for it.
    case sayHello
    /// These batches were applied: journal them, tell local observers and feeds.
    case applied([SealedBatch])
    /// Decode this snapshot's state elsewhere; answer with `snapshotPrepared` or `snapshotRefused` and this ticket.
    case prepare(PrepareTicket, SnapshotContent.StateBytes)
    /// A snapshot replaced everything; the state is in place. A journal starts anew from `encoded`, which is a whole
    /// ``SnapshotContent`` (empty if the replica has no journal), feeds begin after it.
    case installed(LogState, digest: Digest, encoded: [UInt8])
    /// What the replica had belonged to a volatile primary that is gone: state and log are at their beginning, feeds
    /// end. A journal keeps what it has until ``installed(_:digest:encoded:)`` replaces it (PROTOCOL, R-43).
    case discarded
    /// The replica's phase changed; local readers and status show it.
    case phaseChanged(ReplicaPhase)
    /// Send a frame to a peer of this node's own ingress socket.
    case send([UInt8], to: Connection)
    /// Send a frame to a peer of this node's own bulk socket.
    case sendBulkReply([UInt8], to: Connection)
    /// Send these chunks of an encoded snapshot to a peer of this node's own bulk socket.
    case sendChunks(snapshot: SnapshotNumber, indices: Range<Int>, to: Connection)
    /// As for a primary: image now, encode elsewhere, save, drop.
    case captureSnapshot(SnapshotNumber, log: LogState, digest: Digest)
    case encodeSnapshot(SnapshotNumber)
    case saveSnapshot(SnapshotNumber)
    case dropSnapshot(SnapshotNumber)
    case alarm(Alarm)
    case halt(HaltReason)
    case count(ProtocolCounter)
}

/// Names one decoding of a snapshot's state, so that the end of an older one is recognised.
package typealias PrepareTicket = UInt64

/// How far a replica is (PROTOCOL, section 8).
package enum ReplicaPhase: Hashable, Sendable {
    /// No WELCOME yet, or the link to the primary is lost before the stream was joined.
    case connecting
    /// Subscribed, and waiting for the first frame, the plan, chunks or the decoding of a snapshot.
    case joining
    /// Applies the stream, but has not yet reached a beacon's commit number.
    case catchingUp
    /// At a beacon's commit number since it joined.
    case live
    /// Digest differs: nothing is served until a snapshot is in place.
    case quarantined
    /// Knows a history that the primary does not have: keeps what it has, serves local reads, follows nothing.
    case ahead
    /// Stopped by a fault; only a restart or an operator goes on.
    case halted

    package var name: String {
        switch self {
        case .connecting: "connecting"
        case .joining: "joining"
        case .catchingUp: "catching-up"
        case .live: "live"
        case .quarantined: "quarantined"
        case .ahead: "ahead"
        case .halted: "halted"
        }
    }
}

extension SnapshotContent {
    /// The user's part of a snapshot.
    package struct StateBytes: Hashable, Sendable {
        package var bytes: [UInt8]
        package init(bytes: [UInt8]) { self.bytes = bytes }
    }
}
