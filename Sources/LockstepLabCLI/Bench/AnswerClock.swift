import Counters
import Foundation
import Lockstep
import LockstepServer
import Synchronization

/// When answers came to the clients of data nodes, and who wrote what they tell of.
final class AnswerClock: Sendable {
    static let fewTasks = 8
    static let manyTasks = 50
    static let chunk = 256

    /// A time without answers.
    struct Silence: Sendable {
        var begin = ContinuousClock.now
        var end = ContinuousClock.now
    }

    private struct Contents {
        var answers = 0
        /// The newest epoch that an answer told of.
        var epoch: UInt64 = 0
        var last = ContinuousClock.now
        var longest = Silence()
        var isOver = false
        var failure: (any Error)?
    }
    private let contents = Mutex(Contents())

    var answers: Int { contents.withLock { $0.answers } }
    var epoch: UInt64 { contents.withLock { $0.epoch } }
    /// The longest silence that ended since ``begin()``.
    var longestSilence: Silence { contents.withLock { $0.longest } }

    /// Forgets the silences so far, and returns when that was.
    func begin() -> ContinuousClock.Instant {
        contents.withLock {
            $0.longest = Silence()
            return $0.longest.begin
        }
    }

    private func came(_ count: Int, of epoch: UInt64) {
        contents.withLock {
            let now = ContinuousClock.now
            $0.answers += count
            $0.epoch = max($0.epoch, epoch)
            if now - $0.last > $0.longest.end - $0.longest.begin { $0.longest = Silence(begin: $0.last, end: now) }
            $0.last = now
        }
    }

    // MARK: - Waiting

    /// Waits for something that the clients see, for a minute at most.
    nonisolated(nonsending) func wait(for what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            if let failure = contents.withLock({ $0.failure }) { throw failure }
            guard ContinuousClock.now < deadline else {
                throw CommandFailure("nothing came for 60 s while waiting for \(what)", status: .unreachable)
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until it is plain that answers come again.
    nonisolated(nonsending) func waitForMore() async throws {
        let before = answers
        try await wait(for: "answers") { answers >= before + 64 }
    }

    // MARK: - Load

    /// Increments counters, few at a time or many, for as long as `body` runs; all of them are answered then.
    func whileAnswering(
        _ counters: RemoteStore<Counters>, keys: Int, isFull: Bool, _ body: () async throws -> Void
    ) async throws {
        let names = CounterNames.make(keys)
        let (tasks, chunk) = isFull ? (Self.manyTasks, Self.chunk) : (Self.fewTasks, 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask { @concurrent in
                    do { try await self.send(names, chunk: chunk, to: counters) } catch {
                        self.contents.withLock { $0.failure = error }
                        throw error
                    }
                }
            }
            try await body()
            contents.withLock { $0.isOver = true }
            try await group.waitForAll()
        }
    }

    /// A pause is no failure, so each array has a minute.
    @concurrent private func send(_ names: [String], chunk: Int, to counters: RemoteStore<Counters>) async throws {
        var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
        while !contents.withLock({ $0.isOver }) {
            let actions = (0..<chunk).map { _ in Counters.Action.add(names[generator.next(below: names.count)], by: 1) }
            let outcomes = try await counters.send(contentsOf: actions, timeout: .seconds(60))
            guard outcomes.count == chunk, let last = outcomes.last else {
                throw CommandFailure("an action has no answer")
            }
            came(chunk, of: last.epoch.rawValue)
        }
    }
}
