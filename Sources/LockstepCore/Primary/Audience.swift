/// The replicas that a primary knows of, by their names, those for which it waits when it starts (PROTOCOL, R-48), and
/// what they report that it does not have.
///
/// Invariants: at most ``Limits/audience`` names; what is awaited is one of them.
package struct Audience: Hashable, Sendable {
    /// When each was heard last, by its name.
    private var heard: [String: Tick] = [:]
    /// Those who have not said HELLO in this boot.
    private var missing: Set<String> = []
    /// The wait is over in this boot, or there was nobody to wait for; a process that stops before that never gets there.
    private(set) var isSettled = false
    /// Until when they are waited for; ``Tick/never``: nobody is.
    private(set) var awaitEnds: Tick = .never
    /// The highest position that somebody reported and this log does not have.
    private(set) var ahead: KnownPosition?

    /// A replica of which nothing was heard for so long, while the primary ran, is forgotten.
    static let patienceMilliseconds: Int64 = 3_600_000

    /// Begins a boot with what the boot before had.
    package init(_ names: [String], now: Tick) {
        for name in names.prefix(Limits.audience) { heard[name] = now }
        missing = Set(heard.keys)
    }

    /// In the order of the names.
    package var names: [String] { heard.keys.sorted() }
    package var awaited: [String] { missing.sorted() }
    package var isComplete: Bool { missing.isEmpty }

    /// A replica said HELLO; true if it is new here.
    ///
    /// When there is no room, the one that was silent longest goes.
    mutating func came(_ name: String, now: Tick) -> Bool {
        missing.remove(name)
        let isNew = heard[name] == nil
        if isNew, heard.count >= Limits.audience,
            let oldest = heard.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            heard[oldest.key] = nil
            missing.remove(oldest.key)
        }
        heard[name] = now
        return isNew
    }

    /// It is still there.
    mutating func spoke(_ name: String, at moment: Tick) {
        guard let before = heard[name], before < moment else { return }
        heard[name] = moment
    }

    /// It said goodbye; true if it was here.
    mutating func left(_ name: String) -> Bool {
        missing.remove(name)
        return heard.removeValue(forKey: name) != nil
    }

    /// Forgets who was silent too long; true if there was one.
    mutating func forgetSilent(now: Tick) -> Bool {
        let before = heard.count
        heard = heard.filter { now - $0.value < Tick.milliseconds(Self.patienceMilliseconds) }
        missing = missing.filter { heard[$0] != nil }
        return heard.count < before
    }

    /// Nobody is waited for from here on.
    mutating func giveUp() {
        missing = []
        isSettled = true
    }

    /// Those who are missing are waited for until `end`.
    mutating func wait(until end: Tick) { awaitEnds = end }

    /// Whether the wait is over: all have spoken, or its time is up.
    func isHeard(now: Tick) -> Bool { isComplete || now >= awaitEnds }
    mutating func awaitEnded() {
        awaitEnds = .never
        isSettled = true
    }

    /// Somebody knows of a position that this log does not have; true if it is higher than those reported before, or
    /// counts in any case.
    mutating func reported(_ known: KnownPosition, counts: Bool) -> Bool {
        if let ahead = ahead?.position, !counts,
            (known.position.epoch, known.position.sequence) <= (ahead.epoch, ahead.sequence)
        {
            return false
        }
        ahead = known
        return true
    }

    func checkInvariants() {
        precondition(heard.count <= Limits.audience, "the audience has its bound")
        precondition(missing.allSatisfy { heard[$0] != nil }, "what is awaited belongs to the audience")
    }
}
