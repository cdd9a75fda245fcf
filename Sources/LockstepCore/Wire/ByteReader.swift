/// A cursor over bytes that are passed beside it; it holds only offsets, so it can be stored and copied.
///
/// Every read checks the bounds and throws ``WireError``; none traps, whatever the bytes are. Reading costs no
/// allocation except for the texts and arrays that are returned.
public struct ByteReader: Sendable {
    /// The next byte to be read.
    public var offset: Int
    /// Where reading stops.
    public let end: Int
    /// How many values that are being read contain the one at the cursor, as far as generated code reads them.
    public var nesting = 0
    /// Deeper values are refused, whatever their types are: each level takes some of the stack.
    public static let deepest = 256

    /// Starts at `offset` and stops before `end`.
    @inlinable
    public init(offset: Int = 0, end: Int) {
        self.offset = offset
        self.end = end
    }

    /// Starts at the first of `bytes` and stops after the last.
    @inlinable
    public init(_ bytes: RawSpan) { self.init(offset: 0, end: bytes.byteCount) }

    /// How many bytes are left.
    @inlinable
    public var remaining: Int { end - offset }

    /// Takes `count` bytes and returns where they start; throws if fewer are left.
    @inlinable
    public mutating func skip(_ count: Int) throws(WireError) -> Int {
        guard count >= 0, count <= end - offset else { throw WireError(.truncated, at: offset) }
        let start = offset
        offset += count
        return start
    }

    /// Throws if bytes are left.
    @inlinable
    public func finish() throws(WireError) {
        guard offset == end else { throw WireError(.trailingBytes, at: offset) }
    }

    /// Reads a little-endian integer of fixed width.
    @inlinable
    public mutating func read<Value: FixedWidthInteger & BitwiseCopyable>(
        _ type: Value.Type = Value.self, from bytes: RawSpan
    ) throws(WireError) -> Value {
        let start = try skip(MemoryLayout<Value>.size)
        return Value(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: start, as: Value.self))
    }

    /// Reads 16 bytes, the highest first: the form of identifiers, hashes and digests.
    @inlinable
    public mutating func read128(from bytes: RawSpan) throws(WireError) -> UInt128 {
        try read(UInt128.self, from: bytes).byteSwapped
    }

    /// Reads an unsigned number of 1 to 10 bytes, seven bits each, the low ones first.
    ///
    /// A number in more bytes than it needs is refused, so that every number has one form.
    @inlinable
    public mutating func readVarint(from bytes: RawSpan) throws(WireError) -> UInt64 {
        let first = try read(UInt8.self, from: bytes)
        guard first >= 0x80 else { return UInt64(first) }
        var value = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = try read(UInt8.self, from: bytes)
            guard shift < 63 || byte <= 1 else { throw WireError(.outOfRange, at: offset - 1) }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                guard byte != 0 else { throw WireError(.outOfRange, at: offset - 1) }
                return value
            }
            shift += 7
        }
    }

    /// Reads a signed number written by ``ByteWriter/writeSignedVarint(_:)``.
    @inlinable
    public mutating func readSignedVarint(from bytes: RawSpan) throws(WireError) -> Int64 {
        let value = try readVarint(from: bytes)
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads a length of at most `limit` that must still fit into the bytes.
    @inlinable
    public mutating func readLength(from bytes: RawSpan, limit: Int = .max) throws(WireError) -> Int {
        let start = offset
        let value = try readVarint(from: bytes)
        guard value <= UInt64(limit) else { throw WireError(.outOfRange, at: start) }
        guard value <= UInt64(end - offset) else { throw WireError(.truncated, at: offset) }
        return Int(value)
    }

    /// Reads a length and takes that many bytes; returns where they are.
    @inlinable
    public mutating func readRange(from bytes: RawSpan) throws(WireError) -> Range<Int> {
        let count = try readLength(from: bytes)
        let start = try skip(count)
        return start..<start + count
    }

    /// Reads a length and that many bytes of UTF-8.
    @inlinable
    public mutating func readString(from bytes: RawSpan) throws(WireError) -> String {
        let range = try readRange(from: bytes)
        let text: String? = unsafe bytes.extracting(range).withUnsafeBytes { buffer in
            // The validating initialiser takes 60 ns longer; ASCII needs no validation.
            unsafe buffer.allSatisfy { $0 < 0x80 }
                ? unsafe String(decoding: buffer, as: UTF8.self) : unsafe String(validating: buffer, as: UTF8.self)
        }
        guard let text else { throw WireError(.invalidText, at: range.lowerBound) }
        return text
    }

    /// Reads a length and copies that many bytes.
    @inlinable
    public mutating func readBytes(from bytes: RawSpan) throws(WireError) -> [UInt8] {
        let range = try readRange(from: bytes)
        return copyBytes(of: bytes, range)
    }
}

/// Copies a range of a span into an array.
@inlinable
public func copyBytes(of bytes: RawSpan, _ range: Range<Int>) -> [UInt8] {
    unsafe bytes.extracting(range).withUnsafeBytes { unsafe [UInt8]($0) }
}

/// Lends the bytes of an array as a span, for the length of the call and without a copy.
@inlinable
public func withBytes<Result, Failure: Error>(
    of array: [UInt8], _ body: (RawSpan) throws(Failure) -> Result
) throws(Failure) -> Result {
    try unsafe body(array.span.bytes)
}
