package import LockstepCore

/// Questions of this node's callers that are on their way to another node; on the node's thread.
///
/// The client's machine bounds their number.
package struct AskDesk {
    private var reads: [UInt64: Read] = [:]
    private var resolutions: [UInt64: Resolution] = [:]
    package private(set) var nextDeadline = Tick.never
    /// Numbers that nobody asks about now; the client's machine has to be told.
    private var orphans: [Query] = []

    private struct Read {
        var query: [UInt8]
        /// What the answer's state must include of what this node's callers were told; zero: nothing.
        var minimum: SequenceNumber
        var deadline: Tick
        /// Why the node that was asked could not answer, as it said last.
        var reason = ""
        var resume: (Result<ReadAnswer, any Error>) -> Void

        /// What the caller is told who has waited long enough; `refusal` is why the node takes no question at all.
        func failure(_ refusal: String?) -> LockstepError {
            guard reason.isEmpty else {
                return LockstepError(.unavailable, "the node that was asked cannot answer: \(reason)")
            }
            if let refusal { return LockstepError(.unavailable, refusal) }
            return LockstepError(.timeout, "no node answered the question in time: is the primary reachable?")
        }
    }

    /// Numbers that are asked about; those that a machine answers elsewhere have no `pending`.
    private struct Resolution {
        var pending: PendingOutcome?
        var waiter: Waiter

        func isAbout(_ session: SessionID, _ number: RequestNumber) -> Bool {
            pending?.session == session && pending?.numbers.contains(number) ?? false
        }
    }

    package static let full = LockstepError(.unavailable, "too many questions wait at this node: try again later")
    /// Callers of `resolve` that wait.
    private static let resolutionBound = 1_024
    /// Numbers that one of them may ask about at a time.
    package static let numberBound = 1_024

    package init() {}

    package mutating func add(
        _ id: UInt64, query: [UInt8], minimum: SequenceNumber, deadline: Tick,
        resume: @escaping (Result<ReadAnswer, any Error>) -> Void
    ) {
        reads[id] = Read(query: query, minimum: minimum, deadline: deadline, resume: resume)
        nextDeadline = min(nextDeadline, deadline)
    }

    /// Wants no more than `minimum` from here on; returns the reads that wanted more, in the order of their numbers.
    package mutating func lower(to minimum: SequenceNumber) -> [(id: UInt64, query: [UInt8])] {
        let ids = reads.filter { $0.value.minimum > minimum }.keys.sorted()
        return ids.compactMap { id in
            reads[id]?.minimum = minimum
            return reads[id].map { (id: id, query: $0.query) }
        }
    }

    package mutating func answered(_ id: UInt64, _ outcome: Result<ReadAnswer, any Error>) {
        reads.removeValue(forKey: id)?.resume(outcome)
    }

    /// The node cannot answer now, and says why; it is asked again as long as the caller waits.
    package mutating func delayed(_ id: UInt64, because reason: String) { reads[id]?.reason = reason }

    /// Ends the reads whose time is over; returns them.
    ///
    /// `refusal` is why the node that is asked refuses this one now. Those who asked about numbers were told before, and
    /// are forgotten.
    package mutating func ticked(_ now: Tick, refusal: String?) -> [UInt64] {
        guard now >= nextDeadline else { return [] }
        let due = reads.filter { $0.value.deadline <= now }
        for id in due.keys { reads[id] = nil }
        forgetDone()
        nextDeadline = min(
            reads.values.lazy.map(\.deadline).min() ?? .never,
            resolutions.values.lazy.map(\.waiter.deadline).min() ?? .never)
        for read in due.values { read.resume(.failure(read.failure(refusal))) }
        return Array(due.keys)
    }

    // MARK: - Asking again about numbers

    /// Notes who waits for numbers that the node itself will see answered, so that it can be cancelled.
    package mutating func note(_ id: UInt64, _ waiter: Waiter) {
        guard !waiter.isDone else { return }
        sweep()
        resolutions[id] = Resolution(pending: nil, waiter: waiter)
        nextDeadline = min(nextDeadline, waiter.deadline)
    }

    /// Adds numbers that are to be asked about; false, and the caller is told, if there are too many.
    package mutating func add(_ id: UInt64, _ pending: PendingOutcome, _ waiter: Waiter) -> Bool {
        sweep()
        guard resolutions.count < Self.resolutionBound, pending.numbers.count <= Self.numberBound else {
            waiter.fail(Self.full)
            return false
        }
        resolutions[id] = Resolution(pending: pending, waiter: waiter)
        nextDeadline = min(nextDeadline, waiter.deadline)
        return true
    }

    private mutating func sweep() {
        guard resolutions.count >= Self.resolutionBound else { return }
        forgetDone()
    }

    private mutating func forgetDone() {
        for (id, resolution) in resolutions where resolution.waiter.isDone { _ = forget(id) }
    }

    /// Takes a question back; its numbers need not be asked about unless somebody else does.
    private mutating func forget(_ id: UInt64) -> Resolution? {
        guard let resolution = resolutions.removeValue(forKey: id) else { return nil }
        guard let pending = resolution.pending else { return resolution }
        for number in pending.numbers
        where !resolutions.values.contains(where: { $0.isAbout(pending.session, number) }) {
            orphans.append(Query(session: pending.session, number: number))
        }
        return resolution
    }

    /// The numbers that nobody asks about since the last call; of those that were answered nothing is left to do.
    package mutating func takeOrphans() -> [Query] {
        guard !orphans.isEmpty else { return [] }
        defer { orphans = [] }
        return orphans
    }

    /// The client's machine takes no more questions: those of this caller are taken back.
    package mutating func refuse(_ id: UInt64) { forget(id)?.waiter.fail(Self.full) }

    /// The primary has no answer to a number now.
    package mutating func queried(_ result: QueryResult) {
        for (id, resolution) in resolutions where resolution.isAbout(result.session, result.number) {
            let error =
                switch result.status {
                case .pending:
                    LockstepError(
                        .unavailable, "the primary has not decided yet: ask again", pending: resolution.pending)
                case .acknowledged:
                    LockstepError(.sessionEnded, "the answer was received before and is no longer kept")
                case .sessionEnded, .sessionUnknown:
                    LockstepError(.sessionEnded, "the session has ended: whether the action took effect stays unknown")
                }
            resolution.waiter.fail(error)
            _ = forget(id)
        }
    }

    package mutating func queryAnswered(
        _ session: SessionID, _ answers: ClientDirective.Answers, in frame: ReplyFrame
    ) {
        let piece = RawReplies.Piece(
            frame: frame, session: session, first: answers.first, count: answers.count, epoch: answers.epoch,
            firstSequence: answers.firstSequence, items: answers.items)
        for (id, resolution) in resolutions where resolution.isAbout(session, answers.first) {
            if resolution.waiter.answer(piece) != nil { _ = forget(id) }
        }
    }

    /// False if nobody asked that.
    package mutating func cancel(_ id: UInt64) -> Bool {
        if let read = reads.removeValue(forKey: id) {
            read.resume(.failure(CancellationError()))
            return true
        }
        guard let resolution = forget(id) else { return false }
        resolution.waiter.fail(CancellationError())
        return true
    }

    /// Nobody will answer reads: ends and returns those that wait.
    package mutating func refuseReads(_ error: any Error) -> [UInt64] {
        let refused = reads
        reads = [:]
        for read in refused.values { read.resume(.failure(error)) }
        return Array(refused.keys)
    }

    package mutating func failAll(_ error: any Error) {
        for read in reads.values { read.resume(.failure(error)) }
        for resolution in resolutions.values { resolution.waiter.fail(error) }
        reads = [:]
        resolutions = [:]
        orphans = []
    }
}
