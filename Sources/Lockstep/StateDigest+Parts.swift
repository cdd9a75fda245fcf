package import LockstepCore

/// One part of a state: where it stands in what the state encodes, and what is there.
package struct StatePart: Hashable, Sendable {
    /// The keys and indices that lead to it: `votes["Ada"]`, `items[3].price`; empty for the state itself.
    package var path: String
    /// The digest of what is there.
    package var content: Digest
    /// What it adds to the state's digest; `nil` for what lies inside a value that adds its own digest as one.
    package var summand: Digest?
    /// What is there in words, if it is one number, text or the like, or nothing.
    package var value: String?

    package init(path: String, content: Digest, summand: Digest?, value: String?) {
        self.path = path
        self.content = content
        self.summand = summand
        self.value = value
    }
}

extension StateDigest {
    /// What the digest of `value` is made of, in the order of the walk, to find out where two states differ.
    ///
    /// The sum of the summands is ``digest(of:)``. Values that are ``Digestible`` as a whole are walked all the same,
    /// so that a difference in one pair of a ``ReplicatedMap`` has that pair's path.
    package static func parts(of value: some Encodable) -> [StatePart] {
        let list = PartList()
        list.add(value, at: PartPlace(text: "", digest: .rootMark))
        return list.parts
    }
}

/// Where a walk is.
struct PartPlace {
    var text: String
    /// Nil inside a value whose digest was added as one.
    var digest: Digest?
    var depth = 0

    func key(_ key: String) -> PartPlace {
        let isPlain = !key.isEmpty && key.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        let step = isPlain ? (text.isEmpty ? key : ".\(key)") : "[\(key.debugDescription)]"
        return PartPlace(
            text: text + step, digest: digest.map { Digest.pair($0, key.contentDigest) }, depth: depth + 1)
    }

    func element(_ index: Int) -> PartPlace {
        PartPlace(
            text: "\(text)[\(index)]", digest: digest.map { Digest.pair($0, index.contentDigest) }, depth: depth + 1)
    }

    func value(ofKey key: some Encodable) -> PartPlace {
        PartPlace(
            text: "\(text)[\(partName(of: key))]", digest: digest.map { .pair($0, StateDigest.digest(of: key)) },
            depth: depth + 1)
    }

    var inside: PartPlace { PartPlace(text: text, digest: nil, depth: depth + 1) }
}

/// How a value that has no parts is written.
private func partLiteral(_ value: Any) -> String? {
    switch value {
    case let text as String: text.debugDescription
    case let flag as Bool: "\(flag)"
    case let number as any BinaryInteger: "\(number)"
    case let number as Double: "\(number)"
    case let number as Float: "\(number)"
    default: nil
    }
}

/// How a key is written: as what it encodes, if that is one number or text.
private func partName(of key: some Encodable) -> String {
    if let literal = partLiteral(key) { return literal }
    let list = PartList()
    list.add(key, at: PartPlace(text: "", digest: nil))
    let oneValue = list.parts.allSatisfy { $0.path.isEmpty } ? list.parts.last?.value : nil
    return oneValue ?? String(describing: StateDigest.digest(of: key))
}

/// The parts that a walk has seen.
final class PartList {
    // A value that encodes itself into itself would never end.
    private static let greatestDepth = 200
    private(set) var parts: [StatePart] = []
    /// Values that are ``Digestible`` as a whole and were not walked, and the indices of their parts.
    private(set) var wholes: [(index: Int, place: PartPlace, value: any Encodable)] = []
    private let isLazy: Bool
    private let limit: Int
    /// More parts were there than it may hold.
    private(set) var isCut = false

    /// A lazy list does not look into values that are ``Digestible`` as a whole; `limit` is the most parts.
    init(isLazy: Bool = false, limit: Int = .max) {
        self.isLazy = isLazy
        self.limit = limit
    }

    /// Walks into a value that a lazy list left out.
    func addInside(of whole: any Encodable, at place: PartPlace) { walk(whole, at: place.inside) }

    /// The same without parts that `other` certainly has too, as far as they can be told without a look.
    func addInside(of whole: any Encodable, at place: PartPlace, differingFrom other: any Encodable) {
        guard let whole = whole as? any UnorderedParts else { return addInside(of: whole, at: place) }
        whole.addParts(to: self, at: place.inside, differingFrom: other)
    }

    func add(_ content: Digest, _ value: String?, at place: PartPlace) {
        parts.append(
            StatePart(
                path: place.text, content: content, summand: place.digest.map { .pair($0, content) }, value: value))
    }

