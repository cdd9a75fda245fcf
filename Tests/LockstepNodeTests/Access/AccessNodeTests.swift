import Foundation
import LockstepCore
import LockstepNode
import Logging
import Testing
import ZeroMQ

private typealias Message = LockstepCore.Message

/// Nodes with keys over real sockets (PROTOCOL R-67 to R-70).
@Suite(.timeLimit(.minutes(5)), .serialized, .enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
struct AccessNodeTests {
    private let ring: Keyring
    private let record = LogRecord()

    init() throws { ring = try Keyring() }

    /// Runs a primary with the list of the test.
    private func withPrimary(
        _ configuration: NodeConfiguration? = nil,
        _ body: @escaping @Sendable (Node, StorePort, String) async throws -> Void
    ) async throws {
        let node = try Node(configuration ?? ring.primaryNode(), logger: record.logger())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { try await body(node, port, try await node.listening()) }
    }

    private func withClient(
        _ keys: CurveKeyPair?, named name: String, of endpoint: String,
        _ body: @escaping @Sendable (StorePort) async throws -> Void
    ) async throws {
        var configuration = NodeConfiguration.client(of: endpoint)
        if let keys { configuration = ring.node(configuration, keys, named: name, of: endpoint) }
        let client = try Node(configuration)
        let port = try client.attachRemote(name: "sum")
        try await withRunning(client) { try await body(port) }
    }

    /// What an action at a client fails with.
    private func failure(
        _ keys: CurveKeyPair?, of endpoint: String, timeout: Duration = .seconds(3)
    ) async throws -> String {
        let text = SettableText()
        try await withClient(keys, named: "somebody", of: endpoint) { port in
            do {
                _ = try await port.submit(SumState.actions([1]), count: 1, timeout: timeout)
            } catch let error as LockstepError {
                text.set("\(error)")
            }
        }
        return text.value
    }

    /// An action at a client fails with all of this.
    ///
    /// The error says what is known when the action's time is over, so on a slow machine there is another action.
    private func expectFailure(_ keys: CurveKeyPair?, of endpoint: String, with parts: String...) async throws {
        var problem = ""
        for _ in 1...5 {
            problem = try await failure(keys, of: endpoint)
            if parts.allSatisfy({ problem.contains($0) }) { return }
        }
        Issue.record("\(problem)")
    }

    private final class SettableText: Sendable {
        private let lines = LogRecord()
        func set(_ text: String) { lines.logger().info("\(text)") }
        var value: String { lines.lines.last?.message ?? "" }
    }

    private func lines(_ message: String) -> [LogRecord.Line] { record.lines.filter { $0.message == message } }

    private var denied: Set<String> { Set(lines("denied").compactMap { $0.metadata["lockstep.peer"] }) }

    // MARK: - Who may

    /// A replica follows, a writer writes and a reader reads, each with its role alone; wildcards change nothing.
    @Test(arguments: [false, true]) func everybodyDoesWhatTheirRoleAllows(isWildcard: Bool) async throws {
        let chosen = FreePorts.next()
        let listen = isWildcard ? "tcp://*:\(chosen)" : "tcp://127.0.0.1:0"
        try await withPrimary(ring.primaryNode(listen: listen)) { node, _, bound in
            let endpoint = isWildcard ? "tcp://127.0.0.1:\(chosen)" : bound
            let configuration = ring.node(.replica(of: endpoint), ring.replica, named: "node-b", of: endpoint)
            let replica = try Node(configuration)
            let second = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                try await withClient(ring.writer, named: "web-1", of: endpoint) { port in
                    let sums = try await port.add([1, 2])
                    #expect(sums == [1, 3])
                }
                try await withClient(ring.reader, named: "page-1", of: endpoint) { port in
                    let answer = try await port.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                    #expect(try SumState.sum(answer.answer) == 3)
                }
                try await until { try await replica.status().stores[0].phase == .live }
                let answer = try await second.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
                #expect(try SumState.sum(answer.answer) == 3)
            }
            let status = try await node.status()
            #expect(status.access?.entries == ring.entries.count && status.isPlaintext == false)
        }
        #expect(lines("denied").isEmpty)
    }

    /// A reader's action and a replica's are refused with the role that they need, and nothing changes; so is a store
    /// that a name has not.
    @Test func whoMayNotWriteIsToldSo() async throws {
        var entries = ring.entries
        entries[2].stores = ["other"]
        try ring.write(entries)
        try await withPrimary { _, port, endpoint in
            try await expectFailure(
                ring.reader, of: endpoint, with: "refused: the action", "page-1 (reader) may not send open")
            try await expectFailure(ring.writer, of: endpoint, with: "web-1 may not use store sum")
            try await expectFailure(ring.admin, of: endpoint, with: "ops (admin) may not send hello")
            let replica = try Node(ring.node(.replica(of: endpoint), ring.replica, named: "node-b", of: endpoint))
            let second = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                try await until { try await second.status().phase == .live }
                // On a slow machine its time may be over before it is denied.
                for _ in 1...5 where !denied.contains("node-b") {
                    await #expect(throws: LockstepError.self) {
                        _ = try await second.submit(SumState.actions([1]), count: 1, timeout: .seconds(2))
                    }
                }
                #expect(try await second.status().phase == .live)
            }
            let answer = try await port.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
            #expect(try SumState.sum(answer.answer) == 0)
        }
        #expect(denied == ["page-1", "web-1", "ops", "node-b"])
    }

    /// Of several nodes each has its own keys: those of one do not take the turn of another's (PROTOCOL R-67, R-91).
    @Test func eachOfSeveralNodesHasItsKeys() async throws {
        try await withPrimary { _, _, endpoint in
            let away = "tcp://127.0.0.1:9"
            let old = ring.stranger.publicKey
            var configuration = NodeConfiguration.client(of: [away, endpoint])
            configuration.keys = NodeKeys(
                own: ring.writer,
                nodes: [away: [old, ring.reader.publicKey], endpoint: [old, ring.primary.publicKey]])
            let client = try Node(configuration)
            let remote = try client.attachRemote(name: "sum")
            let sums = try await withRunning(client) { try await remote.add([1, 2]) }
            #expect(sums == [1, 3])
        }
    }

    /// A node that knows several others starts with a list that has all of them, or not at all (PROTOCOL R-91).
    @Test func aListThatLacksOneOfSeveralNodesIsRefused() async throws {
        var entries = ring.entries
        entries[0].address = "tcp://127.0.0.1:22490"
        try ring.write(entries)
        var configuration = NodeConfiguration.client(of: ["tcp://127.0.0.1:22490", "tcp://127.0.0.1:22491"])
        configuration.keys = NodeKeys(own: ring.writer, access: ring.file)
        let client = try Node(configuration)
        _ = try client.attachRemote(name: "sum")
        await #expect {
            try await client.run()
        } throws: { error in
            (error as? LockstepError)?.message.contains("no public key of tcp://127.0.0.1:22491") == true
        }
    }

    // MARK: - Who may not

    /// An unknown key, a wrong key of the server and no keys at all: the caller is told what is wrong, and the node's
    /// store sees nothing.
    @Test func whoIsNotKnownIsToldWhatIsWrong() async throws {
        try await withPrimary { node, _, endpoint in
            try await expectFailure(
                ring.stranger, of: endpoint, with: "does not let the key of this node in", ring.stranger.publicKey.z85)
            try await expectFailure(nil, of: endpoint, with: "this node has none")
            var configuration = NodeConfiguration.client(of: endpoint)
            configuration.keys = NodeKeys(own: ring.writer, nodes: [endpoint: [ring.stranger.publicKey]])
            let client = try Node(configuration)
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                await #expect {
                    _ = try await remote.submit(SumState.actions([1]), count: 1, timeout: .seconds(15))
                } throws: { error in
                    (error as? LockstepError)?.message.contains("the handshake with") == true
                }
            }
            let store = try await node.status().stores[0]
            #expect(store.sessionCount == 0 && store.peers.allSatisfy { $0.node == "node-a" })
        }
        #expect(lines("denied").contains { $0.metadata["lockstep.peer"] == ring.stranger.publicKey.z85 })
        #expect(!lines("handshakes failed: peers without keys, or with another key than this node's").isEmpty)
    }

    /// What a role may not say on a link is dropped, counted and written down, and reaches no machine.
    @Test func whatARoleMayNotSayReachesNoMachine() async throws {
        try await withPrimary { node, port, endpoint in
            _ = try await port.add([1])
            let status = try await node.status()
            let cluster = try #require(status.cluster.flatMap { ClusterID(hexadecimal: $0) })
            let stamp = FrameStamp(
                channel: Channel(rawValue: UInt16(status.stores[0].channel ?? 0)), clusterHash: cluster.hash,
                epoch: .zero)
            // Port 0 chooses each port by itself: the bulk port is told in WELCOME.
            let peer = try RawPeer(endpoint, keys: ring.dial(ring.writer))
            var greeting = stamp
            greeting.channel = .none
            let hello = Hello(
                nonce: 3, role: .client, node: "web-1", incarnation: .none, boot: BootID(rawValue: 1), store: "sum",
                known: .none)
            guard case .welcome(let welcome) = try peer.ask(greeting.frame(.hello(hello))) else {
                Issue.record("the writer was not welcomed")
                return
            }
            let sync = Sync(
                nonce: 1, store: welcome.store, node: "web-1", have: .none, firstFrame: .zero, wantsSnapshot: true)
            let chunk = Message.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1))
            let bulk = try RawPeer(welcome.bulkEndpoint, isBulk: true, keys: ring.dial(ring.writer))
            try bulk.send(stamp.frame(.sync(sync)))
            try peer.send(stamp.frame(chunk))
            try await until { Set(lines("denied").map { $0.metadata["lockstep.kind"] }) == ["sync", "chunkRequest"] }
            #expect(lines("denied").allSatisfy { $0.level == .warning })
            #expect(try await node.status().stores[0].counters["frames_refused"] ?? 0 == 0)
            // On the broadcast port it does not come as far as a frame.
            let context = try Context()
            let socket = try Endpoints.subscription(context, to: welcome.publishEndpoint, keys: ring.dial(ring.writer))
            _ = try socket.send(Subscription(channel: welcome.channel).bytes)
            try await until { lines("denied").contains { $0.metadata["lockstep.kind"] == "connection" } }
            socket.close()
            withExtendedLifetime((peer, bulk)) {}
        }
    }

    /// A made-up place in a client's HELLO stops nobody, and another's name is refused.
    @Test func aMadeUpPlaceStopsNobody() async throws {
        // A volatile primary is behind nobody.
        try await withPrimary(ring.primaryNode(journal: KeptLog().source)) { node, port, endpoint in
            _ = try await port.add([1])
            let status = try await node.status()
            let cluster = try #require(status.cluster.flatMap { ClusterID(hexadecimal: $0) })
            let stamp = FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: .zero)
            let place = Position(
                epoch: Epoch(rawValue: status.stores[0].epoch + 1), sequence: SequenceNumber(rawValue: 99), hash: .none)
            func greet(_ keys: CurveKeyPair, _ role: PeerRole, _ name: String) throws -> Message? {
                let hello = Hello(
                    nonce: 3, role: role, node: name, incarnation: .none, boot: BootID(rawValue: 1), store: "sum",
                    known: KnownPosition(position: place, boot: .none))
                return try RawPeer(endpoint, keys: ring.dial(keys)).ask(stamp.frame(.hello(hello)))
            }
            guard case .welcome = try greet(ring.writer, .client, "web-1") else {
                Issue.record("the writer was not welcomed")
                return
            }
            for (keys, role, name) in [
                (ring.writer, PeerRole.replica, "web-1"), (ring.replica, .replica, "node-c"),
                (ring.writer, .client, "node-b"), (ring.reader, .replica, "node-b"),
            ] {
                guard case .refused(let refused) = try greet(keys, role, name) else {
                    Issue.record("\(name) was not refused")
                    return
                }
                #expect(refused.reason == .denied && refused.nonce == 3)
            }
            #expect(try await port.status().alarms.isEmpty)
            #expect(try await port.add([1]) == [2])
            // The check itself: a replica that says it is believed.
            _ = try greet(ring.replica, .replica, "node-b")
            try await until { try await port.status().phase == .behind }
        }
    }

    /// A name has as many connections as its quota says: one more gets no answer and is written down, and the first goes on
    /// (PROTOCOL R-73).
    @Test func aConnectionBeyondTheQuotaEnds() async throws {
        var entries = ring.entries
        entries[2].quota = AccessQuota(connections: 1)
        try ring.write(entries)
        try await withPrimary { _, _, endpoint in
            try await withClient(ring.writer, named: "web-1", of: endpoint) { port in
                #expect(try await port.add([1]) == [1])
                let problem = try await failure(ring.writer, of: endpoint)
                #expect(problem.hasPrefix("timeout:"), "\(problem)")
                #expect(try await port.add([1]) == [2])
            }
        }
        #expect(lines("denied").contains { $0.metadata["lockstep.reason"]?.hasPrefix("quota: web-1") == true })
    }

    /// The role admin may ask over the network what the node's own host may, of its stores; nobody else may, and each
    /// order is written down with the name (PROTOCOL R-74).
    @Test func anAdministratorAsksOverTheNetwork() async throws {
        var entries = ring.entries
        entries[4].stores = ["sum"]
        try ring.write(entries)
        try await withPrimary { _, _, endpoint in
            @Sendable func ask(_ command: String, _ keys: CurveKeyPair) async throws -> String {
                let json = try await AdministrationClient.ask(
                    at: endpoint, command: command, keys: [ring.dial(keys)], timeout: .seconds(20))
                return String(decoding: json, as: UTF8.self)
            }
            let sessions = #"{"command":"sessions","store":"sum"}"#
            let close = #"{"command":"closeSessions","store":"sum","choice":{"unused":true,"idleSeconds":0}}"#
            try await withClient(ring.writer, named: "web-1", of: endpoint) { port in
                #expect(try await port.add([1]) == [1])
                let list = try await ask(sessions, ring.admin)
                #expect(list.contains("\"sender\":\"web-1\""), "\(list)")
                #expect(try await ask(close, ring.admin).contains("\"closed\":"))
                #expect(try await ask(#"{"command":"sessions","store":"other"}"#, ring.admin).contains("no access"))
                #expect(try await ask(#"{"command":"stop"}"#, ring.admin).contains("there is no command stop"))
                for keys in [ring.writer, ring.reader, ring.replica, ring.primary] {
                    #expect(try await ask(sessions, keys).contains("tells its status only"))
                }
            }
        }
        let orders = lines("administered over the network").map { $0.metadata["lockstep.kind"] }
        #expect(orders == ["sessions", "closeSessions"])
        #expect(lines("administered over the network").allSatisfy { $0.metadata["lockstep.peer"] == "ops" })
    }

    /// Who is limited to some stores is told of no other, also when somebody else has just asked.
    @Test func aStatusHasTheStoresOfWhoAsks() async throws {
        var entries = ring.entries
        entries[3].stores = ["sum"]
        try ring.write(entries)
        let node = try Node(ring.primaryNode(), logger: record.logger())
        _ = try node.attach(name: "sum") { SumState() }
        _ = try node.attach(name: "other") { SumState() }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            func stores(_ keys: CurveKeyPair) async throws -> [String] {
                let json = try await AdministrationClient.ask(
                    at: endpoint, keys: [ring.dial(keys)], timeout: .seconds(20))
                return try JSONDecoder().decode(NodeStatus.self, from: json).stores.map(\.name)
            }
            #expect(try await stores(ring.writer) == ["other", "sum"])
            #expect(try await stores(ring.reader) == ["sum"])
            #expect(try await stores(ring.writer) == ["other", "sum"])
        }
    }
}
