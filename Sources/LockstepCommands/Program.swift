package import Counters
package import Lockstep
package import LockstepNode
package import Logging

/// Runs a node of this program for as long as a closure runs.
package enum Program {
    package static let quiet: Logger = {
        var logger = Logger(label: "lockstep") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }()

    /// How long the session of a command lives after it, so that "lockstep outcome" can ask about it.
    package static let sessionTimeToLive: Duration = .seconds(600)

    package static func withRemoteCounters<Value>(
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
}
