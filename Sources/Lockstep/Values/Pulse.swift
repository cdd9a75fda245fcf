/// A value of which every assignment counts, also one of an equal value: an alert that is shown once each time.
///
/// ```swift
/// struct State: Codable, Sendable {
///     @Pulse var alert: String?
/// }
/// // in reduce:
/// state.alert = "saved"
/// ```
///
/// The count is a part of the state: it is encoded and digested with the value. A change in place, such as an `append`,
/// counts as one assignment; the first value does not count. The count goes from its greatest value to 0.
/// ``PulseBaseline`` says whether a pulse has fired between two states.
@propertyWrapper
public struct Pulse<Value> {
    /// How often the value was assigned since it was made, modulo 2^64.
    public private(set) var count: UInt64

    /// The value; setting or changing it counts, in constant time beyond the change itself.
    public var wrappedValue: Value {
        didSet { count &+= 1 }
    }

    /// The wrapper itself, with its ``count``.
    public var projectedValue: Pulse<Value> { self }

    /// Makes a pulse that has not fired.
    public init(wrappedValue: Value) { self.init(wrappedValue: wrappedValue, count: 0) }

    /// Makes a pulse that has fired `count` times.
    public init(wrappedValue: Value, count: UInt64) {
        self.wrappedValue = wrappedValue
        self.count = count
    }
}

extension Pulse: Sendable where Value: Sendable {}
extension Pulse: Equatable where Value: Equatable {}
extension Pulse: Hashable where Value: Hashable {}

private enum PulseKeys: String, CodingKey {
    case value, count
}

extension Pulse: Encodable where Value: Encodable {
    /// Encodes `value` and `count`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PulseKeys.self)
        try container.encode(wrappedValue, forKey: .value)
        try container.encode(count, forKey: .count)
    }
}

extension Pulse: Decodable where Value: Decodable {
    /// Decodes what `encode(to:)` wrote; this is no assignment.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: PulseKeys.self)
        self.init(
            wrappedValue: try container.decode(Value.self, forKey: .value),
            count: try container.decode(UInt64.self, forKey: .count))
    }
}

extension Pulse: Digestible where Value: Encodable {
    /// `pair(pair("pulse", count), value)`, the value standing for its digest; the cost of that digest.
    public var contentDigest: Digest {
        .pair(.pair(.pulseMark, count.contentDigest), StateDigest.digest(of: wrappedValue))
    }
}

extension Pulse: WireCodable where Value: WireCodable {
    /// The value, then the count as a varint.
    public func encode(into writer: inout ByteWriter) {
        wrappedValue.encode(into: &writer)
        count.encode(into: &writer)
    }

    /// Reads a value and a count.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let value = try Value(from: bytes, &reader)
        self.init(wrappedValue: value, count: try UInt64(from: bytes, &reader))
    }
}

extension Pulse: CustomStringConvertible {
    /// The value and how often it was assigned.
    public var description: String { "\(wrappedValue) (\(count))" }
}

/// What a pulse did between two states that somebody saw.
public struct PulseEvent<Value> {
    /// The value in the later state.
    public let value: Value
    /// How often it was assigned between them, at least 1: if it is more, the earlier values were not seen.
    ///
    /// It is 1 for the first event of a ``PulseBaseline`` that was made without a pulse, and if the later state comes
    /// from an earlier place of the log.
    public let assignments: UInt64

    /// Makes an event, to compare with in a test.
    public init(value: Value, assignments: UInt64) {
        self.value = value
        self.assignments = assignments
    }
}

extension PulseEvent: Sendable where Value: Sendable {}
extension PulseEvent: Equatable where Value: Equatable {}
extension PulseEvent: Hashable where Value: Hashable {}

/// Says of successive states of a pulse whether it has fired; each observer has its own.
///
/// It holds a count and nothing of the values. However far two states are apart, as after a snapshot, there is at most
/// one event between them.
public struct PulseBaseline: Hashable, Sendable {
    private var count: UInt64?

    /// Begins at a pulse as it is now: what it did before is not reported.
    public init<Value>(_ pulse: Pulse<Value>) { count = pulse.count }

    /// Begins with nothing seen: the first pulse is reported whatever its count is.
    public init() {}

    /// What the pulse did since the last call, or since the beginning; `nil` if it was not assigned.
    ///
    /// Constant time.
    public mutating func event<Value>(of pulse: Pulse<Value>) -> PulseEvent<Value>? {
        defer { count = pulse.count }
        guard let count else { return PulseEvent(value: pulse.wrappedValue, assignments: 1) }
        let distance = pulse.count &- count
        guard distance > 0 else { return nil }
        // A distance beyond half of the range is the way back: the state was put back to an earlier one.
        return PulseEvent(value: pulse.wrappedValue, assignments: distance > .max / 2 ? 1 : distance)
    }
}
