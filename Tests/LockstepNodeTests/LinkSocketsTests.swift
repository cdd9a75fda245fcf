import LockstepCore
import LockstepNode
import Logging
import Testing
import ZeroMQ

/// A store's link to its primary: how it begins, and how the store ends that has one.
@Suite(.timeLimit(.minutes(5))) struct LinkSocketsTests {
    /// The primary's end of the link.
    private struct Ingress: ~Copyable {
        var socket: Socket<Router>
        let poller = Poller<Bool>()
        var message = ZeroMQ.Message()

        init(_ context: Context, at endpoint: String) throws {
            let endpoint = try TCPEndpoint(endpoint, use: "a test")
            socket = try Endpoints.ingress(context, at: endpoint, keys: nil)
            poller.add(socket, as: true)
        }

        /// The next frame; nil if none comes within a time.
        mutating func next(milliseconds: Int) throws -> [UInt8]? {
            try poller.wait(timeout: .milliseconds(milliseconds))
            guard case .some(.message) = try socket.receive(into: &message) else { return nil }
            return message.bytes
        }
    }

    private func freeEndpoint() -> String { "tcp://127.0.0.1:\(FreePorts.next())" }

    /// Turns as a node does until something came of it or a time has passed; returns whether the link was ready.
    private func turn(_ links: LinkSockets, _ poller: Poller<LoopToken>, milliseconds: Int = 30_000) throws -> Bool {
        try poller.wait(timeout: .milliseconds(milliseconds))
        _ = try links.drain()
        return !poller.ready.isEmpty
    }

    /// Goal: the first frame of a link, which is a HELLO, leaves with the connection, although libzmq takes none before
    /// that; of several the newest, once; and then the link is asleep until something comes (PROTOCOL, "Client").
    @Test func theFirstFrameLeavesWithTheConnection() throws {
        let context = try Context()
        let endpoint = freeEndpoint()
        let poller = Poller<LoopToken>()
        let links = LinkSockets(index: 0, context: try Context())
        #expect(try links.connect(to: endpoint, poller: poller))
        #expect(try links.send([1]))
        #expect(try links.send([2]))
        // Only now is there somebody to connect to.
        var ingress = try Ingress(context, at: endpoint)
        #expect(try turn(links, poller))
        #expect(try ingress.next(milliseconds: 30_000) == [2])
        #expect(try ingress.next(milliseconds: 50) == nil)
        #expect(try !turn(links, poller, milliseconds: 50))
        #expect(try links.send([3]))
        #expect(try ingress.next(milliseconds: 30_000) == [3])
    }

    /// Goal: the same of the bulk link, whose first frame is a SYNC.
    @Test func theFirstBulkFrameLeavesWithTheConnection() throws {
        let context = try Context()
        let endpoint = freeEndpoint()
        let poller = Poller<LoopToken>()
        let links = LinkSockets(index: 0, context: try Context())
        try links.connectBulk(to: endpoint, poller: poller)
        #expect(try links.sendBulk([1]))
        var ingress = try Ingress(context, at: endpoint)
        #expect(try turn(links, poller))
        #expect(try ingress.next(milliseconds: 30_000) == [1])
        #expect(try !turn(links, poller, milliseconds: 50))
    }

    /// Goal: what waits for one connection does not leave on the next one, which begins with a nonce of its own.
    @Test func aFrameThatWaitsEndsWithItsConnection() throws {
        let context = try Context()
        let endpoint = freeEndpoint()
        var ingress = try Ingress(context, at: endpoint)
        let poller = Poller<LoopToken>()
        let links = LinkSockets(index: 0, context: try Context())
        #expect(try links.connect(to: freeEndpoint(), poller: poller))
        #expect(try links.send([1]))
        #expect(try links.connect(to: endpoint, poller: poller))
        #expect(try !turn(links, poller, milliseconds: 50))
        #expect(try ingress.next(milliseconds: 50) == nil)
        #expect(try links.send([2]))
        var came: [UInt8]?
        while came == nil {
            _ = try turn(links, poller, milliseconds: 20)
            came = try ingress.next(milliseconds: 20)
        }
        #expect(came == [2])
        links.close()
        #expect(try !links.send([3]))
    }

    /// Goal: a store that waits for nothing has stopped when it was told to.
    ///
    /// Its loop comes back only when something happens, and looks once a second. A client without a session has nothing
    /// to close and nothing to write.
    @Test(arguments: [true, false])
    func whoWaitsForNothingStopsAtOnce(isGraceful: Bool) throws {
        let configuration = try CheckedConfiguration(.client(of: freeEndpoint()))
        let loop = try NodeEventLoop(name: "test-stop")
        let services = try NodeServices(configuration: configuration, loop: loop, logger: Logger(label: "test"))
        let client = ClientConfiguration(
            store: "sums", node: "reader", role: .client, client: ClientKey(using: &services.generator),
            boot: services.boot, incarnation: Incarnation(rawValue: 1), cluster: nil, endpoint: "tcp://127.0.0.1:1",
            seed: 1, wantsSession: false)
        let host = StoreHost(
            port: StorePort(name: "sums", inbox: Inbox(signaller: loop.signaller)), index: 0, services: services,
            mailbox: Mailbox(signaller: loop.signaller), state: nil, client: client)
        host.beginStop(now: MonotonicClock.now, isGraceful: isGraceful)
        host.continueStop(now: MonotonicClock.now)
        #expect(host.isStopped)
    }
}
