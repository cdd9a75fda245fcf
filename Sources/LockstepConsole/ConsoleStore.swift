package import Lockstep
internal import LockstepNode

/// A store of a node as the console shows it, whatever its reactor is.
///
/// Made before the node runs. Nothing is followed or kept until somebody looks.
package struct ConsoleStore: Sendable {
    /// The name under which the store was attached to its node.
    package let name: String
    /// Follows the store's commits until the task is cancelled or the node ends, and then lets go of all that it kept.
    let follow: @Sendable () async -> Void
    /// What is kept now.
    package let kept: @Sendable () -> KeptEntries
    /// The lines of entries before a sequence number, the newest first.
    let lines: @Sendable (_ before: UInt64?, _ limit: Int) -> EntryPage
    /// The newest lines after one that was counted, at most `limit`, and how many were counted by now.
    let news: @Sendable (_ counted: UInt64, _ limit: Int) -> EntryNews
    /// An entry in full.
    let entry: @Sendable (_ sequence: UInt64) throws -> EntryAnswer
    /// The state after an entry, or the newest one.
    let state: @Sendable (_ sequence: UInt64?) throws -> StateAnswer
    /// What changed between the states after two entries.
    let difference: @Sendable (_ from: UInt64, _ to: UInt64) throws -> DifferenceAnswer
    /// The number at a path, in each kept state after a sequence number and in the newest one.
    let values: @Sendable (_ path: StatePath, _ after: UInt64) -> [ValuePoint]
    /// Accepted actions that have not ended, the oldest first, and how many there are.
    let runs: @Sendable (_ limit: Int) async throws -> RunsAnswer

    /// A store of a node; its type is forgotten here.
    package init<R: Reactor>(_ store: Store<R>) {
        let follower = StoreFollower(store)
        name = store.name
        follow = { await follower.follow() }
        kept = { follower.kept }
        lines = { follower.lines(before: $0, limit: $1) }
        news = { follower.news(after: $0, limit: $1) }
        entry = { try follower.entry($0) }
        state = { try follower.state(at: $0) }
        difference = { try follower.difference(from: $0, to: $1) }
        values = { follower.values(at: $0, after: $1) }
        runs = { limit in
            let (runs, count) = try await store.oldestRuns(limit: limit)
            return RunsAnswer(store: store.name, count: count, oldest: runs)
        }
    }
}
