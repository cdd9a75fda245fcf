import LockstepNode
package import Logging

/// Runs a node of this program for as long as a closure runs.
package enum Program {
    package static let quiet: Logger = {
        var logger = Logger(label: "lockstep") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }()

    /// How long the session of a command lives after it, so that "outcome" can ask about it.
    package static let sessionTimeToLive: Duration = .seconds(600)

    /// Runs a client node with a remote store.
    package static func withRemote<R: Reactor, Value>(
        _ reactor: R.Type, named name: String, _ configuration: NodeConfiguration,
        _ body: (RemoteStore<R>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(configuration, logger: quiet)
        let store = try node.remote(reactor, named: name)
        return try await node.whileRunning {
            try await WaitNotice.during("an answer of \(upstream(configuration))") { try await body(store) }
        }
    }

    /// Runs a replica with a store.
    package static func withReplica<R: Reactor, Value>(
        of reactor: R, named name: String, _ configuration: NodeConfiguration,
        _ body: (Store<R>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(configuration, logger: quiet)
        let store = try node.store(reactor, named: name)
        return try await node.whileRunning { try await body(store) }
    }

    /// The node that a client or a replica is connected to.
    private static func upstream(_ configuration: NodeConfiguration) -> String {
        switch configuration.role {
        case .client(let node), .replica(let node, _, _): node
        case .primary: "the node"
        }
    }
}
