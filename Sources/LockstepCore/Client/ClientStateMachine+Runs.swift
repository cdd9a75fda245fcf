/// The accepted actions of a session whose end its owner waits for, or has and has not yet acknowledged for certain.
///
/// It is bounded by what the primary accepts for one session.
struct PendingRuns: Hashable, Sendable {
    /// By number; true: it is to be cancelled.
    fileprivate(set) var awaited: [RequestNumber: Bool] = [:]
    /// Ends that have come; the primary is told until it says that it keeps them no more.
    fileprivate(set) var ended: Set<RequestNumber> = []
    /// Actions without an answer that are to be cancelled if they are accepted.
    fileprivate var cancelled: Set<RequestNumber> = []
    fileprivate(set) var nextAsk: Tick = .never

    var hasEarlyCancels: Bool { !cancelled.isEmpty }
    fileprivate mutating func ask(at tick: Tick) { nextAsk = min(nextAsk, tick) }
}

extension ClientStateMachine {
    /// Notes which of the answers say "accepted": their ends are awaited from now on.
    mutating func noteAccepted(_ answers: ClientDirective.Answers, _ frame: RawSpan, now: Tick) {
        var reader = ByteReader(offset: answers.items.lowerBound, end: answers.items.upperBound)
        for place in 0..<UInt64(answers.count) {
            guard let item = try? ReplyItem(from: frame, &reader) else {
                preconditionFailure("the items were walked before")
            }
            let number = answers.first + place
            let isCancelled = !runs.cancelled.isEmpty && runs.cancelled.remove(number) != nil
            guard item.status == .accepted else { continue }
            runs.awaited[number] = isCancelled
            let isDue = isCancelled || buggify(.asksForEndAtOnce)
            runs.ask(at: isDue ? now : now.advanced(byMilliseconds: ClientTiming.runAsk))
        }
    }

    /// Whether the end of this action may still come: it has no answer yet, or was accepted and is awaited.
    package func mayEnd(_ id: RunID) -> Bool {
        guard session?.id == id.session, id.number < pending.next else { return false }
        return id.number > pending.answered || runs.awaited[id.number] != nil
    }

    /// Asks for the end of an accepted action now, and again until it comes; the action may end by itself meanwhile.
    ///
    /// An action without an answer is cancelled as soon as it is accepted.
    package mutating func cancelRun(_ id: RunID, now: Tick) {
        guard session?.id == id.session else { return }
        if runs.awaited[id.number] != nil {
            runs.awaited[id.number] = true
            runs.ask(at: now)
        } else if id.number > pending.answered, id.number < pending.next {
            runs.cancelled.insert(id.number)
        }
    }

    mutating func askForRuns(now: Tick, into directives: inout [ClientDirective]) {
        runs.nextAsk = .never
        guard let session, !runs.awaited.isEmpty || !runs.ended.isEmpty else { return }
        let wishes =
            runs.awaited.map { RunMessage.Wish(number: $0.key, kind: $0.value ? .cancel : .await) }
            + runs.ended.map { RunMessage.Wish(number: $0, kind: .acknowledge) }
        let sorted = wishes.sorted { $0.number < $1.number }
        for start in stride(from: 0, to: sorted.count, by: Limits.runWishes) {
            let part = Array(sorted[start..<min(start + Limits.runWishes, sorted.count)])
            send(.runRequest(RunMessage(session: session.id, wishes: part)), into: &directives)
        }
        spokeForSession(now: now)
        runs.ask(at: now.advanced(byMilliseconds: ClientTiming.runAsk))
    }

    /// On a connection that is new to the session whatever is awaited is asked for again.
    mutating func runsAreDue(now: Tick) {
        if !runs.awaited.isEmpty || !runs.ended.isEmpty { runs.ask(at: now) }
    }

    mutating func runEndedReceived(
        _ ended: RunEnded, _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        guard isBound(ended.id.session), ended.id.number <= pending.answered,
            ended.sequence.rawValue <= UInt64(Int64.max)
        else { return directives.append(.count(.staleFrames)) }
        var reader = ByteReader(offset: ended.item.lowerBound, end: ended.item.upperBound)
        guard (try? ReplyItem(from: frame, &reader)) != nil, reader.remaining == 0 else {
            return directives.append(.count(.framesRefused))
        }
        guard runs.awaited.removeValue(forKey: ended.id.number) != nil else {
            // A repetition: it is being acknowledged, or the primary keeps it no more.
            return directives.append(.count(.staleFrames))
        }
        runs.ended.insert(ended.id.number)
        let isFew = runs.ended.count < ClientTiming.waitingRunEnds && !buggify(.acknowledgesEndAtOnce)
        let delay = isFew ? ClientTiming.acknowledgement : 0
        runs.ask(at: now.advanced(byMilliseconds: delay))
        noteAnswered(epoch: ended.epoch, sequence: ended.sequence)
        directives.append(.ended(ended))
    }

    mutating func runGoneReceived(_ id: RunID, into directives: inout [ClientDirective]) {
        guard isBound(id.session) else { return directives.append(.count(.staleFrames)) }
        runs.ended.remove(id.number)
        if runs.awaited.removeValue(forKey: id.number) != nil { directives.append(.endLost(id)) }
    }

    /// The session is over: what its actions still do is not learnt any more.
    mutating func loseRuns(of session: SessionID, into directives: inout [ClientDirective]) {
        for number in runs.awaited.keys.sorted() {
            directives.append(.endLost(RunID(session: session, number: number)))
        }
    }

    func checkRunInvariants() {
        precondition(session != nil || runs == PendingRuns(), "runs belong to a session")
        precondition(runs.ended.isDisjoint(with: runs.awaited.keys), "what has ended is not awaited")
        precondition(
            runs.awaited.keys.allSatisfy { $0 <= pending.answered }, "only an action that was answered is awaited")
        precondition(
            runs.cancelled.allSatisfy { $0 > pending.answered && $0 < pending.next },
            "an action without an answer is cancelled later")
        precondition(
            runs.nextAsk != .never || (runs.awaited.isEmpty && runs.ended.isEmpty), "what is awaited is asked for")
    }
}
