/// Numbers at a fixed rate, the first one after one period; see ``Ticks``.
/// - Parameters:
///   - period: the time between two ticks; more than zero.
///   - clock: what measures it.
/// - Returns: the ticks.
public func ticks(every period: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Ticks {
    precondition(period > .zero, "a period has a length")
    return Ticks(period: period, clock: clock)
}

/// The ticks of a clock at a fixed rate, counted from 0; they end when the task is cancelled, and only then.
///
/// They do not drift: tick *n* is due *n + 1* periods after the sequence was begun, however late the ticks before were
/// delivered. Ticks that a slow consumer missed are left out instead of coming in a bunch: each call waits for the
/// next due time ahead, and the number tells how many were missed. No task runs between the calls.
public struct Ticks: AsyncSequence, Sendable {
    /// The number of a tick.
    public typealias Element = Int
    /// It does not fail.
    public typealias Failure = Never

    let period: Duration
    let clock: any Clock<Duration>

    /// Begins now: the first tick is due after one period.
    public func makeAsyncIterator() -> Iterator { Iterator(period: period, time: Timekeeper(clock)) }

    /// Waits for ticks.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private let period: Duration
        private let time: Timekeeper
        /// The number of the tick before, counted from 1; 0 is none.
        private var last: Int64 = 0
        private var hasEnded = false

        init(period: Duration, time: Timekeeper) {
            self.period = period
            self.time = time
        }

        /// The number of the next tick, when it is due; `nil` when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            guard !hasEnded else { return nil }
            // The quotient is rounded, so a due time that has just come may be taken for one ahead; never the reverse,
            // beyond what the comparison after it corrects.
            var number = Swift.max(last + 1, Int64(time.now() / period))
            while period * Int(number) < time.now() { number += 1 }
            do {
                try await time.sleep(period * Int(number))
            } catch {
                hasEnded = true
                return nil
            }
            last = number
            return Int(number - 1)
        }
    }
}
