import Synchronization

/// Looks at commits, one after the other.
///
/// It is called outside of the commit, on the task of ``CommitObservers/run()``, with copies that it cannot change: it
/// may send actions, which are performed as any others and come round as commits of their own. To refuse or rewrite an
/// action is a matter of ``Middleware``.
public protocol CommitObserver<R>: Sendable {
    /// The reactor whose commits it looks at.
    associatedtype R: Reactor

    /// An entry is about to be shown: called in the order of registration.
    func willCommit(_ entry: LoggedEntry<R>, before: R.State) async

    /// It has been: called in the reverse order, when ``Store/state`` includes it.
    func didCommit(_ commit: Commit<R>) async
}

extension CommitObserver {
    /// Does nothing.
    public func willCommit(_ entry: LoggedEntry<R>, before: R.State) async {}
    /// Does nothing.
    public func didCommit(_ commit: Commit<R>) async {}
}

/// The observers of a store's commits, which are told in an order that is written down: that of registration.
///
///     let observers = store.observers()
///     observers.add(CommitLogger())
///     observers.add { commit in print(commit.place) }
///     try await observers.run()
///
/// One commit is delivered at a time: to each observer in turn, and the next commit when the last one has returned. So
/// an observer that sends an action and waits for it is not called again meanwhile, however often: the depth of calls
/// is constant (guarantee 12). Who is added or removed during a delivery is so from the next commit on. A slow
/// observer holds up those after it, and never the node.
public final class CommitObservers<R: Reactor>: Sendable {
    /// Names an observer, to remove it.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }

    private let commits: Commits<R>
    private let contents = Mutex(Contents())

    private struct Contents: Sendable {
        var observers: [(id: ID, observer: any CommitObserver<R>)] = []
        var lastNumber: UInt64 = 0
    }

    init(commits: Commits<R>) { self.commits = commits }

    /// The state that the first commit changes; of a store that was not live yet see ``Commits/start``.
    public var start: Snapshot<R.State> { commits.start }

    /// Adds an observer after those that are there, from the next commit on.
    @discardableResult
    public func add(_ observer: some CommitObserver<R>) -> ID {
        contents.withLock { contents in
            contents.lastNumber += 1
            let id = ID(number: contents.lastNumber)
            contents.observers.append((id, observer))
            return id
        }
    }

    /// Adds a closure that is told of what has committed.
    @discardableResult
    public func add(_ body: @escaping @Sendable (Commit<R>) async -> Void) -> ID {
        add(ClosureObserver(body: body))
    }

    /// Removes an observer, from the next commit on; false if it is not there.
    @discardableResult
    public func remove(_ id: ID) -> Bool {
        contents.withLock { contents in
            guard let index = contents.observers.firstIndex(where: { $0.id == id }) else { return false }
            contents.observers.remove(at: index)
            return true
        }
    }

    /// Delivers commits until the node stops or the task is cancelled; called once.
    ///
    /// - Throws: ``LockstepError`` as ``Store/commits(after:)`` does, when observers are too slow.
    public func run() async throws {
        for try await commit in commits { await deliver(commit) }
    }

    private func deliver(_ commit: Commit<R>) async {
        let observers = contents.withLock { $0.observers.map(\.observer) }
        for observer in observers { await observer.willCommit(commit.entry, before: commit.before) }
        for observer in observers.reversed() { await observer.didCommit(commit) }
    }
}

private struct ClosureObserver<R: Reactor>: CommitObserver {
    let body: @Sendable (Commit<R>) async -> Void
    func didCommit(_ commit: Commit<R>) async { await body(commit) }
}

extension Store {
    /// Makes a registry of observers that are told of every commit after a state; by default after the current one.
    ///
    /// Of a store that was not live yet, they are told of what follows the first state that ``CommitObservers/run()``
    /// sees; see ``commits(after:)``.
    public func observers(after snapshot: Snapshot<R.State>? = nil) -> CommitObservers<R> {
        CommitObservers(commits: commits(after: snapshot))
    }
}
