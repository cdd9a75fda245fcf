/// How many sessions a store may have, and when those that were never used give way (PROTOCOL, R-19, R-24).
///
///     0 --- half ------------- three quarters -------------- the limit
///           a time to live is  a peer has few; those that    REFUSED
///           short              were never used end
package struct SessionRoom: Hashable, Sendable {
    /// How many sessions the store may have; a test, or the simulator, takes fewer.
    package var limit = Limits.sessions
    /// What the kept replies of all sessions may have, in bytes.
    package var keptLimit = Limits.keptBytes
    /// When sessions that were never used may be looked for again.
    private var nextLook: Tick = .zero
    private var isAlarmRaised = false
    /// The bytes that names with a quota may still send.
    var budgets = SenderBudgets()

    /// The time to live that a session gets at most while the table is half full, in microseconds: 60 s, what clients wish
    /// for by default.
    private static let crowdedTimeToLive: Int64 = 60_000_000
    /// Looking for sessions to end is a walk through all of them, so it happens this often at most.
    private static let lookMilliseconds: Int64 = 10

    func isHalfFull(_ count: Int) -> Bool { count * 2 >= limit }
    func isCrowded(_ count: Int) -> Bool { count * 4 >= limit * 3 }

    /// The time to live that an OPEN gets which asks for so many microseconds, when there are `count` sessions.
    func grantedTimeToLive(_ wanted: Int64, count: Int) -> Int64 {
        let most = isHalfFull(count) ? Self.crowdedTimeToLive : 7 * 86_400 * 1_000_000
        return min(max(wanted, 1_000_000), most)
    }

    /// How many sessions one connection may have.
    func limitOfConnection(_ count: Int) -> Int { max(1, isCrowded(count) ? limit / 16 : limit / 8 * 5) }

    /// How many sessions that were never used may be ended now; zero if that was looked at lately.
    mutating func takeLook(now: Tick) -> Int {
        guard now >= nextLook else { return 0 }
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        return max(1, limit / 64)
    }

    /// The alarm is raised at three quarters of the limit, and taken back below half of it.
    mutating func alarm(_ count: Int) -> Alarm? {
        if !isAlarmRaised, isCrowded(count) {
            isAlarmRaised = true
            return .sessionsNearLimit(count: count, limit: limit)
        }
        if isAlarmRaised, !isHalfFull(count) {
            isAlarmRaised = false
            return .sessionsHaveRoom
        }
        return nil
    }
}
