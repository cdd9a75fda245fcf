import Foundation
import LockstepCore
import LockstepNode
import ZeroMQ

/// A blocking connection of the command line to the primary, to ask what became of one number.
///
/// HELLO and QUERY are repeated every 300 ms, since a frame may be lost. A refusal is no answer of the log: it ends the
/// command as a node that cannot be reached does.
struct QueryLink {
    let store: String
    let insecure: Bool
    /// By which keys the node is asked, where nodes have some.
    let keys: NodeKeys?
    let patience: Duration

    /// What became of the number.
    enum Answer {
        /// It has an answer.
        case item(ActionStatus, [UInt8], Place)
        case state(QueryStatus)
    }

    /// A node sent this command on to another.
    private struct Redirection: Error {
        var endpoint: String
    }

    /// How long one of several nodes is asked before the next one is.
    private static let turn: Duration = .seconds(2)
    /// After so long HELLO and QUERY are said again.
    private static let pause: Duration = .milliseconds(300)

    /// Asks the nodes one after the other, each with the primary that it names, until one answers or the time is over.
    func ask(_ query: Query, nodes: [String]) throws -> Answer {
        let deadline = ContinuousClock.now + patience
        guard nodes.count > 1 else { return try ask(query, node: nodes[0], until: deadline) }
        while true {
            for node in nodes {
                do {
                    return try ask(query, node: node, until: min(deadline, ContinuousClock.now + Self.turn))
                } catch let failure as CommandFailure {
                    guard failure.status == .unreachable, ContinuousClock.now < deadline else { throw failure }
                }
            }
            // All may have refused at once.
            Thread.sleep(forTimeInterval: 0.1)
        }
    }

    private func ask(_ query: Query, node: String, until deadline: ContinuousClock.Instant) throws -> Answer {
        var links = try LinkKeys(keys)
        let notice = WaitNotice()
        var endpoint = node
        for _ in 0..<5 {
            do {
                return try ask(query, at: endpoint, by: &links, until: deadline, notice)
            } catch let redirection as Redirection {
                let through = try TCPEndpoint(endpoint, use: "the node's address")
                endpoint = TCPEndpoint.reachable(redirection.endpoint, through: through)
            }
        }
        throw CommandFailure("the nodes send this command to and fro; ask the primary: --node", status: .unreachable)
    }

    private func ask(
        _ query: Query, at endpoint: String, by links: inout LinkKeys, until deadline: ContinuousClock.Instant,
        _ notice: WaitNotice
    ) throws -> Answer {
        guard try insecure || links.areThere || TCPEndpoint(endpoint, use: "the node's address").isLoopback else {
            throw CommandFailure(
                "\(endpoint) is not on this host: name keys with --keys and --nodes, or say --insecure in a network that you trust",
                status: .usage)
        }
        let context = try Context()
        repeat {
            let (dial, hasOthers) = try links.next(for: endpoint)
            let end = hasOthers ? min(deadline, ContinuousClock.now + LinkKeys.patience) : deadline
            let socket = try Endpoints.link(context, to: endpoint, keys: dial)
            if let answer = try ask(query, over: socket, to: endpoint, until: end, notice) { return answer }
        } while ContinuousClock.now < deadline
        throw CommandFailure(
            "no primary answered at \(endpoint) within \(patience); what became of the action stays open, ask again",
            status: .unreachable)
    }

    /// Asks over one connection; nil: nothing was answered in time.
    private func ask(
        _ query: Query, over socket: consuming Socket<Dealer>, to endpoint: String,
        until deadline: ContinuousClock.Instant, _ notice: WaitNotice
    ) throws -> Answer? {
        let poller = Poller<Bool>()
        let link = DialedSocket(socket, as: true, in: poller)
        var message = ZeroMQ.Message()
        var generator = SystemRandomNumberGenerator()
        let hello = Hello(
            nonce: generator.next(), role: .client, node: "outcome", incarnation: .none,
            boot: BootID(using: &generator), store: store, known: .none)
        let greeting = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero).frame(.hello(hello))
        var question: [UInt8]?
        var due = ContinuousClock.now
        while ContinuousClock.now < deadline {
            notice.waiting(for: "an answer of \(endpoint)")
            if due <= ContinuousClock.now {
                // What finds no room, or is lost, is sent again.
                _ = try link.send(question ?? greeting)
                due = ContinuousClock.now + Self.pause
            }
            try poller.wait(timeout: max(.zero, ContinuousClock.now.duration(to: min(due, deadline))))
            while case .some(.message) = try link.receive(into: &message) {
                let frame = message.bytes
                // Another version's frame is no answer; the wait goes on.
                guard let received = try? Self.decode(frame) else { continue }
                switch received {
                case .welcome(let welcome) where welcome.nonce == hello.nonce && question == nil:
                    guard welcome.role == .primary else { throw try redirection(welcome.primaryEndpoint, endpoint) }
                    let stamp = FrameStamp(
                        channel: welcome.channel, clusterHash: welcome.cluster.hash, epoch: welcome.commit.epoch)
                    question = stamp.frame(.query(query))
                    due = ContinuousClock.now
                case .refused(let refused):
                    if refused.reason == .notPrimary { throw try redirection(refused.endpoint, endpoint) }
                    throw CommandFailure(
                        "\(endpoint) refuses: \(refused.text); what became of the action stays open",
                        status: .unreachable)
                case .resync: question = nil
                case .queryResult(let result) where result.session == query.session && result.number == query.number:
                    return .state(result.status)
                case .result(let run) where run.session == query.session && run.first == query.number:
                    return try Self.item(of: run, in: frame)
                default: continue
                }
            }
        }
        return nil
    }

    private func redirection(_ primary: String, _ endpoint: String) throws -> Redirection {
        guard !primary.isEmpty, primary != endpoint else {
            throw CommandFailure(
                "\(endpoint) is a replica and does not know its primary now; name the primary: --node",
                status: .unreachable)
        }
        return Redirection(endpoint: primary)
    }

    private static func decode(_ frame: [UInt8]) throws(WireError) -> LockstepCore.Message {
        try withBytes(of: frame) { (span) throws(WireError) in try LockstepCore.Message.decode(span, rule: .any).message
        }
    }

    private static func item(of run: ResultSeries, in frame: [UInt8]) throws -> Answer {
        try withBytes(of: frame) { span in
            var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            let item = try ReplyItem(from: span, &reader)
            return .item(
                item.status, copyBytes(of: span, item.reply), Place(epoch: run.epoch, sequence: run.firstSequence))
        }
    }
}
