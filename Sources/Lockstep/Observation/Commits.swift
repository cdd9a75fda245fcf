package import LockstepCore
import LockstepNode

/// A committed entry with the states before and after it, as immutable copies.
///
/// Whoever holds a commit holds both states; a large `Dictionary` or `Array` in them was copied for it by the observer,
/// never by the node. A ``ReplicatedMap`` or ``IdentifiedList`` shares what did not change.
public struct Commit<R: Reactor>: Sendable {
    /// Its place, time, cause and mutations.
    public let entry: LoggedEntry<R>
    /// The state before it.
    public let before: R.State
    /// The state after it.
    public let after: R.State

    /// Makes a commit out of an entry and the state before it, by the reactor's own `reduce`.
    public init(_ entry: LoggedEntry<R>, before: R.State) {
        self.entry = entry
        self.before = before
        var state = before
        for mutation in entry.mutations { R.reduce(into: &state, mutation, entry.context) }
        after = state
    }

    /// Its place in the log.
    public var place: Place { entry.place }
    /// Its time.
    public var time: LogTime { entry.time }
    /// What brought it.
    public var cause: CommitCause { entry.cause }
    /// What it did, in order.
    public var mutations: [R.Mutation] { entry.mutations }
    /// The state after it, with its place and time.
    public var snapshot: Snapshot<R.State> { Snapshot(state: after, place: place, time: time) }
}

/// The commits of a store, in order and without a gap; see ``Store/commits(after:)``.
public struct Commits<R: Reactor>: AsyncSequence, Sendable {
    /// An entry with the states around it.
    public typealias Element = Commit<R>
    /// ``LockstepError``.
    public typealias Failure = any Error

    /// The state that the first commit changes.
    ///
    /// Of a store that was not live yet, and if no state was given, it is the initial state, and a loop begins with the
    /// first state that the store shows instead. After ``Store/whenLive()`` it is one of the cluster's.
    public let start: Snapshot<R.State>
    /// Where a loop waits for the first state that is shown, to begin with that; nil: it begins with ``start``.
    private let unshown: PublishedState<R.State>?
    private let batches: @Sendable (Place) -> AsyncThrowingStream<SealedBatch, any Error>
    private let names: @Sendable () async throws -> SenderNames
    /// Waits until readers see what an observer is about to be told (guarantee 11).
    private let waitUntilShown: @Sendable (SequenceNumber) async throws -> Void

    package init(
        start: Snapshot<R.State>, unshown: PublishedState<R.State>? = nil,
        batches: @escaping @Sendable (Place) -> AsyncThrowingStream<SealedBatch, any Error>,
        names: @escaping @Sendable () async throws -> SenderNames = { SenderNames() },
        waitUntilShown: @escaping @Sendable (SequenceNumber) async throws -> Void
    ) {
        self.start = start
        self.unshown = unshown
        self.batches = batches
        self.names = names
        self.waitUntilShown = waitUntilShown
    }

    /// The same after another state.
    func restarted(at start: Snapshot<R.State>) -> Commits {
        Commits(start: start, batches: batches, names: names, waitUntilShown: waitUntilShown)
    }

    /// Starts after ``start``, or after the first state of a store that was not live yet.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for commits.
    public struct Iterator: AsyncIteratorProtocol {
        /// The state after the last commit; before the first, the one to begin with.
        public private(set) var snapshot: Snapshot<R.State>
        private let source: Commits
        private var batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator
        private var names: SenderNames?
        private let coding = R.mutationCoding
        /// The entries of the batch at hand, the next one last.
        private var ready: [LoggedEntry<R>] = []
        /// The end of the last batch and its hash, to notice another history.
        private var end: (sequence: SequenceNumber, hash: BatchHash)?
        /// Where the first state is still waited for.
        private var unshown: PublishedState<R.State>?
        /// An error has ended it: what is at hand may be nothing that readers see yet.
        private var isOver = false

        init(_ source: Commits) {
            self.source = source
            snapshot = source.start
            batches = source.batches(source.start.place).makeAsyncIterator()
            unshown = source.unshown
        }

        /// The next commit; nil when the node has stopped or the task is cancelled.
        public mutating func next() async throws -> Commit<R>? {
            guard !isOver else { return nil }
            do { return try await nextCommit() } catch {
                isOver = true
                guard error.isEndOfSequence else { throw error }
                return nil
            }
        }

        /// The state to begin with, which is waited for if the store has shown none; nil if there will be none.
        mutating func begin() async -> Snapshot<R.State>? {
            guard let published = unshown else { return snapshot }
            var states = States(published: published).makeAsyncIterator()
            guard let first = await states.next() else { return nil }
            unshown = nil
            snapshot = first
            batches = source.batches(first.place).makeAsyncIterator()
            return first
        }

