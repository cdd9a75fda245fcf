import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct SocketMonitorTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    @Test func bothSidesSeeAConnectionComeAndGo() throws {
        var router = try Socket<Router>(in: context)
        let serverSide = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context)
        let clientSide = try SocketMonitor(dealer)
        let endpoint = try router.bindAnywhere(.tcp)
        try dealer.connect(to: endpoint)

        let accepted = try serverSide.events { $0 == .handshakeSucceeded }
        #expect(accepted.map(\.kind) == [.listening, .accepted, .handshakeSucceeded])
        #expect(accepted[0].endpoint == endpoint)
        let connected = try clientSide.events { $0 == .handshakeSucceeded }
        #expect(connected.map(\.kind) == [.connectDelayed, .connected, .handshakeSucceeded])
        #expect(connected.allSatisfy { $0.endpoint == endpoint })

        router.close()
        let lost = try clientSide.events { if case .connectRetried = $0 { true } else { false } }
        #expect(lost.first?.kind == .disconnected)
        let stopped = try serverSide.events { $0 == .monitorStopped }
        #expect(stopped.contains { $0.kind == .closed } || stopped.count == 1)
        let rest = try serverSide.next()
        #expect(rest == nil)
    }

    @Test func aMonitorCanBeReplacedAndStoppedWhileTheSocketGoesOn() throws {
        var router = try Socket<Router>(in: context)
        let first = try SocketMonitor(router)
        let second = try SocketMonitor(router)
        _ = try first.events { $0 == .monitorStopped }
        first.stop()
        _ = try router.bindAnywhere(.tcp)
        _ = try second.events { $0 == .listening }
        second.stop()
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.lastEndpoint)
        try dealer.deliver([1])
        #expect(try router.next().bytes == [1])
    }

    /// With a limit on its queue, a monitor that nobody reads would stop the I/O thread after 1,000 events.
    @Test func aMonitorThatNobodyReadsDoesNotStopTheTraffic() throws {
        var options = SocketOptions()
        options[.backlog] = 2_000
        var router = try Socket<Router>(in: context, options: options)
        let monitor = try SocketMonitor(router)
        let endpoint = try router.bindAnywhere(.tcp)
        for _ in 0..<1_500 {
            _ = try ForeignPeer(connectingTo: endpoint)
        }
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: endpoint)
        try dealer.deliver([1])
        #expect(try router.next().bytes == [1])
        let events = try monitor.events { $0 == .handshakeSucceeded }
        #expect(events.count > 3_000)
    }

    @Test func aPollerWaitsForEventsToo() throws {
        var router = try Socket<Router>(in: context)
        let monitor = try SocketMonitor(router)
        let poller = Poller<Int>()
        poller.add(monitor, as: 1)
        _ = try router.bindAnywhere(.tcp)
        #expect(try poller.wait(timeout: .seconds(30)) == 1)
        #expect(try monitor.next()?.kind == .listening)
    }
}
