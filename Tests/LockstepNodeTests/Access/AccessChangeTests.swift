import LockstepCore
import LockstepNode
import Synchronization
import Testing
import ZeroMQ

private typealias Message = LockstepCore.Message

/// An access list that changes while its node runs, and keys that do (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)), .serialized, .enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
struct AccessChangeTests {
    private let ring: Keyring
    private let record = LogRecord()

    init() throws { ring = try Keyring() }

    private func withPrimary(
        _ configuration: NodeConfiguration? = nil,
        _ body: @escaping @Sendable (Node, StorePort, String) async throws -> Void
    ) async throws {
        let node = try Node(configuration ?? ring.primaryNode(), logger: record.logger())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { try await body(node, port, try await node.listening()) }
    }

    /// A client that finds the key of its node in a file.
    private func client(of endpoint: String, reading book: Keyring) throws -> (Node, StorePort) {
        var configuration = NodeConfiguration.client(of: endpoint)
        configuration.keys = NodeKeys(own: ring.writer, access: book.file)
        let client = try Node(configuration)
        return (client, try client.attachRemote(name: "sum"))
    }

    private func count(_ message: String) -> Int { record.lines.filter { $0.message == message }.count }

    /// A key that is taken out of the list is silent on connections that are open: the client is not answered, the
    /// replica gets no frame, and those who stay notice nothing. (That it takes a second at most is judged with real
    /// processes, `aRevokedNameIsSilentWithinASecond`; here hundreds of tests share the processors.)
    @Test func whoIsTakenOutIsSilent() async throws {
        try await withPrimary { node, port, endpoint in
            let replica = try Node(ring.node(.replica(of: endpoint), ring.replica, named: "node-b", of: endpoint))
            _ = try replica.attach(name: "sum") { SumState() }
            let client = try Node(ring.node(.client(of: endpoint), ring.writer, named: "web-1", of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(replica) {
                try await withRunning(client) {
                    _ = try await remote.add([1])
                    try await until { try await replica.status().stores[0].phase == .live }
                    try await until { try await replica.status().stores[0].sequence >= 2 }
                    let peers = try await node.status().stores[0].peerCount
                    #expect(peers >= 2)
                    try ring.write(ring.entries.filter { !["node-b", "web-1"].contains($0.name) })
                    try await until { count("connections were ended: the access list has changed") == 1 }
                    let last = try await port.status().commit
                    _ = try await port.add([5])
                    await #expect(throws: LockstepError.self) {
                        _ = try await remote.submit(SumState.actions([1]), count: 1, timeout: .seconds(3))
                    }
                    #expect(try await replica.status().stores[0].sequence <= last)
                    #expect(try await port.add([1]) == [7])
                    // Back in the list, both go on by themselves.
                    try ring.write(ring.entries)
                    try await until { try await replica.status().stores[0].sequence > last }
                    _ = try await remote.add([1])
                }
            }
        }
    }

    /// A role that is taken away ends the connection too: what was allowed on it does not go on.
    @Test func aRoleThatIsTakenAwayEndsTheConnection() async throws {
        try await withPrimary { _, _, endpoint in
            let client = try Node(ring.node(.client(of: endpoint), ring.writer, named: "web-1", of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                #expect(try await remote.add([1]) == [1])
                var entries = ring.entries
                entries[2].roles = [.reader]
                try ring.write(entries)
                try await until { count("connections were ended: the access list has changed") == 1 }
                await #expect(throws: LockstepError.self) {
                    _ = try await remote.submit(SumState.actions([1]), count: 1, timeout: .seconds(4))
                }
                try await until {
                    try await remote.status().alarms.contains { $0.text.contains("web-1 (reader) may not send") }
                }
            }
        }
    }

    /// A text that cannot be used changes nothing and is said, once; the next good one holds.
    @Test func aTextThatCannotBeUsedChangesNothing() async throws {
        try await withPrimary { node, _, endpoint in
            let client = try Node(ring.node(.client(of: endpoint), ring.writer, named: "web-1", of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                _ = try await remote.add([1])
                let unusable = "the access list was changed and cannot be used: the list from before stays"
                for (round, text) in ["{", "{\"version\": 1, \"entries\": [{\"name\": \"x\"}]}", ""].enumerated() {
                    try ring.write(text: text)
                    try await until { count(unusable) == round + 1 }
                    #expect(try await remote.add([1]) == [UInt64(round) + 2])
                    let access = try #require(try await node.status().access)
                    #expect(access.entries == ring.entries.count && access.problem != nil)
                }
                try await Task.sleep(for: .seconds(1))
                #expect(count(unusable) == 3)
                try ring.write(ring.entries.filter { $0.name != "ops" })
                try await until { try await node.status().access?.entries == ring.entries.count - 1 }
                #expect(try await node.status().access?.problem == nil)
                #expect(count("the access list can be used again") == 1)
            }
            #expect(count("connections were ended: the access list has changed") == 0)
        }
    }

    /// A node does not start with a list that cannot be used: nothing would be better than everything.
    @Test func aNodeDoesNotStartWithoutItsList() async throws {
        try ring.write(text: "[]")
        let node = try Node(ring.primaryNode())
        _ = try node.attach(name: "sum") { SumState() }
        await #expect {
            try await node.run()
        } throws: { error in
            (error as? LockstepError)?.code == .invalidConfiguration
        }
    }

    /// A client finds the key of its node in its file by the address, also when that is written while it runs.
    @Test func aClientReadsTheKeysOfItsNodesAgain() async throws {
        try await withPrimary { _, _, endpoint in
            let book = try Keyring()
            let silent = ring.entries[0]
            try book.write([silent])
            let (client, remote) = try client(of: endpoint, reading: book)
            try await withRunning(client) {
                try await until { try await remote.status().alarms.contains { $0.text.contains("no public key of") } }
                var told = silent
                told.address = endpoint
                try book.write([told])
                let sums = try await remote.add([1])
                #expect(sums == [1])
            }
        }
    }

    /// A link ends when the key of its other end is taken out of the list, and comes back with the key.
    @Test func aLinkEndsWhenTheKeyOfItsNodeIsTakenOut() async throws {
        try await withPrimary { _, _, endpoint in
            let book = try Keyring()
            let silent = ring.entries[0]
            let told = AccessList.Entry(
                name: silent.name, keys: silent.keys, roles: silent.roles, address: endpoint)
            try book.write([told])
            let (client, remote) = try client(of: endpoint, reading: book)
            try await withRunning(client) {
                #expect(try await remote.add([1]) == [1])
                try book.write([silent])
                try await until { try await remote.status().alarms.contains { $0.text.contains("no public key of") } }
                await #expect(throws: LockstepError.self) {
                    _ = try await remote.ask([], level: .linearizable, minimum: .zero, timeout: .seconds(1))
                }
                try book.write([told])
                #expect(try await remote.add([1]) == [2])
            }
        }
    }

