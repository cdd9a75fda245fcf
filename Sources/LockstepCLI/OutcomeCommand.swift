import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepNode

/// `lockstep outcome`: what became of an action whose command ended without its answer (PROTOCOL, QUERY).
struct OutcomeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outcome", abstract: "Asks what became of an action whose outcome a command did not learn.",
        discussion: """
            A command that ends with status 75, "outcome unknown", names the session and the number to ask with. The \
            primary knows the answer as long as the session lives: 10 minutes for the program's own commands.

              lockstep outcome 1700000000000:42 1 --node tcp://127.0.0.1:7400

            Exit status: 0 it took effect, or was accepted; 1 it is certainly without effect; 75 it is not known: it is \
            not decided yet, or its session has ended; 69 the primary cannot be reached.
            """)

    @Argument(help: "The session: EPOCH:SEQUENCE.")
    var session: String
    @Argument(help: "The action's number in it.", transform: Within.whole(1...UInt64(Int64.max)))
    var number: UInt64
    @Option(help: "A node: tcp://HOST:PORT; also LOCKSTEP_NODE. A replica names its primary.")
    var node: String = ProcessInfo.processInfo.environment["LOCKSTEP_NODE"] ?? "tcp://127.0.0.1:7400"
    @Option(help: "The store.")
    var store: String = Hosted.counters
    @Option(help: "Seconds to wait for the answer: 0.001 to 86400.", transform: Within.patience)
    var timeout: Double = 10
    @Flag(help: "Allow plain text to other hosts.")
    var insecure = false
    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard SessionID(session) != nil else {
            throw ValidationError("\(session) names no session: EPOCH:SEQUENCE, as the command printed it")
        }
        guard store.utf8.count <= Limits.nameBytes else {
            throw ValidationError("a store's name has \(Limits.nameBytes) bytes at most")
        }
    }

    func run() throws {
        guard let id = SessionID(session) else { preconditionFailure("the session was checked") }
        let query = Query(session: id, number: number)
        let link = QueryLink(store: store, insecure: insecure, patience: Within.duration(timeout))
        let answer = try link.ask(query, node: node)
        let line = OutcomeLine(query, answer, store: store)
        if json { try Output.json(line) } else { Output.line(line.text) }
        if line.status != 0 { throw ExitCode(line.status) }
    }

    /// The command that asks about these numbers, one for each; at most three are named.
    static func commands(for pending: PendingOutcome, node: String, store: String, insecure: Bool) -> String {
        let place = (store == Hosted.counters ? "" : " --store \(store)") + (insecure ? " --insecure" : "")
        let named = pending.numbers.prefix(3).map { "lockstep outcome \(pending.session) \($0) --node \(node)\(place)" }
        let more = pending.numbers.count > 3 ? " (and so on to \(pending.numbers.upperBound))" : ""
        return named.joined(separator: "; ") + more
    }
}

/// What became of an action, as one line or as JSON.
struct OutcomeLine: Encodable {
    var session: String
    var number: UInt64
    /// `committed`, `rejected`, `void`, `accepted`; `pending`, `acknowledged`, `sessionEnded`, `sessionUnknown`.
    var outcome: String
    var epoch: UInt64?
    var sequence: UInt64?
    /// Why it was rejected.
    var reason: String?
    /// The reply's bytes in hexadecimal, but for the counters.
    var reply: String?
    /// The reply of a counter, as the command would have printed it.
    var counter: CounterLine?

    /// The exit status.
    var status: Int32 {
        switch outcome {
        case "committed", "accepted": 0
        case "rejected", "void": 1
        default: ExitStatus.outcomeUnknown.rawValue
        }
    }

    init(_ query: Query, _ answer: QueryLink.Answer, store: String) {
        session = "\(query.session)"
        number = query.number
        switch answer {
        case .state(let state): outcome = "\(state)"
        case .item(let status, let bytes, let place):
            outcome = "\(status)"
            epoch = place.epoch.rawValue
            sequence = place.sequence.rawValue
            switch status {
            // A reason is a text for people, which may have been cut within a character.
            case .rejected: reason = String(decoding: bytes, as: UTF8.self)
            case .void, .accepted: break
            case .committed:
                let value = withBytes(of: bytes) { try? Counters.replyCoding.decode($0, 0..<$0.byteCount) }
                if store == Hosted.counters, let value {
                    let receipt = Receipt(reply: value, place: place, session: query.session, number: query.number)
                    counter = CounterLine(name: "", receipt: receipt)
                } else {
                    reply = bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
                }
            }
        }
    }

    var text: String {
        let place = sequence.map { " at \(epoch ?? 0):\($0)" } ?? ""
        return switch outcome {
        case "committed": "committed\(place): " + (counter?.text ?? "reply \(reply ?? "")")
        case "accepted": "accepted\(place): its effect goes on, or has ended"
        case "rejected": "rejected\(place), without effect: \(reason ?? "")"
        case "void": "void\(place), without effect: its sender had given it up"
        case "pending":
            "pending: it is not in the log; if its sender has ended, it takes no effect once the session has ended"
        case "acknowledged":
            "acknowledged: it was answered, and its sender said that it has the answer, which is no longer kept"
        case "sessionEnded":
            "the session has ended: whether it took effect stays unknown; the journal has it, if it did"
        default: "the session is unknown to this log: whether it took effect stays unknown"
        }
    }
}

extension Program {
    /// Runs a command that sends; an outcome that stays unknown names the command that asks for it.
    static func naming<Value>(
        node: String, store: String, insecure: Bool, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as LockstepError {
            guard error.code == .outcomeUnknown, let pending = error.pending else { throw error }
            // What the library says to programs after the semicolon is another way to ask.
            let what = error.message.prefix { $0 != ";" }
            let commands = OutcomeCommand.commands(for: pending, node: node, store: store, insecure: insecure)
            throw CommandFailure("\(what); ask: \(commands)", status: .outcomeUnknown)
        }
    }
}
