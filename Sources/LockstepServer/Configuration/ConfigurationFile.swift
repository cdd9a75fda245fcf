import Configuration
import Foundation

/// A configuration file whose keys and values are right.
package struct ConfigurationFile: Sendable {
    /// What the file says of a key.
    struct Value: Sendable, Equatable {
        let values: [String]
        let line: Int
    }

    /// Where the file is, as it was named.
    package let path: String
    private let values: [String: Value]

    /// What the file says of a key; nil: nothing.
    subscript(key: ConfigurationKey) -> Value? { values[key.name] }

    /// Reads what a file says, and checks all of it.
    ///
    /// - Throws: ``CommandFailure`` that names the file, the line and the key.
    package init(_ file: ConfigurationText, keys: ConfigurationKeys) throws {
        path = file.path
        let entries = try ConfigurationEntry.all(of: file)
        // Kinds are checked before the file is read as values: a mapping of mappings could be made to grow without end.
        let known = try entries.map { entry in
            guard let key = keys[entry.name] else { throw Self.unknown(entry, file, keys) }
            if let problem = Self.problem(of: entry, key) { throw Self.refused(entry, file, problem, key, keys) }
            return (entry, key)
        }
        guard !known.isEmpty else {
            values = [:]
            return
        }
        let snapshot = try Self.snapshot(of: file)
        values = try known.reduce(into: [:]) { values, next in
            let (entry, key) = next
            guard let words = Self.values(of: key, entry, in: snapshot), !words.contains("") else {
                throw Self.refused(entry, file, "its value cannot be used", key, keys)
            }
            if let problem = keys.problem(key, words) { throw Self.refused(entry, file, problem) }
            values[key.name] = Value(values: words, line: entry.line)
        }
    }

    private static func unknown(
        _ entry: ConfigurationEntry, _ file: ConfigurationText, _ keys: ConfigurationKeys
    ) -> CommandFailure {
        let near = NearName.of(entry.name, among: keys.names).map { "; did you mean \($0)?" } ?? "."
        return refused(entry, file, "there is no such key\(near) The keys: \(keys.names.joined(separator: ", "))")
    }

    private static func refused(
        _ entry: ConfigurationEntry, _ file: ConfigurationText, _ reason: String
    ) -> CommandFailure {
        ConfigurationText.refused(file.path, line: entry.line, key: entry.name, reason)
    }

    private static func refused(
        _ entry: ConfigurationEntry, _ file: ConfigurationText, _ reason: String, _ key: ConfigurationKey,
        _ keys: ConfigurationKeys
    ) -> CommandFailure {
        refused(entry, file, "\(reason); it is \(keys.allowed(key))")
    }

    /// What is wrong with the kind of a value.
    private static func problem(of entry: ConfigurationEntry, _ key: ConfigurationKey) -> String? {
        switch (entry.kind, key.kind) {
        case (.nothing, _): "it has no value"
        case (.other, _): "it has more below it"
        case (.list, .truth), (.list, .value): "it has a list"
        case (.truth, .value), (.truth, .values): "it has true or false, which as a text is in quotes"
        case (.scalar, .truth): "it has a text or a number"
        case (.truth, .truth), (.scalar, .value), (.scalar, .values), (.list, .values): nil
        }
    }

    private static func snapshot(of file: ConfigurationText) throws -> any ConfigSnapshot {
        let data = Data(file.text.utf8)
        do {
            return switch file.format {
            case .json: try JSONSnapshot(data: data.bytes, providerName: file.path, parsingOptions: .default)
            case .yaml: try YAMLSnapshot(data: data.bytes, providerName: file.path, parsingOptions: .default)
            }
        } catch {
            throw ConfigurationText.refused(
                file.path, "\(error)".split(whereSeparator: \.isNewline).joined(separator: " "))
        }
    }

    /// The words of a value; nil if the library cannot give it as what its kind says.
    private static func values(
        of key: ConfigurationKey, _ entry: ConfigurationEntry, in snapshot: any ConfigSnapshot
    ) -> [String]? {
        func value(_ type: ConfigType) -> ConfigContent? {
            // Of another type than the one that is asked for: the next is.
            try? snapshot.value(forKey: AbsoluteConfigKey([entry.name]), type: type).value?.content
        }
        if entry.kind == .list {
            guard case .stringArray(let words) = value(.stringArray) else { return nil }
            return words
        }
        if key.kind == .truth {
            guard case .bool(let isOn) = value(.bool) else { return nil }
            return ["\(isOn)"]
        }
        if case .string(let word) = value(.string) { return [word] }
        if case .int(let number) = value(.int) { return ["\(number)"] }
        guard case .double(let number) = value(.double) else { return nil }
        return ["\(number)"]
    }
}
