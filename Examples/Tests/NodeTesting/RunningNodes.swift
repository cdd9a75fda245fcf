import Lockstep

/// Runs nodes for as long as `body` takes, and ends them after it.
///
/// A node that ends before fails the test with its error, and cancels `body`.
public func withRunning<Value: Sendable>(
    _ nodes: Node..., body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        for node in nodes {
            group.addTask {
                try await node.run()
                return nil
            }
        }
        group.addTask { try await body() }
        defer { group.cancelAll() }
        guard let value = try await group.next() ?? nil else {
            throw LockstepError(.stopped, "a node ended before the test did")
        }
        return value
    }
}

/// Waits until a condition holds of a store's state, and returns that state; fails when the node has ended before.
public func state<R: Reactor>(
    of store: Store<R>, when isReached: (R.State) -> Bool
) async throws -> R.State {
    for await snapshot in store.states where isReached(snapshot.state) { return snapshot.state }
    throw LockstepError(.stopped, "the node ended before the state was reached")
}
