import Synchronization

/// A value that can be read, set and followed by any number of consumers.
///
/// It never fails and never ends. A consumer starts with the current value, and is told of every change, of one to an
/// equal value too; a consumer that is slower than the changes gets the newest value and skips those between.
/// For every single value, see ``Broadcast``.
public final class CurrentValue<Value: Sendable>: Sendable {
    private struct Contents {
        var value: Value
        /// Grows with each change.
        var version: UInt64 = 1
        var lastWaiter: UInt64 = 0
        /// In the order in which they came to wait, which is the order in which they are told.
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let contents: Mutex<Contents>

    /// Starts with a value.
    public init(_ value: Value) { contents = Mutex(Contents(value: value)) }

    /// The current value; setting it tells all consumers.
    public var value: Value {
        get { contents.withLock { $0.value } }
        set { accept(newValue) }
    }

    /// Sets the value, and tells all consumers.
    public func accept(_ value: Value) { _ = replace(ifVersion: nil, with: value) }

    /// Changes the value as one step: no change of another task falls between its reading and its writing.
    ///
    /// The closure runs without a lock, and again if another change came first: it may do nothing but compute.
    @discardableResult public func update<Result>(_ change: (inout Value) -> Result) -> Result {
        while true {
            var (value, version) = contents.withLock { ($0.value, $0.version) }
            let result = change(&value)
            if replace(ifVersion: version, with: value) { return result }
        }
    }

    /// How many consumers wait for a change at this moment.
    public var waitingConsumers: Int { contents.withLock { $0.waiters.count } }

    /// The current value, then each newer one; it ends only when the consumer's task is cancelled.
    public var values: Values { Values(source: self) }

    private func replace(ifVersion version: UInt64?, with value: Value) -> Bool {
        // The old value is let go outside of the lock: its end may run user code.
        let (old, waiters) = contents.withLock { contents -> (Value?, [CheckedContinuation<Void, Never>]) in
            if let version, version != contents.version { return (nil, []) }
            let old = contents.value
            contents.value = value
            contents.version += 1
            defer { contents.waiters = [] }
            return (old, contents.waiters.map(\.continuation))
        }
        for waiter in waiters { waiter.resume() }
        return old != nil
    }

    private func next(after version: UInt64) async -> (value: Value, version: UInt64)? {
        while !Task.isCancelled {
            let found = contents.withLock { $0.version == version ? nil : ($0.value, $0.version) }
            if let found { return found }
            await wait(for: version)
        }
        return nil
    }

    /// Stays where the caller is isolated, so that consumers on one actor are told in the order in which they wait.
    private func wait(for version: UInt64, isolation: isolated (any Actor)? = #isolation) async {
        let id = contents.withLock { contents in
            contents.lastWaiter += 1
            return contents.lastWaiter
        }
        await withTaskCancellationHandler {
            // Only a closure that captures the isolation has it.
            _ = isolation
            await withCheckedContinuation { continuation in
                // A cancellation before this sees no waiter, and is seen here; a later one finds the waiter.
                let isOver = contents.withLock { contents in
                    guard contents.version == version, !Task.isCancelled else { return true }
                    contents.waiters.append((id, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = contents.withLock { contents in
                contents.waiters.firstIndex { $0.id == id }.map { contents.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }

    /// The values of a ``CurrentValue``; see ``CurrentValue/values``.
    public struct Values: AsyncSequence, Sendable {
        /// A value.
        public typealias Element = Value
        /// It does not fail.
        public typealias Failure = Never

        fileprivate let source: CurrentValue

        /// Starts with the current value.
        public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

        /// Waits for changes.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            /// It does not fail.
            public typealias Failure = Never

            fileprivate let source: CurrentValue
            /// The version handed out last; 0 is before the first.
            private var version: UInt64 = 0

            fileprivate init(source: CurrentValue) { self.source = source }

            /// The newest value as soon as there was a change since the last one; `nil` when the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
                guard let (value, version) = await source.next(after: version) else { return nil }
                self.version = version
                return value
            }
        }
    }
}
