/// The repair of a replica's stream: what was asked for, when it is asked again, and when asking for single holes is
/// too slow (PROTOCOL, R-36).
///
/// ```
///  none --hole--> scheduled --delay is over--> asked --answer, the hole is closed--> none
///   |                                          ^   |
///   `--- pulling, or after a plan -------------'   `-- no answer: asked again, four times; then the socket is doubted
/// ```
/// A stream that is faster than this replica leaves hole after hole. Then the replica pulls: it asks for everything
/// until it is near the head.
struct RepairsUnderWay: Hashable, Sendable {
    enum Progress: Hashable, Sendable {
        case none
        case scheduled(Tick)
        case asked(nonce: UInt64, deadline: Tick)
    }

    /// A hole of more than this is filled by pulling until the head is near.
    private static let pullBytes = 8 << 20

    private(set) var progress: Progress = .none
    /// How often this hole was asked for since the last answer that brought anything.
    private var attempts = 0
    /// When the last repairs began, at most as many as decide about pulling.
    private var begun: [Tick] = []
    /// What the repair of this hole has brought.
    private var byteCount = 0
    /// The stream is faster than this replica: it asks for everything until it is near the head.
    private(set) var isPulling = false

    /// When the delay, or the patience, is over.
    var nextDeadline: Tick {
        switch progress {
        case .none: .never
        case .scheduled(let due), .asked(_, let due): due
        }
    }

    /// Whether this question waits for its answer.
    func isAsked(_ nonce: UInt64) -> Bool {
        if case .asked(nonce, _) = progress { true } else { false }
    }

    /// Whether so many questions were not answered that the socket is doubted.
    var isHopeless: Bool { attempts >= ReplicaTiming.repairTries }

    /// A hole was seen; it is asked for by ``schedule(at:)`` or ``ask(nonce:now:jitter:)``.
    mutating func begin(now: Tick) {
        attempts = 0
        byteCount = 0
        begun.append(now)
        begun.removeAll { now - $0 > Tick.milliseconds(ReplicaTiming.repairMemory) }
        guard begun.count > ReplicaTiming.repairsBeforePulling else { return }
        begun.removeFirst(begun.count - ReplicaTiming.repairsBeforePulling)
        isPulling = true
    }

    mutating func pull() { isPulling = true }

    mutating func schedule(at due: Tick) { progress = .scheduled(due) }

    /// The question leaves; the patience with it doubles from one to the next, up to eight times as much.
    ///
    /// `jitter` is in milliseconds, and is added to it.
    mutating func ask(nonce: UInt64, now: Tick, jitter: Int64) {
        let patience = ReplicaTiming.repair << min(Int64(attempts), 3)
        progress = .asked(nonce: nonce, deadline: now.advanced(byMilliseconds: patience + jitter))
        attempts += 1
    }

    /// An answer brings a batch of so many bytes.
    mutating func received(byteCount: Int) { self.byteCount += byteCount }

    /// An answer has brought the log on, or there is no longer a hole; the next question has all patience again.
    mutating func advanced() {
        attempts = 0
        if byteCount > Self.pullBytes { isPulling = true }
    }

    /// Late frames have closed the hole; a question that has left still gets its answer.
    mutating func unschedule() {
        if case .scheduled = progress { progress = .none }
    }

    /// From here on nothing is asked for.
    mutating func end() { progress = .none }

    /// The log is where a beacon says that the publisher is.
    mutating func reachedHead() { isPulling = false }

    /// The stream is followed from here on; what was slow before is forgotten, but for how often.
    mutating func beginAnew() {
        progress = .none
        attempts = 0
        byteCount = 0
        isPulling = false
    }

    func checkInvariants() {
        precondition(begun.count <= ReplicaTiming.repairsBeforePulling, "repairs are remembered in bounds")
        if case .asked = progress { precondition(attempts > 0, "what is asked for was tried") }
    }
}
