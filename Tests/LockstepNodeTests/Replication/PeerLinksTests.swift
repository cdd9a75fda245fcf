import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// The connections to other data nodes, which the stores of a node share (PROTOCOL, R-70 and R-86).
///
/// Time is an argument, and nobody listens at the other end: what is seen is what the node does itself.
@Suite(.timeLimit(.minutes(1))) struct PeerLinksTests {
    private let links: PeerLinks
    private let poller = Poller<LoopToken>()
    private let node: NodeID
    private let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"

    init() throws {
        links = PeerLinks(context: try Context())
        node = try #require(NodeID("node-1"))
    }

    private func at(_ milliseconds: Int64) -> Tick {
        Tick(rawValue: 5_000_000_000).advanced(byMilliseconds: milliseconds)
    }

    private func connect(
        to endpoint: String? = nil, keys: [DialKeys]? = nil, anew: Bool = false, at milliseconds: Int64
    ) throws {
        try links.connect(
            to: node, at: endpoint ?? self.endpoint, keys: keys, anew: anew, now: at(milliseconds), poller: poller)
    }

    /// Whose connection was lost, as all stores are told.
    private func lost(at milliseconds: Int64) throws -> [NodeID] {
        try links.look(now: at(milliseconds)).filter { $0.event == .lost }.map { $0.node }
    }

    /// A connection that one store has made anew is lost for all, and each of them hears it at once; it is not made
    /// anew more often than once a second.
    @Test func allStoresHearOfAConnectionThatIsMadeAnew() throws {
        try connect(at: 0)
        #expect(try lost(at: 0).isEmpty)
        try connect(at: 900)
        try connect(anew: true, at: 999)
        #expect(try lost(at: 999).isEmpty)
        try connect(anew: true, at: 1_000)
        #expect(links.nextDeadline <= at(1_000))
        #expect(try lost(at: 1_000) == [node])
        #expect(try lost(at: 1_050).isEmpty)
        try connect(to: "tcp://127.0.0.1:\(FreePorts.next())", at: 1_060)
        #expect(try lost(at: 1_060) == [node], "the node has another address")
    }

    /// A connection on which heartbeats come works: a store that is not answered gets no other, at whatever address.
    @Test func aConnectionThatBringsHeartbeatsStays() throws {
        let other = "tcp://127.0.0.1:\(FreePorts.next())"
        try connect(at: 0)
        for time in [1_500, 3_000, 4_500] as [Int64] {
            links.heard(node, now: at(time - 999))
            try connect(anew: true, at: time)
            try connect(to: other, at: time)
            #expect(try lost(at: time).isEmpty, "\(time)")
        }
        try connect(anew: true, at: 4_501)
        #expect(try lost(at: 4_501) == [node], "the last heartbeat is a second old")
    }

    /// a connection that ends since the list has another key is lost, too, also where it was the only one.
    @Test(.enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
    func allStoresHearOfAConnectionThatIsWithdrawn() throws {
        let keys = try DialKeys(own: CurveKeyPair.generate(), server: CurveKeyPair.generate().publicKey)
        try connect(keys: [keys], at: 0)
        let kept = links.withdraw { _ in [keys] }
        #expect(try lost(at: 0).isEmpty && kept == 0)
        let ended = links.withdraw { _ in [] }
        #expect(ended == 1)
        #expect(links.nextDeadline <= at(10))
        #expect(try lost(at: 10) == [node])
        #expect(links.nextDeadline == .never)
    }
}
