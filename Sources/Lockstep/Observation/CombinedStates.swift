/// The newest states of two stores, each with its own place in its own log; see ``CombinedStates``.
///
///     for await (cart, prices) in combine(carts, catalogue) { show(cart.state, prices.state, cart.place) }
public func combine<A: Reactor, B: Reactor>(
    _ a: Store<A>, _ b: Store<B>
) -> CombinedStates<(Snapshot<A.State>, Snapshot<B.State>)> {
    let (first, second) = (a.published, b.published)
    return CombinedStates(waits: [first.isNewer, second.isNewer]) {
        let (one, two) = (first.currentVersion(), second.currentVersion())
        return ((one.snapshot, two.snapshot), [one.version, two.version])
    }
}

/// The newest states of three stores, each with its own place in its own log; see ``CombinedStates``.
public func combine<A: Reactor, B: Reactor, C: Reactor>(
    _ a: Store<A>, _ b: Store<B>, _ c: Store<C>
) -> CombinedStates<(Snapshot<A.State>, Snapshot<B.State>, Snapshot<C.State>)> {
    let (first, second, third) = (a.published, b.published, c.published)
    return CombinedStates(waits: [first.isNewer, second.isNewer, third.isNewer]) {
        let (one, two, three) = (first.currentVersion(), second.currentVersion(), third.currentVersion())
        return ((one.snapshot, two.snapshot, three.snapshot), [one.version, two.version, three.version])
    }
}

/// The states of several stores together, each with its own place in its own log; see ``combine(_:_:)``.
///
/// It begins with the current states, as soon as each store was live once, and goes on with the newest of all whenever
/// one of them is newer; a slow consumer misses some in between. The stores have no common order, so a combination says
/// nothing of which change was first. It ends when all of them have, and without a state if one ends that was never
/// live.
public struct CombinedStates<Element: Sendable>: AsyncSequence, Sendable {
    /// It does not fail.
    public typealias Failure = Never

    /// For each store: waits for another version than this, 0 for the first; false at its end, and when the task is
    /// cancelled.
    let waits: [@Sendable (UInt64) async -> Bool]
    /// The newest states, and their versions.
    let take: @Sendable () -> (Element, [UInt64])

    package init(
        waits: [@Sendable (UInt64) async -> Bool], take: @escaping @Sendable () -> (Element, [UInt64])
    ) {
        self.waits = waits
        self.take = take
    }

    /// Starts with the current states.
    public func makeAsyncIterator() -> Iterator { Iterator(source: self) }

    /// Waits for states.
    public struct Iterator: AsyncIteratorProtocol {
        /// It does not fail.
        public typealias Failure = Never

        private let source: CombinedStates
        /// What was handed out last of each; empty before the first.
        private var versions: [UInt64] = []

        init(source: CombinedStates) { self.source = source }

        /// The newest states as soon as one is newer than the last ones; nil when no store will change again.
        public mutating func next() async -> Element? {
            guard !Task.isCancelled else { return nil }
            guard await versions.isEmpty ? waitForAll() : waitForOne() else { return nil }
            let (element, newest) = source.take()
            versions = newest
            return element
        }

        /// Waits until each store has shown a state; false if one of them never will.
        private func waitForAll() async -> Bool {
            await withTaskGroup(of: Bool.self) { group in
                for wait in source.waits { group.addTask { await wait(0) } }
                for await isShown in group where !isShown {
                    group.cancelAll()
                    return false
                }
                return true
            }
        }

        private func waitForOne() async -> Bool {
            await withTaskGroup(of: Bool.self) { group in
                for (wait, version) in zip(source.waits, versions) { group.addTask { await wait(version) } }
                // A store that has ended says so at once; the others may still change.
                for await isNewer in group where isNewer {
                    group.cancelAll()
                    return true
                }
                return false
            }
        }
    }
}

extension PublishedState {
    /// Waits for another version; false at the end, and when the task is cancelled.
    @Sendable package func isNewer(than version: UInt64) async -> Bool { await next(after: version) != nil }
}
