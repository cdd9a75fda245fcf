import LockstepCore
import LockstepSimulator
import Testing

/// What the checkers know of the wait of a primary for its replicas (PROTOCOL R-48).
struct AudienceWatchTests {
    private static let beginning = Tick(rawValue: 1_000_000_000)

    private static func millisecond(_ count: Int64) -> Tick { beginning.advanced(byMilliseconds: count) }

    private static func hello(_ node: String, _ role: PeerRole = .replica) -> Hello {
        Hello(
            nonce: 1, role: role, node: node, incarnation: .none, boot: BootID(rawValue: 1), store: "simulated",
            known: .none)
    }

    /// A watch whose epoch opened at the beginning.
    private static func opened(_ names: [String]) -> AudienceWatch {
        var watch = AudienceWatch(names)
        watch.opened(now: beginning)
        return watch
    }

    @Test func itEndsWithTheLastHello() {
        var watch = Self.opened(["a", "b"])
        watch.heard(Self.hello("b"))
        #expect(watch.isAwaiting(now: Self.beginning))
        #expect(watch.awaited == ["a"])
        watch.heard(Self.hello("a"))
        #expect(!watch.isAwaiting(now: Self.beginning))
    }

    /// The time counts from the first opening.
    @Test func itEndsAfterItsTimeAndNotBefore() {
        var watch = Self.opened(["a"])
        watch.opened(now: Self.millisecond(3_000))
        #expect(watch.isAwaiting(now: Self.millisecond(4_999)))
        #expect(!watch.isAwaiting(now: Self.millisecond(5_000)))
    }

    /// Neither a client with the name of a replica, nor another replica, is who is awaited.
    @Test func othersEndNothing() {
        var watch = Self.opened(["a"])
        watch.heard(Self.hello("a", .client))
        watch.heard(Self.hello("c"))
        #expect(watch.isAwaiting(now: Self.beginning))
    }

    /// Before the epoch is open nobody can be heard, and nothing is admitted for another reason.
    @Test func itBeginsWhenTheEpochIsOpen() {
        var watch = AudienceWatch(["a"])
        #expect(!watch.isAwaiting(now: Self.beginning))
        watch.heard(Self.hello("a"))
        watch.opened(now: Self.beginning)
        #expect(watch.isAwaiting(now: Self.beginning))
    }

    @Test func nobodyIsAwaitedWhereNoneIsKnown() {
        #expect(!Self.opened([]).isAwaiting(now: Self.beginning))
    }
}