    /// A list of another cluster is not this node's, at its start and later, also if the list before named none.
    @Test(arguments: [true, false]) func aListOfAnotherClusterIsNotUsed(isNamed: Bool) async throws {
        let (own, other) = (ClusterID(rawValue: 1 << 100), ClusterID(rawValue: 2 << 100))
        let first = try AccessList(ring.entries, cluster: isNamed ? own : nil)
        try ring.write(text: String(decoding: try first.json, as: UTF8.self))
        var configuration = ring.primaryNode()
        configuration.cluster = own
        try await withPrimary(configuration) { node, _, _ in
            try ring.write(text: String(decoding: try AccessList([], cluster: other).json, as: UTF8.self))
            try await until { try await node.status().access?.problem?.contains("of cluster") == true }
            #expect(try await node.status().access?.entries == ring.entries.count)
        }
        let node = try Node(configuration)
        _ = try node.attach(name: "sum") { SumState() }
        await #expect {
            try await node.run()
        } throws: { error in
            (error as? LockstepError)?.message.contains("of cluster") == true
        }
    }

    /// The primary's key changes: a client with the old and the new one goes on, and each of its actions counts once.
    @Test func aKeyIsRotatedWithoutALoss() async throws {
        let journal = KeptLog()
        let newKeys = try CurveKeyPair.generate()
        var entries = ring.entries
        entries[0].keys.append(newKeys.publicKey)
        try ring.write(entries)
        let port = FreePorts.next()
        let endpoint = "tcp://127.0.0.1:\(port)"
        var configuration = NodeConfiguration.client(of: endpoint)
        configuration.keys = NodeKeys(
            own: ring.writer, nodes: [endpoint: [ring.primary.publicKey, newKeys.publicKey]])
        let client = try Node(configuration)
        let remote = try client.attachRemote(name: "sum")
        let sums = Sums()
        try await withRunning(client) {
            async let done: Void = sums.collect(from: remote)
            for keys in [ring.primary, newKeys, ring.primary] {
                var primary = ring.primaryNode(listen: endpoint, journal: journal.source, keys: keys)
                primary.audienceTimeout = .zero
                try await withPrimary(primary) { _, port, _ in
                    let before = try await port.status().commit
                    try await until { try await port.status().commit > before + 10 }
                }
            }
            // The last answers come from a primary that stays.
            var last = ring.primaryNode(listen: endpoint, journal: journal.source, keys: newKeys)
            last.audienceTimeout = .zero
            try await withPrimary(last) { _, port, _ in
                sums.isEnding.store(true, ordering: .relaxed)
                try await until { sums.isOver.load(ordering: .relaxed) }
                let all = sums.all
                let answer = try await port.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
                #expect(try SumState.sum(answer.answer) == UInt64(all.count))
                #expect(all.count > 10 && all == Array(1...UInt64(max(1, all.count))))
            }
            try await done
        }
    }

    /// What a client was answered, one action after the other, until it is to end.
    private final class Sums: Sendable {
        let isEnding = Atomic(false)
        let isOver = Atomic(false)
        private let answers = Mutex<[UInt64]>([])
        var all: [UInt64] { answers.withLock { $0 } }

        func collect(from port: StorePort) async throws {
            defer { isOver.store(true, ordering: .relaxed) }
            while !isEnding.load(ordering: .relaxed) {
                let sums = try await port.add([1])
                answers.withLock { $0 += sums }
            }
        }
    }
}
