internal import DequeModule
package import LockstepCore

/// The callers of one store, on the node's thread: which of them are still to be submitted, which wait for answers.
///
///     inbox --take--> staged --submit, as credit allows--> outstanding --answered--> resumed
///                        |                                     |
///                        `-- time, cancel: no effect           `-- time, cancel: outcomeUnknown, the number is void
///
/// Numbers are given in the order of `staged`, so the answers, which come in the order of the numbers, belong to the
/// first of `outstanding`. What is here is bounded by the inbox's bound and the session's window.
///
/// The numbers of one caller follow each other and are of one session, also where its actions came in parts.
package struct CallerDesk {
    private var taken = InboxContents()
    private var staged: Deque<Staged> = []
    var outstanding: Deque<Outstanding> = []
    var deadlines = DeadlineHeap<Waiter>()
    var late = LateAnswers()
    /// The caller whose part was staged last, of those who submit several actions at once.
    private var lastCaller: ObjectIdentifier?
    /// Actions with a number and without an answer.
    package private(set) var unanswered = 0
    /// Actions without a number whose callers have left since the inbox was told of it last.
    private var gone = 0
    /// A caller left without the answer to a number of this session: somebody may ask for it later.
    package private(set) var hasUnknown = false
    /// Told how long a send took that is timed.
    private let metrics: CallerMetrics?
    private let traces: ActionTraces?

    private struct Staged {
        var actions: [UInt8]
        var count: Int
        var owner: Owner
    }

    enum Owner {
        case one(Waiter)
        /// Each action has a caller of its own.
        case each([Waiter])
    }

    struct Outstanding {
        var first: RequestNumber
        /// How many of its numbers have no answer yet.
        var left: Int
        var owner: Owner
        /// How many of `owner`'s callers were served.
        var served = 0
    }

    package init(metrics: CallerMetrics? = nil, traces: ActionTraces? = nil) {
        self.metrics = metrics
        self.traces = traces
    }

    package var isIdle: Bool { staged.isEmpty && outstanding.isEmpty }
    package var nextDeadline: Tick { deadlines.next }

    /// Whether it would take more actions from the inbox.
    package var wantsActions: Bool { staged.isEmpty }

    // MARK: - Taking and submitting

    /// Takes what callers left; returns the callers that leave and the errands.
    package mutating func take(
        from inbox: Inbox, withActions: Bool
    ) -> (leaving: [Waiter], errands: [Errand]) {
        inbox.exchange(&taken, withActions: withActions && wantsActions, gone: gone)
        gone = 0
        for waiter in taken.timed where !waiter.isDone {
            deadlines.insert(waiter, at: waiter.deadline) { $0.isDone }
        }
        taken.timed.removeAll(keepingCapacity: true)
        if taken.hasActions { stage() }
        defer {
            taken.leaving = []
            taken.errands = []
        }
        return (taken.leaving, taken.errands)
    }

    private mutating func stage() {
        // What is left of a caller whose first parts came before has no other caller's actions before it.
        let last = lastCaller
        let rest = taken.chunks.prefix { ObjectIdentifier($0.waiter) == last }.count
        for chunk in taken.chunks[..<rest] { stage(chunk) }
        stageSingles()
        for chunk in taken.chunks[rest...] { stage(chunk) }
        if let chunk = taken.chunks.last { lastCaller = ObjectIdentifier(chunk.waiter) }
        taken.removeActions()
    }

    private mutating func stage(_ chunk: Submission) {
        staged.append(Staged(actions: chunk.actions, count: chunk.count, owner: .one(chunk.waiter)))
    }

    private mutating func stageSingles() {
        var start = 0
        var index = 0
        while index < taken.singleWaiters.count {
            // A chunk ends after enough actions, and before and after one that is no longer to be submitted.
            guard !taken.singleWaiters[index].isDone else {
                start = taken.singleEnds[index]
                index += 1
                continue
            }
            let first = index
            while index < taken.singleWaiters.count, index - first < Limits.frameTargetActions,
                !taken.singleWaiters[index].isDone,
                index == first || taken.singleEnds[index] - start <= Limits.frameTargetBytes
            { index += 1 }
            let end = taken.singleEnds[index - 1]
            staged.append(
                Staged(
                    actions: Array(taken.singles[start..<end]), count: index - first,
                    owner: .each(Array(taken.singleWaiters[first..<index]))))
            start = end
        }
    }

    /// Whether actions wait to be given numbers.
    package var hasStaged: Bool { !staged.isEmpty }

    /// Submits what is staged until `submit` has no credit for more; returns whether anything was submitted.
    package mutating func submit(
        session: SessionID, _ submit: (_ actions: [UInt8], _ count: Int) -> RequestNumber?
    ) -> Bool {
        var isAnySubmitted = false
        while let next = staged.first {
            guard let next = withoutLeavers(next, session) else {
                staged.removeFirst()
                continue
            }
            guard let first = submit(next.actions, next.count) else { break }
            staged.removeFirst()
            isAnySubmitted = true
            unanswered += next.count
            switch next.owner {
            case .one(let waiter): waiter.took(first...(first + UInt64(next.count) - 1), of: session)
            case .each(let waiters):
                for (place, waiter) in waiters.enumerated() {
                    waiter.took((first + UInt64(place))...(first + UInt64(place)), of: session)
                }
            }
            if let traces { keepContexts(of: next.owner, from: first, session, in: traces) }
            outstanding.append(Outstanding(first: first, left: next.count, owner: next.owner))
        }
        return isAnySubmitted
    }

    private func keepContexts(
        of owner: Owner, from first: RequestNumber, _ session: SessionID, in traces: ActionTraces
    ) {
        switch owner {
        case .one(let waiter): traces.keep(waiter.context, of: RunID(session: session, number: first))
        case .each(let waiters):
            for (place, waiter) in waiters.enumerated() {
                traces.keep(waiter.context, of: RunID(session: session, number: first + UInt64(place)))
            }
        }
    }

    /// What is left to be submitted in this session; nil if nothing is.
    ///
    /// Without the actions of callers who no longer wait, and without the rest of a caller whose first actions have
    /// numbers of an earlier session.
    private mutating func withoutLeavers(_ next: Staged, _ session: SessionID) -> Staged? {
        switch next.owner {
        case .one(let waiter):
            if let pending = waiter.pending, pending.session != session { sessionEnded(waiter) }
            return waiter.isDone ? nil : next
        case .each(let waiters):
            guard waiters.contains(where: \.isDone) else { return next }
            var rest = ByteWriter(capacity: next.actions.count)
            withBytes(of: next.actions) { bytes in
                var reader = ByteReader(bytes)
                for waiter in waiters {
                    let start = reader.offset
                    do { _ = try reader.readRange(from: bytes) } catch {
                        preconditionFailure("a caller's bytes are not one action: \(error)")
                    }
                    if !waiter.isDone { rest.writeRaw(bytes, start..<reader.offset) }
                }
            }
            let left = waiters.filter { !$0.isDone }
            return left.isEmpty ? nil : Staged(actions: rest.bytes, count: left.count, owner: .each(left))
        }
    }

    // MARK: - Answers

    /// Serves the callers of the oldest numbers from the answers to them, which lie in `frame`.
    package mutating func answered(
        _ answers: ClientDirective.Answers, in frame: ReplyFrame, session: SessionID
    ) {
        withBytes(of: frame.bytes) { bytes in
            var reader = ByteReader(offset: answers.items.lowerBound, end: answers.items.upperBound)
            var done = 0
            while done < answers.count, let next = outstanding.first {
                switch next.owner {
                case .one(let waiter):
                    let count = min(answers.count - done, next.left)
                    let start = reader.offset
                    if done + count == answers.count {
                        reader.offset = reader.end
                    } else {
                        Self.skip(count, bytes, &reader)
                    }
                    serve(waiter, answers, done, count, start..<reader.offset, frame, session)
                    finishFirst(count, served: 0)
                    done += count
                case .each(let waiters):
                    let count = min(answers.count - done, next.left)
                    for place in 0..<count {
                        let start = reader.offset
                        Self.skip(1, bytes, &reader)
                        let waiter = waiters[next.served + place]
                        serve(waiter, answers, done + place, 1, start..<reader.offset, frame, session)
                    }
                    finishFirst(count, served: count)
                    done += count
                }
            }
        }
    }

    private mutating func serve(
        _ waiter: Waiter, _ answers: ClientDirective.Answers, _ offset: Int, _ count: Int, _ items: Range<Int>,
        _ frame: ReplyFrame, _ session: SessionID
    ) {
        let isAbandoned = waiter.isAbandoned
        let replies = waiter.answer(
            RawReplies.Piece(
                frame: frame, session: session, first: answers.first + UInt64(offset), count: count,
                epoch: answers.epoch, firstSequence: answers.firstSequence.advanced(by: offset), items: items))
        if replies != nil, waiter.sent > .zero {
            metrics?.answered(nanoseconds: MonotonicClock.now - waiter.sent)
        }
        if isAbandoned, let replies, let pending = waiter.pending { late.insert(replies, for: pending) }
    }

    private mutating func finishFirst(_ count: Int, served: Int) {
        unanswered -= count
        outstanding[0].left -= count
        outstanding[0].served += served
        if outstanding[0].left == 0 { outstanding.removeFirst() }
    }

    /// The machine walked the items before it reported them.
    private static func skip(_ count: Int, _ bytes: RawSpan, _ reader: inout ByteReader) {
        for _ in 0..<count {
            do { _ = try ReplyItem(from: bytes, &reader) } catch {
                preconditionFailure("the answers do not hold the items that were counted: \(error)")
            }
        }
    }

    // MARK: - Leaving

    /// Resumes a caller that waits no longer; returns the numbers that it gives up, if its actions have some.
    package mutating func leave(_ waiter: Waiter, because error: any Error) -> ClosedRange<RequestNumber>? {
        guard !waiter.isDone else { return nil }
        // Who asks again has nothing in the inbox.
        if waiter.asked == nil { gone += waiter.unsubmitted }
        guard let pending = waiter.pending else {
            waiter.fail(error)
            return nil
        }
        waiter.stopSubmitting()
        hasUnknown = true
        keepAnswers(of: waiter)
        waiter.fail(Self.unknown(pending, "its caller did not wait for the answer"))
        return pending.numbers
    }

    /// The next caller whose time is over.
    package mutating func popDue(_ now: Tick) -> Waiter? {
        while let waiter = deadlines.popDue(now) {
            if !waiter.isDone { return waiter }
        }
        return nil
    }

    /// Keeps the answers of a caller if all of its numbers have one, for whoever asks again about them.
    private mutating func keepAnswers(of waiter: Waiter) {
        guard let pending = waiter.pending, let answers = waiter.answers else { return }
        late.insert(answers, for: pending)
    }

    /// The session ended: what has a number and no answer gets none, for ever; what has none is submitted in the next
    /// session, except the rest of a caller whose first actions have numbers.
    package mutating func sessionLost(_ session: SessionID) {
        for next in outstanding {
            switch next.owner {
            case .one(let waiter): sessionEnded(waiter)
            case .each(let waiters): for waiter in waiters[next.served...] { sessionEnded(waiter) }
            }
        }
        outstanding.removeAll()
        unanswered = 0
        hasUnknown = false
        // All that such a caller submitted may be answered. Parts that are still in the inbox are found by `submit`.
        for next in staged { if case .one(let waiter) = next.owner { sessionEnded(waiter) } }
    }

    private mutating func sessionEnded(_ waiter: Waiter) {
        guard let pending = waiter.pending else { return }
        gone += waiter.unsubmitted
        waiter.stopSubmitting()
        keepAnswers(of: waiter)
        waiter.failAll(Self.unknown(pending, "the session \(pending.session) has ended"))
    }

    /// The node stops: what has a number has an unknown outcome, the rest has none.
    package mutating func stop(_ error: LockstepError) {
        var waiters: [Waiter] = []
        for next in staged.map(\.owner) + outstanding.map(\.owner) {
            switch next {
            case .one(let waiter): waiters.append(waiter)
            case .each(let each): waiters += each
            }
        }
        for waiter in waiters {
            if let pending = waiter.pending {
                hasUnknown = true
                waiter.failAll(Self.unknown(pending, "the node stopped"))
            } else {
                waiter.fail(error)
            }
        }
        staged.removeAll()
        outstanding.removeAll()
        unanswered = 0
    }

    /// What a caller is told who gets no answer to actions that have numbers.
    static func unknown(_ pending: PendingOutcome, _ why: String) -> LockstepError {
        LockstepError(
            .outcomeUnknown,
            "whether the action took effect is not known: \(why); ask again with outcomes(of:) and this error's pending",
            pending: pending)
    }
}
