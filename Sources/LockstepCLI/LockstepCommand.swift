import ArgumentParser
import Foundation

/// The program: `lockstep`.
@main
struct LockstepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep",
        abstract: "Keeps state identical across processes and hosts.",
        discussion: """
            A primary writes a log and is its only writer; replicas apply it and hold the same state.

              lockstep init --data data/primary
              lockstep serve --data data/primary --listen tcp://127.0.0.1:7400
              lockstep counter add visits
              lockstep status --data data/primary

            Exit status: 0 done; 1 refused or failed; 64 wrong usage; 69 a node cannot be reached; 75 outcome unknown; \
            65 a journal, or a node.json, is damaged.
            """,
        version: Version.description,
        subcommands: [
            InitCommand.self, ServeCommand.self, RecoverCommand.self, PromoteCommand.self,
            DemoteCommand.self, CounterCommand.self, SearchCommand.self, OutcomeCommand.self,
            StatusCommand.self, JournalCommand.self, ActionsCommand.self, SessionsCommand.self, ClockCommand.self,
            DemoCommand.self, ChaosCommand.self,
            BenchCommand.self, SimulateCommand.self, BenchNodeCommand.self, BenchSubscriberCommand.self,
        ])

    /// Parses, runs, and turns every error into one line on standard error and an honest exit status.
    static func main() async {
        do {
            if let wrong = Arguments.firstThatIsNotText() {
                throw CommandFailure(
                    "word \(wrong.place) of the command line is not UTF-8 (\(wrong.repaired)): names and paths are given "
                        + "in UTF-8", status: .usage)
            }
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
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
