/// When a node takes the next view of its state for readers and observers.
///
/// A view that is kept makes each later write copy its path once: at 100,000 counters and full load a view every 100 ms
/// costs a sixth of the time. So one is taken every 10 ms while somebody reads, every 100 ms in the second after the
/// last reading, and every second when nobody reads. Watches want one four times in their interval, while that is over.
/// Reads that need more force one and wait for it.
package struct ViewSchedule: Hashable, Sendable {
    private var takenAt: Tick = .zero
    private var wantedAt: Tick?
    /// When to look again, as of the last look.
    package private(set) var due: Tick = .zero

    package init() {}

    /// Notes how old a view may be for those who want one, in milliseconds, nil if nobody does; says whether one is due.
    package mutating func isDue(now: Tick, wantedAge: Int64?) -> Bool {
        if wantedAge != nil { wantedAt = now }
        due = takenAt.advanced(byMilliseconds: interval(now: now, wantedAge: wantedAge))
        return now >= due
    }

    /// A view was taken.
    package mutating func taken(now: Tick) {
        takenAt = now
        due = now.advanced(byMilliseconds: interval(now: now, wantedAge: nil))
    }

    /// Milliseconds from one view to the next.
    private func interval(now: Tick, wantedAge: Int64?) -> Int64 {
        if let wantedAge { return wantedAge }
        guard let wantedAt, now < wantedAt.advanced(byMilliseconds: 1_000) else { return 1_000 }
        return 100
    }
}
