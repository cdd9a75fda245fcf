import LockstepCore
import LockstepSimulator
import Testing

/// What the checkers of sessions find, apart from a run (PROTOCOL ).
struct SessionCheckersTests {
    private static let session = SessionID(epoch: Epoch(rawValue: 7), sequence: SequenceNumber(rawValue: 3))
    private static let later = SessionID(epoch: Epoch(rawValue: 7), sequence: SequenceNumber(rawValue: 8))
    private static let (holder, stranger) = (Connection(rawValue: 1), Connection(rawValue: 2))
    /// Microseconds.
    private static let timeToLive: Int64 = 10_000_000
    private static let beginning = Tick(rawValue: 1_000_000_000)

    private static func second(_ count: Int64) -> Tick { beginning.advanced(byMilliseconds: count * 1_000) }

    private static func keepAlive() -> Message {
        .keepAlive(KeepAlive(session: session, ackedThrough: 0, applied: .zero))
    }

    /// A watch whose session was opened at second 0.
    private static func opened() -> SessionWatch {
        var watch = SessionWatch(recovered: [], now: beginning)
        let open = Open(
            client: ClientKey(rawValue: 5), nonce: 9, timeToLive: timeToLive, windowNumbers: 10, windowBytes: 1 << 16)
        watch.heard(.open(open), from: holder, answers: [], now: second(0))
        watch.opened(
            Opened(nonce: 9, session: session, timeToLive: timeToLive, windowNumbers: 10, windowBytes: 1 << 16),
            to: holder)
        return watch
    }

    private static func end(_ watch: SessionWatch, atSecond second: Int64) -> SessionWatch.Finding? {
        var watch = watch
        return watch.expired(now: Self.second(second), isOpen: { _ in false }, timeToLive: { _ in timeToLive })
    }

    /// A session that may end before its time is no finding, and the next one is looked at all the same.
    @Test func aSessionThatMayGiveWayIsNoFinding() {
        var watch = SessionWatch(recovered: [Self.session, Self.later], now: Self.beginning)
        let finding = watch.expired(now: Self.second(1), isOpen: { _ in false }) {
            $0 == Self.session ? nil : Self.timeToLive
        }
        #expect(finding?.session == Self.later)
    }

    @Test func aSessionMayEndAfterItsTimeAndNotBefore() {
        #expect(Self.end(Self.opened(), atSecond: 10)?.silence == 10_000_000_000)
        #expect(Self.end(Self.opened(), atSecond: 11) == nil)
    }

    @Test func aSignOfLifeBeginsItsTimeAnew() {
        var watch = Self.opened()
        watch.heard(Self.keepAlive(), from: Self.holder, answers: [], now: Self.second(8))
        #expect(Self.end(watch, atSecond: 11)?.silence == 3_000_000_000)
        #expect(Self.end(watch, atSecond: 19) == nil)
    }

    /// In a store that is three quarters full, sessions that never had an action end before their time (PROTOCOL R-19).
    ///
    /// Used ones do not, and in a store with more room none does; a checker with less of this exception would raise a
    /// false finding, one with more is blind.
    @Test func onlyUnusedSessionsOfACrowdedStoreGiveWay() {
        // 64 may be open, so 48 are three quarters; one ended, the one that was opened counts.
        #expect(SessionWatch.mayGiveWay(last: 0, open: 47, ended: 1, limit: 64))
        #expect(SessionWatch.mayGiveWay(last: 0, open: 44, ended: 4, limit: 64))
        #expect(!SessionWatch.mayGiveWay(last: 1, open: 47, ended: 1, limit: 64))
        #expect(!SessionWatch.mayGiveWay(last: 0, open: 46, ended: 1, limit: 64))
        #expect(!SessionWatch.mayGiveWay(last: 0, open: 32, ended: 1, limit: 64))
    }

    /// What a stranger sends, and what was answered with RESYNC, is none.
    @Test func strangersGiveNoSign() {
        var watch = Self.opened()
        watch.heard(Self.keepAlive(), from: Self.stranger, answers: [], now: Self.second(8))
        watch.heard(Self.keepAlive(), from: Self.holder, answers: [.resync], now: Self.second(8))
        #expect(Self.end(watch, atSecond: 11) == nil)
    }

    /// RESUME makes the other connection the session's.
    @Test func aResumedSessionIsTheOtherConnections() {
        var watch = Self.opened()
        let resume = Resume(session: Self.session, openNonce: 9, connectionNonce: 1, ackedThrough: 0)
        watch.heard(.resume(resume), from: Self.stranger, answers: [.refused], now: Self.second(1))
        watch.heard(Self.keepAlive(), from: Self.stranger, answers: [], now: Self.second(8))
        #expect(Self.end(watch, atSecond: 11) == nil)
        watch.heard(.resume(resume), from: Self.stranger, answers: [.resumed], now: Self.second(2))
        watch.heard(Self.keepAlive(), from: Self.stranger, answers: [], now: Self.second(8))
        #expect(Self.end(watch, atSecond: 11) != nil)
    }

    /// An OPEN that came before the epoch was open is not heard, so nothing begins with it.
    @Test func anOpenThatWasNotHeardIsNoSign() {
        var watch = SessionWatch(recovered: [Self.session], now: Self.beginning)
        watch.opened(
            Opened(nonce: 9, session: Self.session, timeToLive: Self.timeToLive, windowNumbers: 10, windowBytes: 1),
            to: Self.holder)
        watch.heard(Self.keepAlive(), from: Self.holder, answers: [], now: Self.second(8))
        #expect(Self.end(watch, atSecond: 11) == nil)
    }

    @Test func aSessionThatWasClosedDidNotExpire() {
        var watch = Self.opened()
        watch.closed(Self.session)
        #expect(Self.end(watch, atSecond: 1) == nil)
    }

    /// A session that never ends is found, unless the primary did not work meanwhile.
    @Test func aSessionThatDoesNotEndIsFound() {
        func found(isWorking: Bool) -> Bool {
            var watch = Self.opened()
            return (1...40).contains {
                watch.looked(now: Self.second($0), isWorking: isWorking) { _ in Self.timeToLive } != nil
            }
        }
        #expect(found(isWorking: true))
        #expect(!found(isWorking: false))
    }

    /// What the owners of sessions did is known by their keys; of others nothing is claimed.
    @Test func theLogIsComparedWithWhatOwnersDid() {
        var ownership = Ownership()
        let (owner, other) = (ClientKey(rawValue: 5), ClientKey(rawValue: 6))
        ownership.began(owner)
        #expect(ownership.lastSubmitted(owner, Self.session) == 0)
        #expect(ownership.lastSubmitted(other, Self.session) == nil)
        ownership.submitted(owner, Self.session, through: 4)
        ownership.gaveUp(owner, Self.session, 3...4)
        #expect(ownership.lastSubmitted(owner, Self.session) == 4)
        #expect(!ownership.mayBeVoid(owner, Self.session, 2) && ownership.mayBeVoid(owner, Self.session, 3))
        #expect(ownership.mayBeVoid(other, Self.session, 2) && ownership.mayClose(other))
        #expect(!ownership.mayClose(owner))
        ownership.closed(owner)
        #expect(ownership.mayClose(owner))
    }
}
