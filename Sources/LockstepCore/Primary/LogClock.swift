/// The primary's clock for log time: it never goes back and never jumps (PROTOCOL, R-15).
///
/// It begins at the later of the last log time and the wall clock, then advances with the monotonic clock, at 0.5 to
/// 1.5 times its rate while it differs from the wall clock. With a plain maximum of both, one primary whose clock was
/// an hour ahead would freeze every deadline for an hour.
package struct LogClock: Hashable, Sendable {
    private var nanoseconds: Int64
    private var lastTick: Tick

    package init(last: LogTime, wall: LogTime, now: Tick) {
        nanoseconds = Self.nanoseconds(max(last, wall))
        lastTick = now
    }

    /// The log time now.
    ///
    /// Calls must not go back in `now`; if one does, time stands still.
    package mutating func read(now: Tick, wall: LogTime) -> LogTime {
        let elapsed = max(0, now - lastTick)
        lastTick = max(lastTick, now)
        let ahead = Self.nanoseconds(wall) - (nanoseconds + elapsed)
        nanoseconds += elapsed + min(max(ahead, -elapsed / 2), elapsed / 2)
        return LogTime(rawValue: nanoseconds / 1_000)
    }

    /// Nanoseconds since 1970 reach the year 2262; later clocks stop there.
    private static func nanoseconds(_ time: LogTime) -> Int64 {
        let (product, overflow) = time.rawValue.multipliedReportingOverflow(by: 1_000)
        guard overflow else { return product }
        return time.rawValue < 0 ? .min / 2 : .max / 2
    }
}
