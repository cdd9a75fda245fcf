/// What a replica's machine is told once, when its process starts.
package struct ReplicaConfiguration: Hashable, Sendable {
    package var storeName: String
    package var node: String
    /// None: the first WELCOME's, for the life of the process (PROTOCOL, R-1).
    package var cluster: ClusterID?
    package var boot: BootID
    /// Of the own journal; of a replica without one, as random as its boot.
    package var incarnation: Incarnation
    /// From the own journal; none until WELCOME if there is no journal.
    package var channel: Channel?
    package var hasJournal: Bool
    /// Of a data node: a record names its primary, whose epoch may still be opening.
    package var isBesideStandby = false
    /// Where this node serves snapshots and repairs; empty if it has no sockets of its own.
    package var bulkEndpoint: String
    /// Seeds jitter and nonces.
    package var seed: UInt64
    /// A snapshot that says it is larger is refused.
    package var largestSnapshotBytes: UInt64
    /// Off but in the simulator.
    package var buggify: Buggify

    package init(
        storeName: String, node: String, cluster: ClusterID?, boot: BootID, incarnation: Incarnation,
        channel: Channel?, hasJournal: Bool, bulkEndpoint: String, seed: UInt64,
        largestSnapshotBytes: UInt64 = 16 << 30, buggify: Buggify = .off
    ) {
        self.storeName = storeName
        self.node = node
        self.cluster = cluster
        self.boot = boot
        self.incarnation = incarnation
        self.channel = channel
        self.hasJournal = hasJournal
        self.bulkEndpoint = bulkEndpoint
        self.seed = seed
        self.largestSnapshotBytes = largestSnapshotBytes
        self.buggify = buggify
    }
}

/// A replica's times, in milliseconds, each with its reason.
enum ReplicaTiming {
    /// Without a first frame by then, the subscription did not reach the publisher.
    static let firstFrame: Int64 = 2_000
    /// Five beacons of a store at rest: the publisher, or the way to it, is gone.
    static let silence: Int64 = 1_500
    /// Of a replica that loses patience on purpose.
    static let shortSilence: Int64 = 50
    /// A plan takes a round trip; then the question, or the answer, was lost.
    static let plan: Int64 = 1_000
    /// The first SYNC on a new socket, whose connection may not come about.
    static let planOnNewSocket: Int64 = 200
    /// A chunk waits for those before it, and for the server's throttle.
    static let chunk: Int64 = 2_000
    /// No chunk for so long: the socket, or the server, is gone.
    static let fetchProgress: Int64 = 10_000
    /// Spreads the repairs of many replicas that lost the same frame.
    static let repairJitter: UInt64 = 50
    /// The jitter of a repair that is late on purpose.
    static let lateRepairJitter: UInt64 = 500
    /// If only a beacon shows the hole.
    static let repairSilence: Int64 = 20
    /// The first patience with a repair; it doubles up to eight times as much.
    static let repair: Int64 = 250
    /// So many are asked for on one socket: 3.75 s, lest a replica lag for more than 5 s after a healed cut.
    static let repairTries = 4
    /// So many repairs within ``repairMemory`` mean that the stream is faster than this replica.
    static let repairsBeforePulling = 3
    static let repairMemory: Int64 = 10_000
    /// What was to be repaired is no longer held: asking at once could turn in a circle.
    static let unavailable: Int64 = 50
    /// A doubt about the publisher's history asks it at most so often.
    static let doubt: Int64 = 1_000
    /// After something that went wrong for no reason that is known.
    static let retry: Int64 = 1_000
    /// When a joiner asks again that a replica has nothing to give.
    static let putOffMicroseconds: UInt32 = 1_000_000
    /// A second difference of digests within this time stops the replica.
    static let heal: Int64 = 3_600_000
}

/// A replica as it is seen from outside.
package struct ReplicaStatus: Hashable, Sendable {
    package var phase: ReplicaPhase
    package var known: KnownPosition
    package var time: LogTime
    package var mark: LogState.Mark?
    /// The highest commit number that the publisher has shown.
    package var target: SequenceNumber
    package var bufferedBytes: Int
    /// Chunks that are here, and all, of the snapshot that is being fetched.
    package var fetch: (received: Int, count: Int)? { fetchReceived.map { ($0, fetchCount) } }
    var fetchReceived: Int?
    var fetchCount = 0
    package var isPulling: Bool
}
