/// When a client may send numbers, and when it sends them again.
///
/// BUSY holds everything back for a while. Without BUSY something that is sent and not answered for 1.5 s counts as
/// lost. A hole in the answers is asked for once: what was lost comes when its numbers are submitted again.
struct SubmissionPace: Hashable, Sendable {
    private(set) var busyUntil = Tick.never
    private var lastProgress = Tick.zero
    /// The hole in the answers for which the machine went back; 0: none.
    private var holeAt: RequestNumber = 0

    /// Whether the primary said that it cannot take actions now.
    var isBusy: Bool { busyUntil != .never }

    /// When what was sent counts as lost, unless something is answered before.
    var progressEnds: Tick { isBusy ? .never : lastProgress.advanced(byMilliseconds: ClientTiming.progress) }

    /// Something was answered, or is sent for the first time after a rest.
    mutating func progressed(now: Tick) { lastProgress = now }

    /// The session is bound to a connection: nothing that was said on another counts.
    mutating func begin(now: Tick) {
        busyUntil = .never
        lastProgress = now
        holeAt = 0
    }

    /// The primary is busy until then, as it says.
    mutating func hold(until tick: Tick) { busyUntil = tick }

    /// The wait is over, or whoever was busy is no longer asked.
    mutating func release() { busyUntil = .never }

    /// The answer to `number` is missing before those that came; whether this is seen for the first time.
    mutating func isNewHole(at number: RequestNumber) -> Bool {
        defer { holeAt = number }
        return holeAt != number
    }
}
