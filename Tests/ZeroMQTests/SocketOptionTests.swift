import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct SocketOptionTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    private func refusal<Value>(_ option: SocketOption<Value>, _ value: Value) -> ZMQError? {
        #expect(throws: ZMQError.self) {
            var options = SocketOptions()
            options[option] = value
            _ = try Socket<Dealer>(in: context, options: options)
        }
    }

    @Test func everyOptionIsTakenByLibzmq() throws {
        var options = SocketOptions()
        options[.sendHighWaterMark] = 1_024
        options[.maxMessageSize] = 1 << 33
        options[.backlog] = 1_024
        options[.sendBufferSize] = 1_048_576
        options[.receiveBufferSize] = 1_048_576
        options[.typeOfService] = 0x20
        options[.ioThreadMask] = 1
        options[.immediate] = true
        options[.ipv6] = true
        options[.handshakeTimeout] = .seconds(4)
        options[.reconnectInterval] = .milliseconds(50)
        options[.reconnectIntervalMax] = .seconds(1)
        options[.connectTimeout] = .seconds(1)
        options[.tcpKeepAlive] = true
        options[.tcpKeepAliveIdle] = .seconds(5)
        options[.tcpKeepAliveInterval] = .seconds(2)
        options[.tcpKeepAliveCount] = 3
        options[.tcpRetransmissionTimeout] = .seconds(5)
        options[.zapDomain] = "members"
        options[.zapEnforceDomain] = true
        _ = try Socket<Dealer>(in: context, options: options)
        _ = try Socket<Router>(in: context, options: options)
    }

    @Test func whatWasSetCanBeReadAndUnset() {
        var options = SocketOptions()
        #expect(options[.backlog] == nil)
        options[.backlog] = 5
        options[.backlog] = 6
        options[.ipv6] = false
        options[.connectTimeout] = .microseconds(1_500)
        options[.zapDomain] = "a"
        #expect(options[.backlog] == 6)
        #expect(options[.ipv6] == false)
        #expect(options[.connectTimeout] == .milliseconds(2))
        #expect(options[.zapDomain] == "a")
        options[.backlog] = nil
        #expect(options[.backlog] == nil)
    }

    @Test func numbersOutOfRangeAreRefusedByName() {
        let error = refusal(.sendHighWaterMark, -5)
        #expect(error?.code == .invalidArgument)
        #expect(error?.description == "set ZMQ_SNDHWM: Invalid argument: -5 is not in 0...2147483647")
        #expect(refusal(.sendHighWaterMark, Int.max) != nil)
        #expect(refusal(.maxMessageSize, -2) != nil)
        #expect(refusal(.typeOfService, 256) != nil)
        #expect(refusal(.ioThreadMask, -1) != nil)
    }

    @Test func timesOutOfRangeAreRefused() {
        #expect(refusal(.connectTimeout, .milliseconds(-1)) != nil)
        #expect(refusal(.connectTimeout, .seconds(3_000_000)) != nil)
        #expect(refusal(.connectTimeout, .seconds(Int64.max)) != nil)
        #expect(refusal(.connectTimeout, .seconds(Int64.min)) != nil)
        #expect(refusal(.tcpKeepAliveIdle, .zero) != nil)
    }

    @Test func textsOutOfRangeAreRefused() {
        #expect(refusal(.zapDomain, "") != nil)
        let error = refusal(.zapDomain, String(repeating: "x", count: 256))
        #expect(error?.explanation == "256 bytes is not in 1...255")
    }

    @Test func aMessageOverTheLimitCostsThePeerItsConnection() throws {
        var options = SocketOptions()
        options[.maxMessageSize] = 1_000
        var router = try Socket<Router>(in: context, options: options)
        let monitor = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([UInt8](repeating: 1, count: 1_000))
        #expect(try router.next().bytes.count == 1_000)
        try dealer.deliver([UInt8](repeating: 1, count: 1_001))
        _ = try monitor.events { $0 == .disconnected }
        var message = Message()
        #expect(try router.receive(into: &message) == nil)
    }

    /// With a finite `ZMQ_RCVHWM`, libzmq stops reading at such a peer, and aborts the process as its messages are taken.
    @Test func aPeerThatPingsAfterManyMessagesAndClosesDoesNoHarm() throws {
        var router = try Socket<Router>(in: context)
        let monitor = try SocketMonitor(router)
        try pingAndLeave(router.bindAnywhere(.tcp))
        _ = try monitor.events { $0 == .disconnected }
        var message = Message()
        while try router.receive(into: &message) != nil {}

        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.lastEndpoint)
        try dealer.deliver([1])
        #expect(try router.next().bytes == [1])
    }

    private func pingAndLeave(_ endpoint: String) throws {
        let peer = try ForeignPeer(connectingTo: endpoint)
        try peer.shakeHands()
        let burst = ForeignPeer.message([7, 7, 7, 7, 7, 7, 7]) + ForeignPeer.ping
        for _ in 0..<30 { try peer.send(Array(repeatElement(burst, count: 100).joined())) }
    }
}
