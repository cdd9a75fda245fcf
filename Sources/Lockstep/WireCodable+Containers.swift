extension Optional: WireCodable where Wrapped: WireCodable {
    /// One byte, 0 for nothing or 1, then the value.
    @inlinable
    public func encode(into writer: inout ByteWriter) {
        (self != nil).encode(into: &writer)
        self?.encode(into: &writer)
    }

    /// Reads whether there is a value, and the value.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self = try Bool(from: bytes, &reader) ? try Wrapped(from: bytes, &reader) : nil
    }
}

extension ByteReader {
    /// Reads the number of elements of a container and refuses one that cannot fit, at one byte an element.
    @inlinable
    public mutating func readCount(from bytes: RawSpan) throws(WireError) -> Int {
        let start = offset
        let count = try readVarint(from: bytes)
        guard count <= UInt64(remaining) else { throw WireError(.outOfRange, at: start) }
        return Int(count)
    }
}

extension Array: WireCodable where Element: WireCodable {
    /// The number of elements as a varint, then the elements.
    @inlinable
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for element in self { element.encode(into: &writer) }
    }

    /// Reads a number and that many elements.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount(from: bytes)
        self = []
        // A hostile number costs at most what the sender sent: elements are larger in memory than on the wire.
        reserveCapacity(Swift.min(count, 4_096))
        for _ in 0..<count { append(try Element(from: bytes, &reader)) }
    }
}

extension Set: WireCodable where Element: WireCodable & Comparable {
    /// The number of elements as a varint, then the elements in order.
    @inlinable
    public func encode(into writer: inout ByteWriter) { sorted().encode(into: &writer) }

    /// Reads a number and that many elements; one that comes twice is refused.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount(from: bytes)
        self = []
        for _ in 0..<count {
            let start = reader.offset
            guard insert(try Element(from: bytes, &reader)).inserted else { throw WireError(.outOfRange, at: start) }
        }
    }
}

extension Dictionary: WireCodable where Key: WireCodable & Comparable, Value: WireCodable {
    /// The number of pairs as a varint, then each key and its value, in the order of the keys.
    @inlinable
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for (key, value) in sorted(by: { $0.key < $1.key }) {
            key.encode(into: &writer)
            value.encode(into: &writer)
        }
    }

    /// Reads a number and that many pairs; a key that comes twice is refused.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount(from: bytes)
        self = [:]
        for _ in 0..<count {
            let start = reader.offset
            let key = try Key(from: bytes, &reader)
            guard updateValue(try Value(from: bytes, &reader), forKey: key) == nil else {
                throw WireError(.outOfRange, at: start)
            }
        }
    }
}
