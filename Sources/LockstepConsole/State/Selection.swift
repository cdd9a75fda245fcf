internal import Lockstep

/// Looks for the number at a path in what a value encodes, and ends the encoding when it has met it.
final class Selection {
    // A value that encodes itself into itself would never end.
    private static let greatestDepth = 100
    private let steps: ArraySlice<StatePath.Step>
    private let depth: Int
    private var found: Double?

    /// The value was met, so nothing more of it has to be encoded.
    private struct Met: Error {}

    init(_ steps: ArraySlice<StatePath.Step>, depth: Int = 0) {
        self.steps = steps
        self.depth = depth
    }

    func number(in value: any Encodable) -> Double? {
        guard let step = steps.first else {
            if let number = value as? any BinaryInteger { return Double(number) }
            if let number = value as? Double { return number }
            if let number = value as? Float { return Double(number) }
            return encoded(value)
        }
        if let map = value as? any TextKeyed {
            guard case .key(let key) = step, let value = map.value(ofText: key) else { return nil }
            return Selection(steps.dropFirst(), depth: depth + 1).number(in: value)
        }
        return encoded(value)
    }

    private func encoded(_ value: any Encodable) -> Double? {
        // A text, a list and what else is no number encode themselves in one value, or in none that is looked for.
        guard depth < Self.greatestDepth, !(value is String), !(value is Bool) else { return nil }
        do { try value.encode(to: Level(selection: self, steps: steps)) } catch is Met {
            return found
        } catch {
            return nil
        }
        return found
    }

    /// One level of the encoding, on the way or beside it.
    private struct Level: Encoder {
        let selection: Selection
        /// Nil beside the way, where nothing is looked for.
        let steps: ArraySlice<StatePath.Step>?
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            KeyedEncodingContainer(Keyed(level: self))
        }
        func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(level: self) }
        func singleValueContainer() -> any SingleValueEncodingContainer { Single(level: self) }

        /// The level below, if the way leads there.
        func below(_ step: StatePath.Step) -> Level {
            Level(selection: selection, steps: steps?.first == step ? steps?.dropFirst() : nil)
        }

        /// A value on this level; the encoding ends if it is the one that the way leads to.
        func meet(_ value: any Encodable) throws {
            guard let steps else { return }
            selection.found = Selection(steps, depth: selection.depth + 1).number(in: value)
            throw Met()
        }
    }

    private struct Single: SingleValueEncodingContainer {
        let level: Level
        var codingPath: [any CodingKey] { [] }
        func encodeNil() {}
        func encode<Value: Encodable>(_ value: Value) throws { try level.meet(value) }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let level: Level
        var codingPath: [any CodingKey] { [] }

        private func below(_ key: any CodingKey) -> Level { level.below(.key(key.stringValue)) }
        func encodeNil(forKey key: Key) {}
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try below(key).meet(value) }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> { below(key).container(keyedBy: keyType) }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { below(key).unkeyedContainer() }
        func superEncoder() -> any Encoder { level.below(.key("super")) }
        func superEncoder(forKey key: Key) -> any Encoder { below(key) }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let level: Level
        private(set) var count = 0
        var codingPath: [any CodingKey] { [] }

        init(level: Level) { self.level = level }

        private mutating func below() -> Level {
            defer { count += 1 }
            return level.below(.element(count))
        }
        mutating func encodeNil() { count += 1 }
        mutating func encode<Value: Encodable>(_ value: Value) throws { try below().meet(value) }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> { below().container(keyedBy: keyType) }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { below().unkeyedContainer() }
        mutating func superEncoder() -> any Encoder { below() }
    }
}
