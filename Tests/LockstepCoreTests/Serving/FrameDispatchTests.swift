import LockstepCore
import Testing

/// Which store of a node a frame is for (PROTOCOL ).
struct FrameDispatchTests {
    private static let cluster: UInt64 = 0xC0FFEE
    private static let rule = FrameHeader.ClusterRule.member(cluster)
    private static let read = Message.read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0))
    /// Channels of the stores that the tests add, in their order.
    private static let channels: [Channel?] = [Channel(rawValue: 3), nil, Channel(rawValue: 0)]

    private static func dispatch(stores: Int) -> FrameDispatch {
        var dispatch = FrameDispatch()
        for (name, channel) in zip(["left", "middle", "right"], channels).prefix(stores) {
            dispatch.add(name, channel: channel)
        }
        return dispatch
    }

    private static func frame(_ message: Message, _ channel: UInt16, cluster: UInt64 = cluster) -> [UInt8] {
        FrameStamp(channel: Channel(rawValue: channel), clusterHash: cluster, epoch: Epoch(rawValue: 4)).frame(message)
    }

    private static func hello(_ store: String) -> Message {
        .hello(
            Hello(
                nonce: 1, role: .client, node: "peer", incarnation: .none, boot: BootID(rawValue: 1), store: store,
                known: .none))
    }

    private static func verdict(
        _ dispatch: FrameDispatch, _ frame: [UInt8], rule: FrameHeader.ClusterRule = rule
    ) -> FrameDispatch.Verdict {
        withBytes(of: frame) { dispatch.verdict(on: $0, rule: rule) }
    }

    /// Goal: a frame goes to the store of its channel; a replica's is known as soon as it was told (PROTOCOL R-4).
    @Test func aFrameGoesToTheStoreOfItsChannel() {
        var dispatch = Self.dispatch(stores: 3)
        #expect(Self.verdict(dispatch, Self.frame(Self.read, 3)) == .store(0))
        #expect(Self.verdict(dispatch, Self.frame(Self.read, 0)) == .store(2))
        #expect(Self.verdict(dispatch, Self.frame(Self.read, 5)) != .store(1))
        dispatch.setChannel(Channel(rawValue: 5), of: 1)
        #expect(Self.verdict(dispatch, Self.frame(Self.read, 5)) == .store(1))
    }

    /// Goal: a HELLO goes to the store that it names, whatever its channel and its cluster are; of no store's name, of
    /// another version or damaged, to the first, which owes REFUSED or counts (PROTOCOL ).
    @Test func aHelloGoesToTheStoreThatItNames() {
        let dispatch = Self.dispatch(stores: 3)
        for channel: UInt16 in [0xFFFF, 3, 77] {
            for (name, store) in [("left", 0), ("middle", 1), ("right", 2), ("another", 0)] {
                let own = Self.frame(Self.hello(name), channel)
                #expect(Self.verdict(dispatch, own) == .store(store))
                let foreign = Self.frame(Self.hello(name), channel, cluster: 5)
                #expect(Self.verdict(dispatch, foreign) == .store(store))
            }
            var later = Self.frame(Self.hello("right"), channel)
            later[4] = 2
            #expect(Self.verdict(dispatch, later) == .store(0))
        }
    }

    /// Goal: what an operator asks is for the node, whatever its channel is (PROTOCOL R-66).
    @Test func anOperatorsRequestIsForTheNode() {
        for channel: UInt16 in [0xFFFF, 3, 77] {
            #expect(Self.verdict(Self.dispatch(stores: 2), Self.frame(.adminRequest(0..<0), channel)) == .node)
        }
    }

    /// Goal: with any number of stores, a request on a channel that none has gets RESYNC with its own channel and
    /// cluster and no epoch; 65,535 is no store's, also where a channel is not known yet (PROTOCOL ).
    @Test(arguments: 0...3)
    func aRequestOfNoStoreIsAnswered(stores: Int) {
        let dispatch = Self.dispatch(stores: stores)
        for channel: UInt16 in [77, 0xFFFF] {
            let stamp = FrameStamp(channel: Channel(rawValue: channel), clusterHash: Self.cluster, epoch: .zero)
            #expect(Self.verdict(dispatch, Self.frame(Self.read, channel)) == .resync(stamp))
            let chunk = Message.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1))
            #expect(Self.verdict(dispatch, Self.frame(chunk, channel)) == .resync(stamp))
        }
        let foreign = Self.frame(Self.read, 77, cluster: 5)
        let stamp = FrameStamp(channel: Channel(rawValue: 77), clusterHash: 5, epoch: .zero)
        #expect(Self.verdict(dispatch, foreign, rule: .any) == .resync(stamp))
    }

    /// Goal: with any number of stores, what cannot be read, and what is no request, is dropped (PROTOCOL R-10).
    @Test(arguments: 0...3)
    func whatIsNobodysIsDropped(stores: Int) {
        let dispatch = Self.dispatch(stores: stores)
        let whole = Self.frame(Self.read, 77)
        for count in 0..<whole.count {
            #expect(Self.verdict(dispatch, Array(whole.prefix(count))) == .dropped, "\(count) bytes")
        }
        for place in whole.indices {
            var damaged = whole
            damaged[place] ^= 1
            #expect(Self.verdict(dispatch, damaged) == .dropped, "byte \(place)")
        }
        #expect(Self.verdict(dispatch, whole + [0]) == .dropped)
        #expect(Self.verdict(dispatch, Self.frame(Self.read, 77, cluster: 5)) == .dropped)
        for message: Message in [.resync, .closed(.none)] {
            #expect(Self.verdict(dispatch, Self.frame(message, 77)) == .dropped)
        }
    }
}
