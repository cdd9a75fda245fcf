import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct SocketTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    // MARK: - What cannot be done at once

    @Test(arguments: Transport.allCases)
    func nothingWaitingIsNil(over transport: Transport) throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(transport))
        var message = Message()
        #expect(try dealer.receive(into: &message) == nil)
        #expect(try dealer.receiveFrames() == nil)
        #expect(try router.receive(into: &message) == nil)
        #expect(try router.receiveFrames() == nil)
        #expect(message.isEmpty)
    }

    @Test func sendingWithoutAPeerWouldBlock() throws {
        let dealer = try Socket<Dealer>(in: context)
        #expect(try dealer.send([1]) == false)
    }

    @Test func sendingToAPeerThatIsNotThereYetWouldBlockIfImmediate() throws {
        var options = SocketOptions()
        options[.immediate] = true
        var dealer = try Socket<Dealer>(in: context, options: options)
        try dealer.connect(to: "tcp://127.0.0.1:9")
        #expect(try dealer.send([1]) == false)
    }

    @Test func aFullQueueWouldBlockAndSendsNothing() throws {
        var options = SocketOptions()
        options[.sendHighWaterMark] = 3
        var dealer = try Socket<Dealer>(in: context, options: options)
        try dealer.connect(to: "tcp://127.0.0.1:9")
        #expect(try (0..<5).map { _ in try dealer.send([1]) } == [true, true, true, false, false])
    }

    @Test func aRoutersFullQueueWouldBlock() throws {
        var options = SocketOptions()
        options[.sendHighWaterMark] = 1
        var router = try Socket<Router>(in: context, options: options)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        let peer = try router.next().peer
        let block = [UInt8](repeating: 0, count: 65_536)
        var outcome = SendOutcome.sent
        for _ in 0..<10_000 where outcome == .sent { outcome = try router.send(block, to: peer) }
        #expect(outcome == .wouldBlock)
    }

    /// Beyond the 1,000 messages that libzmq would hold by default: a limit would let peers abort the process.
    @Test func aReceiverTakesEverythingHoweverLateItLooks() throws {
        var push = try Socket<Push>(in: context)
        var pull = try Socket<Pull>(in: context)
        try push.connect(to: pull.bindAnywhere())
        let areSent = try (0..<10_000).allSatisfy { _ in try push.send([1]) }
        #expect(areSent)
        for _ in 0..<10_000 { #expect(try pull.next() == [1]) }
    }

    // MARK: - Routers

    @Test func aPeerNobodyHasHeardOfIsUnroutable() throws {
        var router = try Socket<Router>(in: context)
        _ = try router.bindAnywhere(.tcp)
        for bytes in [[1], [0, 1, 2, 3, 4], [UInt8](repeating: 9, count: 255)] {
            let peer = try #require(RoutingID(bytes))
            #expect(try router.send([1], to: peer) == .unroutable)
            #expect(try router.send(frames: [[1], [2]], to: peer) == .unroutable)
        }
    }

    @Test func aPeerThatHasGoneIsUnroutable() throws {
        var router = try Socket<Router>(in: context)
        let monitor = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        let peer = try router.next().peer
        dealer.close()
        _ = try monitor.events { $0 == .disconnected }
        // The event may be a little ahead of the news of it on this thread.
        let poller = Poller<Int>()
        poller.add(router, as: 0)
        var outcome = SendOutcome.sent
        while outcome == .sent {
            outcome = try router.send([1], to: peer)
            try poller.wait(timeout: .milliseconds(1))
        }
        #expect(outcome == .unroutable)
    }

    @Test func aRouterTellsItsPeersApart() throws {
        var router = try Socket<Router>(in: context)
        let endpoint = try router.bindAnywhere(.tcp)
        var first = try Socket<Dealer>(in: context)
        var second = try Socket<Dealer>(in: context)
        try first.connect(to: endpoint)
        try second.connect(to: endpoint)
        try first.deliver([1])
        let one = try router.next()
        try second.deliver([2])
        let two = try router.next()
        #expect(one.peer != two.peer)
        #expect(one.peer.bytes.count == 5)
        _ = try router.send([20], to: two.peer)
        _ = try router.send([10], to: one.peer)
        #expect(try first.next() == [10])
        #expect(try second.next() == [20])
    }

    // MARK: - Messages of several frames

    @Test(arguments: [2, 3, 100])
    func aRouterDropsMessagesOfSeveralFramesWholeAndGoesOn(frames: Int) throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        try dealer.deliver(frames: (0..<frames).map { [UInt8](repeating: UInt8($0), count: $0) })
        try dealer.deliver([2])

        let (peer, first) = try router.next()
        #expect(first == [1])
        try router.waitUntilReadable()
        var message = Message()
        let garbage = try router.receive(into: &message)
        #expect(garbage == .malformed(from: peer, frames: frames))
        #expect(message.isEmpty)
        let last = try router.next()
        #expect(last.peer == peer)
        #expect(last.bytes == [2])
    }

    @Test func aDealerDropsMessagesOfSeveralFramesWholeAndGoesOn() throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        let peer = try router.next().peer
        #expect(try router.send(frames: [[], [1], []], to: peer) == .sent)
        #expect(try router.send([2], to: peer) == .sent)
        try dealer.waitUntilReadable()
        var message = Message()
        #expect(try dealer.receive(into: &message) == .malformed(frames: 3))
        #expect(try dealer.next() == [2])
    }

    @Test func whoWantsAllFramesGetsThem() throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.ipc))
        let frames: [[UInt8]] = [[], [1, 2], [], [UInt8](repeating: 3, count: 100_000)]
        try dealer.deliver(frames: frames)
        try router.waitUntilReadable()
        let received = try #require(try router.receiveFrames())
        #expect(Array(received.dropFirst()) == frames)
        let peer = try #require(RoutingID(received[0]))
        #expect(try router.send(frames: frames, to: peer) == .sent)
        try dealer.waitUntilReadable()
        #expect(try dealer.receiveFrames() == frames)
    }

    /// Bytes that several peers share arrive at each of them, whatever their number; one that has gone changes nothing.
    @Test(arguments: [0, 1, 33, 34, 70_000]) func aSharedMessageReachesEachPeer(count: Int) throws {
        var router = try Socket<Router>(in: context)
        let endpoint = try router.bindAnywhere(.tcp)
        var peers: [RoutingID] = []
        var one = try Socket<Dealer>(in: context)
        var two = try Socket<Dealer>(in: context)
        try one.connect(to: endpoint)
        try one.deliver([1])
        peers.append(try router.next().peer)
        try two.connect(to: endpoint)
        try two.deliver([2])
        peers.append(try router.next().peer)
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        for _ in 0..<3 {
            let shared = try SharedMessage(bytes)
            for peer in peers { #expect(try router.send(shared, to: peer) == .sent) }
            #expect(try router.send(shared, to: try #require(RoutingID([9, 9]))) == .unroutable)
        }
        for _ in 0..<3 {
            #expect(try one.next() == bytes)
            #expect(try two.next() == bytes)
        }
    }

    // MARK: - Publishers

    @Test func aPublisherReachesWhoAskedForTheBeginning() throws {
        var publisher = try Socket<XPublisher>(in: context)
        let endpoint = try publisher.bindAnywhere(.tcp)
        var some = try Socket<Subscriber>(in: context)
        var all = try Socket<Subscriber>(in: context)
        try some.subscribe(to: [7, 7])
        try all.subscribe(to: [])
        try some.connect(to: endpoint)
        try all.connect(to: endpoint)
        let subscriptions = try Set([publisher.next(), publisher.next()])
        #expect(subscriptions == [[1, 7, 7], [1]])

        try publisher.publish([7, 8])
        try publisher.publish([7, 7, 1])
        try publisher.publish([9, 7, 7, 2][1...])
        #expect(try some.next() == [7, 7, 1])
        #expect(try some.next() == [7, 7, 2])
        #expect(try all.next() == [7, 8])

        try some.unsubscribe(from: [7, 7])
        #expect(try publisher.next() == [0, 7, 7])
    }

    @Test func aPlainPublisherDropsWhatNobodyWants() throws {
        var publisher = try Socket<Publisher>(in: context)
        var subscriber = try Socket<Subscriber>(in: context)
        try subscriber.subscribe(to: [])
        try subscriber.connect(to: publisher.bindAnywhere())
        // Over inproc the subscription is in the publisher's queue at once, and it looks there as it sends.
        try publisher.publish([1])
        #expect(try subscriber.next() == [1])
        subscriber.close()
        try publisher.publish([2])
    }

    @Test func aPrefixOfUpTo245BytesWorksAndALongerOneIsRefused() throws {
        var publisher = try Socket<XPublisher>(in: context)
        var subscriber = try Socket<Subscriber>(in: context)
        for length in [246, 255, 256] {
            let error = #expect(throws: ZMQError.self) {
                let subscriber = try Socket<Subscriber>(in: context)
                try subscriber.subscribe(to: [UInt8](repeating: 1, count: length))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.description.hasSuffix("a prefix of \(length) bytes is longer than 245") == true)
        }
        let prefix = [UInt8](repeating: 1, count: 245)
        try subscriber.subscribe(to: prefix)
        try subscriber.connect(to: publisher.bindAnywhere(.tcp))
        #expect(try publisher.next() == [1] + prefix)
        try publisher.publish(prefix + [2])
        #expect(try subscriber.next() == prefix + [2])
    }

    /// An XPUB socket takes the second of these frames for a subscription that it knows, and keeps it: the first one
    /// announces a frame that does not come, which must not stop the process.
    @Test func aFrameThatAPublisherKeepsStopsNobody() throws {
        var publisher = try Socket<XPublisher>(in: context)
        let peer = try ForeignPeer(connectingTo: publisher.bindAnywhere(.tcp))
        try peer.shakeHands(as: "SUB")
        try peer.send(ForeignPeer.message([1, 9]))
        #expect(try publisher.next() == [1, 9])
        let torn = ForeignPeer.message([7, 7], more: true) + ForeignPeer.message([1, 9])
        try peer.send(torn)
        var message = Message()
        try publisher.waitUntilReadable()
        #expect(try publisher.receive(into: &message) == .malformed(frames: 2))
        #expect(message.bytes == [])
        try peer.send(torn)
        try publisher.waitUntilReadable()
        #expect(try publisher.receiveFrames() == [[7, 7]])
        try peer.send(ForeignPeer.message([1, 5]))
        #expect(try publisher.next() == [1, 5])
    }

    // MARK: - Endpoints

    @Test func aBindToAnEndpointInUseNamesTheEndpoint() throws {
        var first = try Socket<Router>(in: context)
        let endpoint = try first.bindAnywhere(.tcp)
        let error = #expect(throws: ZMQError.self) {
            var second = try Socket<Router>(in: context)
            try second.bind(to: endpoint)
        }
        #expect(error?.code == .addressInUse)
        #expect(error?.endpoint == endpoint)
        #expect(error?.description == "bind \(endpoint): Address already in use")
    }

    @Test(arguments: [
        "", "nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:x", "tcp://127.0.0.1:70x",
        "tcp://127.0.0.1:-1", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:99999", "tcp://[::1]",
    ])
    func anEndpointThatIsNotWellFormedIsRefusedByName(endpoint: String) throws {
        let error = #expect(throws: ZMQError.self) {
            var socket = try Socket<Router>(in: context)
            try socket.bind(to: endpoint)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.endpoint == endpoint)
    }

    @Test func anUnknownTransportIsNotSupported() throws {
        let error = #expect(throws: ZMQError.self) {
            var socket = try Socket<Dealer>(in: context)
            try socket.connect(to: "carrier-pigeon://loft")
        }
        #expect(error?.code == .protocolNotSupported)
    }

    @Test func unbindingWhatIsNotBoundFindsNothing() throws {
        let error = #expect(throws: ZMQError.self) {
            var socket = try Socket<Router>(in: context)
            try socket.unbind(from: "tcp://127.0.0.1:1")
        }
        #expect(error?.code == .noSuchEndpoint)
    }

    @Test func anEndpointIsFreeAgainAfterUnbind() throws {
        var socket = try Socket<Router>(in: context)
        let endpoint = try socket.bindAnywhere(.inproc)
        try socket.unbind(from: endpoint)
        try socket.bind(to: endpoint)
    }

    @Test func aSecondConnectionIsRefusedUntilTheFirstHasEnded() throws {
        var socket = try Socket<Dealer>(in: context)
        try socket.connect(to: "tcp://127.0.0.1:9")
        var refusal: ZMQError?
        do throws(ZMQError) {
            try socket.connect(to: "tcp://127.0.0.1:10")
        } catch {
            refusal = error
        }
        #expect(refusal?.code == .invalidArgument)
        #expect(refusal?.explanation?.contains("tcp://127.0.0.1:9") == true)
        try socket.disconnect()
        #expect(socket.connectedEndpoint == nil)
        try socket.disconnect()
        try socket.connect(to: "tcp://127.0.0.1:10")
        #expect(socket.connectedEndpoint == "tcp://127.0.0.1:10")
    }

    @Test func aSocketHasNoLastEndpointBeforeItIsBound() throws {
        let socket = try Socket<Dealer>(in: context)
        #expect(try socket.lastEndpoint == "")
    }
}
