import Lockstep
import LockstepTesting
import Testing

/// The edges of `debounced` (SEMANTICS O9), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct DebouncedTests {
    let clock = VirtualClock()

    /// SEMANTICS O9: only what is followed by silence is delivered, at the trailing edge.
    @Test func aValueIsDeliveredAfterTheSilence() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (3, 2), (5, 3), (20, 4)], endAt: 100)
                .debounced(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["10:3", "25:4", "100:end"])
    }

    /// SEMANTICS O9: what waits is delivered when the source ends, without waiting any longer.
    @Test func whatWaitsIsDeliveredAtTheEnd() async {
        let lines = await clock.run { [clock] in
            await Script(clock, values: [(1, 1), (3, 2)], endAt: 4)
                .debounced(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["4:2", "4:end"])
    }

    /// SEMANTICS O9: what waits is dropped when the source fails, and the failure is not lost.
    @Test func whatWaitsIsDroppedByAFailure() async {
        let lines = await clock.run { [clock] in
            await Script(clock, [(1, .value(1)), (3, .fail(Planned()))])
                .debounced(for: .seconds(5), clock: clock).record(clock)
        }
        #expect(lines == ["3:failed 0"])
    }

    /// SEMANTICS O9: a slow consumer gets each value that silence followed, the one it made wait too.
    @Test func aSlowConsumerLosesNothingThatSilenceFollowed() async {
        await clock.run { [clock] in
            var iterator = Script(clock, values: [(1, 1), (10, 2), (20, 3), (30, 4)], endAt: 100)
                .debounced(for: .seconds(2), clock: clock).makeAsyncIterator()
            var seen: [Int] = []
            while let value = try? await iterator.next() {
                seen.append(value)
                try? await clock.sleep(for: .seconds(50))
            }
            #expect(seen == [1, 2, 3, 4])
        }
    }

    /// SEMANTICS O9: a failure that comes while nobody asks is kept for who asks next.
    @Test func aFailureWithoutDemandIsKept() async {
        await clock.run { [clock] in
            let values = Script(clock, [(1, .value(1)), (8, .fail(Planned()))])
                .debounced(for: .seconds(5), clock: clock)
            var iterator = values.makeAsyncIterator()
            #expect(await (try? iterator.next()) == 1)
            try? await clock.sleep(for: .seconds(100))
            await #expect(throws: Planned()) { try await iterator.next() }
            #expect(await (try? iterator.next()) == .some(nil))
        }
    }
}
