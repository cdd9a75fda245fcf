import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import Synchronization
import ZeroMQ

/// Answers every question for its status with the same bytes, and counts the questions.
final class FakeNode: Sendable {
    private let count = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)
    private let done = DispatchSemaphore(value: 0)

    var questions: Int { count.load(ordering: .sequentiallyConsistent) }

    /// One turn, and the end.
    private typealias Server = (turn: () throws -> Void, close: () -> Void)

    /// Serves the folder of a node that does not run.
    convenience init(data: String, answer: Data) throws {
        let folder = NodeFolder(data).administration
        try self.init { node, context, poller in
            let server = try AdministrationServer(folder: folder, context: context, poller: poller)
            return (
                {
                    _ = try server.serve { _ in
                        node.count.add(1, ordering: .sequentiallyConsistent)
                        return answer
                    }
                }, server.close
            )
        }
    }

    /// Serves an address.
    convenience init(address: String, answer: Data) throws {
        let bytes = Array(answer)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        let frame = withBytes(of: bytes) { stamp.frame(.adminResponse(0..<bytes.count), source: $0) }
        try self.init { node, context, poller in
            let server = ServerSockets()
            let listen = try TCPEndpoint(address, use: "the test")
            _ = try server.bind(listen, in: context, publishes: false, poller: poller)
            return (
                {
                    var asked: [Connection] = []
                    _ = try server.drainIngress(until: MonotonicClock.now.advanced(byMilliseconds: 10)) {
                        let message = $0.withFrame { try? LockstepCore.Message.decode($0, rule: .any).message }
                        if case .adminRequest? = message { asked.append($1) }
                        return true
                    }
                    node.count.add(asked.count, ordering: .sequentiallyConsistent)
                    for connection in asked { _ = try server.send(frame, to: connection) }
                }, server.close
            )
        }
    }

    private init(_ make: @escaping @Sendable (FakeNode, Context, Poller<LoopToken>) throws -> Server) throws {
        let ready = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        Thread.detachNewThread { [self] in
            defer { done.signal() }
            do {
                let context = try Context()
                let poller = Poller<LoopToken>()
                let server = try make(self, context, poller)
                ready.signal()
                while !isOver.load(ordering: .sequentiallyConsistent) {
                    try poller.wait(timeout: .milliseconds(20))
                    try server.turn()
                }
                server.close()
            } catch {
                failure.withLock { $0 = error }
                ready.signal()
            }
        }
        ready.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    func end() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        done.wait()
    }
}
