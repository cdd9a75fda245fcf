import Lockstep
import LockstepTesting
import Testing

/// The edges of `batched` (SEMANTICS O2), in virtual time.
@Suite(.timeLimit(.minutes(1))) struct BatchedTests {
    let clock = VirtualClock()

    /// SEMANTICS O2: by count or by time, whichever is first; the time begins with the first value of a batch, so a
    /// batch that was full leaves no timer behind.
    @Test func aBatchIsReadyWhenItIsFullOrItsFirstValueIsOld() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (3, 3), (4, 4), (10, 5)], endAt: 20)
                .batched(count: 3, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["3:[1, 2, 3]", "9:[4]", "15:[5]", "20:end"])
    }

    /// SEMANTICS O2: silence makes no empty batch.
    @Test func silenceMakesNoEmptyBatch() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(100, 1)], endAt: 300)
                .batched(count: 3, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["105:[1]", "300:end"])
    }

    /// SEMANTICS O2: the rest is delivered at the end; without a rest there is only the end.
    @Test func theRestIsDeliveredAtTheEnd() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (3, 3)], endAt: 4)
                .batched(count: 2, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["2:[1, 2]", "4:[3]", "4:end"])
    }

    /// SEMANTICS O2: a source that ends at once gives the end and no batch.
    @Test func anEmptySourceGivesNoBatch() async {
        let lines = await clock.run { [clock] in
            await Script<Int>(clock, [(0, .end)]).batched(count: 2, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["0:end"])
    }

    /// SEMANTICS O2: the rest is delivered in front of a failure too.
    @Test func theRestIsDeliveredInFrontOfAFailure() async {
        let lines = await clock.run { [clock] in
            await Script(clock, [(1, .value(1)), (2, .fail(Planned(number: 7)))])
                .batched(count: 2, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["2:[1]", "2:failed 7"])
    }

    /// A slow consumer holds the source back: one batch is held and no more.
    @Test func aSlowConsumerHoldsTheSourceBack() async {
        let script = Script(clock, values: [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)], endAt: 6)
        await clock.run { [clock] in
            var iterator = script.batched(count: 2, within: .seconds(5), clock: clock).makeAsyncIterator()
            #expect(await (try? iterator.next()) == [1, 2])
            try? await clock.sleep(for: .seconds(100))
            #expect(script.life.all.last == "gave 4")
            #expect(await (try? iterator.next()) == [3, 4])
        }
    }
}
