import Foundation
import LockstepCore
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

    fileprivate struct Request: Encodable {
        var command: String
        var store: String
        var run: String?
        var after: String?
    }

    struct List: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists them, the oldest first.")
        }
        @OptionGroup var place: AdministeredNode<Server>
        @Flag(help: "Print one JSON object.")
        var json = false

        private struct Listing: Encodable {
            var store: String
            var runs: [UnfinishedRun]
        }

        func run() async throws {
            let runs = try await RunList.all { after in
                try await place.ask(Request(command: "runs", store: place.store, after: after))
            }
            guard !json else { return try Output.json(Listing(store: place.store, runs: runs)) }
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
        @OptionGroup var place: AdministeredNode<Server>

        func validate() throws {
            guard RunID(action) != nil else {
                throw ValidationError(
                    "\(action) names no action: EPOCH:SEQUENCE#NUMBER, as \"actions list\" prints it")
            }
        }

        func run() async throws {
            _ = try await place.ask(Request(command: "abandon", store: place.store, run: action))
            Output.line("abandoned \(action)")
        }
    }
}
