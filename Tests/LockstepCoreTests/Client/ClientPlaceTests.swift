import LockstepCore
import Testing

@Suite("Where a client looks for its primary, and who refuses it")
struct ClientPlaceTests {
    private typealias Failure = ClientSessionTests.Failure

    /// The place of the primary is followed, and forgotten when nobody is there.
    @Test func notPrimaryIsFollowed() throws {
        var script = ClientScript()
        let nonce = try #require(script.helloNonce)
        script.receive(.refused(Refused(nonce: nonce, reason: .notPrimary, text: "", endpoint: "other")))
        #expect(script.connects == ["other"])
        let connects = script.wait(10_000).compactMap { directive -> String? in
            guard case .connect(let endpoint) = directive else { return nil }
            return endpoint
        }
        #expect(connects.starts(with: ["other", "home"]))
    }

    /// Nodes that send a client to each other are no primaries: it begins again where it was told to, with back-off, and
    /// says so each time (PROTOCOL R-38).
    @Test func aCircleOfReplicasIsLeft() throws {
        var script = ClientScript()
        script.primary.role = .replica
        script.primary.primaryEndpoint = "other"
        try script.welcome()
        #expect(script.connects == ["other"] && script.client.phase == .greeting)
        script.primary.primaryEndpoint = "home"
        try script.welcome()
        #expect(script.directives == [.noPrimary(at: "other")])
        #expect(script.client.phase == .waiting && script.client.endpoint == "home")
        script.wait(100)
        #expect(script.connects == ["home"])
        // A replica that knows of nobody is no way either.
        script.primary.primaryEndpoint = ""
        try script.welcome()
        #expect(script.directives == [.noPrimary(at: "home")])
        script.wait(200)
        script.primary.role = .primary
        try script.welcome()
        #expect(script.client.phase == .welcomed && script.openNonce != nil)
    }

    /// However long a chain of replicas is, a client goes only so far along it (PROTOCOL R-38).
    @Test func aChainOfReplicasIsFollowedOnlySoFar() throws {
        var script = ClientScript()
        script.primary.role = .replica
        var visited: [String] = []
        for number in 1...20 {
            script.primary.primaryEndpoint = "node-\(number)"
            try script.welcome()
            if case .noPrimary(let last) = script.directives.first {
                #expect(last == "node-4")
                break
            }
            if script.connects.isEmpty { script.wait(2_000) }
            visited += script.connects.prefix(1)
        }
        #expect(visited == ["node-1", "node-2", "node-3", "node-4"])
    }

    /// Other refusals are told, and asked again slowly (PROTOCOL ).
    @Test(arguments: [RefusalReason.primaryBehind, .wrongCluster, .unknownStore, .unavailable])
    func refusalsAreToldAndTriedAgain(reason: RefusalReason) throws {
        var script = ClientScript()
        let refused = Refused(nonce: try #require(script.helloNonce), reason: reason, text: "no", endpoint: "")
        script.receive(.refused(refused))
        #expect(script.directives == [.refused(refused)])
        script.wait(999)
        #expect(script.directives.isEmpty)
        script.wait(1)
        try script.open()
        #expect(script.client.isBound)
    }

    /// A REFUSED of another version is understood as far as that goes, if it is whole and answers this HELLO; a damaged one
    /// is noise (PROTOCOL R-10).
    @Test func aRefusalOfAnotherVersionIsUnderstood() throws {
        var script = ClientScript()
        let nonce = try #require(script.helloNonce)
        func frame(nonce: UInt64) -> [UInt8] {
            var frame = script.primary.stamp.frame(.refused(Refused(nonce: nonce, reason: .wrongVersion, text: "no")))
            frame[4] = 2
            var checksum = CRC32C()
            withBytes(of: frame) { span in
                checksum.update(span, 0..<28)
                checksum.update(span, 32..<span.byteCount)
            }
            for index in 0..<4 { frame[28 + index] = UInt8(truncatingIfNeeded: checksum.value >> (8 * UInt32(index))) }
            return frame
        }
        var damaged = frame(nonce: nonce)
        damaged[damaged.count - 1] ^= 1
        script.receive(damaged)
        script.receive(frame(nonce: nonce &+ 1))
        #expect(script.directives.isEmpty)
        script.receive(frame(nonce: nonce))
        guard case .refused(let refused) = script.directives.first else { throw Failure.unexpected(script.sent) }
        #expect(refused.reason == .wrongVersion && refused.text.contains("version 2"))
    }

    /// A primary of another cluster is refused by the client itself (PROTOCOL R-1).
    @Test func aForeignClusterIsRefused() throws {
        var script = ClientScript(cluster: ClusterID(rawValue: 5))
        try script.welcome()
        guard case .refused(let refused) = script.directives.first else { throw Failure.unexpected(script.sent) }
        #expect(refused.reason == .wrongCluster && script.client.phase == .greeting)
    }
}
