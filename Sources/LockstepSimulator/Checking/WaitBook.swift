/// Deadlines for what is waited for, from one look to the next.
///
/// A wait counts from when it was first seen, and not before the last strike that touched what it depends on. One that
/// is not seen in a look is over. Times are virtual nanoseconds.
package struct WaitBook {
    /// The waits of the last look, with the time at which each was first seen.
    private var seen: [Wait: Int64] = [:]
    private var current: [(wait: Wait, healthySince: Int64)] = []

    /// What is waited for.
    package enum Kind: String, CaseIterable, Sendable {
        case session = "a session"
        case resumption = "its session on a new connection"
        case lostSession = "word that its session is lost"
        case answer = "the answer to its next action"
        case localRead = "the answer to a local read"
        case sessionRead = "the answer to a session read"
        case linearizableRead = "the answer to a linearizable read"
        case watch = "the newest answer to what it watches"
        case query = "word of what became of a number"
        case end = "the end of an accepted action, which has committed"
        case liveness = "being live"
        case repair = "what the primary has beyond its place"
        case admission = "admitting"
        /// Of several data nodes, one of them.
        case reign = "a primary that admits"
    }

    package struct Wait: Hashable, Sendable {
        package var kind: Kind
        package var process: Int
        package var boot: Int
        /// What tells two waits of a kind apart.
        package var first: UInt64
        package var second: UInt64

        package init(kind: Kind, process: Int, boot: Int, first: UInt64 = 0, second: UInt64 = 0) {
            self.kind = kind
            self.process = process
            self.boot = boot
            self.first = first
            self.second = second
        }
    }

    /// The same for every kind; nil: each kind has its own.
    private let commonBound: Int64?

    /// `commonBound` is in nanoseconds, and takes the place of those of the kinds.
    package init(commonBound: Int64? = nil) { self.commonBound = commonBound }

    /// The longest that a healthy wait may last, in nanoseconds, without unusual ways and with them.
    ///
    /// Two to four times the longest of 600 seeds, which was 2.6 s without unusual ways, and 17 s with them. They make a
    /// client begin anew again and again, 30 s long in one seed of 3,000, so their bounds are twice as high. Clocks may
    /// run at half the rate. Two are the protocol's: a primary awaits its replicas for 5 s, and an unknown session
    /// is believed after 10 s.
    package static func bound(_ kind: Kind, isUnusual: Bool) -> Int64 {
        let (usual, unusual): (Int64, Int64) =
            switch kind {
            case .resumption: (4, 30)
            case .session, .answer, .linearizableRead, .end, .reign: (6, 30)
            case .lostSession: (25, 40)
            case .localRead, .sessionRead: (8, 45)
            // It is said again every 5 s, which lasts 10 s on a clock of half the rate.
            case .watch: (16, 45)
            case .query: (5, 8)
            case .liveness: (8, 15)
            case .repair: (6, 8)
            case .admission: (12, 16)
            }
        return (isUnusual ? 2 * unusual : usual) * Span.second
    }

    // MARK: - A look

    package mutating func begin() { current.removeAll(keepingCapacity: true) }

    /// Something is waited for; what it depends on has been healthy since then.
    package mutating func note(_ wait: Wait, healthySince: Int64) { current.append((wait, healthySince)) }

    /// Ends the look; the first wait that is too long, in the order of noting, with the time that it counts from.
    ///
    /// From `usualSince` on there are no unusual ways: what a wait lasts after that has the usual bound.
    package mutating func end(now: Int64, usualSince: Int64) -> (wait: Wait, since: Int64)? {
        var next: [Wait: Int64] = [:]
        var late: (Wait, Int64)?
        for (wait, healthySince) in current {
            let began = seen[wait] ?? now
            next[wait] = began
            let since = max(began, healthySince)
            let usual = max(since, usualSince)
            if late == nil, now - usual > commonBound ?? Self.bound(wait.kind, isUnusual: false) {
                late = (wait, usual)
            } else if late == nil, commonBound == nil, now - since > Self.bound(wait.kind, isUnusual: true) {
                late = (wait, since)
            }
        }
        seen = next
        return late
    }
}
