import Lockstep
import Synchronization

/// What the clients of the demonstration were told.
final class DemoLedger: Sendable {
    struct Answer: Hashable, Sendable {
        var sequence: UInt64
        var session: SessionID
        var number: RequestNumber
    }
    struct Totals: Sendable {
        var acknowledged = 0
        var resolved = 0
        var unknown = 0
        var withoutEffect = 0
    }
    private struct Contents {
        var totals = Totals()
        var answers: [Answer] = []
        var lastAnswer = ContinuousClock.now
        var longestPause = Duration.zero
        var failure: (any Error)?
    }
    private let contents = Mutex(Contents())
    private let stopped = Atomic<Bool>(false)

    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    func stop() { stopped.store(true, ordering: .relaxed) }
    var totals: Totals { contents.withLock { $0.totals } }
    var answers: [Answer] { contents.withLock { $0.answers } }
    var lastAnswer: ContinuousClock.Instant { contents.withLock { $0.lastAnswer } }

    /// Why a client has ended before it was told to; nil if none has.
    var failure: (any Error)? { contents.withLock { $0.failure } }

    /// Runs a client; if it fails, whoever waits for what it sees is told.
    func noting(_ client: () async throws -> Void) async throws {
        do { try await client() } catch {
            contents.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    /// Begins to measure how long no answer comes.
    func beginPauses() { contents.withLock { $0.longestPause = .zero } }
    /// The longest time between two answers, of those that came since ``beginPauses()``.
    var longestPause: Duration { contents.withLock { $0.longestPause } }

    func acknowledged(_ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber) {
        add(sequence, session, number) { $0.acknowledged += 1 }
    }

    func resolved(_ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber) {
        add(sequence, session, number) { $0.resolved += 1 }
    }

    func lost() { contents.withLock { $0.totals.unknown += 1 } }
    func withoutEffect() { contents.withLock { $0.totals.withoutEffect += 1 } }

    private func add(
        _ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber, _ change: (inout Totals) -> Void
    ) {
        contents.withLock {
            change(&$0.totals)
            $0.answers.append(Answer(sequence: sequence.rawValue, session: session, number: number))
            let now = ContinuousClock.now
            $0.longestPause = max($0.longestPause, $0.lastAnswer.duration(to: now))
            $0.lastAnswer = now
        }
    }
}