    /// Takes the same ways as the digest's own walk.
    func add<Value: Encodable>(_ value: Value, at place: PartPlace) {
        guard place.depth < Self.greatestDepth else { return }
        guard parts.count < limit else {
            isCut = true
            return
        }
        if let digestible = value as? any Digestible {
            let literal = partLiteral(value)
            add(digestible.contentDigest, literal, at: place)
            guard literal == nil else { return }
            if isLazy {
                wholes.append((parts.count - 1, place, value))
            } else {
                walk(value, at: place.inside)
            }
        } else {
            walk(value, at: place)
        }
    }

    private func walk<Value: Encodable>(_ value: Value, at place: PartPlace) {
        if let value = value as? any UnorderedParts {
            value.addParts(to: self, at: place)
        } else {
            do {
                try value.encode(to: PartEncoder(list: self, place: place))
            } catch {
                add(.errorMark, "what cannot be encoded", at: place)
            }
        }
    }
}

/// A container whose values are known by their keys, and whose order is another in every process or has no meaning.
protocol UnorderedParts {
    func addParts(to list: PartList, at place: PartPlace)
    /// The same without parts that `other` certainly has too; by default all.
    func addParts(to list: PartList, at place: PartPlace, differingFrom other: Any)
}

extension UnorderedParts {
    func addParts(to list: PartList, at place: PartPlace, differingFrom other: Any) { addParts(to: list, at: place) }
}

extension Set: UnorderedParts where Element: Encodable {
    func addParts(to list: PartList, at place: PartPlace) {
        list.add(.setMark, nil, at: place)
        let elements = map { (place: place.value(ofKey: $0), digest: StateDigest.digest(of: $0)) }
        for element in elements.sorted(by: { $0.place.text < $1.place.text }) {
            var at = element.place
            at.digest = place.digest
            list.add(element.digest, "there", at: at)
        }
    }
}

extension Dictionary: UnorderedParts where Key: Encodable, Value: Encodable {
    func addParts(to list: PartList, at place: PartPlace) {
        list.add(.mapMark, nil, at: place)
        let pairs = map { (place: place.value(ofKey: $0), value: $1) }
        for pair in pairs.sorted(by: { $0.place.text < $1.place.text }) { list.add(pair.value, at: pair.place) }
    }
}

extension ReplicatedMap: UnorderedParts where Key: Encodable, Value: Encodable {
    func addParts(to list: PartList, at place: PartPlace) {
        forEachSorted { key, value in list.add(value, at: place.value(ofKey: key)) }
    }

    func addParts(to list: PartList, at place: PartPlace, differingFrom other: Any) {
        guard let other = other as? Self else { return addParts(to: list, at: place) }
        let pairs = table.pairs(notSharedWith: other.table).sorted { $0.key < $1.key }
        for (key, value) in pairs { list.add(value, at: place.value(ofKey: key)) }
    }
}

/// Hands out containers that write down what is put into them.
private struct PartEncoder: Encoder {
    let list: PartList
    let place: PartPlace
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        list.add(.objectMark, nil, at: place)
        return KeyedEncodingContainer(Keyed(list: list, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        list.add(.listMark, nil, at: place)
        return Unkeyed(list: list, place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(list: list, place: place) }

    struct Single: SingleValueEncodingContainer {
        let list: PartList
        let place: PartPlace
        var codingPath: [any CodingKey] { [] }

        func encodeNil() { list.add(.noneMark, "nothing", at: place) }
        func encode<Value: Encodable>(_ value: Value) { list.add(value, at: place) }
    }

    struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let list: PartList
        let place: PartPlace
        var codingPath: [any CodingKey] { [] }

        private func at(_ key: any CodingKey) -> PartPlace { place.key(key.stringValue) }
        func encodeNil(forKey key: Key) { list.add(.noneMark, "nothing", at: at(key)) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) { list.add(value, at: at(key)) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            PartEncoder(list: list, place: at(key)).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            PartEncoder(list: list, place: at(key)).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { PartEncoder(list: list, place: place.key("super")) }
        func superEncoder(forKey key: Key) -> any Encoder { PartEncoder(list: list, place: at(key)) }
    }

    struct Unkeyed: UnkeyedEncodingContainer {
        let list: PartList
        let place: PartPlace
        private(set) var count = 0
        var codingPath: [any CodingKey] { [] }

        init(list: PartList, place: PartPlace) {
            self.list = list
            self.place = place
        }

        private mutating func next() -> PartPlace {
            defer { count += 1 }
            return place.element(count)
        }

        mutating func encodeNil() { list.add(.noneMark, "nothing", at: next()) }
        mutating func encode<Value: Encodable>(_ value: Value) { list.add(value, at: next()) }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            PartEncoder(list: list, place: next()).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            PartEncoder(list: list, place: next()).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { PartEncoder(list: list, place: next()) }
    }
}
