import Foundation

/// Finds the keys of a JSON object in its text, which no parser at hand gives the lines of.
struct JSONScan {
    private let bytes: [UInt8]
    private var place = 0
    private var line = 1

    /// The keys of a file that is one object, in their order; a key that is there twice is there twice.
    ///
    /// - Throws: ``CommandFailure`` with the line if it is no JSON, or no object.
    static func entries(of file: ConfigurationText) throws -> [ConfigurationEntry] {
        guard file.text.contains(where: { !$0.isWhitespace }) else {
            throw ConfigurationText.refused(file.path, line: 1, "it is empty: write {} for no keys")
        }
        let value: Any
        do {
            value = try JSONSerialization.jsonObject(with: Data(file.text.utf8), options: .fragmentsAllowed)
        } catch {
            throw refused(file, error)
        }
        guard value is [String: Any] else {
            throw ConfigurationText.refused(file.path, line: 1, "it has no keys: write {\"log-level\": \"debug\"}")
        }
        var scan = JSONScan(bytes: Array(file.text.utf8))
        return scan.keys()
    }

    /// A mistake in the text.
    ///
    /// The parser counts in bytes; where it does not say, the text ends too early.
    private static func refused(_ file: ConfigurationText, _ error: any Error) -> CommandFailure {
        let problem = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)"
        let bytes = file.text.utf8
        let place = problem.firstMatch(of: /around character ([0-9]+)/).flatMap { Int($0.1) } ?? bytes.count
        let line = 1 + bytes.prefix(place).count { $0 == UInt8(ascii: "\n") }
        return ConfigurationText.refused(file.path, line: line, "it is no JSON: \(problem)")
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// The keys of the outermost object.
    ///
    /// The text is an object without mistakes, which its parser has seen.
    private mutating func keys() -> [ConfigurationEntry] {
        var entries: [ConfigurationEntry] = []
        var depth = 0
        var isKeyNext = false
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isKeyNext = depth == 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): isKeyNext = depth == 1
            case UInt8(ascii: "\""):
                let (begin, line) = (place - 1, line)
                skipString()
                guard isKeyNext else { continue }
                isKeyNext = false
                entries.append(ConfigurationEntry(name: text(begin..<place), line: line, kind: kindOfValue()))
            default: continue
            }
        }
        return entries
    }

    private mutating func next() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        if bytes[place] == UInt8(ascii: "\n") { line += 1 }
        return bytes[place]
    }

    /// Goes on after the quote that ends a string.
    private mutating func skipString() {
        while let byte = next(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { _ = next() }
        }
    }

    /// A string with its quotes, as text.
    private func text(_ range: Range<Int>) -> String {
        // What stands in an object that was read can be read alone.
        (try? JSONDecoder().decode(String.self, from: Data(bytes[range]))) ?? ""
    }

    /// What the value is that follows a key and its colon; the value itself is not passed.
    private func kindOfValue() -> ConfigurationEntry.Kind {
        let rest = bytes[place...].drop { $0 == UInt8(ascii: ":") || UnicodeScalar($0).properties.isWhitespace }
        switch rest.first {
        case UInt8(ascii: "{"): return .other
        case UInt8(ascii: "["): return .list
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .truth
        case UInt8(ascii: "n"): return .nothing
        default: return .scalar
        }
    }
}
