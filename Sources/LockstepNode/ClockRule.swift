package import LockstepCore

/// The primary's clock against its log (PROTOCOL, R-15).
package enum ClockRule {
    /// Throws unless the clock is near the log, or `accepts` is true, or an operator accepted the clock at `acceptedAt`.
    ///
    /// What was accepted ahead of the log holds for an hour, in which the node is to start; what was accepted behind it
    /// until the clock has passed the log, unless the clock has gone back by more than an hour since.
    package static func check(
        of store: String, last: LogTime, wall: LogTime, accepts: Bool, acceptedAt: LogTime? = nil
    ) throws {
        guard !isNear(last: last, wall: wall), !accepts else { return }
        if let acceptedAt, wall >= acceptedAt.advanced(by: .seconds(-3_600)),
            wall < last || wall <= acceptedAt.advanced(by: .seconds(3_600))
        {
            return
        }
        // In seconds first: the difference of two times need not fit.
        let seconds = wall.rawValue / 1_000_000 - last.rawValue / 1_000_000
        throw LockstepError(
            .clockRefused,
            "this host's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") the last entry of \(store): "
                + "correct the clock, or accept it with \(SettingName.clock.property)")
    }

    /// Whether a clock needs nobody's acceptance: at most 7 days ahead of the log, and at most an hour behind it.
    private static func isNear(last: LogTime, wall: LogTime) -> Bool {
        last == .zero
            || wall <= last.advanced(by: .seconds(7 * 86_400)) && wall >= last.advanced(by: .seconds(-3_600))
    }

    /// Whether an acceptance has done its work: the clock has passed the log again and is near it.
    package static func isUsedUp(last: LogTime, wall: LogTime) -> Bool {
        wall >= last && isNear(last: last, wall: wall)
    }
}

/// What a standby knows of the clocks of the primaries that it hears (PROTOCOL, R-15).
package struct HeardClock: Hashable, Sendable {
    private var wall: LogTime = .zero
    private var at: Tick?
    /// This host's clock differs by more than an hour from the one that was heard last.
    package private(set) var isFar = false

    package init() {}

    /// A heartbeat says what its node's clock shows; `own` is what this host's shows.
    package mutating func heard(_ wall: LogTime, own: LogTime, now: Tick) {
        (self.wall, at) = (wall, now)
        isFar = own > wall.advanced(by: .seconds(3_600)) || wall > own.advanced(by: .seconds(3_600))
    }

    /// With what a primary's clock begins that takes over: its host's, but at most an hour ahead of those it has heard.
    ///
    /// One whose clock is wrong would otherwise bring all deadlines of the log to their end at once, for good. What it is
    /// behind needs no bound, since a log's time never goes back.
    package func atTakeover(_ own: LogTime, now: Tick) -> LogTime {
        guard let at else { return own }
        return min(own, wall.advanced(by: .microseconds((now - at) / 1_000)).advanced(by: .seconds(3_600)))
    }
}
