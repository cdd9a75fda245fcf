import LockstepCore
import LockstepNode
import Synchronization

/// What has ended beside what.
private enum Ended<Value: Sendable> {
    case node((any Error)?)
    case body(Result<Value, any Error>)
}

/// A node that runs while `body` does, and is stopped after it; what `run` throws, this throws, and ends `body`.
@discardableResult
func withRunning<Result: Sendable>(
    _ node: Node, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    var (failure, outcome): ((any Error)?, Swift.Result<Result, any Error>) = (nil, .failure(CancellationError()))
    await withTaskGroup(of: Ended<Result>.self) { group in
        group.addTask {
            do { try await node.run() } catch { return .node(error) }
            return .node(nil)
        }
        group.addTask {
            do { return .body(.success(try await body())) } catch { return .body(.failure(error)) }
        }
        for await ended in group {
            switch ended {
            // If the node itself failed, that is the cause of whatever the body meets.
            case .node(let error):
                failure = error
                if error != nil { group.cancelAll() }
            case .body(let result):
                outcome = result
                group.cancelAll()
            }
        }
    }
    if let failure { throw failure }
    return try outcome.get()
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

    /// Adds these bytes, one action of `width` bytes each and none of them zero, and returns the sums.
    func add(_ bytes: [UInt8], width: Int = 1, timeout: Duration = StorePort.patience) async throws -> [UInt64] {
        let actions = SumState.actions(bytes, width: width)
        let replies = try await submit(actions, count: bytes.count, timeout: timeout)
        return try replies.outcomes().map { outcome in
            // The text of a refusal would be read as a sum.
            guard outcome.status == .committed else {
                throw LockstepError(.refused, "an action was not performed: \(outcome.status)")
            }
            return try SumState.sum(outcome.reply)
        }
    }
}
