import Foundation
import Yams

/// A key of a configuration file: where it stands, and what kind of value it has there.
package struct ConfigurationEntry: Equatable, Sendable {
    /// The kinds of values that a file can have.
    package enum Kind: Sendable {
        case scalar
        case truth
        case nothing
        case list
        case other
    }

    /// The key as the file has it.
    package let name: String
    /// The line, from 1.
    package let line: Int
    /// What its value is.
    package let kind: Kind

    /// The keys of a file in their order.
    ///
    /// - Throws: ``CommandFailure`` with the line if the file is not of its format, or has a key twice.
    package static func all(of file: ConfigurationText) throws -> [ConfigurationEntry] {
        let entries = file.format == .json ? try JSONScan.entries(of: file) : try yaml(file)
        var lines: [String: Int] = [:]
        for entry in entries {
            guard let first = lines.updateValue(entry.line, forKey: entry.name) else { continue }
            throw twice(entry.name, file, line: entry.line, first: first)
        }
        return entries
    }

    private static func twice(_ name: String, _ file: ConfigurationText, line: Int, first: Int) -> CommandFailure {
        ConfigurationText.refused(file.path, line: line, key: name, "it is in line \(first) already; keep one")
    }

    private static func yaml(_ file: ConfigurationText) throws -> [ConfigurationEntry] {
        do {
            // A file of comments alone has no key.
            guard let root = try Yams.compose(yaml: file.text) else { return [] }
            if root.scalar != nil, root.null != nil { return [] }
            guard case .mapping(let mapping) = root else {
                throw ConfigurationText.refused(
                    file.path, line: root.mark?.line ?? 1, "it has no keys: write lines such as \"log-level: debug\"")
            }
            return try mapping.map { key, value in
                let line = key.mark?.line ?? 1
                guard let name = key.scalar?.string else {
                    throw ConfigurationText.refused(file.path, line: line, "a key is a word")
                }
                return ConfigurationEntry(name: name, line: line, kind: kind(of: value))
            }
        } catch let error as YamlError {
            throw failure(of: error, file)
        }
    }

    private static func kind(of value: Yams.Node) -> Kind {
        switch value {
        case .scalar(let scalar):
            guard scalar.style == .plain else { return .scalar }
            if value.null != nil { return .nothing }
            return value.bool != nil ? .truth : .scalar
        case .sequence(let elements): return elements.allSatisfy { $0.scalar != nil } ? .list : .other
        case .mapping, .alias: return .other
        }
    }

    private static func failure(of error: YamlError, _ file: ConfigurationText) -> CommandFailure {
        func refused(_ line: Int?, _ problem: String) -> CommandFailure {
            ConfigurationText.refused(file.path, line: line, "it is no YAML: \(problem)")
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return refused(mark.line, problem)
        case .reader(let problem, let offset, _, _):
            let line = offset.map { 1 + file.text.prefix($0).count { $0.isNewline } }
            return refused(line, problem)
        case .duplicatedKeysInMapping(let names, let context):
            let name = names.first ?? ""
            // The parser says where the mapping begins, not where the keys are.
            let lines = linesOfKey(name, in: file.text)
            return twice(name, file, line: lines.dropFirst().first ?? context.mark.line, first: lines.first ?? 1)
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return refused(nil, "\(error)".split(whereSeparator: \.isNewline).joined(separator: " "))
        }
    }

    /// The lines that begin with a key, from 1.
    private static func linesOfKey(_ name: String, in text: String) -> [Int] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            let words = line.split(separator: ":", maxSplits: 1)
            guard words.count == 2 || line.hasSuffix(":"), let word = words.first else { return nil }
            return word.trimmingCharacters(in: CharacterSet(charactersIn: " \"'")) == name ? index + 1 : nil
        }
    }
}
