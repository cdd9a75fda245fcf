package import Dispatch
package import LockstepCore

/// What a journal belongs to; it is written when the journal is created and never changes, but once when a replica's
/// empty journal takes its primary's cluster and channel (PROTOCOL, R-9).
package struct JournalIdentity: Hashable, Sendable {
    package var cluster: ClusterID
    package var storeName: String
    package var store: StoreID
    package var channel: Channel
    package var incarnation: Incarnation

    package init(cluster: ClusterID, storeName: String, channel: Channel, incarnation: Incarnation) {
        self.cluster = cluster
        self.storeName = storeName
        store = StoreID(cluster: cluster, name: storeName)
        self.channel = channel
        self.incarnation = incarnation
    }
}

extension JournalIdentity {
    /// The same journal in another cluster.
    package func adopted(by cluster: ClusterID, channel: Channel) -> JournalIdentity {
        JournalIdentity(cluster: cluster, storeName: storeName, channel: channel, incarnation: incarnation)
    }
}

/// Why a write did not happen.
package enum JournalFailure: Error, Hashable, Sendable {
    /// No room: nothing was written, and the same write may be tried again (PROTOCOL, R-45).
    case diskFull
    /// The outcome is unknown: the node must stop.
    case failed(String)
}

extension DispatchQoS {
    /// The class of the queues on which journals write, for which callers wait.
    ///
    /// On Linux a class above the default is a raised priority of the thread. A node has no right to that, and libdispatch
    /// would write to the system's log, at each start, that it failed to set it.
    package static var journal: DispatchQoS {
        #if canImport(Darwin)
            .userInitiated
        #else
            .default
        #endif
    }
}

/// The durable store of a store's batches and snapshots.
///
/// Shipping types: `SQLiteJournal` and ``MemoryJournal``.
///
/// Writes are asked for on the node's thread and return at once; `completion` is called on the journal's own queue, in
/// the order of asking. One write is under way at a time: the node hands over the next batches when the last are done.
package protocol Journal: AnyObject, Sendable {
    var identity: JournalIdentity { get }
    /// True if nothing survives the process: a new incarnation at every start.
    var isVolatile: Bool { get }

    /// Reads what the node starts from: the newest snapshot, if there is one, then every batch after it, in order.
    ///
    /// Called once, on the caller's thread, before any write. Everything it hands out was verified against the chain,
    /// the side mark was compared, and it is durable again. It throws ``LockstepError`` naming the sequence
    /// number of the damage, and whatever the two closures throw.
    func recover(
        snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void
    ) throws

    /// Writes the batches in one transaction and syncs.
    func append(
        _ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Writes and verifies a snapshot, then lets go of what retention no longer keeps.
    ///
    /// `bytes` is ``SnapshotContent/encoded()``; it holds everything through `position`. A snapshot that fails for
    /// want of room is given up: the journal keeps what it has.
    func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Forgets everything and begins with this snapshot: what a replica does that was fed anew.
    func replace(
        withSnapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Gives an empty journal its cluster and channel, durably and both or neither; the incarnation stays.
    ///
    /// What a replica asks for that meets its primary for the first time, after the recovery and before any other
    /// write. A journal that holds anything refuses it.
    func adopt(
        cluster: ClusterID, channel: Channel, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Verifies, between the writes, what ``recover(snapshot:batch:)`` did not: everything older than the newest
    /// snapshot. `report` is called on the journal's queue, once, and only if something is damaged.
    func verifyOlder(report: @escaping @Sendable ([String]) -> Void)

    /// Bytes free where the journal writes; nil if it has no such bound.
    func freeBytes() -> Int64?

    /// Bytes of batches after the newest snapshot, and of that snapshot: they decide when the next one is due.
    var sizes: (batches: Int, snapshot: Int) { get }

    /// What was noted with the journal; also before ``recover(snapshot:batch:)``.
    func note(_ note: JournalNote) throws -> String?

    /// Notes a value durably, or takes the note away; after ``recover(snapshot:batch:)``.
    ///
    /// It blocks the caller for one commit: for the start of a node, and for operators.
    func setNote(_ note: JournalNote, to value: String?) throws

    /// Notes a value without waiting, in the order of the writes; `completion` is called on the journal's queue.
    func noteLater(
        _ note: JournalNote, _ value: String?,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Syncs the side mark and closes; further calls fail. Waits for a write under way.
    func close()
}
