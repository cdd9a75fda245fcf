import Synchronization

/// Stops one effect; whoever is first of the two, the effect or the signal, decides.
///
/// An effect that is run again is raced with the same signal, one time after the other; once stopped, it stays so.
final class StopSignal: Sendable {
    private let contents = Mutex(Contents())

    private struct Contents: Sendable {
        var isStopped = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    func stop() {
        contents.withLock { contents in
            contents.isStopped = true
            return contents.waiter.take()
        }?.resume()
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation before this is seen here; a later one finds the waiter.
                let isOver = contents.withLock { contents in
                    guard !contents.isStopped, !Task.isCancelled else { return true }
                    contents.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            // The wait is over, by the end of its race: nobody has stopped the effect.
            contents.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Runs a body; nil if it was stopped, or its task was cancelled, before it came to its end.
    ///
    /// It is awaited in any case.
    func race<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error>? {
        await withTaskGroup(of: Result<Value, any Error>?.self) { group in
            group.addTask {
                do { return .success(try await body()) } catch {
                    if error is CancellationError, Task.isCancelled { return nil }
                    return .failure(error)
                }
            }
            group.addTask {
                await self.wait()
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}
