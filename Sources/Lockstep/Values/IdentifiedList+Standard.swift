public import HashTreeCollections

extension IdentifiedList: RandomAccessCollection {
    /// 0.
    @inlinable
    public var startIndex: Int { 0 }
    /// The number of elements.
    @inlinable
    public var endIndex: Int { count }
    /// How many elements there are; constant time.
    @inlinable
    public var count: Int { order.count }
    /// Whether there are none; constant time.
    @inlinable
    public var isEmpty: Bool { count == 0 }

    /// The element at `index`, which must be in the list as an array's must: O(log n).
    ///
    /// A reducer addresses elements by id, or asks ``id(at:)``, which does not trap.
    @inlinable
    public subscript(index: Int) -> Element {
        guard let id = id(at: index), let slot = slots[id] else {
            preconditionFailure("index \(index) is outside a list of \(count) elements")
        }
        return slot.element
    }

    /// Goes through the elements in order: O(n log n) in all.
    @inlinable
    public func makeIterator() -> Array<Element>.Iterator { elements.makeIterator() }
}

extension IdentifiedList: Equatable where Element: Equatable {
    /// Whether both have equal elements in the same order: constant time if their digests differ, else O(n log n).
    public static func == (left: Self, right: Self) -> Bool {
        left.contentDigest == right.contentDigest && left.count == right.count && left.elements == right.elements
    }
}

extension IdentifiedList: Hashable where Element: Hashable {
    /// Takes the elements in order: O(n log n).
    public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension IdentifiedList: ExpressibleByArrayLiteral {
    /// Makes a list of the elements; of several with one id the first stays.
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension IdentifiedList: Codable {
    /// Encodes the elements in order, as an array does.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }

    /// Decodes an array; an id that comes twice is refused.
    public init(from decoder: any Decoder) throws {
        self.init()
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            guard append(try container.decode(Element.self)) else { throw repeatedKey(decoder) }
        }
    }
}

extension IdentifiedList: WireCodable where Element: WireCodable {
    /// The number of elements as a varint, then the elements in order.
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for element in self { element.encode(into: &writer) }
    }

    /// Reads a number and that many elements; an id that comes twice is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init()
        for _ in 0..<(try reader.readCount(from: bytes)) {
            let start = reader.offset
            guard append(try Element(from: bytes, &reader)) else { throw WireError(.outOfRange, at: start) }
        }
    }
}

extension IdentifiedList: CustomStringConvertible {
    /// The elements in order.
    public var description: String { elements.description }
}
