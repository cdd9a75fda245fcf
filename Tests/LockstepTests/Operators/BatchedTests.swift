import Lockstep
import LockstepTesting
import Testing

/// The edges of `batched` (SEMANTICS O2), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct BatchedTests {
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

    /// SEMANTICS O2: the rest is delivered before a failure, too.
    @Test func theRestIsDeliveredInFrontOfAFailure() async {
        let lines = await clock.run { [clock] in
            await Script(clock, [(1, .value(1)), (2, .fail(Planned(number: 7)))])
                .batched(count: 2, within: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["2:[1]", "2:failed 7"])
    }

    /// SEMANTICS O2: whatever the times of the source and the pace of the consumer, every value comes once and in order,
    /// in batches that are neither empty nor too large.
    @Test(arguments: 1...100) func everyValueComesOnceAndInOrder(seed: UInt64) async {
        var numbers = Numbers(state: seed)
        var time = 0
        let values = (1...20).map { value in
            time += Int.random(in: 0...4, using: &numbers)
            return (time, value)
        }
        let (count, within) = (Int.random(in: 1...4, using: &numbers), Int.random(in: 0...6, using: &numbers))
        let pauses = (0..<20).map { _ in Int.random(in: 0...9, using: &numbers) }
        let ending: Step<Int> = Bool.random(using: &numbers) ? .end : .fail(Planned())
        let batches = await clock.run { [clock, time] in
            var batches: [[Int]] = []
            let script = Script(clock, values.map { ($0.0, .value($0.1)) } + [(time + 1, ending)])
            var iterator = script.batched(count: count, within: .seconds(within), clock: clock).makeAsyncIterator()
            while let batch = try? await iterator.next() {
                batches.append(batch)
                try? await clock.sleep(for: .seconds(pauses[batches.count % pauses.count]))
            }
            return batches
        }
        #expect(batches.flatMap(\.self) == values.map(\.1))
        #expect(batches.allSatisfy { !$0.isEmpty && $0.count <= count })
        #expect(clock.sleepers == 0)
    }

    /// A slow consumer holds the source back.
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
