import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// An operator's sleeper wakes on one thread while a value comes on another, and the value moves the deadline.
@Suite(.timeLimit(.minutes(5))) struct SleeperTests {
    /// A clock that is moved by hand and, once, does something while it is asked for the time.
    private final class HookedClock: Clock {
        let base = VirtualClock()
        private let hook = Mutex<(@Sendable () -> Void)?>(nil)

        var now: VirtualClock.Instant {
            let now = base.now
            if now.offset >= .seconds(5) {
                let hook = self.hook.withLock { $0.take() }
                hook?()
            }
            return now
        }

        var minimumResolution: Swift.Duration { .zero }

        func sleep(until deadline: VirtualClock.Instant, tolerance: Swift.Duration?) async throws {
            try await base.sleep(until: deadline, tolerance: tolerance)
        }

        /// Has it done at the next question from the fifth second on.
        func whenAsked(_ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = body } }
    }

    /// Returns what is delivered up to second 10, each with its second.
    ///
    /// 1. At second 0 the values of `first` come, and all but one of `early` values are delivered.
    /// 2. At second 5 the sleeper wakes.
    /// 3. While it asks for the time, `last` comes and the last of the `early` values is delivered.
    /// 4. It tells the machine that time has passed.
    private func lines<Output: AsyncSequence<Int, Never> & Sendable>(
        first: [Int], last: Int, early: Int, _ operated: (AsyncStream<Int>, HookedClock) -> Output
    ) async -> [String] {
        let clock = HookedClock()
        let (values, source) = AsyncStream.makeStream(of: Int.self)
        let output = operated(values, clock)
        let lines = CurrentValue<[String]>([])
        let consumer = Task {
            for await value in output { lines.update { $0.append("\(clock.base.seconds):\(value)") } }
        }
        clock.whenAsked {
            source.yield(last)
            // The thread is held on purpose: the value is taken on another one meanwhile.
            let end = ContinuousClock.now + .seconds(10)
            while lines.value.count < early, ContinuousClock.now < end {}
        }
        for value in first { source.yield(value) }
        await clock.base.waitForSleepers(1)
        for await found in lines.values where found.count == early - 1 { break }
        clock.base.advance(by: .seconds(5))
        for await found in lines.values where found.count >= early { break }
        // It sleeps again, or it has delivered what it should have waited with.
        while clock.base.sleepers == 0, lines.value.count == early { await Task.yield() }
        clock.base.advance(by: .seconds(5))
        for await found in lines.values where found.count > early { break }
        source.finish()
        await consumer.value
        return lines.value
    }

    /// Silence follows each value, also one that comes in the moment in which the silence after another is over.
    @Test func debouncedWaitsForTheSilenceAfterEachValue() async {
        let lines = await lines(first: [1], last: 2, early: 1) { values, clock in
            values.debounced(for: .seconds(5), clock: clock)
        }
        #expect(lines == ["5:1", "10:2"])
    }

    /// A window has one value, also if another comes in the moment in which the window before is over.
    @Test func throttledDeliversOneValueInAWindow() async {
        let lines = await lines(first: [1, 2], last: 3, early: 2) { values, clock in
            values.throttled(for: .seconds(5), clock: clock)
        }
        #expect(lines == ["0:1", "5:2", "10:3"])
    }
}
