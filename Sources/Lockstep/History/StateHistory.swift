internal import DequeModule
import LockstepNode
import Synchronization

/// The last states of a store in memory, to look at as they were: time travel with a bound.
///
///     let history = StateHistory(store, capacity: 1_000)
///     try await history.run()                                    // on a task, as long as the node runs
///     let then = try history.state(at: receipt.place.sequence)
///
/// It follows the commits of one node and changes nothing: to go back is a mutation of its own (``UndoHistory``), and
/// the log is never rewritten. For states that are older than its ring, replay a journal. What it keeps of a state that
/// is made of ``ReplicatedMap`` and ``IdentifiedList`` is what changed; an `Array` is kept whole each time.
public final class StateHistory<R: Reactor>: CommitObserver {
    /// The most commits whose states are kept.
    public let capacity: Int
    private let commits: Commits<R>?
    private let contents: Mutex<Deque<Kept>>

    private struct Kept {
        var snapshot: Snapshot<R.State>
        /// Entries before it were not followed, so the states between it and the one before are unknown.
        var isAfterGap = false
        var place: Place { snapshot.place }
    }

    /// Follows a store from its current state on, when ``run()`` is called.
    ///
    /// Of a store that was not live yet, it has the initial state until ``run()`` sees the first state of the cluster,
    /// and begins with that.
    public convenience init(_ store: Store<R>, capacity: Int = 256) {
        let commits = store.commits()
        self.init(start: commits.start, capacity: capacity, commits: commits)
    }

    /// Begins with a state, to be added to ``CommitObservers`` whose ``CommitObservers/start`` it is.
    ///
    /// Make both after ``Store/whenLive()``, so that it is a state of the cluster.
    public convenience init(start: Snapshot<R.State>, capacity: Int = 256) {
        self.init(start: start, capacity: capacity, commits: nil)
    }

    private init(start: Snapshot<R.State>, capacity: Int, commits: Commits<R>?) {
        precondition(capacity >= 1, "a history has room for a commit")
        self.capacity = capacity
        self.commits = commits
        contents = Mutex([Kept(snapshot: start)])
    }

    /// Follows the store until its node stops or the task is cancelled.
    ///
    /// - Throws: ``LockstepError`` with code `positionTooOld` if it was slower than the entries that the node holds.
    public func run() async throws {
        guard let commits else { preconditionFailure("a history that was made of a state is fed by observers") }
        var following = commits.makeAsyncIterator()
        guard let start = await following.begin() else { return }
        begin(at: start)
        while let commit = try await following.next() { await didCommit(commit) }
    }

    /// Keeps the state that the first commit changes, and nothing else.
    private func begin(at start: Snapshot<R.State>) {
        let dropped = contents.withLock { states in
            let dropped = states
            states = [Kept(snapshot: start)]
            return dropped
        }
        withExtendedLifetime(dropped) {}
    }

    /// Takes note of a commit, and lets go of the oldest state if there are too many.
    public func didCommit(_ commit: Commit<R>) async { keep(Kept(snapshot: commit.snapshot)) }

    /// Goes on with a later state, whose entries it was not told of: what lies between is answered as not kept.
    package func passOver(to snapshot: Snapshot<R.State>) { keep(Kept(snapshot: snapshot, isAfterGap: true)) }

    private func keep(_ kept: Kept) {
        let dropped = contents.withLock { states in
            states.append(kept)
            return states.count > capacity + 1 ? states.popFirst() : nil
        }
        // Let go outside of the lock: it may be the last holder of much memory.
        withExtendedLifetime(dropped) {}
    }

    /// Every state that it has, the oldest first; no state is copied.
    package var snapshots: [Snapshot<R.State>] { contents.withLock { $0.map(\.snapshot) } }

    /// The oldest and the newest state that it has, as their places.
    public var range: ClosedRange<Place> {
        contents.withLock { states in
            guard let first = states.first, let last = states.last else { preconditionFailure("there is a state") }
            return first.place...max(first.place, last.place)
        }
    }

    /// The state after the entry of that number, which may be one that concerns the node only: O(log n).
    ///
    /// - Throws: ``LockstepError`` with code `positionTooOld` for what is no longer kept, `unavailable` for what has
    ///   not been seen yet.
    public func state(at sequence: SequenceNumber) throws -> Snapshot<R.State> {
        try contents.withLock { states in
            guard let first = states.first, let last = states.last else { preconditionFailure("there is a state") }
            guard sequence >= first.place.sequence else {
                throw LockstepError(
                    .positionTooOld, "the history begins at \(first.place): replay a journal for \(sequence)")
            }
            guard sequence <= last.place.sequence else {
                throw LockstepError(.unavailable, "the history ends at \(last.place): \(sequence) is still to come")
            }
            // The first that is after it; the one before is meant.
            var (low, high) = (0, states.count)
            while low < high {
                let middle = (low + high) / 2
                if states[middle].place.sequence <= sequence { low = middle + 1 } else { high = middle }
            }
            if low < states.count, states[low].isAfterGap, sequence > states[low - 1].place.sequence {
                throw LockstepError(
                    .positionTooOld,
                    "the entries between \(states[low - 1].place) and \(states[low].place) were too many to follow: "
                        + "replay a journal for \(sequence)")
            }
            return states[low - 1].snapshot
        }
    }
}
