import LockstepCore
import LockstepNode
import ZeroMQ

/// Listens where a data node does, and says to each one that asks it what it likes.
final class RawDataNode {
    private let context: Context
    private let socket: Socket<Router>
    private let poller = Poller<Bool>()
    private var message = ZeroMQ.Message()

    /// Takes the port for other data nodes that belongs to this ingress.
    init(_ ingress: TCPEndpoint) throws {
        context = try Context()
        socket = try Endpoints.replication(
            context, at: ingress.advanced(by: NodeServices.replicationOffset), keys: nil)
        poller.add(socket, as: true)
    }

    /// Answers each frame that has come, or comes soon, with this one.
    func answer(with frame: [UInt8]) throws {
        try poller.wait(timeout: .milliseconds(20))
        while let received = try socket.receive(into: &message) {
            guard case .message(let peer) = received else { continue }
            _ = try socket.send(frame, to: peer)
        }
    }
}
