public import Lockstep

/// A token bucket in whole numbers: no rounding, the same on every node.
///
/// The level is counted in tokens times microseconds of the period, so that a microsecond adds exactly `refill` to it.
public struct TokenBucket: Codable, Hashable, Sendable, Digestible {
    /// How much a bucket holds, and how fast it fills.
    public struct Rate: Codable, Hashable, Sendable {
        /// The most tokens that it holds.
        public var capacity: Int64
        /// The tokens that it gains in a period.
        public var refill: Int64
        /// The period in microseconds.
        public var period: Int64

        /// Makes a rate.
        ///
        /// - Parameters:
        ///   - capacity: The most tokens; at least 1. Capacity times period must be below 2^63.
        ///   - refill: The tokens gained in a period, at least 1.
        ///   - period: The period, at least one microsecond; one second unless given.
        public init(capacity: Int64, refill: Int64, every period: Duration = .seconds(1)) {
            self.capacity = capacity
            self.refill = refill
            let (seconds, attoseconds) = period.components
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
            let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
            // A period that does not fit is refused with the action, as one that is not positive is.
            self.period = overflow || carry ? 0 : sum
        }

        /// Whether a bucket can have this rate.
        var isValid: Bool {
            capacity >= 1 && refill >= 1 && period >= 1 && !capacity.multipliedReportingOverflow(by: period).overflow
        }
    }

    /// What the bucket was made with; it is valid, so capacity times period does not overflow.
    public let rate: Rate
    /// The level at ``updated``, in tokens times microseconds.
    public private(set) var level: Int64
    /// When the level was set.
    public private(set) var updated: LogTime

    /// Makes a full bucket; refuses a rate outside its bounds.
    init(_ rate: Rate, at time: LogTime) throws {
        guard rate.isValid else {
            throw Rejection(
                "capacity, refill and period must be at least 1, and capacity times microseconds of the period below 2^63"
            )
        }
        self.init(rate: rate, level: rate.capacity * rate.period, updated: time)
    }

    init(rate: Rate, level: Int64, updated: LogTime) {
        self.rate = rate
        self.level = level
        self.updated = updated
    }

    /// Decodes a bucket; refuses a rate that no bucket can have.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let rate = try container.decode(Rate.self, forKey: .rate)
        let level = try container.decode(Int64.self, forKey: .level)
        guard rate.isValid, level >= 0 else {
            throw DecodingError.dataCorruptedError(forKey: .rate, in: container, debugDescription: "no bucket's rate")
        }
        self.init(rate: rate, level: level, updated: try container.decode(LogTime.self, forKey: .updated))
    }

    /// The level at a time; a time before ``updated`` counts as that.
    func level(at time: LogTime) -> Int64 {
        let full = rate.capacity * rate.period
        guard time > updated else { return level }
        let (elapsed, long) = time.rawValue.subtractingReportingOverflow(updated.rawValue)
        let (gain, large) = elapsed.multipliedReportingOverflow(by: rate.refill)
        let (sum, larger) = level.addingReportingOverflow(gain)
        return long || large || larger ? full : min(full, sum)
    }

    /// How many whole tokens there are at a time.
    public func tokens(at time: LogTime) -> Int64 { level(at: time) / rate.period }

    /// What becomes of taking tokens.
    enum Outcome: Equatable {
        case granted(level: Int64)
        case denied(until: LogTime)
    }

    /// Takes 1 to `capacity` tokens.
    func taking(_ count: Int64, at time: LogTime) -> Outcome {
        let level = level(at: time)
        let needed = count * rate.period
        guard level < needed else { return .granted(level: level - needed) }
        let missing = needed - level
        let wait = missing / rate.refill + (missing % rate.refill == 0 ? 0 : 1)
        let (until, overflow) = max(time, updated).rawValue.addingReportingOverflow(wait)
        return .denied(until: LogTime(rawValue: overflow ? .max : until))
    }

    mutating func set(level: Int64, at time: LogTime) {
        // No primary writes a level below 0; one from elsewhere must not reach the sums of `taking(_:at:)`.
        self.level = max(0, level)
        updated = time
    }

    /// The numbers, paired one after the other.
    public var contentDigest: Digest {
        let numbers = [rate.capacity, rate.refill, rate.period, level, updated.rawValue]
        return numbers.contentDigest
    }
}
