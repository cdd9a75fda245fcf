/// A text as a coding key.
private struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension ReplicatedMap: Encodable where Key: Encodable, Value: Encodable {
    /// Encodes the pairs in the order of their keys: an object if the keys are texts, else keys and values in turn.
    public func encode(to encoder: any Encoder) throws {
        if Key.self == String.self {
            var container = encoder.container(keyedBy: TextKey.self)
            for (key, value) in sorted() {
                guard let key = key as? String else { preconditionFailure("the keys are texts") }
                try container.encode(value, forKey: TextKey(stringValue: key))
            }
        } else {
            var container = encoder.unkeyedContainer()
            for (key, value) in sorted() {
                try container.encode(key)
                try container.encode(value)
            }
        }
    }
}

extension ReplicatedMap: Decodable where Key: Decodable, Value: Decodable {
    /// Decodes what `encode(to:)` wrote; the digest is computed anew.
    public init(from decoder: any Decoder) throws {
        self.init()
        if Key.self == String.self {
            let container = try decoder.container(keyedBy: TextKey.self)
            for key in container.allKeys {
                guard let name = key.stringValue as? Key else { preconditionFailure("the keys are texts") }
                updateValue(try container.decode(Value.self, forKey: key), forKey: name)
            }
        } else {
            var container = try decoder.unkeyedContainer()
            while !container.isAtEnd {
                let key = try container.decode(Key.self)
                updateValue(try container.decode(Value.self), forKey: key)
            }
        }
    }
}

extension ReplicatedMap: WireCodable where Key: WireCodable, Value: WireCodable {
    /// The number of pairs as a varint, then each key and its value.
    ///
    /// The order has no meaning and is another in every process: putting a million keys in order would take a second
    /// of every snapshot.
    @inlinable
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for (key, value) in table {
            key.encode(into: &writer)
            value.encode(into: &writer)
        }
    }

    /// Reads a number and that many pairs; a key that comes twice is refused.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount(from: bytes)
        self.init()
        // What the number promises need not be there, so not much is taken for a promise.
        table = PersistentTable(room: min(count, 1 << 16))
        for _ in 0..<count {
            let start = reader.offset
            let key = try Key(from: bytes, &reader)
            guard updateValue(try Value(from: bytes, &reader), forKey: key) == nil else {
                throw WireError(.outOfRange, at: start)
            }
        }
    }
}
