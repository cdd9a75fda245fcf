internal import Foundation
internal import Lockstep

/// A value as JSON that ends at a bound: what has no room is left out, and what remains is JSON all the same.
///
/// No more of the value is encoded than is kept, so the cost is that of the bound, not of the value. Of a map whose keys
/// are texts the first pairs in the order of their keys are kept, which takes a look at all keys.
package struct BoundedJSON {
    /// The JSON, in one line, with the fields in the order in which they are encoded.
    package let text: String
    /// What was left out, at most 16 places.
    package let cuts: [Cut]

    /// A place where something was left out.
    package struct Cut: Encodable, Equatable {
        /// The keys and numbers that lead to it, as ``StatePath`` reads them.
        package var path: String
        /// How many pairs there are, if that is known.
        package var count: Int?

        package init(path: String, count: Int?) {
            self.path = path
            self.count = count
        }
    }

    /// Encodes at most about `limit` bytes of a value.
    package init(_ value: any Encodable, limit: Int) {
        let growth = JSONGrowth(limit: limit)
        let root = JSONNode()
        do {
            try growth.add(value, to: root, at: JSONPlace())
        } catch is JSONIsFull {
            // What is there is what had room.
        } catch {
            root.content = .literal(JSONText.quoted("it cannot be encoded: \(error)"))
        }
        var text = ""
        root.write(into: &text)
        self.text = text
        cuts = growth.cuts
    }

    /// Whether something was left out.
    package var isCut: Bool { !cuts.isEmpty }
}

/// The rest of a value has no room.
struct JSONIsFull: Error {}

/// A place of a JSON value that grows; containers of an encoder may be filled in any order.
final class JSONNode {
    enum Content {
        case nothing
        /// A number, a text in quotes, `true`, `false` or `null`.
        case literal(String)
        case list([JSONNode])
        case object([(key: String, node: JSONNode)])
    }

    var content = Content.nothing

    func write(into text: inout String) {
        switch content {
        case .nothing: text += "{}"
        case .literal(let literal): text += literal
        case .list(let nodes):
            text += "["
            for (index, node) in nodes.enumerated() {
                if index > 0 { text += "," }
                node.write(into: &text)
            }
            text += "]"
        case .object(let pairs):
            text += "{"
            for (index, pair) in pairs.enumerated() {
                if index > 0 { text += "," }
                text += JSONText.quoted(pair.key) + ":"
                pair.node.write(into: &text)
            }
            text += "}"
        }
    }
}

/// Where an encoding is.
struct JSONPlace {
    var path = ""
    var depth = 0

    func key(_ key: String) -> JSONPlace { JSONPlace(path: StatePath.text(path, key: key), depth: depth + 1) }
    func element(_ number: Int) -> JSONPlace { JSONPlace(path: "\(path)[\(number)]", depth: depth + 1) }
}

/// The room that one encoding has left.
final class JSONGrowth {
    // A value that encodes itself into itself would never end.
    private static let greatestDepth = 100
    private static let mostCuts = 16
    private(set) var cuts: [BoundedJSON.Cut] = []
    private var left: Int

    init(limit: Int) { left = limit }

    /// Takes room; where there is none, what comes next is left out.
    func take(_ bytes: Int, at place: JSONPlace, count: Int? = nil) throws {
        guard left >= bytes, place.depth < Self.greatestDepth else {
            cut(at: place, count: count)
            throw JSONIsFull()
        }
        left -= bytes
    }

    private func cut(at place: JSONPlace, count: Int?) {
        left = 0
        if cuts.count < Self.mostCuts, cuts.last?.path != place.path {
            cuts.append(BoundedJSON.Cut(path: place.path, count: count))
        }
    }

    func add(_ value: any Encodable, to node: JSONNode, at place: JSONPlace) throws {
        if let text = value as? String { return try add(text: text, to: node, at: place) }
        if let literal = JSONText.literal(value) {
            try take(literal.utf8.count + 1, at: place)
            node.content = .literal(literal)
        } else if let map = value as? any TextKeyed {
            try add(pairs: map, to: node, at: place)
        } else {
            try value.encode(to: JSONTreeEncoder(growth: self, node: node, place: place))
        }
    }

    private func add(text: String, to node: JSONNode, at place: JSONPlace) throws {
        guard text.utf8.count + 3 > left else {
            left -= text.utf8.count + 3
            node.content = .literal(JSONText.quoted(text))
            return
        }
        // The beginning of a long text says more than nothing.
        node.content = .literal(JSONText.quoted(String(text.prefix(max(0, left / 4))) + "…"))
        cut(at: place, count: nil)
        throw JSONIsFull()
    }

    private func add(pairs map: any TextKeyed, to node: JSONNode, at place: JSONPlace) throws {
        node.content = .object([])
        // A pair takes six bytes at least, so more of them have no room in any case.
        let first = map.firstPairs(left / 6 + 1)
        var pairs: [(key: String, node: JSONNode)] = []
        defer { node.content = .object(pairs) }
        for (key, value) in first {
            try take(key.utf8.count + 4, at: place, count: map.pairCount)
            let child = JSONNode()
            pairs.append((key, child))
            do { try add(value, to: child, at: place.key(key)) } catch {
                // A pair without room for its value says nothing.
                if case .nothing = child.content { pairs.removeLast() }
                cut(at: place, count: map.pairCount)
                throw error
            }
        }
        if first.count < map.pairCount { try take(left + 1, at: place, count: map.pairCount) }
    }
}

/// How texts, numbers and the like are written in JSON.
enum JSONText {
    static func literal(_ value: any Encodable) -> String? {
        switch value {
        case let flag as Bool: flag ? "true" : "false"
        case let number as any BinaryInteger: "\(number)"
        case let number as Double: real(number)
        case let number as Float: real(Double(number))
        case let data as Data: data.count <= 4_096 ? quoted(data.base64EncodedString()) : nil
        case let address as URL: quoted(address.absoluteString)
        case let number as Decimal: "\(number)"
        default: nil
        }
    }

    /// A number, or a text for what JSON has no number for.
    private static func real(_ number: Double) -> String {
        number.isFinite ? "\(number)" : quoted("\(number)")
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            default:
                if scalar.value < 0x20 || scalar.value == 0x2028 || scalar.value == 0x2029 {
                    let digits = String(scalar.value, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    quoted.unicodeScalars.append(scalar)
                }
            }
        }
        return quoted + "\""
    }
}
