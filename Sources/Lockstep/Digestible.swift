import Foundation

/// A value with a digest that is equal for equal values, in every process and on every platform.
///
/// The standard library's numbers, texts and containers conform. A type of your own that is `Encodable` conforms with
/// its name among its protocols: its digest is then a walk over what it encodes (``StateDigest``), about 0.2 us a field.
/// With the package trait `Macros` the macro `@Digestible` writes one that encodes nothing. Or write ``contentDigest`` yourself:
///
/// ```swift
/// extension Account: Digestible {
///     var contentDigest: Digest { .pair(name.contentDigest, balance.contentDigest) }
/// }
/// ```
///
/// All nodes of a cluster must compute it in the same way: a change is a change of the wire format.
public protocol Digestible {
    /// The digest of the value: a function of nothing but what `==` compares.
    var contentDigest: Digest { get }
}

/// A key of a ``ReplicatedMap``: it can be found, put in order, and digested.
///
/// Texts and integers conform; a type of your own conforms with an empty extension once it is `Hashable`,
/// `Comparable` and ``Digestible``.
public protocol ReplicatedKey: Hashable, Comparable, Sendable, Digestible {
    /// A digest whose bits are well mixed, also for neighbouring keys.
    var keyDigest: Digest { get }
    /// Whether ``keyDigest`` costs no more than a hash, as it does for texts and integers.
    ///
    /// A map then finds keys by it, so that a write hashes its key once; else by their `hashValue`. False if it is not
    /// said.
    static var hasFastDigest: Bool { get }
}

extension ReplicatedKey {
    /// The ``Digestible/contentDigest``, mixed once more.
    @inlinable
    public var keyDigest: Digest { .pair(.keyMark, contentDigest) }

    /// False.
    @inlinable
    public static var hasFastDigest: Bool { false }
}

extension Digest {
    /// The digest of bytes: SipHash-1-3-128 under a fixed key, the low half from the first eight bytes of its result.
    public static func hash(of bytes: RawSpan) -> Digest {
        bytes.withUnsafeBytes { Digest(rawValue: SipHash.digest.hash($0)) }
    }

    /// The digest of `value` under `key`: two multiplications; not commutative.
    ///
    /// With 64-bit halves and all sums modulo 2^64: p = (key.low ^ value.low ^ C0) x (key.high + value.high + C1) and
    /// q = (p.low ^ key.high ^ C2) x (p.high ^ key.low ^ C3), products of 128 bits; the result is p + q modulo 2^128.
    /// C0 to C3 are 9E3779B97F4A7C15, BF58476D1CE4E5B9, 94D049BB133111EB and D6E8FEB86659FD93.
    @inlinable
    public static func pair(_ key: Digest, _ value: Digest) -> Digest {
        let keyLow = UInt64(truncatingIfNeeded: key.rawValue)
        let keyHigh = UInt64(truncatingIfNeeded: key.rawValue >> 64)
        let valueLow = UInt64(truncatingIfNeeded: value.rawValue)
        let valueHigh = UInt64(truncatingIfNeeded: value.rawValue >> 64)
        let p = (keyLow ^ valueLow ^ 0x9E37_79B9_7F4A_7C15)
            .multipliedFullWidth(by: keyHigh &+ valueHigh &+ 0xBF58_476D_1CE4_E5B9)
        let q = (p.low ^ keyHigh ^ 0x94D0_49BB_1331_11EB)
            .multipliedFullWidth(by: p.high ^ keyLow ^ 0xD6E8_FEB8_6659_FD93)
        return Digest(
            rawValue: (UInt128(p.high) << 64 | UInt128(p.low)) &+ (UInt128(q.high) << 64 | UInt128(q.low)))
    }

    /// Nothing: the digest of an empty sum.
    public static let zero = Digest(rawValue: 0)

    // What tells the kinds of containers apart; the numbers are ASCII, so that they are easy to write down.
    @usableFromInline static var keyMark: Digest { Digest(rawValue: 0x6B65_79) }
    @usableFromInline static var noneMark: Digest { Digest(rawValue: 0x6E6F_6E65) }
    @usableFromInline static var someMark: Digest { Digest(rawValue: 0x736F_6D65) }
    @usableFromInline static var listMark: Digest { Digest(rawValue: 0x6C69_7374) }
    @usableFromInline static var setMark: Digest { Digest(rawValue: 0x0073_6574) }
    @usableFromInline static var mapMark: Digest { Digest(rawValue: 0x006D_6170) }
    @usableFromInline static var objectMark: Digest { Digest(rawValue: 0x6F62_6A65_6374) }
    @usableFromInline static var caseMark: Digest { Digest(rawValue: 0x6361_7365) }
    @usableFromInline static var rootMark: Digest { Digest(rawValue: 0x726F_6F74) }
    static var errorMark: Digest { Digest(rawValue: 0x6572_726F_72) }
}

extension Digestible where Self: Encodable {
    /// A walk over what the value encodes; see ``StateDigest``.
    public var contentDigest: Digest { StateDigest.walk(self) }
}

extension Digestible where Self: RawRepresentable, RawValue: Digestible {
    /// The digest of the raw value.
    @inlinable
    public var contentDigest: Digest { rawValue.contentDigest }
}

extension Digestible where Self: RawRepresentable & Encodable, RawValue: Digestible {
    /// The digest of the raw value.
    @inlinable
    public var contentDigest: Digest { rawValue.contentDigest }
}

extension String: ReplicatedKey {
    /// The hash of the text's UTF-8 in Unicode's normal form C.
    ///
    /// Texts that `==` calls equal may have different bytes ("é" is one scalar or two), so their bytes are brought to
    /// one form first. A text without a scalar above U+02FF is in that form already and costs about 20 ns; any other
    /// is normalised at about 1 us.
    public var contentDigest: Digest {
        var text = self
        return text.withUTF8 { utf8 in
            // U+0300, the first scalar that can combine, begins with the byte CC; so does everything after it.
            let bytes = UnsafeRawBufferPointer(utf8)
            guard SipHash.isASCII(bytes) || utf8.allSatisfy({ $0 < 0xCC }) else {
                return Self.normalizedDigest(String(decoding: utf8, as: UTF8.self))
            }
            return Digest(rawValue: SipHash.digest.hash(bytes))
        }
    }

    /// The same: the hash is well mixed.
    public var keyDigest: Digest { contentDigest }

    /// True.
    @inlinable
    public static var hasFastDigest: Bool { true }

    private static func normalizedDigest(_ text: String) -> Digest {
        var text = text.precomposedStringWithCanonicalMapping
        return text.withUTF8 { Digest(rawValue: SipHash.digest.hash(UnsafeRawBufferPointer($0))) }
    }
}
