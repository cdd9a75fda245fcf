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

    /// Runs a client node with a remote store, for one question: until its answer, it says what it waits for.
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

    /// Runs a client node with a remote store, for as many questions as `body` has: until a node answers, it says what
    /// it waits for.
    package static func withRemoteOnceLive<R: Reactor, Value>(
        _ reactor: R.Type, named name: String, _ configuration: NodeConfiguration,
        _ body: (RemoteStore<R>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(configuration, logger: quiet)
        let store = try node.remote(reactor, named: name)
        let what = "an answer of \(upstream(configuration))"
        return try await node.whileRunning {
            try await withThrowingTaskGroup(of: Void.self) { group in
                // What keeps the store from being live, `body` is told.
                group.addTask { try await WaitNotice.during(what) { try await store.whenLive() } }
                defer { group.cancelAll() }
                return try await body(store)
            }
        }
    }

    /// Runs a replica with a store that is live, until SIGINT or SIGTERM.
    ///
    /// It then leaves in good order, so that its primary neither waits for it at the next start nor shows it as lost
    /// (PROTOCOL, R-48). `body` ends when the node does.
    package static func followAsReplica<R: Reactor>(
        of reactor: R, named name: String, _ configuration: NodeConfiguration, _ body: (Store<R>) async throws -> Void
    ) async throws {
        let node = try Node(configuration, logger: quiet)
        let store = try node.store(reactor, named: name)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await node.serve(logger: quiet) }
            var problem: (any Error)?
            do {
                try await WaitNotice.during("the first state from \(upstream(configuration))") {
                    try await store.whenLive()
                }
                try await body(store)
            } catch let error as LockstepError where error.code == .stopped {
                // The node has ended: as it was told, or with an error, which comes below.
            } catch {
                problem = error
            }
            group.cancelAll()
            // What ended the node is the cause of what its user met; that it was told to end is none.
            do { try await group.waitForAll() } catch is CancellationError {}
            if let problem { throw problem }
        }
    }

    /// The node that a client or a replica is connected to.
    private static func upstream(_ configuration: NodeConfiguration) -> String {
        let nodes = configuration.role.upstreams
        return nodes.isEmpty ? "the node" : nodes.joined(separator: " or ")
    }
}
