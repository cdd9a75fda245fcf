#if Web
    import SearchCache
    import Synchronization

    /// Lets so many requests run at once; others wait in the order in which they came.
    package final class RequestSlots: Sendable {
        private struct Waiter {
            var id: UInt64
            var continuation: CheckedContinuation<Void, any Error>
        }

        private struct State {
            var free: Int
            var waiting: [Waiter] = []
            var lastID: UInt64 = 0
        }

        private let state: Mutex<State>
        private let waitingLimit: Int

        /// So many slots, and room for so many that wait.
        package init(_ count: Int, waiting: Int) {
            state = Mutex(State(free: count))
            waitingLimit = waiting
        }

        /// How many wait.
        package var waitingCount: Int { state.withLock { $0.waiting.count } }

        /// Runs a body in a slot.
        ///
        /// - Throws: ``SearchError`` if too many wait already, `CancellationError` if the task is cancelled before its
        ///   turn, and what the body throws.
        package func withSlot<Value>(_ body: () async throws -> Value) async throws -> Value {
            try await take()
            defer { give() }
            return try await body()
        }

        private func take() async throws {
            let id = state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    let outcome: Result<Void, any Error>? = state.withLock { state in
                        // A task is marked as cancelled before its handler runs: either this sees the mark, or the
                        // handler, which has to wait for the lock, finds the waiter.
                        if Task.isCancelled { return .failure(CancellationError()) }
                        if state.free > 0 {
                            state.free -= 1
                            return .success(())
                        }
                        guard state.waiting.count < waitingLimit else {
                            return .failure(
                                SearchError(.offline, "\(waitingLimit) requests wait for the backend already"))
                        }
                        state.waiting.append(Waiter(id: id, continuation: continuation))
                        return nil
                    }
                    if let outcome { continuation.resume(with: outcome) }
                }
            } onCancel: {
                let waiter = state.withLock { state in
                    state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
                }
                waiter?.continuation.resume(throwing: CancellationError())
            }
        }

        /// The slot goes to the first that waits, so that nobody who comes later is before it.
        private func give() {
            let next: Waiter? = state.withLock { state in
                if state.waiting.isEmpty {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            next?.continuation.resume()
        }
    }
#endif
