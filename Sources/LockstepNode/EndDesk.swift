internal import DequeModule
package import LockstepCore

/// Accepted actions whose end a caller of this node waits for, or has not asked for yet; on the node's thread.
package struct EndDesk {
    private var waiting: [RunID: [Waiting]] = [:]
    private var ends: [RunID: RunEnding] = [:]
    private var order: Deque<RunID> = []
    private var endBytes = 0
    private var count = 0
    /// Accepted actions whose end somebody waited for in vain, as many as a session has (PROTOCOL, R-61).
    private var goingOn: Set<RunID> = []

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

    /// Somebody was told that an action goes on, and may ask for it later.
    package var hasUnfinished: Bool { !goingOn.isEmpty }

    package mutating func add(
        _ id: UInt64, _ run: RunID, mayCome: Bool, deadline: Tick,
        resume: @escaping (Result<RunEnding, any Error>) -> Void
    ) {
        if let end = ends[run] { return resume(.success(end)) }
        guard mayCome else { return resume(.failure(Self.lost)) }
        guard count < Limits.waitingReads else {
            goingOn.insert(run)
            return resume(.failure(AskDesk.full))
        }
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
        goingOn.remove(run)
        resume(run, .success(end))
    }

    package mutating func lost(_ run: RunID) {
        goingOn.remove(run)
        resume(run, .failure(Self.lost))
    }

    /// The session is over: nobody can ask about its actions any more.
    package mutating func sessionLost(_ session: SessionID) {
        goingOn = goingOn.filter { $0.session != session }
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
        let left = fail({ Self.unfinished($0) }, where: { $0.deadline <= now })
        goingOn.formUnion(left)
        nextDeadline = waiting.values.lazy.flatMap { $0 }.map(\.deadline).min() ?? .never
    }

    /// What a caller is told who does not wait any longer for the end of this run.
    package static func unfinished(_ run: RunID) -> LockstepError {
        LockstepError(
            .unfinished, "action \(run) was accepted, and its effect goes on; wait for its end, or cancel it", run: run)
    }

    package mutating func cancel(_ id: UInt64) -> Bool {
        let before = count
        _ = fail({ _ in CancellationError() }, where: { $0.id == id })
        return count < before
    }

    /// This node has stopped; what was accepted goes on, here at its next start or at another primary.
    package mutating func stop() {
        let left = fail(
            { run in
                LockstepError(
                    .unfinished,
                    "action \(run) was accepted, and its effect goes on; this node has stopped before its end", run: run
                )
            }, where: { _ in true })
        goingOn.formUnion(left)
    }

    /// Tells those who wait and are meant; returns what they waited for.
    private mutating func fail(_ error: (RunID) -> any Error, where isMeant: (Waiting) -> Bool) -> [RunID] {
        var runs: [RunID] = []
        for (run, waiters) in waiting {
            let (left, gone) = (waiters.filter { !isMeant($0) }, waiters.filter(isMeant))
            guard !gone.isEmpty else { continue }
            waiting[run] = left.isEmpty ? nil : left
            count -= gone.count
            runs.append(run)
            for waiter in gone { waiter.resume(.failure(error(run))) }
        }
        return runs
    }
}
