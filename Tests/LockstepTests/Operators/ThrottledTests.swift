import Lockstep
import LockstepTesting
import Testing

/// The edges of `throttled` (SEMANTICS, the operators after O57), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct ThrottledTests {
    let clock = VirtualClock()

    /// The first value passes at once; the newest of a window passes at its end and begins the next window.
    @Test func theFirstAndTheNewestOfAWindowPass() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (3, 3), (7, 4), (30, 5)], endAt: 50)
                .throttled(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["1:1", "6:3", "11:4", "30:5", "50:end"])
    }

    /// Without the trailing edge the values within a window are dropped.
    @Test func withoutTrailingTheWindowDropsItsValues() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2), (3, 3), (7, 4), (8, 5)], endAt: 9)
                .throttled(for: .seconds(5), trailing: false, clock: clock).record(clock)
        }
        #expect(lines == ["1:1", "7:4", "9:end"])
    }

    /// The end waits for the value that waits.
    @Test func theEndWaitsForTheValueThatWaits() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (2, 2)], endAt: 3)
                .throttled(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["1:1", "6:2", "6:end"])
    }

    /// A slow consumer gets what its windows had kept for it, and then the newest.
    @Test func aSlowConsumerGetsWhatWasKept() async {
        await clock.run { [clock] in
            var iterator = Script(clock, values: [(1, 1), (2, 2), (8, 3), (9, 4)], endAt: 100)
                .throttled(for: .seconds(5), clock: clock).makeAsyncIterator()
            var seen: [Int] = []
            while let value = try? await iterator.next() {
                seen.append(value)
                try? await clock.sleep(for: .seconds(50))
            }
            #expect(seen == [1, 2, 3, 4])
        }
    }

    /// A failure does not wait, and drops the value that waits.
    @Test func aFailureDropsTheValueThatWaits() async {
        let lines = await clock.run { [clock] in
            await Script(clock, [(1, .value(1)), (2, .value(2)), (3, .fail(Planned(number: 4)))])
                .throttled(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["1:1", "3:failed 4"])
    }
}
