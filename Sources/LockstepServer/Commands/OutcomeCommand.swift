import Foundation
import LockstepCore
import LockstepNode

/// `outcome`: what became of an action whose command ended without its answer (PROTOCOL, QUERY).
public struct OutcomeCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "outcome", abstract: "Asks what became of an action whose outcome a command did not learn.",
            discussion: """
                A command that ends with status 75, "outcome unknown", names the session and the number to ask with. The \
                primary knows the answer as long as the session lives: 10 minutes for the program's own commands. Of an \
                action whose effect goes on it tells that it was accepted, or that its sender has acknowledged that answer, \
                and never how the effect ended: see "\(Server.name) actions list".

                  \(Server.name) outcome 1700000000000:42 1 --node tcp://127.0.0.1:7400

                Exit status: 0 it took effect, or was accepted; 1 it is certainly without effect; 75 it is not known: it is \
                not decided yet, its answer was acknowledged, or its session has ended; 69 no answer: the primary cannot \
                be reached, or refuses.
                """)
    }

    @Argument(help: "The session: EPOCH:SEQUENCE.")
    var session: String
    @Argument(help: "The action's number in it.", transform: Within.whole(1...UInt64(Int64.max)))
    var number: UInt64
    @Option(
        help: """
            A node: tcp://HOST:PORT, or several with commas between them; also LOCKSTEP_NODE. A replica names its primary.
            """)
    var node: String = AskedNode.usual
    @Option(help: "The store.")
    var store: String = Server.stores.usual
    @Option(help: "Seconds to wait for the answer: 0.001 to 86400.", transform: Within.patience)
    var timeout: Double = 10
    @Flag(help: "Allow plain text to other hosts.")
    var insecure = false
    @OptionGroup var keyOptions: KeyOptions
    @Flag(help: "Print JSON.")
    var json = false

    /// Read from the command line.
    public init() {}

    /// Checks the session and the store's name.
    public func validate() throws {
        guard SessionID(session) != nil else {
            throw ValidationError("\(session) names no session: EPOCH:SEQUENCE, as the command printed it")
        }
        guard store.utf8.count <= Limits.nameBytes else {
            throw ValidationError("a store's name has \(Limits.nameBytes) bytes at most")
        }
    }

    /// Asks the primary, and ends with the status of its answer.
    public func run() throws {
        guard let id = SessionID(session) else { preconditionFailure("the session was checked") }
        let query = Query(session: id, number: number)
        let line: OutcomeLine
        let text: String
        do {
            let link = QueryLink(
                store: store, insecure: insecure, keys: try keyOptions.nodeKeys(), patience: Within.duration(timeout))
            line = OutcomeLine(query, try link.ask(query, nodes: parseNodes(node)), by: Server.stores[store])
            text = try json ? Output.jsonText(line) : line.text
        } catch {
            throw Self.unanswered(error)
        }
        Output.line(text)
        if line.status != 0 { throw ExitCode(line.status) }
    }

    /// A failure that is no answer of the log must not end the command as "without effect" does, which allows a script
    /// to repeat the action.
    static func unanswered(_ error: any Error) -> any Error {
        guard var failure = CommandFailure(describing: error), failure.status != .usage else { return error }
        failure.status = .unreachable
        return failure
    }

    /// The command that asks about these numbers, one for each; at most three are named.
    static func commands(for pending: PendingOutcome, node: String, store: String, rest: String) -> String {
        let place = (store == Server.stores.usual ? "" : " --store \(store)") + rest
        let named = pending.numbers.prefix(3).map {
            "\(Server.name) outcome \(pending.session) \($0) --node \(node.shellWord)\(place)"
        }
        let more = pending.numbers.count > 3 ? " (and so on to \(pending.numbers.upperBound))" : ""
        return named.joined(separator: "; ") + more
    }

    /// The numbers that such an error leaves open.
    private static func asked(by error: LockstepError) -> PendingOutcome? {
        if let run = error.run { return PendingOutcome(session: run.session, numbers: run.number...run.number) }
        return error.code == .outcomeUnknown ? error.pending : nil
    }

    /// Runs a command that sends; an outcome that stays unknown, and an effect that goes on, name the command that asks.
    package static func naming<Value>(
        node: String, store: String, insecure: Bool, keys: KeyOptions, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as LockstepError {
            guard let pending = asked(by: error) else { throw error }
            // What the library says to programs after the semicolon is another way to ask.
            let what = error.message.prefix { $0 != ";" }
            let commands = commands(
                for: pending, node: node, store: store, rest: (insecure ? " --insecure" : "") + keys.words)
            throw CommandFailure("\(what); ask: \(commands)", status: .outcomeUnknown)
        }
    }
}
