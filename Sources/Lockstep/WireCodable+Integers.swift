// Integers are varints: seven bits a byte, the low ones first; signed ones as zig-zag, so that small ones are short.

extension Int: WireCodable {
    /// A zig-zag varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeSignedVarint(Int64(self)) }

    /// Reads a zig-zag varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = Int(exactly: try reader.readSignedVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension Int8: WireCodable {
    /// A zig-zag varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeSignedVarint(Int64(self)) }

    /// Reads a zig-zag varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = Int8(exactly: try reader.readSignedVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension Int16: WireCodable {
    /// A zig-zag varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeSignedVarint(Int64(self)) }

    /// Reads a zig-zag varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = Int16(exactly: try reader.readSignedVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension Int32: WireCodable {
    /// A zig-zag varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeSignedVarint(Int64(self)) }

    /// Reads a zig-zag varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = Int32(exactly: try reader.readSignedVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension Int64: WireCodable {
    /// A zig-zag varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeSignedVarint(self) }

    /// Reads a zig-zag varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self = try reader.readSignedVarint(from: bytes)
    }
}

extension UInt: WireCodable {
    /// A varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeVarint(UInt64(self)) }

    /// Reads a varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = UInt(exactly: try reader.readVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension UInt8: WireCodable {
    /// A varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeVarint(UInt64(self)) }

    /// Reads a varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = UInt8(exactly: try reader.readVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension UInt16: WireCodable {
    /// A varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeVarint(UInt64(self)) }

    /// Reads a varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = UInt16(exactly: try reader.readVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension UInt32: WireCodable {
    /// A varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeVarint(UInt64(self)) }

    /// Reads a varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let value = UInt32(exactly: try reader.readVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self = value
    }
}

extension UInt64: WireCodable {
    /// A varint of 1 to 10 bytes.
    @inlinable
    public func encode(into writer: inout ByteWriter) { writer.writeVarint(self) }

    /// Reads a varint and refuses one outside the type's range.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self = try reader.readVarint(from: bytes)
    }
}
