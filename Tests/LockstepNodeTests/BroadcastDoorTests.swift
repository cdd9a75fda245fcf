import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// The broadcast's door over sockets: a publisher's ServerSockets, and a store's LinkSockets (PROTOCOL, R-39).
@Suite(.timeLimit(.minutes(5))) struct BroadcastDoorTests {
    private static let channel = Channel(rawValue: 7)

    /// A publisher on a port that the system chose, with what its turns need.
    private final class Door {
        let context: Context
        let server = ServerSockets()
        let poller = Poller<LoopToken>()
        let endpoint: String
        private(set) var refused: UInt64 = 0
        private(set) var ended: UInt64 = 0

        init(at port: Int = FreePorts.next()) throws {
            context = try Context()
            let listen = try TCPEndpoint("tcp://127.0.0.1:\(port)", use: "a test")
            endpoint = try server.bind(listen, in: context, publishes: true, poller: poller).broadcast
        }

        /// Takes what has come within a time.
        func take(milliseconds: Int = 50, now: Tick = MonotonicClock.now) throws {
            try poller.wait(timeout: .milliseconds(milliseconds))
            ended = try server.look(now: now)
            refused += try server.drainSubscriptions(until: now.advanced(byMilliseconds: 1_000), now: now).refused
        }

        /// Takes what comes until so many have a place.
        func take(until count: Int) throws {
            for _ in 0..<200 where server.subscriberCount != count { try take() }
            #expect(server.subscriberCount == count)
        }

        func close() {
            server.close()
            poller.removeClosed()
        }
    }

    /// A store's end of the stream.
    private final class Listener {
        let links: LinkSockets
        let poller = Poller<LoopToken>()

        init(_ context: Context, _ endpoint: String, _ channel: Channel, now: Tick = .zero) throws {
            links = LinkSockets(index: 0, context: context)
            try links.subscribe(to: endpoint, channel: channel, now: now, poller: poller)
        }

        func next(milliseconds: Int = 30_000) throws -> [UInt8]? {
            if links.broadcastRing.isEmpty {
                try poller.wait(timeout: .milliseconds(milliseconds))
                _ = try links.drain()
            }
            return links.broadcastRing.popFirst()?.frame.bytes
        }
    }

    /// A door that is gone with all that it held of its port when `body` returns.
    private func withDoor<Result>(at port: Int, _ body: (Door) throws -> Result) throws -> Result {
        let door = try Door(at: port)
        defer { door.close() }
        return try body(door)
    }

    private func frame(_ channel: Channel, _ count: Int = 100) -> [UInt8] {
        [0x4C, 0x53, UInt8(channel.rawValue & 255), UInt8(channel.rawValue >> 8)] + [UInt8](repeating: 9, count: count)
    }

    /// Goal: each subscriber gets the frames of its channel, whole, and of no other (PROTOCOL, R-39).
    @Test func aSubscriberGetsItsChannel() throws {
        let door = try Door()
        let context = try Context()
        let other = Channel(rawValue: 8)
        let seven = try [0, 1].map { _ in try Listener(context, door.endpoint, Self.channel) }
        let eight = try Listener(context, door.endpoint, other)
        try door.take(until: 3)
        for count in [0, 29, 30, 300, 70_000] {
            #expect(try door.server.publish(frame(Self.channel, count)) == 0)
            #expect(try door.server.publish(frame(other, count)) == 0)
            #expect(try seven[0].next() == frame(Self.channel, count))
            #expect(try seven[1].next() == frame(Self.channel, count))
            #expect(try eight.next() == frame(other, count))
        }
        #expect(try seven[0].next(milliseconds: 20) == nil)
        #expect(door.refused == 0)
    }

    /// Goal: whoever has gone leaves the table with the next frame (PROTOCOL, R-39).
    @Test func whoHasGoneLeavesTheTable() throws {
        let door = try Door()
        let context = try Context()
        let stays = try Listener(context, door.endpoint, Self.channel)
        let leaves = try Listener(context, door.endpoint, Self.channel)
        try door.take(until: 2)
        leaves.links.close()
        for _ in 0..<2_000 where door.server.subscriberCount == 2 {
            try door.take(milliseconds: 10)
            _ = try door.server.publish(frame(Self.channel))
        }
        #expect(door.server.subscriberCount == 1)
        #expect(try stays.next() == frame(Self.channel))
    }

    /// Goal: a publisher that is made anew at its port has its subscriber again, on the same socket, with the next
    /// repetition; and repetitions come after 200 ms until the first frame, then after a second (PROTOCOL, R-39).
    @Test func aSubscriptionIsRepeated() throws {
        let context = try Context()
        let port = FreePorts.next()
        let listener = try withDoor(at: port) { door in
            let listener = try Listener(context, door.endpoint, Self.channel, now: Tick(rawValue: 0))
            #expect(listener.links.nextRenewal == Tick.zero.advanced(byMilliseconds: 200))
            try door.take(until: 1)
            _ = try door.server.publish(frame(Self.channel))
            #expect(try listener.next() != nil)
            try listener.links.renewSubscription(now: Tick.zero)
            #expect(listener.links.nextRenewal == Tick.zero.advanced(byMilliseconds: 1_000))
            try door.take(milliseconds: 20)
            #expect(door.server.subscriberCount == 1)
            return listener
        }
        let successor = try Door(at: port)
        for _ in 0..<200 where successor.server.subscriberCount == 0 {
            try listener.links.renewSubscription(now: Tick.zero)
            try successor.take(milliseconds: 20)
        }
        _ = try successor.server.publish(frame(Self.channel))
        #expect(try listener.next() == frame(Self.channel))
        listener.links.close()
        #expect(listener.links.nextRenewal == .never)
    }

    /// Goal: a peer that says its wish again and again, or anything else, has one place at most and is disconnected;
    /// others get their frames (PROTOCOL, R-39).
    @Test(arguments: [true, false]) func whoSaysTooMuchIsDisconnected(isWish: Bool) throws {
        let door = try Door()
        let context = try Context()
        let honest = try Listener(context, door.endpoint, Self.channel)
        try door.take(until: 1)
        var hostile = try Socket<Dealer>(in: context)
        try hostile.connect(to: door.endpoint)
        var sent = 0
        for _ in 0..<1_000 where door.ended == 0 {
            for _ in 0..<50 {
                let wish = Subscription(channel: Channel(rawValue: UInt16(sent % 60_000))).bytes
                if try hostile.send(isWish ? wish : wish + [1]) { sent += 1 }
            }
            try door.take(milliseconds: 5)
            #expect(door.server.subscriberCount <= 2)
        }
        #expect(door.ended > 0 && door.refused > 0)
        hostile.close()
        _ = try door.server.publish(frame(Self.channel))
        #expect(try honest.next() == frame(Self.channel))
    }

    /// Goal: libzmq refuses what is larger than any handshake, before a byte of it is kept; of what is not, the door hears
    /// (PROTOCOL, section 10).
    @Test(arguments: [(1_024, UInt64(1)), (1_025, 0), (65_536, 0)])
    func whatIsTooLargeNeverReachesTheDoor(bytes: Int, heard: UInt64) throws {
        let door = try Door()
        let context = try Context()
        var hostile = try Socket<Dealer>(in: context)
        let monitor = try SocketMonitor(hostile)
        try hostile.connect(to: door.endpoint)
        let isSent = try hostile.send([UInt8](repeating: 1, count: bytes))
        var isEnded = false
        for _ in 0..<200 where !isEnded {
            try door.take()
            while let event = try monitor.next() { isEnded = isEnded || event.kind == .disconnected }
        }
        #expect(isSent && isEnded && door.refused == heard)
        hostile.close()
    }

    /// Goal: what is not exactly a subscription is none (PROTOCOL, R-39).
    @Test func onlyFiveBytesAreASubscription() {
        let good = Subscription(channel: Self.channel).bytes
        #expect(good == [1, 0x4C, 0x53, 7, 0])
        #expect(withBytes(of: good) { Subscription($0) } == Subscription(channel: Self.channel))
        for place in 0..<3 {
            for bit in 0..<8 {
                var wrong = good
                wrong[place] ^= 1 << bit
                #expect(withBytes(of: wrong) { Subscription($0) } == nil)
            }
        }
        for count in 0..<5 { #expect(withBytes(of: Array(good.prefix(count))) { Subscription($0) } == nil) }
        #expect(withBytes(of: good + [0]) { Subscription($0) } == nil)
    }
}
