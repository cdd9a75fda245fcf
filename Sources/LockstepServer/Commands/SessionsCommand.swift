import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode

/// `sessions`: the sessions of a running primary (PROTOCOL, R-19, R-27).
public struct SessionsCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sessions", abstract: "Shows the sessions of a running primary, and closes them.",
            discussion: """
                A store has at most 16384 sessions. The alarm SESSIONS_NEAR_LIMIT says that three quarters of them are open. \
                Look who has them, and close what nobody needs; a client whose session is closed opens another, and reports \
                the actions that had no answer as unknown.

                  \(Server.name) sessions list --data data/primary
                  \(Server.name) sessions list --node tcp://10.0.0.1:7400 --keys admin.key --nodes nodes.json
                  \(Server.name) sessions close --data data/primary --unused --idle 60
                  \(Server.name) sessions close --data data/primary --peer greedy
                  \(Server.name) sessions close --data data/primary 1700000000000:42
                """, subcommands: [List.self, Close.self])
    }

    /// Read from the command line.
    public init() {}

    private struct Request: Encodable {
        var command: String
        var store: String
        var after: String?
        var choice: SessionChoice?
    }

    struct List: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists them in the order of their opening.")
        }
        @OptionGroup var place: AdministeredNode<Server>
        @Flag(help: "Print one JSON object for each session.")
        var json = false

        func run() async throws {
            var after: String?
            while true {
                let answer = try await place.ask(Request(command: "sessions", store: place.store, after: after))
                let page = try JSONDecoder().decode(SessionList.self, from: answer)
                if !json, after == nil { Output.line("SESSION  PEER  LAST  ACKED  IDLE/S  KEPT  TTL/S  CLIENT") }
                for session in page.sessions {
                    if json { try Output.json(session) } else { Output.line(Self.line(session)) }
                }
                guard page.sessions.count == SessionList.pageLimit, let last = page.sessions.last else { return }
                after = last.id
            }
        }

        static func line(_ session: SessionList.Session) -> String {
            let cells = [
                session.id, session.peer ?? "-", String(session.last), String(session.acked),
                String(Int64(session.idleSeconds)), String(session.keptBytes), String(Int64(session.timeToLiveSeconds)),
                session.client,
            ]
            return Output.printable(cells.joined(separator: "  "))
        }
    }

    struct Close: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "close", abstract: "Ends one by its ID, or all to which everything given applies.")
        }
        @Argument(help: "The session, as \"\(Server.name) sessions list\" prints it.")
        var session: String?
        @Option(help: "Those of the node or client of this name.")
        var peer: String?
        @Option(help: "Those that were silent for so many seconds.", transform: Within.seconds(0...1_000_000_000))
        var idle: Double?
        @Flag(help: "Those that never had an action.")
        var unused = false
        @OptionGroup var place: AdministeredNode<Server>

        func validate() throws {
            guard session != nil || peer != nil || idle != nil || unused else {
                throw ValidationError("name a session, or choose some by --peer, --idle or --unused")
            }
            if let session, SessionID(session) == nil {
                throw ValidationError("\(session) names no session: EPOCH:SEQUENCE, as \"sessions list\" prints it")
            }
        }

        private struct Answer: Decodable {
            var closed: Int
        }

        func run() async throws {
            let choice = SessionChoice(session: session, peer: peer, idleSeconds: idle, unused: unused ? true : nil)
            let answer = try await place.ask(Request(command: "closeSessions", store: place.store, choice: choice))
            let closed = try JSONDecoder().decode(Answer.self, from: answer).closed
            Output.line(closed == 1 ? "closed 1 session" : "closed \(closed) sessions")
        }
    }
}
