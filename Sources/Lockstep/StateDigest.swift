/// The digest of any encodable value, by a walk over what it encodes (PROTOCOL, R-51).
///
/// The digest is a sum modulo 2^128 of one part for each leaf. With `pair` and `hash` as ``Digest/pair(_:_:)`` and
/// ``Digest/hash(of:)`` define them:
///
/// - The root has the path `72 6F 6F 74` ("root", as a number).
/// - A keyed container at path p adds `pair(p, "object")`; the value under a key has the path `pair(p, hash(key))`.
/// - An unkeyed container at path p adds `pair(p, "list")`; its element i, from 0, has the path `pair(p, i)`.
/// - Nothing adds `pair(p, "none")`.
/// - A ``Digestible`` value adds `pair(p, contentDigest)`: numbers, texts, ``ReplicatedMap``.
/// - A set adds `pair(p, "set")` and for each element `pair(p, walk(element))`.
/// - A dictionary adds `pair(p, "map")`; the value under a key has the path `pair(p, walk(key))`.
///
/// The last two rules are why the order of a set or a dictionary does not matter, at any depth. They are found by their
/// type, before they encode themselves; a type whose `encode(to:)` hands its own encoder on to a set, or to a
/// dictionary whose keys are not texts, hides it and must be ``Digestible`` itself.
public enum StateDigest {
    /// The digest of `value`; constant time if it is ``Digestible`` in constant time.
    ///
    /// It never fails: a value that refuses to be encoded gets a part that says so, the same on every node.
    public static func digest(of value: some Encodable) -> Digest {
        let sum = DigestSum()
        sum.add(value, at: .rootMark)
        return sum.total
    }

    /// The same, for a type whose ``Digestible`` conformance is this walk.
    static func walk(_ value: some Encodable) -> Digest {
        let sum = DigestSum()
        sum.encode(value, at: .rootMark)
        return sum.total
    }
}

/// The sum of one walk.
final class DigestSum {
    private(set) var total = Digest.zero

    func add(_ part: Digest, at path: Digest) { total = total + .pair(path, part) }

    func add<Value: Encodable>(_ value: Value, at path: Digest) {
        if let value = value as? any Digestible {
            add(value.contentDigest, at: path)
        } else if let value = value as? any UnorderedContents {
            value.addContents(to: self, at: path)
        } else {
            encode(value, at: path)
        }
    }

    func encode(_ value: some Encodable, at path: Digest) {
        do {
            try value.encode(to: DigestEncoder(sum: self, path: path))
        } catch {
            add(.errorMark, at: path)
        }
    }
}

/// A container whose order is another in every process.
private protocol UnorderedContents {
    func addContents(to sum: DigestSum, at path: Digest)
}

extension Set: UnorderedContents where Element: Encodable {
    func addContents(to sum: DigestSum, at path: Digest) {
        sum.add(.setMark, at: path)
        for element in self { sum.add(StateDigest.digest(of: element), at: path) }
    }
}

extension Dictionary: UnorderedContents where Key: Encodable, Value: Encodable {
    func addContents(to sum: DigestSum, at path: Digest) {
        sum.add(.mapMark, at: path)
        for (key, value) in self { sum.add(value, at: .pair(path, StateDigest.digest(of: key))) }
    }
}

/// Hands out containers that add to the sum what is put into them.
private struct DigestEncoder: Encoder {
    let sum: DigestSum
    let path: Digest
    // Nothing here can fail at a place that would have to be named.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        sum.add(.objectMark, at: path)
        return KeyedEncodingContainer(Keyed(sum: sum, path: path))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        sum.add(.listMark, at: path)
        return Unkeyed(sum: sum, path: path)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(sum: sum, path: path) }

    struct Single: SingleValueEncodingContainer {
        let sum: DigestSum
        let path: Digest
        var codingPath: [any CodingKey] { [] }

        func encodeNil() { sum.add(.noneMark, at: path) }
        func encode<Value: Encodable>(_ value: Value) { sum.add(value, at: path) }
    }

    struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let sum: DigestSum
        let path: Digest
        var codingPath: [any CodingKey] { [] }

        func path(of key: any CodingKey) -> Digest { path(of: key.stringValue) }
        func path(of key: String) -> Digest { .pair(path, key.contentDigest) }
        func encodeNil(forKey key: Key) { sum.add(.noneMark, at: path(of: key)) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) { sum.add(value, at: path(of: key)) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            DigestEncoder(sum: sum, path: path(of: key)).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            DigestEncoder(sum: sum, path: path(of: key)).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { DigestEncoder(sum: sum, path: path(of: "super")) }
        func superEncoder(forKey key: Key) -> any Encoder { DigestEncoder(sum: sum, path: path(of: key)) }
    }

    struct Unkeyed: UnkeyedEncodingContainer {
        let sum: DigestSum
        let path: Digest
        private(set) var count = 0
        var codingPath: [any CodingKey] { [] }

        init(sum: DigestSum, path: Digest) {
            self.sum = sum
            self.path = path
        }

        private mutating func nextPath() -> Digest {
            defer { count += 1 }
            return .pair(path, count.contentDigest)
        }

        mutating func encodeNil() { sum.add(.noneMark, at: nextPath()) }
        mutating func encode<Value: Encodable>(_ value: Value) { sum.add(value, at: nextPath()) }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            DigestEncoder(sum: sum, path: nextPath()).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            DigestEncoder(sum: sum, path: nextPath()).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { DigestEncoder(sum: sum, path: nextPath()) }
    }
}
