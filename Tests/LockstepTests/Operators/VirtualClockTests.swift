import Lockstep
import LockstepTesting
import Testing

/// The virtual clock (SEMANTICS T17).
@Suite(.timeLimit(.minutes(5))) struct VirtualClockTests {
    let clock = VirtualClock()

    /// SEMANTICS T17: time passes when nothing else can happen, sleepers wake by deadline, then by the order in which
    /// they fell asleep.
    @Test func sleepersWakeInOrder() async {
        let order = CurrentValue<[String]>([])
        await clock.run { [clock] in
            await withTaskGroup(of: Void.self) { group in
                for (name, seconds) in [("a", 5), ("b", 3), ("c", 5), ("d", 1)] {
                    group.addTask {
                        try? await clock.sleep(for: .seconds(seconds))
                        order.update { $0.append("\(name) at \(clock.seconds)") }
                    }
                }
            }
        }
        #expect(order.value == ["d at 1", "b at 3", "a at 5", "c at 5"])
        #expect(clock.elapsed == .seconds(5))
    }

    /// A sleeper's work is done before the next one wakes, also at the same instant.
    @Test func theWorkOfOneSleeperIsDoneBeforeTheNextWakes() async {
        let order = CurrentValue<[String]>([])
        await clock.run { [clock] in
            await withTaskGroup(of: Void.self) { group in
                for name in ["a", "b"] {
                    group.addTask {
                        try? await clock.sleep(for: .seconds(5))
                        for step in 1...3 {
                            order.update { $0.append("\(name)\(step)") }
                            await Task.yield()
                        }
                    }
                }
            }
        }
        #expect(order.value == ["a1", "a2", "a3", "b1", "b2", "b3"])
    }

    /// A cancelled sleeper wakes at once with an error; one that is cancelled before does not fall asleep.
    @Test func cancellationWakesASleeper() async {
        await clock.run { [clock] in
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do { try await clock.sleep(for: .seconds(50)) } catch { return error is CancellationError }
                        return false
                    }
                }
                try? await clock.sleep(for: .seconds(1))
                #expect(clock.sleepers == 2)
                #expect(clock.deadlines.map(\.offset) == [.seconds(50), .seconds(50)])
                group.cancelAll()
                group.addTask {
                    do { try await clock.sleep(for: .seconds(50)) } catch { return true }
                    return false
                }
                for await wasCancelled in group { #expect(wasCancelled) }
            }
        }
        #expect(clock.elapsed == .seconds(1))
        #expect(clock.sleepers == 0)
    }

    /// Outside of `run`, a test waits for the sleepers and moves the time by hand.
    @Test func timeMovesByHand() async {
        await withTaskGroup(of: Int.self) { group in
            for seconds in [1, 2, 3] {
                group.addTask { [clock] in
                    try? await clock.sleep(for: .seconds(seconds))
                    return seconds
                }
            }
            await clock.waitForSleepers(3)
            clock.advance(by: .seconds(1))
            #expect(await group.next() == 1)
            #expect(clock.sleepers == 2)
            #expect(clock.advanceToNextSleeper())
            #expect(await group.next() == 2)
            clock.advance(by: .seconds(10))
            #expect(await group.next() == 3)
            #expect(!clock.advanceToNextSleeper())
        }
        #expect(clock.elapsed == .seconds(12))
    }

    /// What is still under way when the closure returns goes on elsewhere, and ends.
    @Test func whatIsLeftGoesOnElsewhere() async {
        let stubborn = Stubborn()
        await clock.run { [clock] in
            var iterator = stubborn.batched(count: 1, within: .seconds(1), clock: clock).makeAsyncIterator()
            let first = await iterator.next(isolation: #isolation)
            #expect(first == [1])
            await clock.settle()
        }
        #expect(!stubborn.hasEnded.value)
        stubborn.waiting.value?.resume()
        for await hasEnded in stubborn.hasEnded.values where hasEnded { break }
    }

    /// What the closure throws comes out with its type.
    @Test func failuresPass() async {
        await #expect(throws: Planned(number: 1)) {
            try await clock.run { () throws(Planned) in throw Planned(number: 1) }
        }
    }

    /// Actors without an executor of their own run in virtual time too.
    @Test func actorsTakePart() async {
        actor Sum {
            var sum = 0
            func add(_ number: Int, at seconds: Int, _ clock: VirtualClock) async {
                try? await clock.sleep(for: .seconds(seconds))
                sum = sum * 10 + number
            }
        }
        let sum = Sum()
        let total = await clock.run { [clock] in
            async let second: Void = sum.add(2, at: 20, clock)
            async let first: Void = sum.add(1, at: 10, clock)
            _ = await (first, second)
            return await sum.sum
        }
        #expect(total == 12)
    }
}
