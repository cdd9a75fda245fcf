import Counters
import Lockstep
import LockstepHarness
import LockstepNode
import Logging

/// Runs a node of this program for as long as a closure runs.
enum Program {
    static let quiet: Logger = {
        var logger = Logger(label: "lockstep") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }()

    /// How long the session of a command lives after it, so that "lockstep outcome" can ask about it.
    static let sessionTimeToLive: Duration = .seconds(600)

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

    static func withRemoteCounters<Value>(
        _ configuration: NodeConfiguration, _ body: (RemoteStore<Counters>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(configuration, logger: quiet)
        let counters = try node.remote(Counters.self, named: Hosted.counters)
        return try await node.whileRunning {
            try await WaitNotice.during("an answer of \(upstream(configuration))") { try await body(counters) }
        }
    }

    /// The node that a client or a replica is connected to.
    private static func upstream(_ configuration: NodeConfiguration) -> String {
        switch configuration.role {
        case .client(let node), .replica(let node, _, _): node
        case .primary: "the node"
        }
    }

    static func withReplicaOfCounters<Value>(
        _ configuration: NodeConfiguration, _ body: (Store<Counters>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(configuration, logger: quiet)
        let counters = try node.store(Counters(), named: Hosted.counters)
        return try await node.whileRunning { try await body(counters) }
    }
}
