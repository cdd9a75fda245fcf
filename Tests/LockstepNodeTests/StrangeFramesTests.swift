import LockstepCore
import LockstepNode
import Testing

/// What a node does with frames that are no store's: the same with any number of stores (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StrangeFramesTests {
    private static let read = Message.read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0))
    private static let foreign = FrameStamp(channel: Channel(rawValue: 77), clusterHash: 5, epoch: .zero)

    /// What is too short, cannot be read, is of another cluster, or is no request is counted (PROTOCOL R-10).
    @Test(arguments: [1, 2])
    func whatIsNobodysIsCounted(stores: Int) async throws {
        try await Self.withNode(stores: stores) { node, endpoint, strange in
            let peer = try RawPeer(endpoint)
            let frames = [
                [1, 2, 3], [UInt8](repeating: 7, count: 40), Self.foreign.frame(Self.read), strange.frame(.resync),
            ]
            for (count, frame) in frames.enumerated() {
                try peer.send(frame)
                try await until {
                    let counts = try await node.status().stores.map { $0.counters["frames_refused"] ?? 0 }
                    return counts.reduce(0, +) == count + 1
                }
            }
        }
    }

    /// RESYNC repeats channel and cluster of the request, and names no epoch (PROTOCOL R-10).
    @Test(arguments: [1, 2])
    func resyncIsStampedForItsRequest(stores: Int) async throws {
        try await Self.withNode(stores: stores) { _, endpoint, strange in
            var expected = strange
            expected.epoch = .zero
            let answer = try RawPeer(endpoint).exchange(strange.frame(Self.read))
            #expect(answer == expected.frame(.resync))
        }
    }

    /// A HELLO of another cluster is refused, whatever its channel is (PROTOCOL ).
    @Test(arguments: [1, 2])
    func aForeignHelloOnAStrangeChannelIsRefused(stores: Int) async throws {
        try await Self.withNode(stores: stores) { _, endpoint, _ in
            let hello = Hello(
                nonce: 3, role: .client, node: "stray", incarnation: .none, boot: BootID(rawValue: 1), store: "right",
                known: .none)
            guard case .refused(let refused) = try RawPeer(endpoint).ask(Self.foreign.frame(.hello(hello))) else {
                Issue.record("it was not refused")
                return
            }
            #expect(refused.reason == .wrongCluster && refused.nonce == 3)
        }
    }

    /// Runs a primary of so many stores; `body` gets its address, and a stamp of its cluster for a channel of no store.
    private static func withNode(
        stores: Int, _ body: @escaping @Sendable (Node, String, FrameStamp) async throws -> Void
    ) async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        for name in ["left", "right"].prefix(stores) { _ = try node.attach(name: name) { SumState() } }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            let cluster = try #require(try await node.status().cluster.flatMap { ClusterID(hexadecimal: $0) })
            let strange = FrameStamp(
                channel: Channel(rawValue: 77), clusterHash: cluster.hash, epoch: Epoch(rawValue: 9))
            try await body(node, endpoint, strange)
        }
    }
}
