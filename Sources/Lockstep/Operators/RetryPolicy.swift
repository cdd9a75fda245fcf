internal import LockstepCore

/// How often something that failed is tried again, and how long each further attempt waits.
///
/// It is a value without a clock and without randomness of its own: the same generator gives the same delays on every
/// platform.
public struct RetryPolicy: Hashable, Sendable, Codable {
    /// How the delays grow.
    public enum Backoff: Hashable, Sendable, Codable {
        /// The same delay before each further attempt.
        case constant(Duration)
        /// `first`, then each delay `factor` times the one before, never more than `limit`.
        case exponential(first: Duration, factor: Double, limit: Duration)
    }

    /// The number of attempts, the first one included: 1 means that nothing is tried again.
    public var attempts: Int
    /// How the delays grow.
    public var backoff: Backoff
    /// The share of each delay that is left to chance, from 0 to 1; with 0.5 a delay of 2 s becomes 1 s to 2 s.
    public var jitter: Double

    /// Makes a policy.
    /// - Parameters:
    ///   - attempts: the number of attempts, the first one included; at least 1.
    ///   - backoff: how the delays grow; by default from 100 ms, doubled each time, to 10 s.
    ///   - jitter: the share of each delay that is left to chance, from 0 to 1; by default a half.
    public init(
        attempts: Int,
        backoff: Backoff = .exponential(first: .milliseconds(100), factor: 2, limit: .seconds(10)),
        jitter: Double = 0.5
    ) {
        precondition(attempts >= 1, "there is a first attempt")
        precondition((0...1).contains(jitter), "jitter is a share of the delay")
        self.attempts = attempts
        self.backoff = backoff
        self.jitter = jitter
    }

    /// One attempt, and no other.
    public static let never = RetryPolicy(attempts: 1, backoff: .constant(.zero), jitter: 0)

    /// How long an attempt waits; zero for the first, `nil` when the policy has no such attempt.
    ///
    /// One number is drawn for each further attempt, and none for the first.
    /// - Parameters:
    ///   - attempt: the attempt's number, counted from 1.
    ///   - generator: where chance comes from; a seeded one gives the same delays again.
    /// - Returns: the delay, or `nil`.
    public func delay(beforeAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration? {
        precondition(attempt >= 1, "attempts are counted from 1")
        guard attempt <= attempts else { return nil }
        guard attempt > 1 else { return .zero }
        // 53 bits: the most that a Double holds exactly, so that the share is the same everywhere.
        let chance = Double(generator.next() >> 11) * 0x1p-53
        return longestDelay(beforeAttempt: attempt) * (1 - jitter * chance)
    }

    private func longestDelay(beforeAttempt attempt: Int) -> Duration {
        switch backoff {
        case .constant(let delay):
            return delay
        case .exponential(let first, let factor, let limit):
            var delay = first
            for _ in 2..<attempt {
                // Compared before it is multiplied: many attempts must not overflow.
                if delay >= limit { return limit }
                delay = delay * factor
            }
            return min(delay, limit)
        }
    }
}

/// Tries an operation until it succeeds, or its policy has no further attempt.
///
/// What an attempt did before it failed stays done: an operation that has an effect outside must be one that can
/// be repeated. Cancellation ends a wait at once, and no attempt follows it; the last failure is thrown then.
/// - Parameters:
///   - policy: how often, and with what delays.
///   - seed: the start of the numbers that jitter is drawn from; by default another one at each call.
///   - clock: what measures the delays.
///   - isRetryable: whether a failure is worth another attempt; by default each is.
///   - operation: what is tried; it is given the number of the attempt, counted from 1.
/// - Returns: what the first attempt without a failure returned.
/// - Throws: the failure of the last attempt.
public func retry<Result, Failure: Error>(
    _ policy: RetryPolicy, seed: UInt64? = nil, clock: any Clock<Duration> = ContinuousClock(),
    if isRetryable: (Failure) -> Bool = { _ in true },
    operation: (_ attempt: Int) async throws(Failure) -> Result
) async throws(Failure) -> Result {
    var generator = SplitMix64(seed: seed ?? UInt64.random(in: .min ... .max))
    var attempt = 1
    while true {
        do throws(Failure) {
            return try await operation(attempt)
        } catch {
            attempt += 1
            guard !Task.isCancelled, isRetryable(error),
                let delay = policy.delay(beforeAttempt: attempt, using: &generator)
            else { throw error }
            do { try await clock.sleep(for: delay) } catch let cancellation {
                // A clock throws for nothing but cancellation; the caller's failure says more.
                _ = cancellation
                throw error
            }
        }
    }
}
