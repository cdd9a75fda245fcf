/// Stands for a server somewhere else: it takes its time, and refuses now and then.
///
/// What it does with a revision of a task is drawn from the seed, so the same seed gives the same story.
public struct SyncService: Sendable {
    /// How long it takes, in milliseconds.
    public var delays: ClosedRange<Int>
    /// How many of a hundred revisions it refuses.
    public var failures: Int
    /// What delays and failures are drawn from.
    public var seed: UInt64

    /// Makes a service; by default it takes 50 ms to 2 s and refuses one revision of three.
    public init(delays: ClosedRange<Int> = 50...2_000, failures: Int = 33, seed: UInt64 = 1) {
        self.delays = delays
        self.failures = failures
        self.seed = seed
    }

    /// What becomes of this revision of a task, and after how long.
    public func plan(for item: TodoItem) -> (delay: Duration, isRefused: Bool) {
        var numbers = SplitMix(state: seed &+ UInt64(item.id) << 32 &+ UInt64(item.revision))
        let delay = delays.lowerBound + numbers.next(below: delays.count)
        return (.milliseconds(delay), numbers.next(below: 100) < failures)
    }

    /// Saves a task, or throws ``SyncError``.
    public func save(_ item: TodoItem, clock: any Clock<Duration>) async throws {
        let (delay, isRefused) = plan(for: item)
        try await clock.sleep(for: delay)
        if isRefused { throw SyncError(description: "the service is busy") }
    }
}

/// Why the service did not take a task.
public struct SyncError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, for a user.
    public let description: String
}

/// Steele, Lea and Flood's generator: the same numbers everywhere.
private struct SplitMix {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
