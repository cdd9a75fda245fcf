import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepNode
import ZeroMQ

/// A blocking connection of the command line to one node, for operators' commands: it asks and waits for the answer.
///
/// Used on one thread. Requests are repeated every 300 ms until an answer comes, since a frame may be lost.
final class PeerLink {
    let welcome: Welcome
    private let context: Context
    private let bulk: Socket<Dealer>
    private let poller: Poller<Bool>
    private var message = ZeroMQ.Message()
    private let stamp: FrameStamp

    /// Says HELLO at a node's ingress and connects to the bulk address that it names.
    init(node endpoint: String, cluster: ClusterID, store: String, patience: Duration = .seconds(10)) throws {
        context = try Context()
        stamp = FrameStamp(channel: .none, clusterHash: cluster.hash, epoch: .zero)
        let ingress = try Endpoints.link(context, to: endpoint)
        var generator = SystemRandomNumberGenerator()
        let hello = Hello(
            nonce: generator.next(), role: .client, node: "recovery", incarnation: .none,
            boot: BootID(using: &generator), store: store, known: .none)
        let frame = stamp.frame(.hello(hello))
        let ingressPoller = Poller<Bool>()
        ingressPoller.add(ingress, as: true)
        var received = ZeroMQ.Message()
        let answer = try Self.exchange(patience, "an answer of \(endpoint)", what: "no node answers at \(endpoint)") {
            _ = try ingress.send(frame)
            try ingressPoller.wait(timeout: .milliseconds(300))
        } receive: {
            guard case .some(.message) = try ingress.receive(into: &received) else { return nil }
            return received.bytes
        } match: { frame -> Welcome? in
            switch try Self.decode(frame) {
            case .welcome(let welcome) where welcome.nonce == hello.nonce: return welcome
            case .refused(let refused):
                throw CommandFailure("\(endpoint) refuses: \(refused.text)")
            default: return nil
            }
        }
        guard !answer.bulkEndpoint.isEmpty else {
            throw CommandFailure("the node at \(endpoint) serves no snapshots: start it with --listen", status: .usage)
        }
        welcome = answer
        let through = try TCPEndpoint(endpoint, use: "the node's address")
        bulk = try Endpoints.bulkLink(context, to: TCPEndpoint.reachable(answer.bulkEndpoint, through: through))
        poller = Poller<Bool>()
        poller.add(bulk, as: true)
    }

    /// Sends a message on the bulk link until `match` finds its answer; other frames are passed over.
    func ask<Answer>(
        _ request: LockstepCore.Message, patience: Duration = .seconds(30),
        _ match: (BulkReply, [UInt8]) throws -> Answer?
    ) throws -> Answer {
        var stamp = stamp
        stamp.channel = welcome.channel
        let frame = stamp.frame(request)
        return try Self.exchange(patience, "an answer of the node \(welcome.node)", what: "the node stopped answering")
        {
            _ = try bulk.send(frame)
            try poller.wait(timeout: .milliseconds(300))
        } receive: {
            guard case .some(.message) = try bulk.receive(into: &message) else { return nil }
            return message.bytes
        } match: { frame in
            // What is no answer is passed over; the wait goes on.
            guard let decoded = try? Self.decode(frame), let reply = BulkReply(decoded) else { return nil }
            return try match(reply, frame)
        }
    }

    private static func decode(_ frame: [UInt8]) throws -> LockstepCore.Message {
        try withBytes(of: frame) { try LockstepCore.Message.decode($0, rule: .any).message }
    }

    private static func exchange<Answer>(
        _ patience: Duration, _ awaited: String, what: String, send: () throws -> Void, receive: () throws -> [UInt8]?,
        match: ([UInt8]) throws -> Answer?
    ) throws -> Answer {
        let deadline = ContinuousClock.now + patience
        let notice = WaitNotice()
        while ContinuousClock.now < deadline {
            notice.waiting(for: awaited)
            try send()
            while let frame = try receive() {
                if let answer = try match(frame) { return answer }
            }
        }
        throw CommandFailure(what, status: .unreachable)
    }
}
