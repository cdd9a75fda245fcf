package import LockstepCore
package import ZeroMQ

/// A store's connections to its primary; on the node's thread.
///
/// Each store has its own: a machine that wants its connection anew then disturbs no other store. A connection is made
/// anew by closing its socket and opening another, since libzmq's own reconnection is not seen from here.
package final class LinkSockets {
    private let index: Int
    private let context: Context
    private var link: DialedSocket<LoopToken>?
    private var bulk: DialedSocket<LoopToken>?
    private var broadcast: Socket<Dealer>?
    private var message = ZeroMQ.Message()
    private var monitor: SocketMonitor?
    /// By the endpoints of nodes with keys, of which some are known.
    private var keyTurns: [String: KeyTurn] = [:]
    /// Where the link leads.
    private var endpoint = ""
    /// What the link proves and expects, nil without keys; the other two go to the same node.
    private var keys: DialKeys?
    /// No key of the node is known: nothing is said to it, least of all in plain text.
    private var isSilent = false
    /// Handshakes that failed with this node, one after the other.
    private var failures = 0
    /// When ``trouble(now:)`` may have something to say.
    package private(set) var nextLook = Tick.zero
    private var subscription = Subscription(channel: .none)
    /// Whether a frame came on this subscription.
    private var isSubscribed = false
    /// When the subscription is to be said again.
    package private(set) var nextRenewal = Tick.never
    /// What came on the link, the bulk link and the subscription, and waits for its turn.
    package var linkRing = BoundedRing(capacity: 32 << 20, whenFull: .refuseNewest)
    package var bulkRing = BoundedRing(capacity: 32 << 20, whenFull: .refuseNewest)
    package var broadcastRing = BoundedRing(capacity: Limits.joinBufferBytes, whenFull: .dropOldest)

    package init(index: Int, context: Context) {
        self.index = index
        self.context = context
    }

    package var isEmpty: Bool { linkRing.isEmpty && bulkRing.isEmpty && broadcastRing.isEmpty }
    package var dropped: UInt64 { linkRing.dropped + bulkRing.dropped + broadcastRing.dropped }

    // The old socket closes before the new one is added, so that the poller knows its token no more.

    /// Connects to a node's ingress: without keys, or with those of `choice` that have their turn.
    ///
    /// Returns false, and connects to nobody, if the choice is empty: then no key of that node is known.
    package func connect(
        to endpoint: String, keys choice: [DialKeys]? = nil, poller: Poller<LoopToken>
    ) throws -> Bool {
        monitor = nil
        link = nil
        linkRing.removeAll()
        if self.endpoint != endpoint { failures = 0 }
        self.endpoint = endpoint
        keys = choice.flatMap { $0.isEmpty ? nil : keyTurns[endpoint, default: KeyTurn()].next(for: endpoint, of: $0) }
        isSilent = choice != nil && keys == nil
        guard !isSilent else { return false }
        let socket = try Endpoints.link(context, to: endpoint, keys: keys) { monitor = try SocketMonitor($0) }
        link = DialedSocket(socket, as: .link(index), in: poller)
        return true
    }

    /// The link brought a WELCOME: its key is the right one.
    package func welcomed() {
        keyTurns[endpoint]?.proved()
        failures = 0
    }

    /// Why the link does not come about, as far as its handshake says; nil if nothing is wrong.
    ///
    /// Twenty times a second.
    package func trouble(now: Tick) throws -> LinkTrouble? {
        guard now >= nextLook else { return nil }
        nextLook = now.advanced(byMilliseconds: 50)
        var trouble: LinkTrouble?
        while let event = try monitor?.next() {
            switch event.kind {
            case .authenticationFailed: trouble = .notAdmitted
            case .handshakeBroken(SocketEvent.mechanismMismatch): trouble = .otherSecurity
            case .handshakeFailed, .handshakeBroken:
                failures += 1
                trouble = .handshake(failures)
            case .handshakeSucceeded: trouble = nil
            // A handshake that failed ends like this, too.
            case .disconnected, .closed: if trouble == nil { trouble = .broken }
            default: break
            }
        }
        return trouble
    }

    package func connectBulk(to endpoint: String, poller: Poller<LoopToken>) throws {
        bulk = nil
        bulkRing.removeAll()
        guard !isSilent else { return }
        let socket = try Endpoints.bulkLink(context, to: endpoint, keys: keys)
        bulk = DialedSocket(socket, as: .linkBulk(index), in: poller)
    }

    package func subscribe(
        to endpoint: String, channel: Channel, now: Tick, poller: Poller<LoopToken>
    ) throws {
        broadcast = nil
        broadcastRing.removeAll()
        guard !isSilent else { return }
        let socket = try Endpoints.subscription(context, to: endpoint, keys: keys)
        poller.add(socket, as: .linkBroadcast(index))
        broadcast = consume socket
        subscription = Subscription(channel: channel)
        isSubscribed = false
        try renewSubscription(now: now)
    }

    /// Says what is wanted once more: soon until the first frame comes, then once a second (PROTOCOL, R-39).
    ///
    /// The publisher forgets it with the connection, which libzmq makes anew without a word, and when it has not heard it
    /// for a while. A queue that is full has it already.
    package func renewSubscription(now: Tick) throws {
        _ = try broadcast?.send(subscription.bytes)
        nextRenewal = broadcast == nil ? .never : now.advanced(byMilliseconds: isSubscribed ? 1_000 : 200)
    }

    /// Ends all three connections if they go to a node by a key that is not among `choice`, and forgets what came;
    /// returns whether they did.
    package func withdraw(unless choice: [DialKeys]) -> Bool {
        guard let keys, !choice.contains(keys) else { return false }
        close()
        self.keys = nil
        isSilent = true
        linkRing.removeAll()
        bulkRing.removeAll()
        broadcastRing.removeAll()
        return true
    }

    package func close() {
        monitor = nil
        link = nil
        bulk = nil
        broadcast = nil
        nextRenewal = .never
    }

    /// Takes everything that has arrived into the rings; returns how much there was.
    package func drain() throws -> Int {
        var count = 0
        while let received = try link?.receive(into: &message) {
            count += 1
            if case .message = received { linkRing.append(WaitingFrame(message), from: .local) }
        }
        while let received = try bulk?.receive(into: &message) {
            count += 1
            if case .message = received { bulkRing.append(WaitingFrame(message), from: .local) }
        }
        while let received = try broadcast?.receive(into: &message) {
            count += 1
            isSubscribed = true
            if case .message = received { broadcastRing.append(WaitingFrame(message), from: .local) }
        }
        return count
    }

    /// False if nobody is connected any more or the queue is full: the machine says it again.
    package func send(_ frame: [UInt8]) throws -> Bool { try link?.send(frame) ?? false }

    package func sendBulk(_ frame: [UInt8]) throws -> Bool { try bulk?.send(frame) ?? false }
}

/// Why a link does not come about.
package enum LinkTrouble: Hashable, Sendable {
    /// The node knows the key of this one and has it in no list, or the list allows nothing: it says no.
    case notAdmitted
    /// One side has keys and the other has none.
    case otherSecurity
    /// The connection was lost, or nobody listens at the other end; libzmq tries again by itself.
    case broken
    /// The handshake was begun and ended so often: the node has another key than the one that is known of it here, or
    /// it went meanwhile.
    case handshake(Int)
}
