import Dispatch
import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Data nodes of one cluster in this process, with an arbiter in memory.
///
/// The first is named in the record of the store; the others become members as they follow. What a node's journal holds
/// outlives the node. Some of them may have a second store, ``other``.
struct DataNodes {
    let cluster = ClusterID(rawValue: UInt128(UInt64.random(in: 1...UInt64.max)) << 64 | 5)
    let arbiter: MemoryArbiter
    let names: [NodeID]
    private(set) var disks: [Disk]
    /// Of the second store, at the nodes that have it.
    private var otherDisks: [Int: Disk] = [:]
    private var journals: [MemoryJournal] { disks.map(\.base) }
    let endpoints: [String]
    private let keys: NodeKeys?
    private let cost: Duration
    /// What the nodes have logged.
    let lines = LogRecord()

    /// The name of the second store.
    static let other = "other"

    /// One life of a node.
    struct Life: Sendable {
        let node: Node
        let port: StorePort
        /// Of the second store; nil at a node that does not have it.
        let other: StorePort?
    }

    /// Makes the journals and the record of the store; an action or a mutation keeps a node's thread for `cost`.
    init(_ count: Int, minimum: Int, keys: NodeKeys? = nil, cost: Duration = .zero) async throws {
        (self.keys, self.cost) = (keys, cost)
        arbiter = MemoryArbiter(cluster: cluster)
        endpoints = (0..<count).map { _ in "tcp://127.0.0.1:\(FreePorts.next())" }
        names = (0..<count).compactMap { NodeID("node-\($0)") }
        disks = []
        for index in 0..<count { disks.append(await Self.emptyDisk(of: index, cluster)) }
        await create(journals[0].identity, minimum: minimum)
    }

    /// Makes the record of a store, with the first node alone as its member, by the identity of that one's journal.
    private func create(_ identity: JournalIdentity, minimum: Int) async {
        let first = Member(node: names[0], incarnation: identity.incarnation)
        let record = ConfigurationRecord(
            cluster: cluster, store: identity.store, channel: identity.channel, epoch: Epoch(rawValue: 1),
            primary: .init(member: first, boot: BootID(rawValue: 0), endpoints: [endpoints[0]]),
            openedAfter: .start(of: identity.store), minimum: minimum, attempt: AttemptID(rawValue: 1))
        guard case .created = await arbiter.create(record, of: identity.storeName, within: .seconds(1)) else {
            preconditionFailure("an arbiter takes the first record of a store")
        }
    }

    /// Gives some nodes a second store; its record names the first node, also if that one does not have it.
    mutating func addOther(at indices: [Int]) async {
        let channel = Channel(rawValue: 8)
        for index in indices {
            otherDisks[index] = await Self.emptyDisk(of: index, cluster, store: Self.other, channel: channel)
        }
        let absent = JournalIdentity(
            cluster: cluster, storeName: Self.other, channel: channel, incarnation: Incarnation(rawValue: 1))
        await create(otherDisks[0]?.identity ?? absent, minimum: 1)
    }

    private static func emptyDisk(
        of index: Int, _ cluster: ClusterID, store: String = "sum", channel: Channel = Channel(rawValue: 7)
    ) async -> Disk {
        let journal = MemoryJournal(
            JournalRequest(cluster: cluster, storeName: store, nodeName: "node-\(index)", channel: channel),
            isVolatile: false)
        await withCheckedContinuation { done in journal.markArbitrated { _ in done.resume() } }
        return Disk(journal)
    }

    /// A node that has ended gets an empty disk.
    mutating func loseDisk(_ index: Int) async { disks[index] = await Self.emptyDisk(of: index, cluster) }

    /// The next life of a node, which is to be run.
    func life(_ index: Int, executor: (any RunExecutor)? = nil) throws -> Life {
        let (own, other) = (disks[index], otherDisks[index])
        let source = JournalSource(description: "the journal of \(names[index])") { request in
            let disk = request.storeName == Self.other ? other : own
            guard let disk else { preconditionFailure("the node was given the store") }
            disk.base.reopen()
            return disk
        }
        var configuration = NodeConfiguration.dataNode(listen: endpoints[index], journal: source, arbiter: arbiter)
        configuration.node = names[index]
        configuration.keys = keys
        let node = try Node(configuration, logger: lines.logger())
        let cost = cost
        let port = try node.attach(name: "sum", executor: executor) { SumState(cost: cost) }
        let second = try other.map { _ in try node.attach(name: Self.other) { SumState() } }
        return Life(node: node, port: port, other: second)
    }

    /// Runs nodes while `body` does; the first of them with this executor, and as the first primary, which needs no other.
    func running(
        _ indices: [Int], executor: any RunExecutor, _ body: @escaping @Sendable ([Life]) async throws -> Void
    ) async throws {
        let lives = try indices.enumerated().map { try life($1, executor: $0 == 0 ? executor : nil) }
        try await withRunning(lives[0].node) {
            _ = try await primary(with: 1)
            try await run(lives.dropFirst(), [lives[0]]) { try await body($0) }
        }
    }

