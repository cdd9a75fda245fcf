import Lockstep
import LockstepTesting
import Testing

/// The edges of `ticks` (SEMANTICS O26), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct TicksTests {
    let clock = VirtualClock()

    /// SEMANTICS O26: counted from 0, the first one after one period.
    @Test func theFirstTickIsDueAfterOnePeriod() async {
        let times = await clock.run { [clock] in
            var times: [String] = []
            for await tick in ticks(every: .seconds(2), clock: clock).prefix(3) {
                times.append("\(clock.seconds):\(tick)")
            }
            return times
        }
        #expect(times == ["2:0", "4:1", "6:2"])
    }

    /// SEMANTICS O26, the drift rule: a late consumer gets the next due tick, at its due time, and its number tells how
    /// many it missed.
    @Test func ticksDoNotDriftAndMissedOnesDoNotBunch() async {
        let times = await clock.run { [clock] in
            var times: [String] = []
            for await tick in ticks(every: .seconds(10), clock: clock) {
                times.append("\(clock.seconds):\(tick)")
                // The first is late by a part of a period, the second by more than two.
                if tick == 0 { try? await clock.sleep(for: .seconds(3)) }
                if tick == 1 { try? await clock.sleep(for: .seconds(25)) }
                if tick >= 5 { break }
            }
            return times
        }
        #expect(times == ["10:0", "20:1", "50:4", "60:5"])
    }

    /// SEMANTICS O26: they end by cancellation only, and leave no sleeper.
    @Test func cancellationEndsTicks() async {
        await clock.run { [clock] in
            await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    var count = 0
                    for await _ in ticks(every: .seconds(1), clock: clock) { count += 1 }
                    return count
                }
                try? await clock.sleep(for: .milliseconds(3_500))
                group.cancelAll()
                #expect(await group.next() == 3)
            }
        }
        #expect(clock.sleepers == 0)
        #expect(clock.elapsed == .milliseconds(3_500))
    }
}

/// The edges of `timeout` (SEMANTICS O52), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct TimeoutTests {
    let clock = VirtualClock()

    private func codes(_ lines: [String]) -> [String] {
        lines.map { $0.contains("timeout") ? String($0.prefix { $0 != ":" }) + ":timeout" : $0 }
    }

    /// SEMANTICS O52: the gap before the first value is measured.
    @Test func theFirstGapIsMeasured() async {
        let script = Script(clock, values: [(10, 1)], endAt: 20)
        let lines = await clock.run { [clock] in
            await script.timeout(.seconds(5), clock: clock).record(clock)
        }
        #expect(codes(lines) == ["5:timeout"])
        #expect(script.life.all == ["cancelled"])
    }

    /// SEMANTICS O52: each later gap is measured from the value before.
    @Test func eachGapIsMeasured() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(4, 1), (8, 2), (12, 3), (30, 4)], endAt: 40)
                .timeout(.seconds(5), clock: clock).record(clock)
        }
        #expect(codes(lines) == ["4:1", "8:2", "12:3", "17:timeout"])
    }

    /// SEMANTICS O52: the source's own end and failure pass, and nothing remains.
    @Test func endAndFailurePass() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(4, 1)], endAt: 6).timeout(.seconds(5), clock: clock).record(clock)
                + Script<Int>(clock, [(8, .fail(Planned(number: 2)))]).timeout(.seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["4:1", "6:end", "8:failed 2"])
        #expect(clock.sleepers == 0)
    }

    /// A consumer that works longer than the gap is no silence.
    @Test func aSlowConsumerIsNoSilence() async {
        await clock.run { [clock] in
            var iterator = Script(clock, values: [(1, 1), (2, 2), (60, 3)], endAt: 61)
                .timeout(.seconds(5), clock: clock).makeAsyncIterator()
            #expect(await (try? iterator.next()) == 1)
            try? await clock.sleep(for: .seconds(30))
            #expect(await (try? iterator.next()) == 2)
            try? await clock.sleep(for: .seconds(26))
            #expect(await (try? iterator.next()) == 3)
        }
    }

    /// A source that cannot fail is given the typed failure.
    @Test func aSourceThatCannotFailFailsWithATimeoutOnly() async {
        await clock.run { [clock] in
            var iterator = QuietScript(clock, values: [(10, 1)]).timeout(.seconds(5), clock: clock).makeAsyncIterator()
            do throws(LockstepError) {
                _ = try await iterator.next(isolation: #isolation)
                Issue.record("no timeout")
            } catch {
                #expect(error.code == .timeout)
            }
        }
    }

    /// SEMANTICS O52: another source follows a silence; the first one has ended by then, and later gaps are free.
    @Test func anotherSourceFollowsASilence() async {
        let first = Script(clock, values: [(2, 1), (20, 2)], endAt: 30)
        let second = Script(clock, values: [(10, 8), (50, 9)], endAt: 60)
        let lines = await clock.run { [clock] in
            await first.timeout(.seconds(5), clock: clock, switchingTo: second).record(clock)
        }
        #expect(lines == ["2:1", "10:8", "50:9", "60:end"])
        #expect(first.life.all == ["gave 1", "cancelled"])
    }

    /// SEMANTICS O52: a failure is not a silence, and ends the whole.
    @Test func aFailureDoesNotSwitch() async {
        let second = Script(clock, values: [(10, 8)], endAt: 60)
        let lines = await clock.run { [clock] in
            await Script<Int>(clock, [(3, .fail(Planned()))])
                .timeout(.seconds(5), clock: clock, switchingTo: second).record(clock)
        }
        #expect(lines == ["3:failed 0"])
        #expect(second.life.begun.value == 0)
    }
}
