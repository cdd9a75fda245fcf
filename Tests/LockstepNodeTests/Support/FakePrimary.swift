import Foundation
import LockstepCore
import LockstepNode
import Synchronization
import ZeroMQ

/// Welcomes whoever says HELLO, or refuses it as a node of another version does; answers nothing else, and counts what came
/// by its kind.
final class FakePrimary: Sendable {
    private let counts = Mutex<[MessageKind: Int]>([:])
    private let isOver = Atomic<Bool>(false)
    private let done = DispatchSemaphore(value: 0)
    private let cluster: ClusterID
    private let boot: BootID
    private let version: UInt8?

    /// Where it listens.
    let endpoint: String

    /// Listens at a free port of loopback; refuses every HELLO in frames of `version` if that is given.
    init(refusingAs version: UInt8? = nil) throws {
        self.version = version
        var generator = SystemRandomNumberGenerator()
        (cluster, boot) = (ClusterID(using: &generator), BootID(using: &generator))
        let context = try Context()
        let poller = Poller<LoopToken>()
        let server = ServerSockets()
        let listen = try TCPEndpoint("tcp://127.0.0.1:0", use: "test")
        endpoint = try server.bind(listen, in: context, publishes: false, poller: poller).ingress
        // The thread alone uses them from here on.
        nonisolated(unsafe) let parts = (server, poller)
        Thread.detachNewThread { [self] in
            defer { done.signal() }
            while !isOver.load(ordering: .sequentiallyConsistent) {
                // A socket that fails ends the test by its time limit.
                guard (try? serve(parts.0, parts.1)) != nil else { return }
            }
            parts.0.close()
        }
    }

    func end() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        done.wait()
    }

    /// How many frames of a kind came.
    func count(_ kind: MessageKind) -> Int { counts.withLock { $0[kind, default: 0] } }

    private func serve(_ server: ServerSockets, _ poller: Poller<LoopToken>) throws {
        try poller.wait(timeout: .milliseconds(20))
        var answers: [([UInt8], Connection)] = []
        _ = try server.drainIngress(until: MonotonicClock.now.advanced(byMilliseconds: 10)) { frame, connection in
            guard let message = frame.withFrame({ try? LockstepCore.Message.decode($0, rule: .any).message }) else {
                return true
            }
            counts.withLock { $0[message.kind, default: 0] += 1 }
            if case .hello(let hello) = message {
                answers.append((version.map { refusal(hello, as: $0) } ?? welcome(hello), connection))
            }
            return true
        }
        for (frame, connection) in answers { _ = try server.send(frame, to: connection) }
    }

    private func welcome(_ hello: Hello) -> [UInt8] {
        let store = StoreID(cluster: cluster, name: hello.store)
        let welcome = Welcome(
            nonce: hello.nonce, cluster: cluster, role: .primary, isVolatile: true, node: "fake",
            incarnation: Incarnation(rawValue: 1), boot: boot, channel: Channel(rawValue: 0), store: store,
            commit: Position(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1), hash: .none),
            publishEndpoint: "", bulkEndpoint: "", primaryEndpoint: "", creditActions: 1_024, creditBytes: 1 << 20,
            largestAction: 1 << 20)
        return FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: Epoch(rawValue: 1))
            .frame(.welcome(welcome))
    }

    /// REFUSED in the frame of another version: kind, length, checksum and nonce stand at the same places (PROTOCOL, R-10).
    private func refusal(_ hello: Hello, as version: UInt8) -> [UInt8] {
        let refused = Refused(nonce: hello.nonce, reason: .wrongVersion, text: "the peer speaks another version")
        var frame = FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: .zero).frame(.refused(refused))
        frame[4] = version
        var checksum = CRC32C()
        withBytes(of: frame) { span in
            checksum.update(span, 0..<28)
            checksum.update(span, FrameHeader.byteCount..<span.byteCount)
        }
        for index in 0..<4 { frame[28 + index] = UInt8(truncatingIfNeeded: checksum.value >> (8 * UInt32(index))) }
        return frame
    }
}
