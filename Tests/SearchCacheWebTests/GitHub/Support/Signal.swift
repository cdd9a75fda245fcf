#if Web
    import Synchronization

    /// A value that tests wait for: no time passes that nothing needs.
    final class Signal<Value: Sendable>: Sendable {
        private struct State {
            var value: Value
            var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
            var lastWatcher = 0
        }

        private let state: Mutex<State>

        init(_ value: Value) { state = Mutex(State(value: value)) }

        var value: Value { state.withLock { $0.value } }

        @discardableResult
        func change<Result>(_ change: (inout sending Value) -> sending Result) -> sending Result {
            state.withLock { state in
                defer { for watcher in state.watchers.values { watcher.yield() } }
                return change(&state.value)
            }
        }

        /// Waits until the value is as it should be; ends with an error if the task is cancelled.
        func wait(_ condition: (Value) -> Bool) async throws {
            let (changes, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            watcher.yield()
            let id = state.withLock { state in
                state.lastWatcher += 1
                state.watchers[state.lastWatcher] = watcher
                return state.lastWatcher
            }
            defer { _ = state.withLock { $0.watchers.removeValue(forKey: id) } }
            for await _ in changes where condition(value) { return }
            throw CancellationError()
        }
    }

    /// Something that a test lets happen.
    struct Gate: Sendable {
        private let signal = Signal(false)

        func open() { signal.change { $0 = true } }

        func pass() async throws { try await signal.wait { $0 } }
    }
#endif
