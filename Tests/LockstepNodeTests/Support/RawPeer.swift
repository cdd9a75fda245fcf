import LockstepCore
import LockstepNode
import ZeroMQ

/// A peer that says to a node what it likes, over a socket of its own.
final class RawPeer {
    private let context: Context
    private let socket: Socket<Dealer>
    private let poller = Poller<Bool>()
    private var message = ZeroMQ.Message()

    /// Connects to a node's ingress, or to its bulk port or the one for data nodes, whose endpoint it is then.
    init(_ endpoint: String, isBulk: Bool = false, isDataNode: Bool = false, keys: DialKeys? = nil) throws {
        context = try Context()
        if isDataNode {
            socket = try Endpoints.replicationLink(context, to: endpoint, keys: keys) { _ in }
        } else if isBulk {
            socket = try Endpoints.bulkLink(context, to: endpoint, keys: keys)
        } else {
            socket = try Endpoints.link(context, to: endpoint, keys: keys)
        }
        poller.add(socket, as: true)
    }

    /// Sends a frame once, as soon as there is a connection; the suite's time limit ends it otherwise.
    func send(_ frame: [UInt8]) throws {
        while try !socket.send(frame) {
            try Task.checkCancellation()
            try poller.wait(timeout: .milliseconds(10))
        }
    }

    /// Sends a frame, again and again, until an answer comes, and reads it; the suite's time limit ends it otherwise.
    func ask(_ frame: [UInt8]) throws -> LockstepCore.Message? {
        withBytes(of: try exchange(frame)) { try? LockstepCore.Message.decode($0, rule: .any).message }
    }

    /// Sends a frame, again and again, until an answer comes; the suite's time limit ends it otherwise.
    func exchange(_ frame: [UInt8]) throws -> [UInt8] {
        while true {
            try Task.checkCancellation()
            _ = try socket.send(frame)
            try poller.wait(timeout: .milliseconds(100))
            if case .some(.message) = try socket.receive(into: &message) { return message.bytes }
        }
    }
}
