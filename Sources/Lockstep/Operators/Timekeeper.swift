/// A clock without its type: moments are the time since this was made.
struct Timekeeper: Sendable {
    /// The time since it was made.
    let now: @Sendable () -> Duration
    /// Sleeps until that time; throws when the task is cancelled.
    let sleep: @Sendable (_ deadline: Duration) async throws -> Void

    init(_ clock: any Clock<Duration>) { self.init(opened: clock) }

    private init<C: Clock<Duration>>(opened clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { deadline in try await clock.sleep(until: start.advanced(by: deadline), tolerance: nil) }
    }
}
