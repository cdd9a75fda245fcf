import Lockstep

/// Runs a node for as long as `body` takes.
func withRunning(_ node: Node, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
            try await node.run()
            return false
        }
        group.addTask {
            try await body()
            return true
        }
        let isBody = try await group.next()
        group.cancelAll()
        try await group.waitForAll()
        guard isBody == true else { throw LockstepError(.stopped, "the node ended before the test did") }
    }
}

extension Node {
    /// Where the node listens, as soon as it does.
    func listening() async -> String {
        while true {
            if let endpoint = ingressEndpoint { return endpoint }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }
}
