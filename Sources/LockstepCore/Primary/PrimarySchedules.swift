/// When a digest mark is due (PROTOCOL, R-53).
///
/// At least 1 s after the last one, and so long after it that digests take less than 1 % of the time.
struct MarkSchedule: Hashable, Sendable {
    private var last: Tick = .zero
    /// Nanoseconds.
    private var digestCost: Int64 = 0
    /// The last batch that was sealed has no mark.
    private(set) var isUnmarked = false

    mutating func start(now: Tick) { last = now }

    func isDue(_ now: Tick) -> Bool { now - last >= max(Tick.milliseconds(1_000), 100 * digestCost) }

    /// Nothing has been written for a day.
    ///
    /// The log then says what time it is, so that a start finds its clock near.
    func isOverdue(_ now: Tick) -> Bool { now - last >= Tick.milliseconds(86_400_000) }

    /// A mark was sealed; its digest took `cost` nanoseconds.
    mutating func marked(now: Tick, cost: Int64) {
        last = now
        digestCost = cost
    }

    mutating func sealed(isMarked: Bool) { isUnmarked = !isMarked }
}

/// When a primary's beacons leave (PROTOCOL, R-30).
///
/// Every 100 ms for a second after something new, at rest every 300 ms; at even parts of the clock, so that the stores
/// of a node wake it, and its replicas, together.
struct BeaconSchedule: Hashable, Sendable {
    private var last: Tick = .zero
    private var livelyUntil: Tick = .zero

    /// What beacons say has changed, or somebody came who waits for one.
    mutating func hurry(now: Tick) { livelyUntil = now.advanced(byMilliseconds: 1_000) }

    mutating func left(now: Tick) { last = now }

    var due: Tick {
        let period = Tick.milliseconds(last < livelyUntil ? 100 : 300)
        return Tick(rawValue: (last.rawValue / period + 1) * period)
    }
}

/// When the state's time may have come, and whether a reducer leaves its timer in place (PROTOCOL, R-65).
struct DueSchedule: Hashable, Sendable {
    /// When to look; ``Tick/never`` if the state waits for nothing.
    private(set) var next: Tick = .never
    /// Until when nothing that is due is emitted.
    private var held: Tick = .zero
    /// The hash of the mutations that time brought last, if they were as many as an entry may have.
    private var fullHash: UInt128?

    mutating func waitForNothing() { next = .never }

    func isHeld(now: Tick) -> Bool { held > now }

    /// What is due comes in so many microseconds of log time, or is held; the clock may run at another rate meanwhile,
    /// so there is a look at the latest in a minute.
    mutating func wait(_ due: LogTime, at time: LogTime, now: Tick) {
        let wait = due.rawValue.subtractingReportingOverflow(time.rawValue)
        let microseconds = wait.overflow ? Int64(60_000_000) : min(max(wait.partialValue, 100), 60_000_000)
        next = max(held, now.advanced(byMicroseconds: microseconds))
    }

    /// What was due was offered to the state; nothing more of it is for so many milliseconds.
    mutating func hold(milliseconds: Int64, now: Tick) {
        held = milliseconds > 0 ? now.advanced(byMilliseconds: milliseconds) : .zero
        next = max(held, now)
    }

    /// Whether what was just emitted is due once more: all of it was offered, or the same as before.
    mutating func emitted(isDueAgain: Bool, count: Int, _ mutations: [UInt8]) -> Bool {
        let before = fullHash
        fullHash = nil
        guard isDueAgain else { return false }
        guard count >= Limits.dueMutations else { return true }
        // More of the same time may be left.
        let hash = sha256Prefix(mutations)
        fullHash = hash
        return before == hash
    }
}
