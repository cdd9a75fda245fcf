import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// The table of the broadcast's door: who gets which channel, and how few can be in it (PROTOCOL, R-39).
@Suite struct SubscriberTableTests {
    private static let counters = Channel(rawValue: 0)
    private static let search = Channel(rawValue: 1)

    private func peer(_ number: Int) throws -> RoutingID {
        try #require(RoutingID([0, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]))
    }

    private func tick(_ milliseconds: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: milliseconds) }

    /// Goal: ten thousand wishes of one connection take one place, that of the last; who says them too fast loses it
    /// (PROTOCOL, R-39).
    @Test func aConnectionHasOnePlace() throws {
        var table = SubscriberTable()
        let peer = try peer(1)
        #expect(table.subscribe(peer, to: Self.search, from: { "a" }, now: tick(0)) == .added)
        for number in 0..<10_000 {
            let channel = Channel(rawValue: UInt16(number))
            #expect(table.subscribe(peer, to: channel, from: { "b" }, now: tick(11 * Int64(number))) == .renewed)
        }
        #expect(table.count == 1)
        #expect(table.subscribers(of: Channel(rawValue: 9_999)) == [peer])
        #expect(table.subscribers(of: Self.search) == [])
        let outcomes = (0..<200).map { _ in
            table.subscribe(peer, to: Self.search, from: { "b" }, now: tick(200_000))
        }
        #expect(outcomes.prefix(100).allSatisfy { $0 == .renewed } && outcomes[100] == .tooOften)
        #expect(outcomes[101] == .added && table.count == 1)
    }

    /// Goal: an address has its share, all have the whole, and what leaves makes room (PROTOCOL, R-39).
    @Test func anAddressHasAShareAndTheTableAnEnd() throws {
        var bounds = SubscriberTable.Bounds()
        #expect(bounds.all == 16_384 && bounds.ofAddress == 4_096 && bounds.lease == Tick.milliseconds(10_000))
        (bounds.all, bounds.ofAddress) = (5, 2)
        var table = SubscriberTable(bounds: bounds)
        func ask(_ number: Int, _ address: String) throws -> SubscriberTable.Outcome {
            table.subscribe(try peer(number), to: Self.counters, from: { address }, now: tick(0))
        }
        #expect(try [ask(1, "a"), ask(2, "a"), ask(3, "a")] == [.added, .added, .refused])
        #expect(try [ask(4, "b"), ask(5, "b"), ask(6, "c"), ask(7, "c")] == [.added, .added, .added, .refused])
        #expect(try ask(2, "a") == .renewed)
        table.remove(try peer(1))
        table.remove(try peer(1))
        #expect(try [ask(3, "a"), ask(8, "d")] == [.added, .refused])
        #expect(table.count == 5 && table.subscribers(of: Self.counters).count == 5)
    }

    /// Goal: who is silent for more than 10 s loses its place; a pause of the process is nobody's silence (PROTOCOL, R-39).
    @Test func silenceEndsASubscriptionAndAPauseDoesNot() throws {
        var table = SubscriberTable()
        let (silent, live) = (try peer(1), try peer(2))
        _ = table.subscribe(silent, to: Self.counters, from: { "a" }, now: tick(1))
        for second in Int64(0)...10 {
            _ = table.subscribe(live, to: Self.counters, from: { "a" }, now: tick(1_000 * second))
            table.expire(now: tick(1_000 * second))
            #expect(table.count == 2)
        }
        table.expire(now: tick(11_000))
        #expect(table.subscribers(of: Self.counters) == [live])
        table.expire(now: tick(60_000))
        #expect(table.count == 1)
        for second in Int64(61)...71 { table.expire(now: tick(1_000 * second)) }
        #expect(table.count == 0)
    }

    /// Goal: whatever comes in which order, the lists hold exactly those who have a place.
    @Test(arguments: 0..<20) func theListsHoldThoseWhoHaveAPlace(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var table = SubscriberTable()
        var model: [RoutingID: Channel] = [:]
        for _ in 0..<2_000 {
            let peer = try peer(Int(random.next() % 40))
            if random.next() % 4 == 0 {
                table.remove(peer)
                model[peer] = nil
            } else {
                let channel = Channel(rawValue: UInt16(random.next() % 3))
                _ = table.subscribe(peer, to: channel, from: { "a" }, now: tick(0))
                model[peer] = channel
            }
            #expect(table.count == model.count)
        }
        for number in 0..<3 {
            let channel = Channel(rawValue: UInt16(number))
            let list = table.subscribers(of: channel)
            #expect(list.count == Set(list).count)
            #expect(Set(list) == Set(model.filter { $0.value == channel }.keys))
        }
    }
}
