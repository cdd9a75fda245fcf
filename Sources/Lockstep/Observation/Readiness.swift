public import LockstepNode

extension Store {
    /// How far the store can be relied on at this moment.
    public var readiness: StoreReadiness { standingValue.value.readiness }

    /// The readiness now, then whenever it changes; it ends with ``StoreReadiness/stopped``.
    ///
    /// A slow consumer misses what did not last.
    public var readinessChanges: ReadinessChanges { ReadinessChanges(values: standingValue.values) }

    /// Waits until the store is live: of a primary until it admits, of a replica until it has what its primary had.
    ///
    /// It returns at once on a store that is live, and waits on one that is stale, for ever if need be. Before the first
    /// time, ``state`` is not the cluster's, and reads are `unavailable`.
    ///
    ///     try await stock.whenLive()
    ///     print(stock.state.amounts.count)
    ///
    /// - Throws: ``LockstepError`` with code `stopped` if the node ends before, and `refused` if the node that this one is
    ///   connected to does not have the store and nobody had it before; `CancellationError`.
    public func whenLive() async throws { try await readinessChanges.live(name) }

    /// Waits until the store is live and its state includes everything that was acknowledged before the call.
    ///
    /// It asks the primary, also on a store that is live. On one that is stale it waits until that is over.
    ///
    /// - Throws: ``LockstepError`` as ``whenLive()`` does; `timeout` if the primary does not answer for 30 seconds;
    ///   `CancellationError`.
    public func whenReady() async throws {
        try await whenLive()
        _ = try await snapshot(.linearizable)
    }
}

extension RemoteStore {
    /// Waits until a node answers for the store, whether primary or replica.
    ///
    /// It returns at once while one does, and waits as long as none does.
    ///
    /// - Throws: ``LockstepError`` with code `stopped` if this node ends before, and `refused` if the node that answers does
    ///   not have the store and nobody had it before; `CancellationError`.
    public func whenLive() async throws {
        try await ReadinessChanges(values: standingValue.values).live(name)
    }
}

extension ReadinessChanges {
    /// Waits for `live`, and no longer than it can come by itself.
    fileprivate func live(_ store: String) async throws {
        for await standing in values {
            if standing.readiness == .live { return }
            if let refusal = standing.refusal { throw refusal }
            if standing.readiness == .stopped { break }
        }
        try Task.checkCancellation()
        throw LockstepError(.stopped, "the node ended before its store \(store) was live")
    }
}

/// The readiness of a store as it changes; see ``Store/readinessChanges``.
public struct ReadinessChanges: AsyncSequence, Sendable {
    /// How far the store can be relied on.
    public typealias Element = StoreReadiness
    /// It does not fail.
    public typealias Failure = Never

    let values: CurrentValue<StoreStanding>.Values

    /// Starts with the readiness now.
    public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }

    /// Waits for changes.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private var values: CurrentValue<StoreStanding>.Values.Iterator
        private var last: StoreReadiness?

        init(values: CurrentValue<StoreStanding>.Values.Iterator) { self.values = values }

        /// The next readiness; nil after `stopped`, or when the task is cancelled.
        public mutating func next() async -> StoreReadiness? {
            while last != .stopped, let standing = await values.next() {
                guard standing.readiness != last else { continue }
                last = standing.readiness
                return last
            }
            return nil
        }
    }
}

/// What a view does with what it is attached to, and nothing of it after that.
///
///     let binding = Binding<Store<App>> { store in
///         guard (try? await store.whenReady()) != nil else { return }   // the node ended: nothing to show
///         for await title in store.select(\.title) { print(title) }
///     }
///     async let bound: Void = binding.run()
///     binding.attach(store)
///
/// Attaching again, also to the same, ends what was bound before the new one begins; nil detaches. What is attached
/// while nothing runs waits, and only the last is bound.
public final class Binding<Target: Sendable>: Sendable {
    private let target = CurrentValue<Target?>(nil)
    private let bind: @Sendable (Target) async -> Void

    /// Makes a binding; nothing runs yet.
    ///
    /// - Parameter bind: Does all that belongs to a target, and returns when its task is cancelled.
    public init(_ bind: @escaping @Sendable (_ target: Target) async -> Void) { self.bind = bind }

    /// Takes another target in place of the one before, or none.
    public func attach(_ target: Target?) { self.target.accept(target) }

    /// Binds what is attached, one target after the other, until the task is cancelled; called once at a time.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            var bound: StopSignal?
            for await target in target.values {
                bound?.stop()
                await group.waitForAll()
                bound = nil
                guard let target else { continue }
                let signal = StopSignal()
                bound = signal
                group.addTask { [bind] in _ = await signal.race { await bind(target) } }
            }
            bound?.stop()
            group.cancelAll()
        }
    }
}
