/// When a client speaks for its session although it has nothing to submit: to acknowledge answers, and to stay alive.
///
/// SUBMIT does both on its way. KEEPALIVE follows when no SUBMIT has acknowledged the answers for half a second, and
/// when a third of the session's time to live has passed without a word.
struct KeepAlives: Hashable, Sendable {
    /// A longer time to live changes nothing: a client speaks every 8 hours at least.
    private static let longestMicroseconds: Int64 = 86_400_000_000

    /// What the primary was told to have been answered.
    private(set) var acknowledged: RequestNumber = 0
    private var acknowledgeAt = Tick.never
    private var keepAliveAt = Tick.never

    /// When KEEPALIVE is due.
    var nextDeadline: Tick { min(acknowledgeAt, keepAliveAt) }

    /// Whether answers wait to be acknowledged.
    var owesAcknowledgement: Bool { acknowledgeAt != .never }

    /// An answer came: it is acknowledged by then, if no SUBMIT does so before.
    mutating func acknowledge(by tick: Tick) { acknowledgeAt = tick }

    /// A frame tells the primary that everything up to `number` was answered.
    mutating func acknowledged(through number: RequestNumber) {
        acknowledged = number
        acknowledgeAt = .never
    }

    /// Something was sent that the primary counts as a sign of life of the session, which lives so many microseconds.
    mutating func spoke(timeToLive: Int64, now: Tick) {
        keepAliveAt = now.advanced(byMicroseconds: min(timeToLive, Self.longestMicroseconds) / 3)
    }

    /// The session is not bound: a word for it would not be heard.
    mutating func rest() { (acknowledgeAt, keepAliveAt) = (.never, .never) }
}
