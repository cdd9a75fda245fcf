import LockstepCore
import LockstepNode
import Synchronization

/// A node that runs while `body` does, and is stopped after it; what `run` throws, this throws.
@discardableResult
func withRunning<Result: Sendable>(
    _ node: Node, _ body: @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await node.run() }
        do {
            let result = try await body()
            group.cancelAll()
            try await group.waitForAll()
            return result
        } catch {
            group.cancelAll()
            // If the node itself failed, that is the cause of whatever the body met.
            try await group.waitForAll()
            throw error
        }
    }
}

/// Waits until `condition` holds, asking again every 2 ms; the suite's time limit ends it otherwise.
func until(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
}

extension Node {
    /// Where the node listens, once it does.
    func listening() async throws -> String {
        while true {
            if let endpoint = ingressEndpoint { return endpoint }
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}

extension StorePort {
    static let patience = Duration.seconds(30)

    /// Adds these bytes, one action each and none of them zero, and returns the sums.
    func add(_ bytes: [UInt8]) async throws -> [UInt64] {
        let replies = try await submit(SumState.actions(bytes), count: bytes.count, timeout: Self.patience)
        return try replies.outcomes().map { outcome in
            // The text of a refusal would be read as a sum.
            guard outcome.status == .committed else {
                throw LockstepError(.refused, "an action was not performed: \(outcome.status)")
            }
            return try SumState.sum(outcome.reply)
        }
    }
}
