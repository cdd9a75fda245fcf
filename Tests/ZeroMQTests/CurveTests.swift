import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)), .enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
struct CurveTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    @Test func encryptedMessagesGoThereAndBack() throws {
        let (serverKeys, clientKeys) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        var serverOptions = SocketOptions()
        serverOptions.serveCurve(serverKeys)
        var clientOptions = SocketOptions()
        clientOptions.useCurve(clientKeys, serverKey: serverKeys.publicKey)
        var router = try Socket<Router>(in: context, options: serverOptions)
        var dealer = try Socket<Dealer>(in: context, options: clientOptions)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        for size in [0, 33, 34, 100_000] {
            let bytes = [UInt8](repeating: 5, count: size)
            try dealer.deliver(bytes)
            let (peer, received) = try router.next()
            #expect(received == bytes)
            _ = try router.send(bytes, to: peer)
            #expect(try dealer.next() == bytes)
        }
    }

    @Test func aClientWithTheWrongServerKeyIsKeptOut() throws {
        let (serverKeys, clientKeys) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        var serverOptions = SocketOptions()
        serverOptions.serveCurve(serverKeys)
        var clientOptions = SocketOptions()
        clientOptions.useCurve(clientKeys, serverKey: clientKeys.publicKey)
        var router = try Socket<Router>(in: context, options: serverOptions)
        let monitor = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context, options: clientOptions)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        let events = try monitor.events { if case .handshakeBroken = $0 { true } else { false } }
        // ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
        #expect(events.last?.kind == .handshakeBroken(protocolError: 0x1100_0001))
        #expect(!events.contains { $0.kind == .handshakeSucceeded })
    }

    @Test func aClientWithoutKeysIsKeptOut() throws {
        var options = SocketOptions()
        options.serveCurve(try CurveKeyPair.generate())
        var router = try Socket<Router>(in: context, options: options)
        let monitor = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        _ = try monitor.events { if case .handshakeBroken = $0 { true } else { false } }
        #expect(try router.receiveFrames() == nil)
    }

    @Test func anEnforcedDomainWithoutHandlerKeepsEverybodyOut() throws {
        let keys = try CurveKeyPair.generate()
        var serverOptions = SocketOptions()
        serverOptions.serveCurve(keys)
        serverOptions[.zapDomain] = "members"
        serverOptions[.zapEnforceDomain] = true
        var clientOptions = SocketOptions()
        clientOptions.useCurve(try CurveKeyPair.generate(), serverKey: keys.publicKey)
        var router = try Socket<Router>(in: context, options: serverOptions)
        let monitor = try SocketMonitor(router)
        var dealer = try Socket<Dealer>(in: context, options: clientOptions)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        let events = try monitor.events { kind in
            switch kind {
            case .handshakeFailed, .handshakeBroken, .authenticationFailed, .disconnected, .handshakeSucceeded: true
            default: false
            }
        }
        #expect(!events.contains { $0.kind == .handshakeSucceeded })
    }

    @Test func aPublicKeyFollowsFromItsSecret() throws {
        let keys = try CurveKeyPair.generate()
        let secret = try #require(CurveSecretKey(z85: keys.secretKey.z85))
        #expect(try CurveKeyPair(secretKey: secret) == keys)
        #expect(CurvePublicKey(z85: keys.publicKey.z85) == keys.publicKey)
        #expect(try CurveKeyPair.generate() != keys)
    }

    @Test func aSecretIsNotPrinted() throws {
        let keys = try CurveKeyPair.generate()
        var options = SocketOptions()
        options.serveCurve(keys)
        for text in ["\(keys)", "\(keys.secretKey)", String(reflecting: keys.secretKey), "\(options)"] {
            #expect(!text.contains(keys.secretKey.z85))
        }
    }

    /// The first is the example of RFC 32/Z85 four times over; the last stands for a number above 32 bits.
    @Test func onlyFortyCharactersOfZ85AreAKey() {
        #expect(CurvePublicKey(z85: String(repeating: "HelloWorld", count: 4)) != nil)
        for text in [
            "", "HelloWorld", String(repeating: "x", count: 39), String(repeating: "x", count: 41),
            String(repeating: "x", count: 39) + "~", String(repeating: "x", count: 39) + "\0",
            String(repeating: "x", count: 38) + "é", String(repeating: "x", count: 35) + "#####",
        ] {
            #expect(CurvePublicKey(z85: text) == nil)
            #expect(CurveSecretKey(z85: text) == nil)
        }
    }
}
