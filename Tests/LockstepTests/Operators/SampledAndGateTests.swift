import Lockstep
import LockstepTesting
import Testing

/// The edges of `sampled` (SEMANTICS O39), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct SampledTests {
    let clock = VirtualClock()

    /// SEMANTICS O39: the newest value at each tick, at most once, and nothing for a tick without news; the end comes
    /// with the tick after it.
    @Test func eachTickGivesTheNewestValueOnce() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (11, 3), (32, 4)], endAt: 33)
                .sampled(by: ticks(every: .seconds(5), clock: clock)).record(clock)
        }
        #expect(lines == ["5:2", "15:3", "35:4", "35:end"])
    }

    /// SEMANTICS O39: the end of the source waits for the tick even if nothing is new.
    @Test func theEndWaitsForTheNextTick() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1)], endAt: 6)
                .sampled(by: ticks(every: .seconds(5), clock: clock)).record(clock)
        }
        #expect(lines == ["5:1", "10:end"])
        #expect(clock.sleepers == 0)
    }

    /// A failure does not wait for the tick.
    @Test func aFailureDoesNotWait() async {
        let lines = await clock.run { [clock] in
            await Script(clock, [(1, .value(1)), (2, .fail(Planned(number: 3)))])
                .sampled(by: ticks(every: .seconds(5), clock: clock)).record(clock)
        }
        #expect(lines == ["2:failed 3"])
    }

    /// The end of the sampler is its last tick.
    @Test func theEndOfTheSamplerIsItsLastTick() async {
        let script = Script(clock, values: [(1, 1), (6, 2), (8, 3)], endAt: 100)
        let lines = await clock.run { [clock] in
            await script.sampled(by: QuietScript(clock, values: [(5, 0)], endAt: 7)).record(clock)
        }
        #expect(lines == ["5:1", "7:2", "7:end"])
        #expect(script.life.all == ["gave 1", "gave 2", "cancelled"])
    }
}

/// The edges of `gate` (SEMANTICS O44), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct GateTests {
    let clock = VirtualClock()

    /// SEMANTICS O44: values before the opening are dropped, all later ones pass.
    @Test func valuesPassFromTheOpeningOn() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (4, 3), (5, 4)], endAt: 6)
                .gate(until: Script(clock, values: [(3, "open")], endAt: 3)).record(clock)
        }
        #expect(lines == ["4:3", "5:4", "6:end"])
    }

    /// SEMANTICS O44: a source that ends in front of the closed gate ends the sequence.
    @Test func theEndPassesAClosedGate() async {
        let opener = Script(clock, values: [(100, "late")], endAt: 100)
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1)], endAt: 2).gate(until: opener).record(clock)
        }
        #expect(lines == ["2:end"])
        #expect(opener.life.all == ["cancelled"])
    }

    /// SEMANTICS O44: the opener's failure passes.
    @Test func theOpenersFailurePasses() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1)], endAt: 9)
                .gate(until: Script<Int>(clock, [(3, .fail(Planned(number: 5)))])).record(clock)
        }
        #expect(lines == ["3:failed 5"])
    }

    /// SEMANTICS O44: an opener that ends without a value opens nothing, and the source's end still comes.
    @Test func anOpenerWithoutAValueOpensNothing() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (5, 2)], endAt: 9)
                .gate(until: Script<Int>(clock, [(3, .end)])).record(clock)
        }
        #expect(lines == ["9:end"])
    }

    /// An opener that has opened is not read any further, and does not hold up the end.
    @Test func theOpenerIsReadOnce() async {
        let opener = Script(clock, values: [(1, 1), (2, 2), (3, 3)], endAt: 4)
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(9, 9)], endAt: 10).gate(until: opener).record(clock)
        }
        #expect(lines == ["9:9", "10:end"])
        #expect(opener.life.all == ["gave 1"])
    }
}
