import Configuration
import Foundation

/// All keys of a command that serves a node, with their values and where these are from.
///
/// The command line wins over environment variables, which win over one file.
package struct ServeConfiguration: Sendable {
    /// Where a value is from.
    package enum Source: Sendable, Equatable {
        /// The command line.
        case flag
        /// An environment variable.
        case environment(String)
        /// The file, and the line there.
        case file(String, line: Int)
        /// Nothing says anything else.
        case usual
    }

    /// A key and what it has.
    package struct Setting: Sendable, Equatable {
        /// The key.
        package let key: ConfigurationKey
        /// Its values: one, unless the key takes more; none if it is not set.
        package let values: [String]
        /// Where they are from.
        package let source: Source
    }

    /// The configuration of the command that runs; nil if ``AsyncParsableCommand/runAsProgram()`` does not run it.
    @TaskLocal static var current: ServeConfiguration?

    /// The keys in the order of the help.
    package let settings: [Setting]
    /// The file, as it was read; nil if none is named.
    let text: ConfigurationText?
    /// Environment variables that look like keys and are none, each with the key that may be meant.
    package let strayVariables: [String]
    private let program: String
    private let keys: ConfigurationKeys
    private let line: GivenWords
    private let environment: [String: String]

    /// Reads the configuration of a program's command.
    ///
    /// - Parameters:
    ///   - program: The program's name, with which environment variables begin.
    ///   - keys: The keys of the command.
    ///   - words: The words of the command line after the command.
    ///   - environment: The environment variables.
    /// - Throws: ``CommandFailure`` that names the file and line, or the variable, and what is wrong there.
    package init(program: String, keys: ConfigurationKeys, words: [String], environment: [String: String]) throws {
        try self.init(program, keys, GivenWords(words, keys: keys), environment, text: nil)
    }

    /// The same with what the file says now.
    package func reread(_ text: ConfigurationText) throws -> ServeConfiguration {
        try ServeConfiguration(program, keys, line, environment, text: text)
    }

    private init(
        _ program: String, _ keys: ConfigurationKeys, _ line: GivenWords, _ environment: [String: String],
        text: ConfigurationText?
    ) throws {
        (self.program, self.keys, self.line, self.environment) = (program, keys, line, environment)
        let variables = EnvironmentSource(program: program, environment)
        let path = line.configuration ?? variables.configuration
        self.text = try path.map { try text ?? ConfigurationText(reading: $0) }
        let file = try self.text.map { try ConfigurationFile($0, keys: keys) }
        settings = try keys.all.map { key in
            if let values = line[key] { return Setting(key: key, values: values, source: .flag) }
            if let (name, values) = try variables.values(of: key, keys) {
                return Setting(key: key, values: values, source: .environment(name))
            }
            if let file, let value = file[key] {
                return Setting(key: key, values: value.values, source: .file(file.path, line: value.line))
            }
            return Setting(key: key, values: key.usual.map { [$0] } ?? [], source: .usual)
        }
        strayVariables = variables.strayNames(keys)
    }

    /// The words that say on the command line what the environment and the file say.
    package var arguments: [String] {
        settings.flatMap { setting in
            switch setting.source {
            case .flag, .usual: [String]()
            case .environment, .file: setting.key.arguments(setting.values)
            }
        }
    }

    /// What a key has; nil if it is not set.
    package subscript(name: String) -> Setting? { settings.first { $0.key.name == name && !$0.values.isEmpty } }
}

/// What the command line itself says of a command's keys.
struct GivenWords: Sendable {
    private var values: [String: [String]] = [:]
    /// The file that it names.
    private(set) var configuration: String?

    /// Finds the keys among words; whether these are right is the argument parser's to say.
    init(_ words: [String], keys: ConfigurationKeys) {
        var rest = words[...]
        while let word = rest.popFirst(), word != "--" {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts[0] == "--config" {
                configuration = parts.count > 1 ? parts[1] : rest.popFirst()
                continue
            }
            guard let key = keys.all.first(where: { $0.words.contains(parts[0]) }) else { continue }
            if key.kind == .truth {
                values[key.name] = [parts[0].hasPrefix("--no-") ? "false" : "true"]
            } else if let value = parts.count > 1 ? parts[1] : rest.popFirst() {
                values[key.name] = (key.kind == .values ? values[key.name] ?? [] : []) + [value]
            }
        }
    }

    subscript(key: ConfigurationKey) -> [String]? { values[key.name] }
}

/// What environment variables say of a program's keys: `SHOP_SERVE_LISTEN`, and `SHOP_CONFIG` for the file.
struct EnvironmentSource {
    private let program: String
    private let provider: EnvironmentVariablesProvider
    private let names: [String]

    init(program: String, _ environment: [String: String]) {
        self.program = program
        // One that is empty is as one that is not there: a unit cannot take one back.
        let set = environment.filter { !$0.value.isEmpty }
        provider = EnvironmentVariablesProvider(environmentVariables: set)
        names = set.keys.sorted()
    }

    /// The file that they name.
    var configuration: String? { value(["config"], .string)?.content.text }

    /// What they say of a key, and by which variable; nil: nothing.
    func values(of key: ConfigurationKey, _ keys: ConfigurationKeys) throws -> (name: String, values: [String])? {
        guard let text = value(["serve", key.name], .string) else { return nil }
        func refused(_ problem: String) -> CommandFailure {
            CommandFailure("\(text.name): \(problem)", status: .usage)
        }
        let values: [String]
        switch key.kind {
        case .truth:
            guard case .bool(let isOn) = value(["serve", key.name], .bool)?.content else {
                throw refused("it is true or false, not \(text.content.text ?? "")")
            }
            values = ["\(isOn)"]
        case .value: values = [text.content.text ?? ""]
        case .values:
            guard case .stringArray(let several) = value(["serve", key.name], .stringArray)?.content else { return nil }
            values = several
        }
        if let problem = keys.problem(key, values) { throw refused(problem) }
        return (text.name, values)
    }

    /// Those with the names' beginning that are no keys, in words.
    func strayNames(_ keys: ConfigurationKeys) -> [String] {
        guard let first = keys.all.first else { return [] }
        let beginning = String(name(of: first).dropLast(first.name.count))
        let known = keys.all.map { String(name(of: $0).dropFirst(beginning.count)) }
        return names.filter { $0.hasPrefix(beginning) }.map { String($0.dropFirst(beginning.count)) }
            .filter { !known.contains($0) }.map { rest in
                let near = NearName.of(rest, among: known).map { ": did you mean \(beginning)\($0)?" } ?? ""
                return "\(beginning)\(rest) is no key\(near)"
            }
    }

    /// The variable of a key.
    func name(of key: ConfigurationKey) -> String {
        // A look-up gives the name also where nothing is found.
        (try? provider.value(forKey: AbsoluteConfigKey([program, "serve", key.name]), type: .string).encodedKey) ?? ""
    }

    private func value(_ path: [String], _ type: ConfigType) -> (name: String, content: ConfigContent)? {
        // What is of another type is refused by who asks.
        guard let found = try? provider.value(forKey: AbsoluteConfigKey([program] + path), type: type),
            let content = found.value?.content
        else { return nil }
        return (found.encodedKey, content)
    }
}

extension ConfigContent {
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}
