import Foundation
import LockstepCore
import LockstepNode
import Testing

/// What a node tells of itself to other hosts (PROTOCOL R-66).
@Suite(.timeLimit(.minutes(5)))
struct RemoteStatusTests {
    private static func request(_ json: String) -> [UInt8] {
        let bytes = Array(json.utf8)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        return withBytes(of: bytes) { stamp.frame(.adminRequest(0..<bytes.count), source: $0) }
    }

    private static func answer(_ json: String, _ endpoint: String, isBulk: Bool = false) throws -> String {
        let frame = try RawPeer(endpoint, isBulk: isBulk).exchange(request(json))
        return withBytes(of: frame) { bytes in
            guard let decoded = try? LockstepCore.Message.decode(bytes, rule: .any).message,
                case .adminResponse(let range) = decoded
            else { return "" }
            return String(decoding: copyBytes(of: bytes, range), as: UTF8.self)
        }
    }

    /// The primary's status names each replica with its position and its newest mark, and no session.
    @Test func thePrimaryTellsOfItsReplicasAndOfNoSession() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let port = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            var configuration = NodeConfiguration.replica(of: endpoint)
            configuration.node = try #require(NodeID("replica-1"))
            let replica = try Node(configuration)
            _ = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                _ = try await port.add([1, 2])
                try await until {
                    let json = try await AdministrationClient.ask(at: endpoint, timeout: .seconds(20))
                    let status = try JSONDecoder().decode(NodeStatus.self, from: json)
                    let store = try #require(status.stores.first)
                    #expect(status.role == .primary && store.sessions.isEmpty)
                    guard store.sessionCount > 0, let peer = store.peers.first(where: { $0.role == .replica }) else {
                        return false
                    }
                    #expect(peer.node == "replica-1")
                    // Equal places have equal digests; the replica tells its mark with its next HELLO.
                    let (mark, own) = (peer.mark, store.mark)
                    guard mark != nil, mark?.sequence == own?.sequence else { return false }
                    #expect(mark == own)
                    return peer.lag == 0
                }
            }
        }
    }

    /// Nothing else can be asked from outside, and what is no request is counted.
    @Test(arguments: [
        #"{"command":"dump","store":"sum"}"#, #"{"command":"closeSessions","store":"sum","choice":{"unused":true}}"#,
        #"{"command":"runs","store":"sum"}"#, #"{"command":"sessions","store":"sum"}"#,
    ]) func nothingElseIsAnswered(_ json: String) async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            let status = "over the network a node tells its status only"
            let refusal = #"{"error":"\#(status), and more to the role admin: ask on its own host"}"#
            #expect(try Self.answer(json, endpoint) == refusal)
            let long = #"{"command":"status","# + String(repeating: " ", count: 256) + #""digests":true}"#
            for frame in [Self.request("[]"), Self.request(long)] {
                let before = try await node.status().stores[0].counters["frames_refused"] ?? 0
                try RawPeer(endpoint).send(frame)
                try await until { (try await node.status().stores[0].counters["frames_refused"] ?? 0) == before + 1 }
            }
        }
    }

    /// Who asks often gets the last answer: a node does not work for each question.
    @Test func aStatusIsTakenTwiceASecondAtMost() async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            var texts: Set<String> = []
            let began = ContinuousClock.now
            for _ in 0..<20 { texts.insert(try Self.answer(#"{"command":"status"}"#, endpoint)) }
            // The uptime is in it, so each that was taken differs.
            let most = began.duration(to: .now) / .milliseconds(500) + 2
            #expect(Double(texts.count) <= most && !texts.contains(""))
        }
    }

    @Test func whoDoesNotAnswerIsNamed() async throws {
        let error = await #expect(throws: LockstepError.self) {
            _ = try await AdministrationClient.ask(at: "tcp://127.0.0.1:9", timeout: .milliseconds(100))
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message == "the node at tcp://127.0.0.1:9 does not answer: nothing came for 0.1 s")
        let wrong = await #expect(throws: LockstepError.self) {
            _ = try await AdministrationClient.ask(at: "127.0.0.1:9")
        }
        #expect(wrong?.code == .invalidConfiguration)
    }
}
