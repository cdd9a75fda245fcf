import Lockstep
import LockstepTesting
import Testing

/// The edges of `retry` and its policy (SEMANTICS O38), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct RetryTests {
    let clock = VirtualClock()
    let steady = RetryPolicy(attempts: 3, backoff: .constant(.seconds(10)), jitter: 0)

    /// SEMANTICS O38: the number counts attempts, and the last failure is thrown.
    @Test func thePolicyCountsAttempts() async {
        let times = CurrentValue<[Int64]>([])
        await clock.run { [clock, steady] in
            _ = await #expect(throws: Planned(number: 3)) {
                try await retry(steady, clock: clock) { attempt throws(Planned) in
                    times.update { $0.append(clock.seconds) }
                    throw Planned(number: attempt)
                }
            }
        }
        #expect(times.value == [0, 10, 20])
    }

    /// SEMANTICS O38: one attempt means that nothing is tried again.
    @Test func oneAttemptIsNotRepeated() async {
        await clock.run { [clock] in
            _ = await #expect(throws: Planned(number: 1)) {
                try await retry(.never, clock: clock) { attempt throws(Planned) in throw Planned(number: attempt) }
            }
        }
        #expect(clock.elapsed == .zero)
    }

    /// The first success ends it.
    @Test func aSuccessEndsIt() async throws {
        let result = try await clock.run { [clock, steady] () throws(Planned) in
            try await retry(steady, clock: clock) { attempt throws(Planned) in
                if attempt < 2 { throw Planned() }
                return "\(attempt) at \(clock.seconds)"
            }
        }
        #expect(result == "2 at 10")
    }

    /// A failure that is not worth it is thrown at once.
    @Test func aFailureThatIsNotWorthItIsThrownAtOnce() async {
        await clock.run { [clock, steady] in
            _ = await #expect(throws: Planned(number: 1)) {
                try await retry(steady, clock: clock, if: { (failure: Planned) in failure.number > 1 }) {
                    attempt throws(Planned) in throw Planned(number: attempt)
                }
            }
        }
        #expect(clock.elapsed == .zero)
    }

    /// Cancellation ends the wait at once; no attempt follows, and the last failure is thrown.
    @Test func cancellationEndsTheWait() async {
        let attempts = CurrentValue(0)
        await clock.run { [clock, steady] in
            await withTaskGroup(of: Planned?.self) { group in
                group.addTask {
                    do throws(Planned) {
                        try await retry(steady, clock: clock) { attempt throws(Planned) in
                            attempts.accept(attempt)
                            throw Planned(number: attempt)
                        }
                        return nil
                    } catch {
                        return error
                    }
                }
                try? await clock.sleep(for: .seconds(3))
                group.cancelAll()
                #expect(await group.next() == Planned(number: 1))
            }
        }
        #expect(attempts.value == 1)
        #expect(clock.elapsed == .seconds(3))
    }

    /// SEMANTICS O38: delays grow by the factor up to the limit, also for very late attempts.
    @Test func delaysGrowToTheLimit() {
        let policy = RetryPolicy(
            attempts: 10_000, backoff: .exponential(first: .seconds(1), factor: 3, limit: .seconds(20)), jitter: 0)
        var generator = Numbers(state: 1)
        let delays = [1, 2, 3, 4, 5, 9_999].map { policy.delay(beforeAttempt: $0, using: &generator) }
        #expect(delays == [0, 1, 3, 9, 20, 20].map { .seconds($0) })
        #expect(policy.delay(beforeAttempt: 10_001, using: &generator) == nil)
    }

    /// SEMANTICS O38: jitter takes from a delay no more than its share, and a seed gives the same delays again.
    @Test(arguments: 1...20) func jitterIsSeededAndBounded(seed: UInt64) {
        let policy = RetryPolicy(attempts: 50, backoff: .constant(.seconds(8)), jitter: 0.25)
        func delays(_ seed: UInt64) -> [Duration] {
            var generator = Numbers(state: seed)
            return (2...50).compactMap { policy.delay(beforeAttempt: $0, using: &generator) }
        }
        #expect(delays(seed) == delays(seed))
        #expect(delays(seed) != delays(seed + 1))
        #expect(delays(seed).allSatisfy { $0 > .seconds(6) && $0 <= .seconds(8) })
    }

    /// SEMANTICS O38: the same seed makes `retry` wait the same times.
    @Test func theSameSeedWaitsTheSameTimes() async {
        func elapsed(_ seed: UInt64) async -> Duration {
            let clock = VirtualClock()
            await clock.run {
                try? await retry(RetryPolicy(attempts: 5), seed: seed, clock: clock) { _ throws(Planned) in
                    throw Planned()
                }
            }
            return clock.elapsed
        }
        #expect(await elapsed(4) == elapsed(4))
        #expect(await elapsed(4) != elapsed(5))
    }
}
