package import LockstepCore
package import ZeroMQ

/// A store's connections to its primary; on the node's thread.
///
/// Each store has its own: a machine that wants its connection anew then disturbs no other store. A connection is made
/// anew by closing its socket and opening another, since libzmq's own reconnection is not seen from here.
package final class LinkSockets {
    private let index: Int
    private let context: Context
    private var link: Socket<Dealer>?
    private var bulk: Socket<Dealer>?
    private var broadcast: Socket<Dealer>?
    private var message = ZeroMQ.Message()
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

    package func connect(to endpoint: String, poller: Poller<LoopToken>) throws {
        link = nil
        linkRing.removeAll()
        let socket = try Endpoints.link(context, to: endpoint)
        poller.add(socket, as: .link(index))
        link = consume socket
    }

    package func connectBulk(to endpoint: String, poller: Poller<LoopToken>) throws {
        bulk = nil
        bulkRing.removeAll()
        let socket = try Endpoints.bulkLink(context, to: endpoint)
        poller.add(socket, as: .linkBulk(index))
        bulk = consume socket
    }

    package func subscribe(
        to endpoint: String, channel: Channel, now: Tick, poller: Poller<LoopToken>
    ) throws {
        broadcast = nil
        broadcastRing.removeAll()
        let socket = try Endpoints.subscription(context, to: endpoint)
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

    package func close() {
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

    /// False if nobody is connected or the queue is full: the machine says it again.
    package func send(_ frame: [UInt8]) throws -> Bool { try link?.send(frame) ?? false }

    package func sendBulk(_ frame: [UInt8]) throws -> Bool { try bulk?.send(frame) ?? false }
}
