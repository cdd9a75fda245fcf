internal import Foundation
package import LockstepCore

/// The clocks of a node: a machine never asks one, its driver tells it.
package enum MonotonicClock {
    private static let origin = ContinuousClock.now

    /// The node's own clock; it goes on while the host sleeps.
    package static var now: Tick {
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return Tick(rawValue: 1_000_000_000 + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// The time of day, for log time.
    package static var wall: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(rawValue: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}
