/// A value with a version, so that an equal value can count as another one: a request that is to be made again.
///
/// The version is a number that a reducer sets, the same on every node, and not the identity of an object. Two are equal
/// only if their values and their versions are.
///
/// ```swift
/// // in reduce: the same search once more
/// state.search = Versioned(text, at: context.sequence)
/// state.search.renew()
/// ```
public struct Versioned<Value> {
    /// The value.
    public private(set) var value: Value
    /// Which one it is; a greater number is later, until it goes from its greatest value to 0.
    public private(set) var version: UInt64

    /// Makes a value of the given version.
    public init(_ value: Value, version: UInt64 = 0) {
        self.value = value
        self.version = version
    }

    /// Makes a value whose version is the place of the entry that makes it, so that no other entry makes an equal one.
    public init(_ value: Value, at sequence: SequenceNumber) { self.init(value, version: sequence.rawValue) }

    /// Sets the value and counts the version up, also for an equal value.
    public mutating func set(_ value: Value) {
        self.value = value
        renew()
    }

    /// Changes the value in place and counts the version up, also if `body` throws or changes nothing.
    public mutating func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        defer { renew() }
        return try body(&value)
    }

    /// Counts the version up and keeps the value.
    public mutating func renew() { version &+= 1 }
}

extension Versioned: Sendable where Value: Sendable {}
extension Versioned: Equatable where Value: Equatable {}
extension Versioned: Hashable where Value: Hashable {}
extension Versioned: Encodable where Value: Encodable {}
extension Versioned: Decodable where Value: Decodable {}

extension Versioned: Digestible where Value: Encodable {
    /// `pair(pair("version", version), value)`, the value standing for its digest; the cost of that digest.
    public var contentDigest: Digest {
        .pair(.pair(.versionMark, version.contentDigest), StateDigest.digest(of: value))
    }
}

extension Versioned: WireCodable where Value: WireCodable {
    /// The value, then the version as a varint.
    public func encode(into writer: inout ByteWriter) {
        value.encode(into: &writer)
        version.encode(into: &writer)
    }

    /// Reads a value and a version.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let value = try Value(from: bytes, &reader)
        self.init(value, version: try UInt64(from: bytes, &reader))
    }
}

extension Versioned: CustomStringConvertible {
    /// The value and its version.
    public var description: String { "\(value) (\(version))" }
}
