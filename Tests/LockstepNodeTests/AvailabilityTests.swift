import LockstepCore
import LockstepNode
import Testing

/// What a replica of two stores goes on with while its primary is away (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)))
struct AvailabilityTests {
    private static let stores = ["left", "right"]
    private static let values: [UInt8] = [5, 7]

    /// Both stores of a replica answer reads, joins and repairs when the primary has gone, and so they do after the
    /// replica was restarted and found no primary.
    @Test
    func aReplicaOfTwoStoresServesWithoutItsPrimary() async throws {
        let journals = KeptLogs()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: KeptLogs().source))
        let ports = try Self.stores.map { try primary.attach(name: $0) { SumState() } }
        let running = Task { try await primary.run() }
        let endpoint = try await primary.listening()
        for (port, value) in zip(ports, Self.values) { _ = try await port.add([value]) }
        let cluster = try #require(try await primary.status().cluster.flatMap { ClusterID(hexadecimal: $0) })

        let replica = try Self.replica(of: endpoint, cluster, journals)
        let copies = try Self.stores.map { try replica.attach(name: $0) { SumState() } }
        try await withRunning(replica) {
            for copy in copies { try await until { try await copy.status().phase == .live } }
            running.cancel()
            try await running.value
            for copy in copies { try await until { try await copy.status().phase == .connecting } }
            try await Self.expectServed(at: try await replica.listening(), cluster)
        }
        let again = try Self.replica(of: endpoint, cluster, journals)
        for name in Self.stores { _ = try again.attach(name: name) { SumState() } }
        try await withRunning(again) { try await Self.expectServed(at: try await again.listening(), cluster) }
    }

    /// Whoever is told that a store is live reads it at that moment: the gate for readers is open before (PROTOCOL R-37).
    @Test
    func whatIsLiveCanBeRead() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let port = try primary.attach(name: "left") { SumState() }
        try await withRunning(primary) {
            _ = try await port.add([5])
            let replica = try Node(.replica(of: try await primary.listening()))
            let copy = try replica.attach(name: "left") { SumState() }
            let (refusals, refusal) = AsyncStream.makeStream(of: ReadRefusal?.self)
            copy.readiness.observe { [gate = copy.gate] standing in
                guard standing.readiness == .live else { return }
                refusal.yield(gate.closedFor)
                refusal.finish()
            }
            try await withRunning(replica) {
                var seen = refusals.makeAsyncIterator()
                let first = await seen.next()
                #expect(first == .some(nil), "live, and the gate is closed")
            }
        }
    }

    /// A request on a channel that no store of a node has is answered by RESYNC, on both links (PROTOCOL ).
    @Test
    func aChannelOfNoStoreIsAnswered() async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        for name in Self.stores { _ = try node.attach(name: name) { SumState() } }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            let cluster = try #require(try await node.status().cluster.flatMap { ClusterID(hexadecimal: $0) })
            let bulk = try Self.greet(endpoint, "left", cluster).bulkEndpoint
            let stamp = FrameStamp(channel: Channel(rawValue: 77), clusterHash: cluster.hash, epoch: .zero)
            let read = Message.read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0))
            #expect(try RawPeer(endpoint).ask(stamp.frame(read)) == .resync)
            let request = Message.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1))
            #expect(try RawPeer(bulk, isBulk: true).ask(stamp.frame(request)) == .resync)
        }
    }

    /// A primary that is behind answers no read of its own process either, and says which alarm tells why (PROTOCOL R-41).
    @Test
    func aPrimaryThatIsBehindAnswersNoRead() async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: KeptLogs().source))
        let port = try node.attach(name: "left") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([5])
            try await port.waitUntilReadable(.local, minimum: .zero, timeout: StorePort.patience)
            try await Self.leaveBehind(node)
            try await until { try await port.status().phase == .behind }
            for level in [ReadLevel.local, .session, .linearizable] {
                await #expect {
                    try await port.waitUntilReadable(level, minimum: .zero, timeout: StorePort.patience)
                } throws: {
                    Self.isRefusal($0)
                }
                await #expect {
                    _ = try await port.ask([], level: level, minimum: .zero, timeout: StorePort.patience)
                } throws: {
                    Self.isRefusal($0)
                }
            }
        }
    }

    /// Whoever is told that a primary is behind cannot read it at that moment: the gate is closed before (PROTOCOL R-41).
    @Test
    func whatIsBehindCannotBeRead() async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: KeptLogs().source))
        let port = try node.attach(name: "left") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([5])
            let (refusals, refusal) = AsyncStream.makeStream(of: ReadRefusal?.self)
            // Asked in every turn, also in the one in which the primary hears of the place ahead.
            @Sendable func look(_ host: StoreHost) {
                guard host.status().phase == .behind else { return port.inbox.ask(Errand(run: look)) }
                refusal.yield(port.gate.closedFor)
                refusal.finish()
            }
            port.inbox.ask(Errand(run: look))
            try await Self.leaveBehind(node)
            var seen = refusals.makeAsyncIterator()
            let first = await seen.next()
            #expect(first == ReadRefusal.behind, "behind, and the gate is open")
        }
    }

    /// Tells a primary of a place in its own epoch that it does not have.
    private static func leaveBehind(_ node: Node) async throws {
        let status = try await node.status()
        let cluster = try #require(status.cluster.flatMap { ClusterID(hexadecimal: $0) })
        let ahead = Position(
            epoch: Epoch(rawValue: status.stores[0].epoch), sequence: SequenceNumber(rawValue: 1_000), hash: .none)
        let hello = Hello(
            nonce: 1, role: .replica, node: "ahead", incarnation: .none, boot: BootID(rawValue: 1), store: "left",
            known: KnownPosition(position: ahead, boot: .none))
        let stamp = FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: .zero)
        _ = try RawPeer(try await node.listening()).ask(stamp.frame(.hello(hello)))
    }

    private static func isRefusal(_ error: any Error) -> Bool {
        let error = error as? LockstepError
        return error?.code == .unavailable && error?.message.contains("PRIMARY_BEHIND") ?? false
    }

    private static func replica(of endpoint: String, _ cluster: ClusterID, _ journals: KeptLogs) throws -> Node {
        var configuration = NodeConfiguration.replica(
            of: endpoint, listen: "tcp://127.0.0.1:0", journal: journals.source)
        configuration.cluster = cluster
        return try Node(configuration)
    }

    /// A client reads both stores at `endpoint`, and both are there for a joiner.
    private static func expectServed(at endpoint: String, _ cluster: ClusterID) async throws {
        let client = try Node(.client(of: endpoint))
        let remotes = try stores.map { try client.attachRemote(name: $0) }
        try await withRunning(client) {
            for (remote, value) in zip(remotes, values) {
                let answer = try await remote.ask([], level: .local, minimum: .zero, timeout: .seconds(10))
                #expect(try SumState.sum(answer.answer) == UInt64(value))
            }
        }
        for name in stores { try expectJoin(name, at: endpoint, cluster) }
    }

    /// What a node answers to HELLO.
    private static func greet(_ endpoint: String, _ name: String, _ cluster: ClusterID) throws -> Welcome {
        let stamp = FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: .zero)
        let hello = Hello(
            nonce: 1, role: .client, node: "joiner", incarnation: .none, boot: BootID(rawValue: 1), store: name,
            known: .none)
        guard case .welcome(let welcome) = try RawPeer(endpoint).ask(stamp.frame(.hello(hello))) else {
            throw Unexpected()
        }
        return welcome
    }

    private static func expectJoin(_ name: String, at endpoint: String, _ cluster: ClusterID) throws {
        let welcome = try greet(endpoint, name, cluster)
        #expect(welcome.role == .replica && welcome.commit.sequence > .zero)
        let stamp = FrameStamp(channel: welcome.channel, clusterHash: cluster.hash, epoch: .zero)
        let bulk = try RawPeer(welcome.bulkEndpoint, isBulk: true)
        let sync = Sync(
            nonce: 2, store: welcome.store, node: "joiner", have: .none, firstFrame: .zero, wantsSnapshot: false)
        guard case .syncPlan(let plan) = try bulk.ask(stamp.frame(.sync(sync))) else { throw Unexpected() }
        #expect(plan.decision == .tail || plan.decision == .busy(retryAfter: 50_000), "\(plan.decision)")
        let request = RepairRequest(
            nonce: 3, after: .start(of: welcome.store), through: plan.commit.sequence, largestReply: 1 << 20)
        // On a link of its own: on the other another answer to SYNC may come.
        let repairs = try RawPeer(welcome.bulkEndpoint, isBulk: true)
        guard case .repair = try repairs.ask(stamp.frame(.repairRequest(request))) else { throw Unexpected() }
    }

    struct Unexpected: Error {}
}
