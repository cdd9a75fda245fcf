package import LockstepCore
internal import Synchronization
internal import Tracing

/// Accepted actions: what their senders want of them, and what their executor brings.
extension StorePort {
    /// Waits for the end of an accepted action of this node's session.
    package func end(of run: RunID, timeout: Duration?) async throws -> RunEnding {
        let deadline = Self.deadline(after: timeout)
        let id = makeID()
        return try await waiting(id) { host, continuation in
            host.awaitEnd(id, run, deadline: deadline) { continuation.resume(with: $0) }
        }
    }

    /// Asks for an accepted action to be ended; whether it was too late its end tells.
    package func cancel(_ run: RunID) {
        inbox.ask(Errand(run: { $0.cancelRun(run) }))
    }

    /// Submits one action and calls `resume` with its answer, on the node's thread or at once; the waiter can be given to
    /// ``Inbox/leave(_:)``.
    package func submitOne(
        _ action: [UInt8], timeout: Duration?, resume: @escaping @Sendable (Result<RawReplies, any Error>) -> Void
    ) -> Waiter {
        let waiter = Waiter(count: 1, deadline: Self.deadline(after: timeout), resume: resume)
        waiter.sent = timeOfSend()
        if traces != nil { waiter.context = ServiceContext.current }
        inbox.put([Submission(actions: action, count: 1, waiter: waiter, isSingle: true)])
        return waiter
    }

    /// Brings mutations to the primary's machine; the executor hears of `ticket`, also when the node has too much work.
    package func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        let executor = executor
        inbox.ask(
            Errand(
                run: { host in
                    guard let primary = host.primary else { executor?.emission(ticket, .dropped); return }
                    primary.emit(cause, mutations: mutations, ticket: ticket)
                },
                refuse: { executor?.emission(ticket, Self.isStopped($0) ? .dropped : .busy) }))
    }

    /// Brings the end of a run; the executor hears of it in the same way.
    package func finishRun(_ id: RunID, item: [UInt8]) {
        let executor = executor
        inbox.ask(
            Errand(
                run: { host in
                    guard let primary = host.primary else { executor?.runEnd(id, .dropped); return }
                    primary.finishRun(id, item: item)
                },
                refuse: { executor?.runEnd(id, Self.isStopped($0) ? .dropped : .busy) }))
    }

    private static func isStopped(_ error: any Error) -> Bool { (error as? LockstepError)?.code == .stopped }

    /// Accepted actions that have not ended, oldest first; an operator's view.
    package func unfinishedRuns() async throws -> [UnfinishedRun] {
        try await waiting(makeID()) { host, continuation in continuation.resume(returning: host.unfinishedRuns) }
    }

    /// The oldest accepted actions that have not ended, at most `limit`, and how many there are.
    ///
    /// Of more than `bound` in the table none is listed, and the number is that of the table: to put them in order
    /// would stop the node's thread.
    package func oldestRuns(limit: Int, bound: Int = 4_096) async throws -> (runs: [UnfinishedRun], count: Int) {
        try await waiting(makeID()) { host, continuation in
            let kept = host.primary?.machine.log.runs.count ?? 0
            let runs = kept <= bound ? host.unfinishedRuns : []
            continuation.resume(returning: (Array(runs.prefix(limit)), kept <= bound ? runs.count : kept))
        }
    }

    /// Ends an accepted action as failed; false if there is none, or nothing is admitted now.
    package func abandonRun(_ id: RunID, reason: String) async throws -> Bool {
        try await waiting(makeID()) { host, continuation in
            continuation.resume(returning: host.primary?.abandonRun(id, reason: reason) ?? false)
        }
    }
}

extension StoreHost {
    package func awaitEnd(
        _ id: UInt64, _ run: RunID, deadline: Tick, resume: @escaping (Result<RunEnding, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        ends.add(id, run, mayCome: client.mayEnd(run), deadline: deadline, resume: resume)
    }

    package func cancelRun(_ run: RunID) { client.cancelRun(run, now: MonotonicClock.now) }
}
