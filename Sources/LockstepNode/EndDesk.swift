internal import DequeModule
package import LockstepCore

/// Accepted actions whose end a caller of this node waits for, or has not asked for yet; on the node's thread.
package struct EndDesk {
    private var waiting: [RunID: [Waiting]] = [:]
    private var ends: [RunID: RunEnding] = [:]
    private var order: Deque<RunID> = []
    private var endBytes = 0
    private var count = 0

    private struct Waiting {
        var id: UInt64
        var deadline: Tick
        var resume: (Result<RunEnding, any Error>) -> Void
    }

    /// Ends that nobody has asked for yet: the newest of them are kept, so many, of so many bytes.
    package static let capacity = 4_096
    package static let byteCapacity = 16 << 20

    package init() {}

    package private(set) var nextDeadline = Tick.never

    package mutating func add(
        _ id: UInt64, _ run: RunID, mayCome: Bool, deadline: Tick,
        resume: @escaping (Result<RunEnding, any Error>) -> Void
    ) {
        if let end = ends[run] { return resume(.success(end)) }
        guard mayCome else { return resume(.failure(Self.lost)) }
        guard count < Limits.waitingReads else { return resume(.failure(AskDesk.full)) }
        count += 1
        waiting[run, default: []].append(Waiting(id: id, deadline: deadline, resume: resume))
        nextDeadline = min(nextDeadline, deadline)
    }

    package mutating func ended(_ run: RunID, _ end: RunEnding) {
        if let before = ends.updateValue(end, forKey: run) { endBytes -= before.item.count } else { order.append(run) }
        endBytes += end.item.count
        while order.count > Self.capacity || endBytes > Self.byteCapacity {
            endBytes -= ends.removeValue(forKey: order.removeFirst())?.item.count ?? 0
        }
        resume(run, .success(end))
    }

    package mutating func lost(_ run: RunID) {
        resume(run, .failure(Self.lost))
    }

    private static let lost = LockstepError(
        .sessionEnded,
        "the action was accepted and its end is not known here: the session that sent it has ended, or the end came "
            + "long before it was asked for; the state shows what it did")

    private mutating func resume(_ run: RunID, _ outcome: Result<RunEnding, any Error>) {
        for waiter in waiting.removeValue(forKey: run) ?? [] {
            count -= 1
            waiter.resume(outcome)
        }
    }

    package mutating func ticked(_ now: Tick) {
        guard now >= nextDeadline else { return }
        fail({ Self.unfinished($0) }, where: { $0.deadline <= now })
        nextDeadline = waiting.values.lazy.flatMap { $0 }.map(\.deadline).min() ?? .never
    }

    /// What a caller is told who does not wait any longer for the end of this run.
    package static func unfinished(_ run: RunID) -> LockstepError {
        LockstepError(
            .unfinished, "action \(run) was accepted, and its effect goes on; wait for its end, or cancel it", run: run)
    }

    package mutating func cancel(_ id: UInt64) -> Bool {
        let before = count
        fail({ _ in CancellationError() }, where: { $0.id == id })
        return count < before
    }

    /// This node has stopped; what was accepted goes on, here at its next start or at another primary.
    package mutating func stop() {
        fail(
            { run in
                LockstepError(
                    .unfinished,
                    "action \(run) was accepted, and its effect goes on; this node has stopped before its end", run: run
                )
            }, where: { _ in true })
    }

    private mutating func fail(_ error: (RunID) -> any Error, where isMeant: (Waiting) -> Bool) {
        for (run, waiters) in waiting {
            let (left, gone) = (waiters.filter { !isMeant($0) }, waiters.filter(isMeant))
            guard !gone.isEmpty else { continue }
            waiting[run] = left.isEmpty ? nil : left
            count -= gone.count
            for waiter in gone { waiter.resume(.failure(error(run))) }
        }
    }
}
