import Logging
package import LockstepNode

extension Node {
    /// Runs the node beside `body`, in the task that calls, and stops it behind it.
    ///
    /// If the node fails, what `body` waits for fails too, and the node's error is the one that is thrown.
    package nonisolated(nonsending) func whileRunning<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            do {
                let value = try await body()
                group.cancelAll()
                // It was told to stop, and has what the caller came for: how it ended changes nothing.
                while (try? await group.next()) != nil {}
                return value
            } catch {
                group.cancelAll()
                try await group.waitForAll()
                throw error
            }
        }
    }
}
