/// What a primary knows of room for its journal (PROTOCOL, R-45).
struct JournalRoom: Hashable, Sendable {
    /// The journal found no room for what it was given.
    private var isDiskFull = false
    /// Less than the reserve is free.
    private var isSpaceLow = false
    /// When a write that found no room is tried again.
    private(set) var retry: Tick = .never

    private static let retryMilliseconds: Int64 = 250

    var isMissing: Bool { isDiskFull || isSpaceLow }
    /// Whether something waits for room, and not only what is new is refused.
    var isWriteHeldUp: Bool { isDiskFull }

    /// A write found no room; returns what an operator must learn.
    mutating func foundNone(now: Tick) -> Alarm? {
        retry = now.advanced(byMilliseconds: Self.retryMilliseconds)
        guard !isDiskFull else { return nil }
        isDiskFull = true
        return isSpaceLow ? nil : .diskFull
    }

    /// Whether what found no room is to be given to the journal again, now.
    mutating func isRetryDue(now: Tick) -> Bool {
        guard now >= retry, isDiskFull else { return false }
        retry = .never
        return true
    }

    /// The journal has what it was given.
    mutating func found() -> Alarm? {
        guard isDiskFull else { return nil }
        isDiskFull = false
        retry = .never
        return isSpaceLow ? nil : .diskHasRoom
    }

    /// Less than the reserve is free, or there is room again.
    mutating func reserveChanged(isLow: Bool) -> Alarm? {
        guard isLow != isSpaceLow else { return nil }
        isSpaceLow = isLow
        guard !isDiskFull else { return nil }
        return isLow ? .diskFull : .diskHasRoom
    }

    func checkEvent() {
        precondition(isDiskFull || retry == .never, "only what found no room is tried again")
    }
}
