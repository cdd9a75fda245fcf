package import LockstepCore
package import ZeroMQ

/// A data node's connections to the others, one for each; on the node's thread.
///
/// The stores share them: what is said to a node goes over its one connection, whichever store says it. A store that
/// wants the connection anew gets a new socket for all stores, and each of them is told, and opens its stream again.
/// But a connection on which heartbeats come works: that one store hears nothing on it has another reason, and a new
/// socket would cost the others their streams.
package final class PeerLinks {
    /// What a connection says that no frame says.
    package enum Event: Hashable, Sendable {
        /// The connection was lost, or was made anew: what was under way on it may be lost.
        case lost
        /// It was lost after a heartbeat had come on it, and was refused twice since: nobody listens there any more.
        case refused
    }

    private final class Link {
        let number: Int
        let endpoint: String
        var socket: Socket<Dealer>?
        var monitor: SocketMonitor?
        let made: Tick
        /// What it proves and expects; nil without keys.
        let keys: DialKeys?
        /// The handshake failed: the next connection tries another key of the node.
        var isDoubted = false
        /// When the last heartbeat came since the connection stands; nil: none did.
        var heard: Tick?
        /// When a connection that had brought heartbeats was lost.
        var lost: Tick?
        var refusals = 0

        init(number: Int, endpoint: String, made: Tick, keys: DialKeys?) {
            (self.number, self.endpoint, self.made, self.keys) = (number, endpoint, made, keys)
        }
    }

    private let context: Context
    private var links: [NodeID: Link] = [:]
    private var nodes: [Int: NodeID] = [:]
    private var lastNumber = 0
    private var keyTurns: [NodeID: KeyTurn] = [:]
    private var ring = BoundedRing(capacity: 64 << 20, whenFull: .refuseNewest)
    private var message = ZeroMQ.Message()
    private var nextLook = Tick.zero
    /// Whose connection was given up here since ``look(now:)``: no monitor tells of it any more.
    private var givenUp: Set<NodeID> = []

    /// A connection is not made anew more often.
    private static let restMilliseconds: Int64 = 1_000
    /// A connection that brought a heartbeat within this time stays: ten of them are due.
    private static let heardMilliseconds: Int64 = 1_000
    /// Two refusals within this time are of a host that is there; one that is gone answers nothing.
    private static let refusalMilliseconds: Int64 = 700
    /// Monitors are asked so often.
    private static let lookMilliseconds: Int64 = 50

    package init(context: Context) { self.context = context }

    package var isEmpty: Bool { ring.isEmpty }
    package var dropped: UInt64 { ring.dropped }
    /// When ``look(now:)`` has something to do.
    package var nextDeadline: Tick { links.isEmpty && givenUp.isEmpty ? .never : nextLook }

    /// Connects to a node at this endpoint for streams, unless it is connected there already.
    ///
    /// It connects without keys, or with those of `choice` that have their turn; with an empty choice to nobody. With
    /// `anew`, and if its handshake failed, a connection that is older than a second is given up for another one. One on
    /// which heartbeats come stays, whatever its endpoint: it leads to that node.
    package func connect(
        to node: NodeID, at endpoint: String, keys choice: [DialKeys]?, anew: Bool, now: Tick,
        poller: Poller<LoopToken>
    ) throws {
        if let link = links[node] {
            let isHeard = link.heard.map { now - $0 < Tick.milliseconds(Self.heardMilliseconds) } ?? false
            let isOld = now - link.made >= Tick.milliseconds(Self.restMilliseconds)
            guard !isHeard, link.endpoint != endpoint || isOld && (anew || link.isDoubted) else { return }
            giveUp(node)
        }
        let keys = choice.flatMap { keyTurns[node, default: KeyTurn()].next(for: endpoint, of: $0) }
        guard choice == nil || keys != nil else { return }
        lastNumber += 1
        let link = Link(number: lastNumber, endpoint: endpoint, made: now, keys: keys)
        let socket = try Endpoints.replicationLink(context, to: endpoint, keys: keys) {
            link.monitor = try SocketMonitor($0)
        }
        poller.add(socket, as: .peer(link.number))
        link.socket = consume socket
        links[node] = link
        nodes[link.number] = node
        nextLook = min(nextLook, now)
    }

    /// Ends each connection whose node proved a key that is no longer known for its endpoint; returns how many
    /// (PROTOCOL, R-70).
    package func withdraw(unless choice: (String) -> [DialKeys]?) -> Int {
        let strangers = links.filter { _, link in
            guard let keys = link.keys else { return false }
            return choice(link.endpoint)?.contains(keys) != true
        }
        for node in strangers.keys { giveUp(node) }
        return strangers.count
    }

    /// Ends a connection on which stores may have streams; the next look, which is due at once, says so.
    private func giveUp(_ node: NodeID) {
        close(node)
        givenUp.insert(node)
        nextLook = .zero
    }

    private func close(_ node: NodeID) {
        guard let link = links.removeValue(forKey: node) else { return }
        nodes[link.number] = nil
        link.monitor = nil
        link.socket = nil
    }

    package func close() {
        for node in Array(links.keys) { close(node) }
        givenUp = []
        ring.removeAll()
    }

    // MARK: - Frames

    /// False if nobody is connected or the queue is full: whoever says it says it again.
    package func send(_ frame: [UInt8], to node: NodeID) throws -> Bool {
        try links[node]?.socket?.send(frame) ?? false
    }

    /// Says the same to every node that is connected.
    package func sendToAll(_ frame: [UInt8]) throws {
        for link in links.values { _ = try link.socket?.send(frame) }
    }

    /// Takes everything that has arrived into the ring; returns how much there was.
    package func drain() throws -> Int {
        var count = 0
        for link in links.values {
            while let received = try link.socket?.receive(into: &message) {
                count += 1
                guard case .message = received else { continue }
                ring.append(WaitingFrame(message), from: Connection(rawValue: UInt64(link.number)))
            }
        }
        return count
    }

    /// The next frame that waits, and who sent it; frames of connections that are gone are passed over.
    package func popFirst() -> (frame: WaitingFrame, from: NodeID)? {
        while let (frame, connection) = ring.popFirst() {
            if let node = nodes[Int(connection.rawValue)] { return (frame, node) }
        }
        return nil
    }

    /// A heartbeat of this node came on its connection.
    package func heard(_ node: NodeID, now: Tick) { links[node]?.heard = now }

    // MARK: - Events

    /// Twenty times a second, and when one was given up: what happened to the connections.
    package func look(now: Tick) throws -> [(node: NodeID, event: Event)] {
        guard now >= nextLook else { return [] }
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        var events: [(NodeID, Event)] = givenUp.map { ($0, Event.lost) }
        givenUp = []
        for (node, link) in links {
            while let event = try link.monitor?.next() {
                switch event.kind {
                case .disconnected:
                    events.append((node, .lost))
                    if link.heard != nil { (link.lost, link.refusals, link.heard) = (now, 0, nil) }
                case .handshakeSucceeded:
                    // What failed before, as while the other node started, is no doubt any more.
                    (link.lost, link.isDoubted) = (nil, false)
                    keyTurns[node]?.proved()
                case .handshakeFailed, .handshakeBroken, .authenticationFailed: link.isDoubted = true
                case .closed:
                    guard let lost = link.lost else { continue }
                    link.refusals += 1
                    guard link.refusals == 2 else { continue }
                    link.lost = nil
                    if now - lost < Tick.milliseconds(Self.refusalMilliseconds) { events.append((node, .refused)) }
                default: continue
                }
            }
        }
        return events
    }
}
