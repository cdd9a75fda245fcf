/// Appends values to an array of bytes, in the forms that ``ByteReader`` reads.
public struct ByteWriter: Sendable, Hashable {
    /// What was written so far.
    public var bytes: [UInt8]

    /// Starts empty, with room for `capacity` bytes.
    @inlinable
    public init(capacity: Int = 0) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// Goes on after `bytes`.
    @inlinable
    public init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

    /// How many bytes were written.
    @inlinable
    public var count: Int { bytes.count }

    /// Forgets everything and keeps the room.
    @inlinable
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Forgets what was written after the first `count` bytes.
    @inlinable
    public mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

    /// Writes an integer of fixed width, little-endian.
    @inlinable
    public mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Writes 16 bytes, the highest first: the form of identifiers, hashes and digests.
    @inlinable
    public mutating func write128(_ value: UInt128) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Writes one byte.
    @inlinable
    public mutating func write(_ value: UInt8) { bytes.append(value) }

    /// Writes an unsigned number in 1 to 10 bytes, seven bits each, the low ones first.
    @inlinable
    public mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Writes a signed number so that small ones of either sign are short (zig-zag).
    @inlinable
    public mutating func writeSignedVarint(_ value: Int64) {
        writeVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// Writes a text: its length in bytes of UTF-8, then the bytes.
    @inlinable
    public mutating func writeString(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            writeVarint(UInt64(utf8.count))
            unsafe bytes.append(contentsOf: utf8)
        }
    }

    /// Writes bytes after their length.
    @inlinable
    public mutating func writeBytes(_ content: [UInt8]) {
        writeVarint(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    /// Writes bytes without a length.
    @inlinable
    public mutating func writeRaw(_ content: some Collection<UInt8>) { bytes.append(contentsOf: content) }

    /// Writes the UTF-8 of a text without a length.
    @inlinable
    public mutating func writeRaw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes a range of a span without a length.
    @inlinable
    public mutating func writeRaw(_ content: RawSpan, _ range: Range<Int>) {
        unsafe content.extracting(range).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Writes what `body` writes, after its length as a varint; returns where the content begins.
    ///
    /// A content of 128 bytes or more is moved once, by one byte or a few, to make room for the longer length.
    @inlinable
    @discardableResult
    public mutating func writeMeasured<Failure: Error>(
        _ body: (inout ByteWriter) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        let start = bytes.count
        bytes.append(0)
        try body(&self)
        let length = bytes.count - start - 1
        guard length >= 0x80 else {
            bytes[start] = UInt8(length)
            return start + 1
        }
        var prefix = ByteWriter(capacity: 10)
        prefix.writeVarint(UInt64(length))
        bytes.replaceSubrange(start..<start + 1, with: prefix.bytes)
        return start + prefix.count
    }

    /// Writes `value` over the bytes at `offset`, which were written before.
    @inlinable
    public mutating func overwrite<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= bytes.count, "nothing was written there")
        for index in 0..<MemoryLayout<Value>.size {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }
}
