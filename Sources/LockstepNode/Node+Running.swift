extension Node {
    /// Runs the node beside `body`, in the task that calls, and stops it after it.
    ///
    ///     let count = try await node.whileRunning { try await votes.send(.vote("Ada")).reply }
    ///
    /// When the node fails, what `body` asks of it fails, too, and the node's error is thrown, even if `body` returns.
    /// `body` is not cancelled: if it waits for something else than the node, it goes on. For a node that runs as long
    /// as its program there is ``run()``.
    ///
    /// - Parameter body: Uses the node's stores; it runs where the caller does.
    /// - Returns: What `body` returns, when the node has stopped.
    /// - Throws: What ``run()`` throws, or else what `body` throws.
    public nonisolated(nonsending) func whileRunning<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            do {
                let value = try await body()
                group.cancelAll()
                try await group.waitForAll()
                return value
            } catch {
                group.cancelAll()
                try await group.waitForAll()
                throw error
            }
        }
    }
}
