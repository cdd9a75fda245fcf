import ArgumentParser
import LockstepCommands

/// The operator's program: `lockstep`.
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
            StatusCommand.self, TopCommand.self, JournalCommand.self, ActionsCommand.self, SessionsCommand.self,
            ClockCommand.self,
        ])

    static func main() async { await runAsProgram() }
}
