public import LockstepNode

extension Node {
    /// Adds a store to a primary or a replica, before `run()`.
    ///
    /// All nodes of a cluster give the store the same name and reactors of the same version. The store can be used at
    /// once, from any thread; what is sent before the node runs waits.
    ///
    /// - Parameters:
    ///   - reactor: What the store does; the node keeps it.
    ///   - name: 1 to 64 letters, digits, `-`, `_` and `.`.
    ///   - clock: What effects wait on; log time is not concerned.
    /// - Returns: The store, a value that may be copied freely.
    /// - Throws: ``LockstepError`` with code `invalidConfiguration`: the node runs already, is a client, or has a store
    ///   of this name.
    public nonisolated func store<R: Reactor>(
        _ reactor: R, named name: String, clock: any Clock<Duration> = ContinuousClock()
    ) throws -> Store<R> {
        // Names that cannot be are found here, and not when the first primary opens.
        _ = (reactor.feedback, reactor.sources)
        let initial = Snapshot(state: reactor.initialState, place: .start, time: .zero)
        let published = PublishedState(initial, isShown: false)
        let runtime = EffectRuntime(reactor, published: published, clock: clock)
        let port = try attach(name: name, executor: runtime) {
            ReactorState(reactor, published: published, runtime: runtime)
        }
        return Store(port: port, published: published, failures: runtime.failures)
    }

    /// Adds a store to a client, which holds no state, before `run()`.
    ///
    /// - Parameters:
    ///   - reactor: The type of the store's reactor at the primary.
    ///   - name: The store's name there.
    /// - Returns: The store, a value that may be copied freely.
    /// - Throws: ``LockstepError`` with code `invalidConfiguration`: the node runs already, is no client, or has a store
    ///   of this name.
    public nonisolated func remote<R: Reactor>(_ reactor: R.Type, named name: String) throws -> RemoteStore<R> {
        RemoteStore(port: try attachRemote(name: name))
    }
}
