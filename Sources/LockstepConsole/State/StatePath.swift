internal import Lockstep

/// A way to a place of a state, written as ``StateChange/path`` is: `values.visits`, `values["page views"]`, `list[3]`.
package struct StatePath: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case key(String)
        case element(Int)
    }

    /// The most bytes of UTF-8.
    static let mostBytes = 1_024
    let steps: [Step]

    /// Reads a path; nil if it is none, or too long.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.mostBytes else { return nil }
        var reader = StatePathReader(rest: Substring(text))
        var steps: [Step] = []
        while !reader.isAtEnd {
            guard let step = reader.next(isFirst: steps.isEmpty) else { return nil }
            steps.append(step)
        }
        self.steps = steps
    }

    /// The path of a key below another path.
    static func text(_ path: String, key: String) -> String {
        let isPlain = !key.isEmpty && key.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        return isPlain ? (path.isEmpty ? key : "\(path).\(key)") : "\(path)[\(JSONText.quoted(key))]"
    }

    /// The number that stands there in a value; nil if there is none.
    ///
    /// Of a map whose keys are texts only the one value is looked at; of anything else, what it encodes up to there.
    package func number(in value: any Encodable) -> Double? { Selection(steps[...]).number(in: value) }
}

/// Reads the steps of a path.
private struct StatePathReader {
    var rest: Substring

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next(isFirst: Bool) -> StatePath.Step? {
        if take("[") { return inBrackets() }
        guard take(".") != isFirst else { return nil }
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        rest.removeFirst(name.count)
        return name.isEmpty ? nil : .key(String(name))
    }

    private mutating func inBrackets() -> StatePath.Step? {
        if take("\"") {
            guard let key = quoted(), take("]") else { return nil }
            return .key(key)
        }
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest.removeFirst(digits.count)
        guard let number = Int(digits), take("]") else { return nil }
        return .element(number)
    }

    /// The rest of a text in quotes, as JSON or Swift writes it.
    private mutating func quoted() -> String? {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                guard let escaped = escaped() else { return nil }
                text.unicodeScalars.append(escaped)
            default: text.append(character)
            }
        }
        return nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
        guard let letter = rest.popFirst() else { return nil }
        switch letter {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "0": return "\0"
        case "\"", "\\", "/", "'": return letter.unicodeScalars.first
        case "u":
            let isBraced = take("{")
            let digits = isBraced ? rest.prefix { $0 != "}" } : rest.prefix(4)
            rest.removeFirst(digits.count)
            guard !isBraced || take("}"), digits.count <= 8 else { return nil }
            return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
        default: return nil
        }
    }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }
}
