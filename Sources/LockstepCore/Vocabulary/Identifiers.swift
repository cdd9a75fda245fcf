/// A random 128-bit name, written as 32 hexadecimal digits.
public protocol Identifier128: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible
where RawValue == UInt128 {
    /// Makes the identifier with the given bits.
    init(rawValue: UInt128)
}

extension Identifier128 {
    /// Nothing: what an unset field of a frame holds.
    public static var none: Self { Self(rawValue: 0) }

    /// Makes an identifier from the operating system's random source.
    public init(using generator: inout some RandomNumberGenerator) {
        self.init(rawValue: UInt128(generator.next()) << 64 | UInt128(generator.next()))
    }

    /// Reads 32 hexadecimal digits; `nil` for anything else.
    public init?(hexadecimal text: String) {
        // The standard library takes a sign in front.
        guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let value = UInt128(text, radix: 16)
        else { return nil }
        self.init(rawValue: value)
    }

    /// The 32 hexadecimal digits, lower case.
    public var description: String { hexadecimal(rawValue) }

    /// Order of the numbers; it has no meaning beyond being the same everywhere.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The 32 lower-case hexadecimal digits of a 128-bit number.
package func hexadecimal(_ value: UInt128) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 32 - digits.utf8.count) + digits
}

/// Names a cluster for ever; born in `lockstep init` (PROTOCOL, R-1).
public struct ClusterID: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the identifier with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
    /// The 64 bits that every frame carries.
    package var hash: UInt64 { UInt64(truncatingIfNeeded: rawValue >> 64) }
}

/// Names one life of a journal: made when its file is created (PROTOCOL, R-2).
public struct Incarnation: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the identifier with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
}

/// Names one life of a process: made at every start (PROTOCOL, R-2).
public struct BootID: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the identifier with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
}

/// Names a store of a cluster: a hash of the cluster's ID and the store's name (PROTOCOL, R-3).
public struct StoreID: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the identifier with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }

    /// The identity of the store `name` of `cluster`: the first 128 bits of SHA-256 over both.
    package init(cluster: ClusterID, name: String) {
        var writer = ByteWriter()
        writer.write128(cluster.rawValue)
        writer.writeRaw(name)
        self.init(rawValue: sha256Prefix(writer.bytes))
    }
}

/// Names a process that opens sessions; with keys on the wire it will be the client's public key.
public struct ClientKey: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the identifier with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
}

/// An operator's name for a node: 1 to 64 bytes of letters, digits, `-`, `_` and `.`; unique, never used again.
public struct NodeID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name.
    public let name: String

    /// Checks a name; `nil` if it is empty, longer than 64 bytes or holds another character.
    public init?(_ name: String) {
        let allowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, (1...64).contains(name.utf8.count) else { return nil }
        self.name = name
    }

    /// The name.
    public var description: String { name }

    /// Order of the names.
    public static func < (left: NodeID, right: NodeID) -> Bool { left.name < right.name }
}

/// The number of a store in the frames of its node: the subscription prefix (PROTOCOL, R-4).
package struct Channel: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// A frame that belongs to no store yet: HELLO and its refusal.
    package static let none = Channel(rawValue: 0xFFFF)
}
