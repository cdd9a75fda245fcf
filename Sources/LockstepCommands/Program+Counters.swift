package import Counters
package import Lockstep
package import LockstepNode
package import LockstepServer

extension Program {
    /// Runs a client node with the counters.
    package static func withRemoteCounters<Value>(
        _ configuration: NodeConfiguration, _ body: (RemoteStore<Counters>) async throws -> Value
    ) async throws -> Value {
        try await withRemote(Counters.self, named: Hosted.counters, configuration, body)
    }
}
