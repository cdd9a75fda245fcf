internal import Lockstep

/// Puts what a value encodes into a ``JSONNode``, as long as there is room.
struct JSONTreeEncoder: Encoder {
    let growth: JSONGrowth
    let node: JSONNode
    let place: JSONPlace
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(growth: growth, node: node, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(growth: growth, node: node, place: place) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Single(growth: growth, node: node, place: place) }

    struct Single: SingleValueEncodingContainer {
        let growth: JSONGrowth
        let node: JSONNode
        let place: JSONPlace
        var codingPath: [any CodingKey] { [] }

        func encodeNil() throws {
            try growth.take(5, at: place)
            node.content = .literal("null")
        }
        func encode<Value: Encodable>(_ value: Value) throws { try growth.add(value, to: node, at: place) }
    }

    struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let growth: JSONGrowth
        let node: JSONNode
        let place: JSONPlace
        var codingPath: [any CodingKey] { [] }

        init(growth: JSONGrowth, node: JSONNode, place: JSONPlace) {
            (self.growth, self.node, self.place) = (growth, node, place)
            // A second container of one value goes on with the first.
            guard case .object = node.content else {
                node.content = .object([])
                return
            }
        }

        private func child(_ key: Key) throws -> JSONNode {
            try growth.take(key.stringValue.utf8.count + 4, at: place)
            let child = JSONNode()
            if case .object(var pairs) = node.content {
                // Taken out meanwhile, so that the pairs are not copied for each key.
                node.content = .nothing
                pairs.append((key.stringValue, child))
                node.content = .object(pairs)
            }
            return child
        }

        func encodeNil(forKey key: Key) throws { try child(key).content = .literal("null") }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            try growth.add(value, to: try child(key), at: place.key(key.stringValue))
        }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            KeyedEncodingContainer(
                Keyed<NestedKey>(growth: growth, node: nested(key), place: place.key(key.stringValue)))
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            Unkeyed(growth: growth, node: nested(key), place: place.key(key.stringValue))
        }
        func superEncoder() -> any Encoder {
            JSONTreeEncoder(growth: growth, node: Key(stringValue: "super").map(nested) ?? JSONNode(), place: place)
        }
        func superEncoder(forKey key: Key) -> any Encoder {
            JSONTreeEncoder(growth: growth, node: nested(key), place: place.key(key.stringValue))
        }

        /// These cannot throw; where there is no room, the first value that is put in finds that out.
        private func nested(_ key: Key) -> JSONNode {
            do { return try child(key) } catch { return JSONNode() }
        }
    }

    struct Unkeyed: UnkeyedEncodingContainer {
        let growth: JSONGrowth
        let node: JSONNode
        let place: JSONPlace
        private(set) var count = 0
        var codingPath: [any CodingKey] { [] }

        init(growth: JSONGrowth, node: JSONNode, place: JSONPlace) {
            (self.growth, self.node, self.place) = (growth, node, place)
            if case .list(let nodes) = node.content { count = nodes.count } else { node.content = .list([]) }
        }

        private mutating func child() throws -> (node: JSONNode, place: JSONPlace) {
            let at = place.element(count)
            // What is left out is the list's rest, not the element.
            try growth.take(2, at: place)
            let child = JSONNode()
            if case .list(var nodes) = node.content {
                // Taken out meanwhile, so that the list is not copied for each element.
                node.content = .nothing
                nodes.append(child)
                node.content = .list(nodes)
            }
            count += 1
            return (child, at)
        }

        mutating func encodeNil() throws { try child().node.content = .literal("null") }
        mutating func encode<Value: Encodable>(_ value: Value) throws {
            let (child, at) = try child()
            try growth.add(value, to: child, at: at)
        }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            let (child, at) = nested()
            return KeyedEncodingContainer(Keyed<NestedKey>(growth: growth, node: child, place: at))
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            let (child, at) = nested()
            return Unkeyed(growth: growth, node: child, place: at)
        }
        mutating func superEncoder() -> any Encoder {
            let (child, at) = nested()
            return JSONTreeEncoder(growth: growth, node: child, place: at)
        }

        private mutating func nested() -> (node: JSONNode, place: JSONPlace) {
            do { return try child() } catch { return (JSONNode(), place) }
        }
    }
}