    /// Runs nodes while `body` does.
    func running(_ indices: [Int], _ body: @escaping @Sendable ([Life]) async throws -> Void) async throws {
        try await run(indices.map { try life($0) }[...], []) { try await body($0) }
    }

    private func run(
        _ left: ArraySlice<Life>, _ all: [Life], _ body: @escaping @Sendable ([Life]) async throws -> Void
    ) async throws {
        guard let life = left.first else { return try await body(all) }
        try await withRunning(life.node) { try await run(left.dropFirst(), all + [life], body) }
    }

    /// What the arbiter has; whatever it was asked to keep is there.
    var record: ConfigurationRecord { get async throws { try await record(of: "sum") } }

    /// The same of one of the stores.
    func record(of store: String) async throws -> ConfigurationRecord {
        guard let stored = try await arbiter.record(of: store, within: .seconds(1)) else {
            preconditionFailure("the record was created")
        }
        return stored.record
    }

    /// Which node the record names, once it has so many members and an epoch above this one.
    func primary(with members: Int, after epoch: Epoch = Epoch(rawValue: 1)) async throws -> Int {
        while true {
            let record = try await record
            if record.inSync.count == members, record.epoch > epoch,
                let index = names.firstIndex(of: record.primary.member.node)
            {
                return index
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Has a node give its post to another one; returns how that ended.
    func handOver(_ life: Life, to target: Int) async throws -> StorePost.Handover {
        var isBegun = false
        while !isBegun {
            do {
                _ = try await life.node.beginHandover(of: "sum", to: names[target].name)
                isBegun = true
            } catch let error as LockstepError where error.underlying is PassingRefusal {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        while true {
            if let handover = try await life.node.post(of: "sum").handover, !handover.isUnderWay { return handover }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Has a node give its post to another one, which has it then; who is asked too late, as on a busy host, is asked again.
    func giveAway(_ life: Life, to target: Int) async throws {
        func isGiven() async throws -> Bool { try await record.primary.member.node == names[target] }
        for _ in 0..<10 {
            do {
                if try await handOver(life, to: target).problem == nil { return }
            } catch let error as LockstepError where error.code == .administration {}
            // It may have won a moment later.
            try await until {
                if try await isGiven() { return true }
                return try await life.port.status().phase == .admitting
            }
            if try await isGiven() { return }
        }
        Issue.record("\(names[target].name) did not take the post")
    }

    /// Gives the log of a node that has ended one batch more, which nobody else has.
    func appendWhatNeverCommitted(to index: Int) async throws { try await append(to: index, isCommitted: false) }

    /// The same, and its journal knows the batch to be committed: nobody else has lost it by any rule.
    func appendWhatCommitted(to index: Int) async throws { try await append(to: index, isCommitted: true) }

    private func append(to index: Int, isCommitted: Bool) async throws {
        let journal = disks[index].base
        journal.reopen()
        var last: SealedBatch?
        try journal.recover(snapshot: { _ in }, batch: { last = $0 }, tail: { last = $0 })
        guard let last else { preconditionFailure("the log has batches") }
        var batch = BatchBuilder(
            store: journal.identity.store, epoch: last.head.epoch, after: last.position, time: last.head.time)
        withBytes(of: []) { _ = batch.append(.sessionAck([]), source: $0) }
        let sealed = batch.sealed()
        await withCheckedContinuation { done in journal.append([sealed]) { _ in done.resume() } }
        if isCommitted {
            await withCheckedContinuation { done in journal.store(commit: sealed.head.last) { _ in done.resume() } }
        }
        journal.close()
    }

    /// The journal of a node that has ended forgets what a snapshot of its committed state can take the place of.
    func shortenJournal(of index: Int) async throws {
        let journal = disks[index].base
        journal.reopen()
        let state = SumState()
        var log = LogState(store: journal.identity.store)
        try journal.recover(snapshot: { _ in }, batch: { _ = try log.apply($0, to: state) }, tail: { _ in })
        let content = SnapshotContent(
            log: log, digest: state.digest + log.digest, state: try state.image().encoded())
        let position = log.position
        await withCheckedContinuation { done in
            journal.save(snapshot: content.encoded(), at: position) { _ in done.resume() }
        }
        journal.close()
    }

    /// The disk of a node does nothing until `body` has ended; or that of its second store.
    func whileStuck(_ index: Int, isOther: Bool = false, _ body: () async throws -> Void) async throws {
        let end = DispatchSemaphore(value: 0)
        let journal = isOther ? otherDisks[index]?.base : journals[index]
        guard let journal else { preconditionFailure("the node was given the store") }
        // Completions run on the journal's own queue, which waits with them.
        journal.noteLater(.role, "stuck") { _ in end.wait() }
        defer { end.signal() }
        try await body()
    }
}
