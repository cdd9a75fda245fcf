package import LockstepCore
import Synchronization

/// An arbiter in memory, for clusters whose nodes are all in one process: what is told of it ends with the process.
///
/// It answers at once, on the thread of the caller, unless it is told to be away, or to take no writes. Leases end by
/// the continuous clock. Each call costs a copy of what it names; a registration also walks all nodes.
package final class MemoryArbiter: Arbiter {
    package let cluster: ClusterID
    private let state = Mutex(State())

    /// What it keeps, to be put back later: an older one is what a restored copy of etcd is.
    package struct Content: Sendable {
        fileprivate var revision: Int64 = 0
        fileprivate var records: [String: Kept] = [:]
        fileprivate var channels: [Channel: String] = [:]
    }

    fileprivate struct Kept: Sendable {
        var bytes: [UInt8]
        var revision: Int64
    }

    private struct Listed: Sendable {
        var bytes: [UInt8]
        var lease: Int64
        var end: ContinuousClock.Instant
    }

    private struct State: Sendable {
        var content = Content()
        var nodes: [NodeID: Listed] = [:]
        var leases: Int64 = 0
        var watchers: [Int: AsyncStream<RecordHint>.Continuation] = [:]
        var watched = 0
        var isClosed = false
        var isAway = false
        var isReadOnly = false
    }

    /// Begins without records.
    package init(cluster: ClusterID) { self.cluster = cluster }

    // MARK: - Records

    @concurrent package func record(of store: String, within limit: Duration) async throws -> StoredRecord? {
        try stored(store, try open { $0.content.records[store] })
    }

    private func stored(_ store: String, _ kept: Kept?) throws -> StoredRecord? {
        try kept.map {
            StoredRecord(
                try ConfigurationRecord.read($0.bytes, cluster: cluster, store: store), revision: $0.revision)
        }
    }

    @concurrent package func transact(
        _ attempt: RecordAttempt, on store: String, within limit: Duration
    ) async -> AttemptOutcome {
        precondition(attempt.proposed.mismatch(cluster: cluster, store: store) == nil, "the record is of this store")
        do {
            let (revision, kept) = try open(toWrite: true) { state in
                let kept = state.content.records[store]
                guard let kept, kept.revision == attempt.compared.revision,
                    kept.bytes == attempt.compared.record.bytes
                else { return (nil, kept) as (Int64?, Kept?) }
                return (write(attempt.proposed, store, &state), kept)
            }
            if let revision { return .applied(revision: revision) }
            return .refused(try stored(store, kept))
        } catch { return .unknown("\(error)") }
    }

    @concurrent package func create(
        _ record: ConfigurationRecord, of store: String, within limit: Duration
    ) async -> CreationOutcome {
        create(record, of: store, having: nil)
    }

    @concurrent package func restore(
        _ record: ConfigurationRecord, of store: String, within limit: Duration
    ) async -> CreationOutcome {
        create(record, of: store, having: store)
    }

    /// Only where `channelOwner` has the channel; nil: nobody.
    private func create(
        _ record: ConfigurationRecord, of store: String, having channelOwner: String?
    ) -> CreationOutcome {
        precondition(record.mismatch(cluster: cluster, store: store) == nil, "the record is of this store")
        do {
            let (revision, kept, owner) = try open(toWrite: true) { state in
                let (kept, owner) = (state.content.records[store], state.content.channels[record.channel])
                guard kept == nil, owner == channelOwner else { return (nil, kept, owner) as (Int64?, Kept?, String?) }
                state.content.channels[record.channel] = store
                return (write(record, store, &state), nil, nil)
            }
            if let revision { return .created(revision: revision) }
            if let there = try stored(store, kept) { return .exists(there) }
            return .channelTaken(by: owner ?? store)
        } catch { return .unknown("\(error)") }
    }

    @concurrent package func channels(within limit: Duration) async throws -> [Channel: String] {
        try open { $0.content.channels }
    }

    private func write(_ record: ConfigurationRecord, _ store: String, _ state: inout State) -> Int64 {
        state.content.revision += 1
        state.content.records[store] = Kept(bytes: record.bytes, revision: state.content.revision)
        tell(.changed(store: store, revision: state.content.revision), state)
        return state.content.revision
    }

    private func open<Result>(toWrite: Bool = false, _ body: (inout State) throws -> Result) throws -> Result {
        try state.withLock { state in
            guard !state.isClosed else { throw ArbiterError(.unreachable, "the arbiter is closed") }
            guard !state.isAway else { throw ArbiterError(.unreachable, "the arbiter is away") }
            guard !toWrite || !state.isReadOnly else { throw ArbiterError(.refused, "the arbiter takes no writes") }
            return try body(&state)
        }
    }

    // MARK: - Hints

    @concurrent package func watch(
        for duration: Duration, within limit: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) async throws {
        let (hints, continuation) = AsyncStream.makeStream(of: RecordHint.self, bufferingPolicy: .bufferingNewest(64))
        let number = try open { state in
            state.watched += 1
            state.watchers[state.watched] = continuation
            return state.watched
        }
        defer { state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
        continuation.yield(.began)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await one in hints { hint(one) } }
            // It ends early if the task is cancelled, which ends the watch too.
            group.addTask { try? await Task.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
        if state.withLock({ $0.isClosed }) { throw ArbiterError(.unreachable, "the arbiter is closed") }
    }

    private func tell(_ hint: RecordHint, _ state: State) {
        for (_, watcher) in state.watchers { watcher.yield(hint) }
    }

    // MARK: - Nodes

    @concurrent package func register(_ address: NodeAddress, within limit: Duration) async throws -> NodeLease {
        if let problem = address.problem { throw ArbiterError(.refused, problem) }
        return try open(toWrite: true) { state in
            state.content.revision += 1
            state.leases += 1
            state.nodes[address.node] = Listed(bytes: address.bytes, lease: state.leases, end: Self.end)
            return NodeLease(node: address.node, id: state.leases)
        }
    }

    @concurrent package func keepAlive(_ lease: NodeLease, within limit: Duration) async throws -> Bool {
        try open { state in
            forgetSilent(&state)
            guard state.nodes[lease.node]?.lease == lease.id else { return false }
            state.nodes[lease.node]?.end = Self.end
            return true
        }
    }

    @concurrent package func withdraw(_ lease: NodeLease, within limit: Duration) async throws {
        try open { state in
            if state.nodes[lease.node]?.lease == lease.id { state.nodes[lease.node] = nil }
        }
    }

    @concurrent package func nodes(within limit: Duration) async throws -> [NodeAddress] {
        try open { state in
            forgetSilent(&state)
            return state.nodes.sorted { $0.key < $1.key }.compactMap { _, listed in
                // One of a newer version is left out.
                try? NodeAddress(from: listed.bytes.span.bytes)
            }
        }
    }

    private func forgetSilent(_ state: inout State) {
        let now = ContinuousClock.now
        state.nodes = state.nodes.filter { $0.value.end > now }
    }

    private static var end: ContinuousClock.Instant { .now + .seconds(NodeLease.seconds) }

    // MARK: - What tests and operators do to it

    /// What it keeps of records now.
    package var content: Content { state.withLock { $0.content } }

    /// Puts back what was kept, and forgets all nodes: what a restore of an older copy does.
    package func restore(_ content: Content) {
        state.withLock { state in
            (state.content, state.nodes) = (content, [:])
        }
    }

    /// Removes the record of a store, as an operator's mistake does; its channel stays given.
    package func remove(_ store: String) {
        state.withLock { state in
            state.content.revision += 1
            state.content.records[store] = nil
            tell(.changed(store: store, revision: state.content.revision), state)
        }
    }

    /// Has it do nothing, and answer each call with an error, or be there again.
    package func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    /// Has it refuse records and new leases, as etcd without room does, and answer and renew all the same; or take them
    /// again.
    package func setReadOnly(_ isReadOnly: Bool) { state.withLock { $0.isReadOnly = isReadOnly } }

    @concurrent package func close() async {
        let watchers = state.withLock { state in
            state.isClosed = true
            return state.watchers.values.map { $0 }
        }
        for watcher in watchers { watcher.finish() }
    }
}
