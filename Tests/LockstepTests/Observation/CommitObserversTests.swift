import Lockstep
import LockstepNode
import Synchronization
import Testing

/// Observers of one store in their order (SEMANTICS K21, K26, S7, S10, guarantee 12).
///
/// They are made before the node runs and follow the initial state, so that they miss nothing.
@Suite(.timeLimit(.minutes(5))) struct CommitObserversTests {
    /// Notes what it is told.
    struct Noting: CommitObserver {
        typealias R = Echo
        let name: String
        let trace: Trace
        func willCommit(_ entry: LoggedEntry<Echo>, before: [String]) async {
            trace.note("will \(name) \(before.count)")
        }
        func didCommit(_ commit: Commit<Echo>) async { trace.note("did \(name) \(commit.after.count)") }
    }

    final class Trace: Sendable {
        private let lines = Mutex<[String]>([])
        func note(_ text: String) { lines.withLock { $0.append(text) } }
        var all: [String] { lines.withLock { $0 } }
    }

    /// Runs observers beside `body`, which ends them.
    private func observing(
        _ observers: CommitObservers<Echo>, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await observers.run() }
            try await body()
            group.cancelAll()
        }
    }

    /// K26, S7: before a commit in the order of registration, after it in the reverse order; one commit after another.
    @Test func observersAreToldInTheirOrder() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let observers = store.observers(after: store.snapshot)
        let trace = Trace()
        for name in ["a", "b", "c"] { observers.add(Noting(name: name, trace: trace)) }
        try await withRunning(node) {
            let (told, signal) = AsyncStream.makeStream(of: Int.self)
            try await observing(observers) {
                _ = try await store.send(contentsOf: [Echo.Action("1"), Echo.Action("2")])
                observers.add { commit in signal.yield(commit.after.count) }
                _ = try await store.send(Echo.Action("3"))
                for await count in told where count == 3 { break }
            }
        }
        let lines = trace.all
        let whole = (0..<2).flatMap { number in
            ["a", "b", "c"].map { "will \($0) \(number)" } + ["c", "b", "a"].map { "did \($0) \(number + 1)" }
        }
        #expect(Array(lines.prefix(12)) == whole)
    }

    /// Takes an observer away and adds another one, in the middle of the first delivery.
    struct Changing: CommitObserver {
        typealias R = Echo
        let observers: CommitObservers<Echo>
        let old: CommitObservers<Echo>.ID
        let trace: Trace
        let told: AsyncStream<Int>.Continuation

        func willCommit(_ entry: LoggedEntry<Echo>, before: [String]) async {
            guard before.isEmpty else { return }
            #expect(observers.remove(old) && !observers.remove(old))
            observers.add(Noting(name: "new", trace: trace))
        }

        func didCommit(_ commit: Commit<Echo>) async {
            trace.note("change \(commit.after.count)")
            told.yield(commit.after.count)
        }
    }

    /// K26: who is added or removed during a delivery is so from the next commit on.
    @Test func changesDuringADeliveryCountFromTheNextCommit() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let observers = store.observers(after: store.snapshot)
        let trace = Trace()
        let (told, signal) = AsyncStream.makeStream(of: Int.self)
        let old = observers.add(Noting(name: "old", trace: trace))
        observers.add(Changing(observers: observers, old: old, trace: trace, told: signal))
        try await withRunning(node) {
            try await observing(observers) {
                for text in ["1", "2", "3"] { _ = try await store.send(Echo.Action(text)) }
                for await count in told where count == 3 { break }
            }
        }
        let expected = ["will old 0", "change 1", "did old 1", "will new 1", "did new 2", "change 2"]
        #expect(Array(trace.all.prefix(6)) == expected)
    }

    /// K21, guarantee 12: an observer that sends and waits is not called again meanwhile; a chain of a thousand sends
    /// has the depth of one.
    @Test func sendingFromAnObserverEnqueues() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let observers = store.observers(after: store.snapshot)
        let depth = Mutex((now: 0, greatest: 0))
        let (told, signal) = AsyncStream.makeStream(of: [String].self)
        observers.add { commit in
            depth.withLock { depth in
                depth.now += 1
                depth.greatest = max(depth.greatest, depth.now)
            }
            let count = commit.after.count
            if count < 1_000 {
                do { _ = try await store.send(Echo.Action("\(count)")) } catch { Issue.record("\(error)") }
            } else {
                signal.yield(commit.after)
            }
            depth.withLock { $0.now -= 1 }
        }
        try await withRunning(node) {
            try await observing(observers) {
                _ = try await store.send(Echo.Action("0"))
                for await texts in told {
                    #expect(texts == (0..<1_000).map { "\($0)" })
                    break
                }
            }
        }
        #expect(depth.withLock { $0.greatest } == 1)
    }

    /// S10: what observers do with their copies reaches nobody.
    @Test func copiesAreTheObserversOwn() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let observers = store.observers(after: store.snapshot)
        let (told, signal) = AsyncStream.makeStream(of: Int.self)
        observers.add { commit in
            #expect(commit.after == ["a"])
            signal.finish()
        }
        observers.add { commit in
            var copy = commit.after
            copy.append("mine")
            #expect(copy.count == 2)
        }
        try await withRunning(node) {
            try await observing(observers) {
                _ = try await store.send(Echo.Action("a"))
                for await _ in told {}
                #expect(try await store.read { $0 } == ["a"])
            }
        }
    }
}
