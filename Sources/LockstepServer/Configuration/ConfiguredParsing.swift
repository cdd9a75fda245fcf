import Foundation

extension ParsableCommand {
    /// Parses a command line; what the environment and a file say of a command that serves a node is put into it.
    ///
    /// - Parameters:
    ///   - words: The words of the command line after the program's name.
    ///   - environment: The environment variables.
    /// - Returns: The command, and its configuration if it takes one.
    /// - Throws: ``CommandFailure`` if the environment or the file is wrong, and what the argument parser throws.
    package static func parseConfigured(
        _ words: [String], environment: [String: String]
    ) throws -> (command: any ParsableCommand, configuration: ServeConfiguration?) {
        let (type, depth) = command(for: words)
        let given = Array(words.dropFirst(depth))
        // Help is given whatever the file says.
        let isRun = !given.contains { ["-h", "--help", "--help-hidden", "--version"].contains($0) }
        guard isRun, let keys = try ConfigurationKeys(of: type) else {
            return (try parseAsRoot(words), nil)
        }
        let configuration = try ServeConfiguration(
            program: CommandName.of(Self.self), keys: keys, words: given, environment: environment)
        let command = try parseAsRoot(words.prefix(depth) + configuration.arguments + given)
        return (command, configuration)
    }

    /// The command that a command line means, and how many of its words name it.
    private static func command(for words: [String]) -> (type: any ParsableCommand.Type, depth: Int) {
        var (type, depth): (any ParsableCommand.Type, Int) = (Self.self, 0)
        while true {
            let configuration = type.configuration
            let named =
                depth < words.count
                ? configuration.subcommands.first {
                    CommandName.of($0) == words[depth] || $0.configuration.aliases.contains(words[depth])
                } : nil
            if let named {
                (type, depth) = (named, depth + 1)
            } else if let usual = configuration.defaultSubcommand {
                type = usual
            } else {
                return (type, depth)
            }
        }
    }
}
