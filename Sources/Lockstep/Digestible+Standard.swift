// The digests of the standard library's types. An integer is its own digest: its two's complement, sign-extended to
// 128 bits; whoever uses it pairs it with a key or a path, which mixes it.

extension Int: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension Int8: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension Int16: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension Int32: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension Int64: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt8: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt16: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt32: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt64: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension UInt128: ReplicatedKey {
    /// The number, extended to 128 bits.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: UInt128(truncatingIfNeeded: self)) }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }
}

extension Bool: Digestible {
    /// 1 for true and 0 for false.
    @inlinable
    public var contentDigest: Digest { Digest(rawValue: self ? 1 : 0) }
}

extension Double: Digestible {
    /// The bit pattern; the two zeros are one number, and so is everything that is no number.
    @inlinable
    public var contentDigest: Digest {
        let value: Double = self == 0 ? 0 : isNaN ? .nan : self
        return Digest(rawValue: UInt128(value.bitPattern))
    }
}

extension Float: Digestible {
    /// The digest of the same number as a `Double`.
    @inlinable
    public var contentDigest: Digest { Double(self).contentDigest }
}

extension Optional: Digestible where Wrapped: Digestible {
    /// A constant for nothing; a value under a mark, so that nothing inside something is told apart.
    @inlinable
    public var contentDigest: Digest {
        switch self {
        case .none: .noneMark
        case .some(let value): .pair(.someMark, value.contentDigest)
        }
    }
}

extension Array: Digestible where Element: Digestible {
    /// The elements in order, chained after their number.
    @inlinable
    public var contentDigest: Digest {
        reduce(.pair(.listMark, count.contentDigest)) { .pair($0, $1.contentDigest) }
    }
}

extension Set: Digestible where Element: Digestible {
    /// The sum over the elements, whatever order they are stored in.
    @inlinable
    public var contentDigest: Digest {
        reduce(.setMark) { $0 + .pair(.setMark, $1.contentDigest) }
    }
}

extension Dictionary: Digestible where Key: Digestible, Value: Digestible {
    /// The sum over the pairs, whatever order they are stored in.
    @inlinable
    public var contentDigest: Digest {
        reduce(.mapMark) { $0 + .pair(.pair(.mapMark, $1.key.contentDigest), $1.value.contentDigest) }
    }
}

extension LogTime: Digestible, Codable {}
extension Epoch: Digestible, Codable {}
extension SequenceNumber: Digestible, Codable {}
