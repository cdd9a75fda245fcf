// Lengths of time and dates: their bytes, and their digests. Both forms are exact.

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Duration: WireCodable {
    /// 16 bytes: the attoseconds in two's complement, the highest byte first.
    public func encode(into writer: inout ByteWriter) { UInt128(bitPattern: attoseconds).encode(into: &writer) }

    /// Reads 16 bytes; each value is a duration.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init(attoseconds: Int128(bitPattern: try UInt128(from: bytes, &reader)))
    }
}

extension Duration: Digestible {
    /// The attoseconds in two's complement: that of an integer.
    public var contentDigest: Digest { Digest(rawValue: UInt128(bitPattern: attoseconds)) }
}

extension Date: WireCodable {
    /// The eight bytes of a `Double`, little-endian: the seconds since 2001-01-01T00:00:00Z.
    public func encode(into writer: inout ByteWriter) { timeIntervalSinceReferenceDate.encode(into: &writer) }

    /// Reads eight bytes.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init(timeIntervalSinceReferenceDate: try Double(from: bytes, &reader))
    }
}

extension Date: Digestible {
    /// The digest of the seconds since 2001-01-01T00:00:00Z, as a `Double` has it.
    public var contentDigest: Digest { timeIntervalSinceReferenceDate.contentDigest }
}
