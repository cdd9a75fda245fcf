import Testing
import ZeroMQ

/// What the system knows of one peer's connection, and how that connection is ended.
@Suite(.timeLimit(.minutes(5)))
struct TCPConnectionTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    /// Goal: the event and the message name one connection; its bytes are counted; its end is the peer's end, and what
    /// is not whole goes with it.
    @Test func aConnectionIsKnownAndEnded() throws {
        var router = try Socket<Router>(in: context)
        let monitor = try SocketMonitor(router)
        let endpoint = try router.bindAnywhere(.tcp)
        let peer = try ForeignPeer(connectingTo: endpoint)
        try peer.shakeHands()
        let accepted = try monitor.events { $0 == .accepted }
        let connection = try #require(accepted.last?.connection)
        #expect(accepted.dropLast().allSatisfy { $0.connection == nil })
        #expect(connection.peerAddress == "127.0.0.1")

        var message = Message()
        #expect(message.connection == nil)
        try peer.send(ForeignPeer.message([7]))
        try router.waitUntilReadable()
        guard case .message = try router.receive(into: &message) else { throw Silence() }
        #expect(message.connection == connection)
        #if os(Linux)
            let before = try #require(connection.bytesRead)
            #expect(before > 64)
            // Parts without an end: none of them can be received, and all of them are held.
            for _ in 0..<100 { try peer.send(ForeignPeer.message([UInt8](repeating: 1, count: 200), more: true)) }
            var read = before
            for _ in 0..<1_000 where read < before + 100 * 202 {
                try Poller<Int>().wait(timeout: .milliseconds(5))
                read = connection.bytesRead ?? 0
            }
            #expect(read == before + 100 * 202)
            let nothing = try router.receive(into: &message)
            #expect(nothing == nil)
        #endif
        connection.end()
        let lost = try monitor.events { $0 == .disconnected }
        #expect(lost.last?.connection == connection)
        #expect(try router.send([1], to: try #require(RoutingID([0, 0, 0, 0, 1]))) == .unroutable)
    }

    /// Goal: what came another way than TCP has no bytes to tell of.
    @Test func otherTransportsHaveNone() throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.inproc))
        try dealer.deliver([1])
        var message = Message()
        try router.waitUntilReadable()
        guard case .message = try router.receive(into: &message) else { throw Silence() }
        #expect(message.connection == nil)
    }
}
