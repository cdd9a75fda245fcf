/// Who sends on a connection, as the node's access list says, and what it may do in one store (PROTOCOL, R-71 to R-73).
///
/// A name by itself has no secret: the connection proved that it has the key of this name.
package struct Sender: Hashable, Sendable {
    /// The name in the access list.
    package var name: String
    /// The kinds of actions that it may send; nil: all.
    package var kinds: Set<String>?
    package var quota: SenderQuota

    package init(name: String, kinds: Set<String>? = nil, quota: SenderQuota = SenderQuota()) {
        self.name = name
        self.kinds = kinds
        self.quota = quota
    }
}

/// What one name may take of a store, all its connections together; nil: as much as anybody (PROTOCOL, R-73).
package struct SenderQuota: Hashable, Sendable {
    /// Sessions.
    package var sessions: Int?
    /// Actions whose answers it has not acknowledged.
    package var inFlight: Int?
    /// Bytes of actions that are taken in a second.
    package var bytesPerSecond: Int?

    package init(sessions: Int? = nil, inFlight: Int? = nil, bytesPerSecond: Int? = nil) {
        self.sessions = sessions
        self.inFlight = inFlight
        self.bytesPerSecond = bytesPerSecond
    }
}

/// How many bytes of actions each name that has a quota may still send now (PROTOCOL, R-73).
///
/// A bucket holds what is allowed in a second, and fills evenly. A series may take more than is left, once, and what
/// follows waits until that is paid, so that one large action always passes. Bound: a bucket that is full again is
/// forgotten.
package struct SenderBudgets: Hashable, Sendable {
    private struct Bucket: Hashable, Sendable {
        /// Bytes; below zero what was taken ahead.
        var left: Int64
        var at: Tick
        let rate: Int64

        /// Adds whole bytes; the time of what is less than a byte stays, so that looking often loses nothing.
        mutating func fill(now: Tick) {
            let second: Int128 = 1_000_000_000
            let added = Int128(max(0, now - at)) * Int128(rate) / second
            guard Int128(left) + added < Int128(rate) else {
                (left, at) = (rate, now)
                return
            }
            left += Int64(added)
            at = Tick(rawValue: at.rawValue + Int64(added * second / Int128(rate)))
        }
    }

    private var buckets: [String: Bucket] = [:]

    /// The highest rate, in bytes a second, that an access list may name.
    package static let largestRate = 1 << 40

    package init() {}

    /// After how many microseconds a name may send; nil: now.
    package mutating func wait(of name: String, rate: Int, now: Tick) -> UInt32? {
        let rate = Int64(min(max(rate, 1), Self.largestRate))
        if buckets[name]?.rate != rate { buckets[name] = Bucket(left: rate, at: now, rate: rate) }
        buckets[name]?.fill(now: now)
        guard let left = buckets[name]?.left, left <= 0 else { return nil }
        let microseconds = Double(1 - left) / Double(rate) * 1e6
        return UInt32(min(max(microseconds, 1_000), 5_000_000))
    }

    /// Takes bytes, which may be more than are left.
    package mutating func pay(_ bytes: Int, of name: String) { buckets[name]?.left -= Int64(bytes) }

    /// Forgets the buckets that are full.
    package mutating func sweep(now: Tick) {
        for name in Array(buckets.keys) { buckets[name]?.fill(now: now) }
        buckets = buckets.filter { $0.value.left < $0.value.rate }
    }
}
