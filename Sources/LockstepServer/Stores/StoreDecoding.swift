import LockstepCore

/// Reads bytes of a store by the types of its reactor; what they cannot read is not guessed at.
package struct StoreDecoding {
    /// The reactor's type.
    let types: any Reactor.Type

    package init(types: any Reactor.Type) { self.types = types }

    /// A value that could be read.
    struct Decoded {
        /// Its JSON if that is how it is written, else Swift's description.
        let text: String
        /// What its `Codable` writes as JSON; nil if that cannot be.
        let json: JSONValue?
    }

    func action(_ bytes: [UInt8]) -> Decoded? {
        func decode<R: Reactor>(_ reactor: R.Type) -> Decoded? { Self.value(bytes, R.actionCoding) }
        return decode(types)
    }

    func mutation(_ bytes: [UInt8]) -> Decoded? {
        func decode<R: Reactor>(_ reactor: R.Type) -> Decoded? { Self.value(bytes, R.mutationCoding) }
        return decode(types)
    }

    func reply(_ bytes: [UInt8]) -> Decoded? {
        func decode<R: Reactor>(_ reactor: R.Type) -> Decoded? { Self.value(bytes, R.replyCoding) }
        return decode(types)
    }

    private static func value<Value: Codable>(_ bytes: [UInt8], _ coding: Coding<Value>) -> Decoded? {
        // Bytes of another version are no value; they are shown as they are.
        guard let value = try? coding.decoded(bytes) else { return nil }
        let isJSON = coding.name == "json"
        // A number that JSON does not have: only the text is shown.
        let json = try? JSONValue(of: value)
        return Decoded(text: isJSON ? String(decoding: bytes, as: UTF8.self) : "\(value)", json: json)
    }
}
