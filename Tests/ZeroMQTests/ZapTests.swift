import Testing
import ZeroMQ

/// Who decides which peers may connect.
@Suite(.timeLimit(.minutes(5)), .enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
struct ZapTests {
    private let context: Context
    private let server: CurveKeyPair

    init() throws {
        context = try Context()
        server = try CurveKeyPair.generate()
    }

    private var serverOptions: SocketOptions {
        var options = SocketOptions()
        options.serveCurve(server)
        options[.zapDomain] = "members"
        options[.zapEnforceDomain] = true
        options[.handshakeTimeout] = .milliseconds(500)
        return options
    }

    private func options(_ keys: CurveKeyPair) -> SocketOptions {
        var options = SocketOptions()
        options.useCurve(keys, serverKey: server.publicKey)
        return options
    }

    /// Answers what is asked until `isDone`; every question must be of the domain, and with a key.
    private func serve(
        _ handler: borrowing ZapHandler, _ accepted: CurvePublicKey, until isDone: () throws -> Bool
    ) throws {
        for _ in 0..<1_000 {
            _ = try handler.serve(atMost: 8) { request in
                #expect(request.domain == "members" && request.mechanism == "CURVE" && request.address == "127.0.0.1")
                return request.key == accepted ? .accepted(userID: "web-1") : .refused
            }
            if try isDone() { return }
            let poller = Poller<Int>()
            poller.add(handler, as: 0)
            try poller.wait(timeout: .milliseconds(10))
        }
        throw Silence()
    }

    /// A key that is refused is told so and says nothing here; another goes on, and its messages name it.
    @Test func aRefusedKeyIsToldAndAnAcceptedOneIsNamed() throws {
        let handler = try ZapHandler(in: context)
        let (known, stranger) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        var router = try Socket<Router>(in: context, options: serverOptions)
        let endpoint = try router.bindAnywhere(.tcp)
        var refused = try Socket<Dealer>(in: context, options: options(stranger))
        let monitor = try SocketMonitor(refused)
        try refused.connect(to: endpoint)
        _ = try refused.send([9])
        var dealer = try Socket<Dealer>(in: context, options: options(known))
        try dealer.connect(to: endpoint)
        _ = try dealer.send([1])
        var message = Message()
        var bytes: [[UInt8]] = []
        var isTold = false
        try serve(handler, known.publicKey) {
            while let event = try monitor.next() {
                if event.kind == .authenticationFailed(status: 400) { isTold = true }
                #expect(event.kind != .handshakeSucceeded)
            }
            while case .message? = try router.receive(into: &message) {
                bytes.append(message.bytes)
                #expect(message.property(.userID) == "web-1")
                #expect(message.property(.peerKey) == known.publicKey.z85)
            }
            return isTold && !bytes.isEmpty
        }
        #expect(bytes == [[1]])
    }

    /// A question that nobody answers lets nobody in; answered later, the peer gets in by itself.
    @Test func aLateAnswerKeepsOutUntilItComes() throws {
        let handler = try ZapHandler(in: context)
        let known = try CurveKeyPair.generate()
        var router = try Socket<Router>(in: context, options: serverOptions)
        var dealer = try Socket<Dealer>(in: context, options: options(known))
        try dealer.connect(to: router.bindAnywhere(.tcp))
        _ = try dealer.send([1])
        let poller = Poller<Int>()
        poller.add(router, as: 0)
        #expect(try poller.wait(timeout: .milliseconds(800)) == 0)
        var message = Message()
        var isThere = false
        try serve(handler, known.publicKey) {
            if case .message? = try router.receive(into: &message) { isThere = true }
            return isThere
        }
    }

    /// Peers that speak an older ZMTP, or another mechanism, get nowhere, and nobody is asked about them.
    @Test(arguments: ["NULL", "PLAIN", "2.0", "1.0"]) func whoDoesNotSpeakCurveIsKeptOut(peer: String) throws {
        let handler = try ZapHandler(in: context)
        var router = try Socket<Router>(in: context, options: serverOptions)
        let monitor = try SocketMonitor(router)
        let foreign = try ForeignPeer(connectingTo: try router.bindAnywhere(.tcp))
        switch peer {
        case "2.0": try foreign.send([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1, 5, 0, 0])
        case "1.0": try foreign.send([1, 0])
        default:
            let name = Array(peer.utf8)
            try foreign.send(
                [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0] + name + [UInt8](repeating: 0, count: 52 - name.count))
        }
        let events = try monitor.events { kind in
            switch kind {
            case .disconnected, .handshakeSucceeded: true
            default: false
            }
        }
        #expect(!events.contains { $0.kind == .handshakeSucceeded })
        #expect(try router.receiveFrames() == nil)
        #expect(try handler.serve(atMost: 8) { _ in .accepted(userID: "") } == 0)
    }

    /// A context has one handler, and another when that is gone.
    @Test func aContextHasOneHandler() throws {
        let first = try ZapHandler(in: context)
        #expect { _ = try ZapHandler(in: context) } throws: { ($0 as? ZMQError)?.code == .addressInUse }
        #expect(try first.serve(atMost: 1) { _ in .refused } == 0)
    }

    @Test func aKeyOfZerosIsKnown() throws {
        let zero = try #require(CurvePublicKey(bytes: [UInt8](repeating: 0, count: 32)))
        #expect(zero.isZero && zero == CurvePublicKey(z85: String(repeating: "0", count: 40)))
        #expect(CurvePublicKey(bytes: [UInt8](repeating: 0, count: 31)) == nil)
        #expect(!server.publicKey.isZero)
    }
}
