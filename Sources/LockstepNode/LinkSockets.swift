internal import LockstepCore
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
    private var broadcast: Socket<Subscriber>?
    private var message = ZeroMQ.Message()
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

    package func subscribe(to endpoint: String, prefix: [UInt8], poller: Poller<LoopToken>) throws {
        broadcast = nil
        broadcastRing.removeAll()
        let socket = try Endpoints.subscription(context, to: endpoint, prefix: prefix)
        poller.add(socket, as: .linkBroadcast(index))
        broadcast = consume socket
    }

    package func close() {
        link = nil
        bulk = nil
        broadcast = nil
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
            if case .message = received { broadcastRing.append(WaitingFrame(message), from: .local) }
        }
        return count
    }

    /// False if nobody is connected or the queue is full: the machine says it again.
    package func send(_ frame: [UInt8]) throws -> Bool { try link?.send(frame) ?? false }

    package func sendBulk(_ frame: [UInt8]) throws -> Bool { try bulk?.send(frame) ?? false }
}
