import Foundation
import LockstepFolders
import LockstepNode

/// `actions`: accepted actions of a running primary that have not ended (PROTOCOL, R-60 to R-62).
public struct ActionsCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "actions", abstract: "Shows accepted actions that have not ended, and ends them.",
            discussion: """
                An action whose effect brings its primary down is run again by each restart. Start the primary with \
                --hold-effects then, look for the one with many attempts, and end it as failed:

                  \(Server.name) serve --data data/primary --listen tcp://127.0.0.1:7400 --hold-effects
                  \(Server.name) actions list --data data/primary
                  \(Server.name) actions abandon 1700000000000:42#7 --data data/primary
                """, subcommands: [List.self, Abandon.self])
    }

    /// Read from the command line.
    public init() {}

    struct Place: ParsableArguments {
        @Option(help: "The running primary's folder.")
        var data: String
        @Option(help: "The store.")
        var store: String = Server.stores.usual

        /// Asks the node; an answer with an error is thrown.
        func ask(_ command: String, run: String? = nil) async throws -> Data {
            let request = try JSONEncoder().encode(["command": command, "store": store, "run": run])
            let answer = try await WaitNotice.during("an answer of the node in \(data)") {
                try await NodeFolder(data).ask(String(decoding: request, as: UTF8.self))
            }
            if let failure = try? JSONDecoder().decode([String: String].self, from: answer), let text = failure["error"]
            {
                throw CommandFailure(text, status: .failed)
            }
            return answer
        }
    }

    struct List: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists them, the oldest first.")
        }
        @OptionGroup var place: Place
        @Flag(help: "Print one JSON object.")
        var json = false

        private struct Answer: Decodable {
            var runs: [UnfinishedRun]
        }

        func run() async throws {
            let answer = try await place.ask("runs")
            guard !json else { return Output.line(String(decoding: answer, as: UTF8.self)) }
            let runs = try JSONDecoder().decode(Answer.self, from: answer).runs
            guard !runs.isEmpty else { return Output.line("every accepted action has ended") }
            Output.line("ACTION  ACCEPTED AT  ATTEMPTS  EMISSIONS  STATE")
            for run in runs {
                let state = run.isRunning ? "running" : "waiting"
                Output.line("\(run.id)  \(run.sequence)  \(run.attempts)  \(run.emissions)  \(state)")
            }
        }
    }

    struct Abandon: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "abandon", abstract: "Ends one as failed; what it has emitted stays.")
        }
        @Argument(help: "The action, as \"\(Server.name) actions list\" prints it.")
        var action: String
        @OptionGroup var place: Place

        func run() async throws {
            _ = try await place.ask("abandon", run: action)
            Output.line("abandoned \(action)")
        }
    }
}
