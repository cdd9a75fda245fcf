import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// Connections on which nothing is said: which of them a node ends (PROTOCOL, R-54).
@Suite(.timeLimit(.minutes(1))) struct SilentPeersTests {
    /// Goal: a replica that lacks nothing, and a data node, may be silent for ever at the ports for them; others may not.
    @Test(arguments: [(0, 1), (1, 1), (2, 0), (3, 0)] as [(UInt16, UInt64)])
    func aSilentConnectionEndsWhereSomethingIsDue(offset: UInt16, ended: UInt64) throws {
        let context = try Context()
        let poller = Poller<LoopToken>()
        let server = ServerSockets()
        defer { server.close() }
        let listen = try TCPEndpoint("tcp://127.0.0.1:\(FreePorts.next())", use: "a test")
        _ = try server.bind(listen, in: context, publishes: true, poller: poller)
        _ = try server.bindReplication(listen, in: context, poller: poller)

        var monitor: SocketMonitor?
        let place = listen.advanced(by: offset).description
        let peer = try Endpoints.link(context, to: place, keys: nil) { monitor = try SocketMonitor($0) }
        while try monitor?.next()?.kind != .handshakeSucceeded { try poller.wait(timeout: .milliseconds(2)) }
        // What happened before the handshake ended is known from here on.
        let now = MonotonicClock.now
        #expect(try server.look(now: now) == 0)
        for seconds in [11, 22] { _ = try server.look(now: now.advanced(byMilliseconds: Int64(seconds) * 1_000)) }
        #expect(try server.look(now: now.advanced(byMilliseconds: 33_000)) == ended)
        _ = consume peer
    }
}