        private mutating func nextCommit() async throws -> Commit<R>? {
            if unshown != nil, await begin() == nil { return nil }
            while ready.isEmpty {
                guard let batch = try await batches.next(isolation: #isolation) else { return nil }
                try check(batch)
                ready = try await Entries<R>.Iterator.entries(
                    of: batch, after: snapshot.place.sequence, coding, &names, source.names
                ).reversed()
                guard !ready.isEmpty else { continue }
                try await source.waitUntilShown(batch.head.last)
            }
            let commit = Commit(ready.removeLast(), before: snapshot.state)
            snapshot = commit.snapshot
            return commit
        }

        /// A replica that took another history in place of its own shows batches that do not follow.
        private mutating func check(_ batch: SealedBatch) throws {
            defer { end = (batch.head.last, batch.hash) }
            guard let end, batch.head.last > end.sequence else { return }
            guard batch.head.first == end.sequence.next, batch.head.previous == end.hash else {
                throw LockstepError(
                    .positionTooOld,
                    "the entries after \(end.sequence) are of another history: read the state and go on from its place"
                )
            }
        }
    }
}

extension Store {
    /// Every commit after a state, with the states before and after it, in order and without a gap.
    ///
    /// It begins with the current state, or with one that was taken before; ``Commits/start`` says which. Of a store
    /// that was not live yet, a loop begins with the first state that it sees: what is in the log then happened before
    /// (guarantee 16). States are made by the reactor's `reduce` on the consumer's task, so the node does nothing more
    /// for it than for ``entries(after:)``. When a commit is handed out, ``state`` includes it (guarantee 11).
    ///
    /// The loop throws ``LockstepError`` with code `positionTooOld` if the node no longer holds the entries: the state
    /// was old, the consumer slow, or the log was replaced by another. Begin again with ``snapshot`` then. The node's
    /// end ends the loop.
    ///
    /// - Parameter snapshot: The state to begin with; it must be one of this store. The current one, if none is given.
    /// - Returns: The commits after it; each loop over them begins there.
    public func commits(after snapshot: Snapshot<R.State>? = nil) -> Commits<R> {
        let port = end.port
        // Asked for first: a state that is shown between the two is one to begin with.
        let isShown = snapshot != nil || published.isShown
        return Commits(
            start: snapshot ?? self.snapshot, unshown: isShown ? nil : published,
            batches: { port.batches(after: $0.sequence, in: $0.epoch) },
            names: { SenderNames(try await port.senders()) },
            waitUntilShown: { sequence in
                guard port.publishedSequence < sequence else { return }
                try await port.waitUntilShown(sequence, timeout: .seconds(600))
            })
    }

    /// The current state, then the state after every commit, without a gap (guarantee 10).
    ///
    /// Nothing is kept for a slow consumer beyond some batches at hand: the node holds its resend window, 64 MiB of
    /// entries, and `rule` decides what becomes of a consumer that is slower than that.
    public func states(every rule: OverflowRule) -> EveryState<R> {
        EveryState(commits: commits(), published: published, rule: rule)
    }
}

/// What becomes of a consumer that is slower than the entries that a node holds.
public enum OverflowRule: Hashable, Sendable {
    /// The loop ends with ``LockstepError`` of code `positionTooOld`.
    case fail
    /// It goes on with the current state, and ``StateStep/missed`` says how many entries lie between.
    case jump
}

/// A state of a sequence that shows every one.
public struct StateStep<State: Sendable>: Sendable {
    /// The state, its place and its time.
    public let snapshot: Snapshot<State>
    /// 0; more if the consumer was too slow: how many sequence numbers lie between this state and the one before.
    ///
    /// It is 0, too, after a jump to another log that has replaced this one and is not longer.
    public let missed: UInt64
    /// The state.
    public var state: State { snapshot.state }
    /// The last entry that it includes.
    public var place: Place { snapshot.place }
}

/// The states of a store after every commit; see ``Store/states(every:)``.
public struct EveryState<R: Reactor>: AsyncSequence, Sendable {
    /// A state, or a jump to one.
    public typealias Element = StateStep<R.State>
    /// ``LockstepError``.
    public typealias Failure = any Error

    let commits: Commits<R>
    let published: PublishedState<R.State>
    let rule: OverflowRule

    package init(commits: Commits<R>, published: PublishedState<R.State>, rule: OverflowRule) {
        self.commits = commits
        self.published = published
        self.rule = rule
    }

    /// Starts with the state that was current when the sequence was made, or with the first one of a store that was not
    /// live before.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for states.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: EveryState
        private var commits: Commits<R>.Iterator
        private var isBegun = false

        init(_ source: EveryState) {
            self.source = source
            commits = source.commits.makeAsyncIterator()
        }

        /// The next state; nil when the node has stopped or the task is cancelled.
        public mutating func next() async throws -> StateStep<R.State>? {
            guard isBegun else {
                isBegun = true
                return await commits.begin().map { StateStep(snapshot: $0, missed: 0) }
            }
            do {
                return try await commits.next().map { StateStep(snapshot: $0.snapshot, missed: 0) }
            } catch let error as LockstepError where error.code == .positionTooOld && source.rule == .jump {
                return await jump()
            }
        }

        /// The next state that was not seen yet: a later one of this log, or any of a log that has replaced it, since
        /// that may be shorter.
        private mutating func jump() async -> StateStep<R.State>? {
            let last = commits.snapshot.place
            var states = States(published: source.published).makeAsyncIterator()
            while let snapshot = await states.next() {
                let place = snapshot.place
                guard place.epoch != last.epoch || place.sequence > last.sequence else { continue }
                commits = source.commits.restarted(at: snapshot).makeAsyncIterator()
                let missed = place.sequence > last.sequence ? place.sequence.rawValue - last.sequence.rawValue : 0
                return StateStep(snapshot: snapshot, missed: missed)
            }
            return nil
        }
    }
}
