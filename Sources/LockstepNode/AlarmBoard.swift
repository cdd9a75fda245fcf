package import LockstepCore
package import Logging

/// What an operator must know of a store until it has passed.
///
/// The raw value is the alarm's one name: in `status`, in the log, in metrics, and in deploy/README.md.
public enum AlarmKind: String, CaseIterable, Hashable, Sendable {
    /// The primary is behind its audience and admits nothing (PROTOCOL, R-41).
    case primaryBehind = "PRIMARY_BEHIND"
    /// This replica has a history that its primary does not have.
    case ahead = "AHEAD"
    /// This replica's digest differs from the primary's.
    case diverged = "DIVERGED"
    /// New actions are refused until there is room.
    case diskFull = "DISK_FULL"
    /// Entries that the node does not need are damaged.
    case journalDamaged = "JOURNAL_DAMAGED"
    /// This replica or client has no primary.
    case noPrimary = "NO_PRIMARY"
    /// The node at the configured address refuses this one.
    case refused = "REFUSED"
    /// Two live nodes have one name.
    case duplicateNode = "DUPLICATE_NODE"
    /// New sessions are about to be refused.
    case sessionsNearLimit = "SESSIONS_NEAR_LIMIT"
    /// A primary with standbys has too few of them to commit anything.
    case insufficientMembers = "INSUFFICIENT_MEMBERS"
    /// The arbiter has no record of the store.
    case recordMissing = "RECORD_MISSING"
    /// The arbiter shows less than it once did.
    case arbiterSetBack = "ARBITER_SET_BACK"
    /// The arbiter does not answer this data node, or takes no writes, so no node can take over.
    case arbiterAway = "ARBITER_AWAY"

    /// The level of its line: `error` where the store serves no longer, or follows nobody, until somebody acts;
    /// `warning` where it goes on.
    package var level: Logger.Level {
        switch self {
        case .primaryBehind, .ahead, .diverged, .insufficientMembers, .recordMissing, .arbiterSetBack: .error
        case .diskFull, .journalDamaged, .noPrimary, .refused, .duplicateNode, .sessionsNearLimit, .arbiterAway:
            .warning
        }
    }
}

/// A store's alarms: the one place that shows them in the status, writes their lines and sets their metrics.
///
/// An alarm is raised, may get another text, and ends. Each of these is a line, at most ``LineLimit/perMinute`` of an
/// alarm a minute, since a peer can bring some of them about. What the limit held back is written when the minute is
/// over, if it still differs from the last line.
package struct AlarmBoard {
    private let logger: Logger
    private let metrics: NodeMetrics
    private var raised: [AlarmKind: Raised] = [:]
    /// The text that the log has of an alarm; none of one that has ended there.
    private var written: [AlarmKind: String] = [:]
    private var limits: [AlarmKind: LineLimit] = [:]
    /// Alarms whose last line differs from what is.
    private var held: Set<AlarmKind> = []

    /// An alarm that has not ended.
    package struct Raised: Hashable, Sendable {
        /// What is wrong, and what to do, without the alarm's name.
        package var text: String
        /// When it was raised.
        package var since: Tick
    }

    /// A board of one store; `logger` has the store's name.
    package init(logger: Logger, metrics: NodeMetrics) {
        self.logger = logger
        self.metrics = metrics
        for kind in AlarmKind.allCases { metrics.alarm(kind, isRaised: false) }
    }

    /// The alarm, unless it has ended.
    package subscript(kind: AlarmKind) -> Raised? { raised[kind] }

    package var isEmpty: Bool { raised.isEmpty }

    /// Every alarm that has not ended, in the order of ``AlarmKind``.
    package var all: [StoreStatus.Alarm] {
        AlarmKind.allCases.compactMap { kind in raised[kind].map { StoreStatus.Alarm(kind, $0.text) } }
    }

    /// Raises an alarm, or changes its text; raised again with the same text it is the same alarm.
    package mutating func raise(_ kind: AlarmKind, _ text: String, now: Tick) {
        guard raised[kind]?.text != text else { return }
        if raised[kind] == nil { metrics.alarmBegan(kind) }
        raised[kind] = Raised(text: text, since: raised[kind]?.since ?? now)
        metrics.alarm(kind, isRaised: true)
        write(kind, now: now)
    }

    /// Ends an alarm, if it was raised.
    package mutating func clear(_ kind: AlarmKind, now: Tick) {
        guard raised.removeValue(forKey: kind) != nil else { return }
        metrics.alarm(kind, isRaised: false)
        write(kind, now: now)
    }

    /// Writes what the limit held back; called each turn.
    package mutating func tick(now: Tick) {
        guard !held.isEmpty else { return }
        for kind in AlarmKind.allCases where held.contains(kind) { write(kind, now: now) }
    }

    private mutating func write(_ kind: AlarmKind, now: Tick) {
        let text = raised[kind]?.text
        guard text != written[kind] else {
            held.remove(kind)
            return
        }
        guard let skipped = limits[kind, default: LineLimit()].take(now: now) else {
            held.insert(kind)
            return
        }
        held.remove(kind)
        var metadata: Logger.Metadata = [LogKey.alarm: "\(kind.rawValue)"]
        if skipped > 0 { metadata[LogKey.skipped] = "\(skipped)" }
        if let text {
            metadata[LogKey.reason] = "\(text)"
            let message: Logger.Message = written[kind] == nil ? "alarm raised" : "alarm changed"
            logger.log(level: kind.level, message, metadata: metadata)
        } else {
            // Visible wherever warnings are, unlike the lines of a node's life.
            logger.notice("alarm ended", metadata: metadata)
        }
        written[kind] = text
    }
}

/// Bounds how often a line is written that peers can bring about.
package struct LineLimit: Hashable, Sendable {
    /// Lines in a minute.
    package static let perMinute = 6
    private static let minute: Int64 = 60_000
    private var ends = Tick.zero
    private var used = 0
    private var skipped = 0

    package init() {}

    /// How many lines were held back since the last one that was allowed; `nil` if this one is not.
    ///
    /// `isAgain`: it was held back when it was asked for last, and counts once, or not at all when it is written.
    package mutating func take(now: Tick, isAgain: Bool = false) -> Int? {
        if now >= ends {
            ends = now.advanced(byMilliseconds: Self.minute)
            used = 0
        }
        guard used < Self.perMinute else {
            if !isAgain { skipped += 1 }
            return nil
        }
        used += 1
        defer { skipped = 0 }
        return isAgain ? max(0, skipped - 1) : skipped
    }
}
