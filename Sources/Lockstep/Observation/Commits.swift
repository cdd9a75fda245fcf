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
    public let start: Snapshot<R.State>
    private let batches: @Sendable (Place) -> AsyncThrowingStream<SealedBatch, any Error>
    private let names: @Sendable () async throws -> SenderNames
    /// Waits until readers see what an observer is about to be told (guarantee 11).
    private let waitUntilShown: @Sendable (SequenceNumber) async throws -> Void

    package init(
        start: Snapshot<R.State>,
        batches: @escaping @Sendable (Place) -> AsyncThrowingStream<SealedBatch, any Error>,
        names: @escaping @Sendable () async throws -> SenderNames = { SenderNames() },
        waitUntilShown: @escaping @Sendable (SequenceNumber) async throws -> Void
    ) {
        self.start = start
        self.batches = batches
        self.names = names
        self.waitUntilShown = waitUntilShown
    }

    /// The same after another state.
    func restarted(at start: Snapshot<R.State>) -> Commits {
        Commits(start: start, batches: batches, names: names, waitUntilShown: waitUntilShown)
    }

    /// Starts after ``start``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(start, batches(start.place).makeAsyncIterator(), names, waitUntilShown)
    }

    /// Waits for commits.
    public struct Iterator: AsyncIteratorProtocol {
        /// The state after the last commit.
        public private(set) var snapshot: Snapshot<R.State>
        private var batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator
        private let waitUntilShown: @Sendable (SequenceNumber) async throws -> Void
        private let firstNames: @Sendable () async throws -> SenderNames
        private var names: SenderNames?
        private let coding = R.mutationCoding
        /// The entries of the batch at hand, the next one last.
        private var ready: [LoggedEntry<R>] = []
        /// The end of the last batch and its hash, to notice another history.
        private var end: (sequence: SequenceNumber, hash: BatchHash)?

        init(
            _ start: Snapshot<R.State>, _ batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator,
            _ names: @escaping @Sendable () async throws -> SenderNames,
            _ waitUntilShown: @escaping @Sendable (SequenceNumber) async throws -> Void
        ) {
            snapshot = start
            self.batches = batches
            firstNames = names
            self.waitUntilShown = waitUntilShown
        }

        /// The next commit; nil when the node has stopped or the task is cancelled.
        public mutating func next() async throws -> Commit<R>? {
            while ready.isEmpty {
                guard let batch = try await batches.nextOfNode() else { return nil }
                try check(batch)
                ready = try await Entries<R>.Iterator.entries(
                    of: batch, after: snapshot.place.sequence, coding, &names, firstNames
                ).reversed()
                guard !ready.isEmpty else { continue }
                try await waitUntilShown(batch.head.last)
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
    /// It begins with the current state, or with one that was taken before; ``Commits/start`` says which. States are
    /// made by the reactor's `reduce` on the consumer's task, so the node does nothing more for it than for
    /// ``entries(after:)``. When a commit is handed out, ``state`` includes it (guarantee 11).
    ///
    /// The loop throws ``LockstepError`` with code `positionTooOld` if the node no longer holds the entries: the state
    /// was old, the consumer slow, or the log was replaced by another. Begin again with ``snapshot`` then. The node's
    /// end ends the loop.
    ///
    /// - Parameter snapshot: The state to begin with; it must be one of this store.
    /// - Returns: The commits after it; each loop over them begins there.
    public func commits(after snapshot: Snapshot<R.State>? = nil) -> Commits<R> {
        let port = end.port
        return Commits(
            start: snapshot ?? self.snapshot, batches: { port.batches(after: $0.sequence, in: $0.epoch) },
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
        // Asked for first: a state that is shown between the two is one to begin with.
        let isShown = published.isShown
        return EveryState(commits: commits(), published: published, rule: rule, waitsForFirst: !isShown)
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
    /// No state was shown yet when the sequence was made.
    let waitsForFirst: Bool

    package init(
        commits: Commits<R>, published: PublishedState<R.State>, rule: OverflowRule, waitsForFirst: Bool = false
    ) {
        self.commits = commits
        self.published = published
        self.rule = rule
        self.waitsForFirst = waitsForFirst
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
                return await begin().map { StateStep(snapshot: $0, missed: 0) }
            }
            do {
                return try await commits.next().map { StateStep(snapshot: $0.snapshot, missed: 0) }
            } catch let error as LockstepError where error.code == .positionTooOld && source.rule == .jump {
                return await jump()
            }
        }

        /// The state that was current; of a store that had none of the cluster's, the first that it shows.
        private mutating func begin() async -> Snapshot<R.State>? {
            guard source.waitsForFirst else { return commits.snapshot }
            var states = States(published: source.published).makeAsyncIterator()
            guard let first = await states.next() else { return nil }
            commits = source.commits.restarted(at: first).makeAsyncIterator()
            return first
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
