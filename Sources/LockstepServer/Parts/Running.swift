import Foundation

extension AsyncParsableCommand {
    /// Parses, runs, and turns every error into one line on standard error and an honest exit status.
    ///
    /// What `main()` of a root command that is no ``LockstepServer`` does to end as those do.
    public static func runAsProgram() async {
        Output.begin(as: CommandName.of(Self.self))
        do {
            if let wrong = Arguments.firstThatIsNotText() {
                throw CommandFailure(
                    "word \(wrong.place) of the command line is not UTF-8 (\(wrong.repaired)): names and paths are given "
                        + "in UTF-8", status: .usage)
            }
            let (parsed, configuration) = try parseConfigured(
                Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
            try await ServeConfiguration.$current.withValue(configuration) {
                var command = parsed
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
            }
        } catch let failure as CommandFailure {
            Output.error(failure.message)
            Foundation.exit(failure.status.rawValue)
        } catch {
            guard let failure = CommandFailure(describing: error) else { exit(withError: error) }
            Output.error(failure.message)
            Foundation.exit(failure.status.rawValue)
        }
    }
}

/// The words of the command line, as the system gave them.
enum Arguments {
    /// The place of the first word that is not UTF-8, and the word with its bytes repaired; nil if all are.
    ///
    /// Swift repairs such words silently, so that two different names would become one (PROTOCOL, section 3).
    static func firstThatIsNotText() -> (place: Int, repaired: String)? {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = unsafe CommandLine.unsafeArgv[place] else { break }
            if unsafe String(validatingCString: word) == nil { return unsafe (place, String(cString: word)) }
        }
        return nil
    }
}
