/// A type that writes and reads its own bytes: the fast path beside JSON.
///
/// An action, mutation, state, reply, query or answer whose type conforms is sent and kept in this form (see
/// ``Coding``). A few lines suffice, and they cost a tenth of JSON's time and no allocation:
///
/// ```swift
/// enum Action: Codable, Sendable, WireCodable {
///     case add(String, by: Int64)
///     func encode(into writer: inout ByteWriter) {
///         switch self {
///         case .add(let name, let amount):
///             writer.write(UInt8(1))
///             name.encode(into: &writer)
///             amount.encode(into: &writer)
///         }
///     }
///     init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
///         switch try reader.read(UInt8.self, from: bytes) {
///         case 1: self = .add(try String(from: bytes, &reader), by: try Int64(from: bytes, &reader))
///         default: throw WireError(.unknownKind, at: reader.offset - 1)
///         }
///     }
/// }
/// ```
///
/// With the package trait `Macros` the macro `@WireCodable` writes both functions, see <doc:WireCoding>.
///
/// The bytes are a public format: other versions of the program, and other programs, read them. A value takes at least
/// one byte if it is to be an element of an array, set or map.
public protocol WireCodable {
    /// Appends the value's bytes.
    func encode(into writer: inout ByteWriter)

    /// Reads a value; it must not trap, whatever the bytes are, and must read no more than ``encode(into:)`` wrote.
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError)
}

extension Bool: WireCodable {
    /// One byte, 0 or 1.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.write(self ? UInt8(1) : UInt8(0)) }

    /// Reads one byte and refuses all but 0 and 1.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch try reader.read(UInt8.self, from: bytes) {
        case 0: self = false
        case 1: self = true
        default: throw WireError(.outOfRange, at: reader.offset - 1)
        }
    }
}

extension String: WireCodable {
    /// The length in bytes as a varint, then the UTF-8.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeString(self) }

    /// Reads a length and that many bytes of UTF-8.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self = try reader.readString(from: bytes)
    }
}

extension Double: WireCodable {
    /// The eight bytes of the bit pattern, little-endian.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.write(bitPattern) }

    /// Reads eight bytes.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init(bitPattern: try reader.read(UInt64.self, from: bytes))
    }
}

extension Float: WireCodable {
    /// The four bytes of the bit pattern, little-endian.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.write(bitPattern) }

    /// Reads four bytes.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init(bitPattern: try reader.read(UInt32.self, from: bytes))
    }
}

extension UInt128: WireCodable {
    /// 16 bytes, the highest first.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.write128(self) }

    /// Reads 16 bytes.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self = try reader.read128(from: bytes)
    }
}

extension WireCodable where Self: RawRepresentable, RawValue: WireCodable {
    /// The bytes of the raw value.
    @inlinable
    public func encode(into writer: inout ByteWriter) { rawValue.encode(into: &writer) }

    /// Reads a raw value and refuses one that stands for nothing.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = Self(rawValue: try RawValue(from: bytes, &reader)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension LogTime: WireCodable {}
extension Epoch: WireCodable {}
extension SequenceNumber: WireCodable {}
