import Foundation

/// One thing that a node's configuration says: an option or a flag of `serve`, under the option's own name.
package struct ConfigurationKey: Sendable, Hashable {
    /// What a value has to be.
    package enum Kind: Sendable, Hashable {
        /// `true` or `false`: a flag, which `true` puts on the command line.
        case truth
        /// One value.
        case value
        /// Any number of values: an option that may be repeated.
        case values
    }

    /// Its name, as on the command line without the dashes: `replica-of`.
    package let name: String
    /// What a value has to be.
    package let kind: Kind
    /// All words that give it on the command line, with their dashes.
    let words: [String]
    /// The value where none is given; nil: it is then not set.
    package let usual: String?
    /// Its line of help.
    package let help: String

    /// Whether a running node takes a new value from its file.
    ///
    /// Only the log's level: everything else is decided when the node and its stores are made.
    package var changesWhileRunning: Bool { name == Self.logLevel }

    static let logLevel = "log-level"

    /// The words of a command line that say this.
    func arguments(_ values: [String]) -> [String] {
        guard kind == .truth else { return values.map { "--\(name)=\($0)" } }
        if values == ["true"] { return ["--\(name)"] }
        // Only a flag with two names can be taken back.
        return words.contains("--no-\(name)") ? ["--no-\(name)"] : []
    }
}

/// All keys of a command that serves a node: its options and flags, whoever declared them.
package struct ConfigurationKeys: Sendable {
    /// The keys, in the order of the help.
    package let all: [ConfigurationKey]
    /// The command whose keys they are; it also reads their values.
    private let command: any (ParsableCommand & SendableMetatype).Type

    /// The keys of a command; nil if the command takes no configuration, which it does by `ConfigurationOptions`.
    ///
    /// - Throws: ``CommandFailure`` if the argument parser no longer describes its commands as this reads it.
    package init?(of command: any ParsableCommand.Type) throws {
        let arguments = try CommandDescription(of: command).arguments
        let names = Set(arguments.flatMap { $0.longNames })
        guard ConfigurationOptions.names.isSubset(of: names) else { return nil }
        let others = ConfigurationOptions.names.union(["help", "help-hidden", "version"])
        all = arguments.compactMap { $0.key(takenBackBy: names) }.filter { key in
            // The other name of a flag that can be taken back is no key.
            !others.contains(key.name) && !(key.name.hasPrefix("no-") && names.contains(String(key.name.dropFirst(3))))
        }
        self.command = command
    }

    /// The key of this name.
    package subscript(name: String) -> ConfigurationKey? { all.first { $0.name == name } }

    /// The names, in the order of the alphabet.
    var names: [String] { all.map(\.name).sorted() }

    /// What is wrong with the values of a key, in words that begin after its name; nil if they are right.
    ///
    /// The command itself reads them, so a file may say what the command line may, and nothing else.
    func problem(_ key: ConfigurationKey, _ values: [String]) -> String? {
        // As the parser names an option: `'--room <room>'`, or `'--room'`.
        let names = ["'--\(key.name) ", "'--\(key.name)'"]
        for argument in key.arguments(values) {
            guard let refusal = refusal(of: argument), names.contains(where: { refusal.contains($0) }) else { continue }
            let marks = names.compactMap { refusal.firstRange(of: " is invalid for " + $0) }
            guard let mark = marks.first else { return refusal }
            let beginning = refusal[..<mark.lowerBound]
            let reason = refusal[mark.lowerBound...].dropFirst(" is invalid for '".count).drop { $0 != "'" }.dropFirst()
            return beginning.prefix(1).lowercased() + beginning.dropFirst() + " is invalid" + reason
        }
        return nil
    }

    /// Which values a key may have, in words.
    package func allowed(_ key: ConfigurationKey) -> String {
        guard key.kind != .truth else { return "true or false" }
        // No option whose values are limited takes this one, and its refusal names the limits.
        guard let refused = problem(key, ["\u{1}"]) else { return "text" }
        let limits = refused.firstRange(of: " is invalid").map { refused[$0.upperBound...].drop { ": .".contains($0) } }
        return limits.map { $0.isEmpty ? "a value of its own" : String($0) } ?? refused
    }

    /// What the argument parser says of a command line of one word.
    private func refusal(of argument: String) -> String? {
        do {
            _ = try command.parse([argument])
            return nil
        } catch {
            let lines = command.message(for: error).split(whereSeparator: \.isNewline)
            return lines.map { $0.drop { $0 == " " } }.joined(separator: " ")
        }
    }
}

/// What the argument parser says of a command, as `--experimental-dump-help` prints it.
private struct CommandDescription: Decodable {
    private struct Command: Decodable { let arguments: [Argument]? }

    /// An option, a flag or an operand.
    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let kind: String
        let isRepeating: Bool
        let names: [Name]?
        let defaultValue: String?
        let abstract: String?

        var longNames: [String] { (names ?? []).filter { $0.kind == "long" }.map(\.name) }

        /// The key; nil for what has no name of a word.
        ///
        /// A flag x that `others` have as `no-x` can be taken back.
        func key(takenBackBy others: Set<String>) -> ConfigurationKey? {
            guard kind != "positional", let name = longNames.first else { return nil }
            let words = (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }
            let (help, written) = Self.parts(of: abstract ?? "")
            guard kind == "flag" else {
                return ConfigurationKey(
                    name: name, kind: isRepeating ? .values : .value, words: words, usual: defaultValue ?? written,
                    help: help)
            }
            let opposite = others.contains("no-\(name)") ? ["--no-\(name)"] : []
            return ConfigurationKey(
                name: name, kind: .truth, words: words + opposite,
                usual: ["true", "--\(name)"].contains(defaultValue) ? "true" : "false", help: help)
        }

        /// A line of help without the default at its end, and that default: `(default: 5)`.
        ///
        /// The parser adds it to the help of an option that it reads itself; one with a `transform` says it in its text.
        private static func parts(of help: String) -> (help: String, usual: String?) {
            guard help.hasSuffix(")"), let mark = help.ranges(of: " (default: ").last else { return (help, nil) }
            return (String(help[..<mark.lowerBound]), String(help[mark.upperBound...].dropLast()))
        }
    }

    private let command: Command
    var arguments: [Argument] { command.arguments ?? [] }

    init(of type: any ParsableCommand.Type) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(type._dumpHelp().utf8))
        } catch {
            throw CommandFailure("the keys of the configuration cannot be read from the command's options: \(error)")
        }
    }
}
