import LockstepCore
import Testing

/// The stages of a stop in good order, and their times.
@Suite struct OrderlyStopTests {
    private static let start = Tick.zero.advanced(byMilliseconds: 1_000)
    private static func after(_ milliseconds: Int64) -> Tick { start.advanced(byMilliseconds: milliseconds) }

    /// Goal: callers have 2 s, the journal has 5 s, and a stage that is done earlier is over.
    @Test func eachStageHasItsTime() {
        var stop = OrderlyStop(now: Self.start)
        #expect(!stop.isFinished(isIdle: false, now: Self.after(1_999)) && stop.deadline == Self.after(2_000))
        #expect(stop.isFinished(isIdle: true, now: Self.start))
        #expect(stop.isFinished(isIdle: false, now: Self.after(2_000)))
        let closes = stop.callersEnded(isWelcomed: true, hasUnanswered: false)
        #expect(closes && stop.stage == .closing)
        #expect(!stop.isMachineStopping && stop.deadline == .never)
        stop.machineStopped(now: Self.after(3_000))
        #expect(stop.isMachineStopping && stop.deadline == Self.after(8_000))
        stop.advance(isDrained: false, now: Self.after(7_999))
        #expect(stop.stage == .draining(until: Self.after(8_000)))
        var late = stop
        late.advance(isDrained: false, now: Self.after(8_000))
        stop.advance(isDrained: true, now: Self.after(3_000))
        #expect(stop.stage == .stopped && late.stage == .stopped && stop.deadline == .never)
    }

    /// Goal: in haste nobody is waited for.
    @Test func inHasteNobodyIsWaitedFor() {
        #expect(OrderlyStop(now: Self.start, isGraceful: false).isFinished(isIdle: false, now: Self.start))
    }

    /// Goal: a session that nobody can close, or that somebody may still be asked about, is left open.
    @Test(arguments: [(false, false), (true, true)]) func aSessionMayStay(isWelcomed: Bool, hasUnanswered: Bool) {
        var stop = OrderlyStop(now: Self.start)
        let closes = stop.callersEnded(isWelcomed: isWelcomed, hasUnanswered: hasUnanswered)
        #expect(!closes)
        stop.machineStopped(now: Self.start)
        #expect(stop.isMachineStopping)
    }
}
