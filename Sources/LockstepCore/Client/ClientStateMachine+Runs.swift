// The second answers: the ends of accepted actions (PROTOCOL, R-64).
extension ClientStateMachine {
    /// Notes which of the answers say "accepted": their ends are awaited from now on.
    mutating func noteAccepted(_ answers: ClientDirective.Answers, _ frame: RawSpan, now: Tick) {
        var reader = ByteReader(offset: answers.items.lowerBound, end: answers.items.upperBound)
        for place in 0..<UInt64(answers.count) {
            guard let item = try? ReplyItem(from: frame, &reader) else {
                preconditionFailure("the items were walked before")
            }
            let number = answers.first + place
            let isCancelled = runs.answered(number)
            guard item.status == .accepted else { continue }
            runs.accepted(number, isCancelled: isCancelled)
            let isDue = isCancelled || buggify(.asksForEndAtOnce)
            runs.ask(at: isDue ? now : now.advanced(byMilliseconds: ClientTiming.runAsk))
        }
    }

    /// Whether the end of this action may still come: it has no answer yet, or was accepted and is awaited.
    package func mayEnd(_ id: RunID) -> Bool {
        guard session?.id == id.session, id.number < pending.next else { return false }
        return id.number > pending.answered || runs.isAwaited(id.number)
    }

    /// Asks for the end of an accepted action now, and again until it comes; the action may end by itself meanwhile.
    ///
    /// An action without an answer is cancelled as soon as it is accepted.
    package mutating func cancelRun(_ id: RunID, now: Tick) {
        guard session?.id == id.session else { return }
        if runs.cancel(id.number) {
            runs.ask(at: now)
        } else if id.number > pending.answered, id.number < pending.next {
            runs.cancelWhenAccepted(id.number)
        }
    }

    mutating func askForRuns(now: Tick, into directives: inout [ClientDirective]) {
        let wishes = runs.takeWishes()
        guard let session, !wishes.isEmpty else { return }
        for start in stride(from: 0, to: wishes.count, by: Limits.runWishes) {
            let part = Array(wishes[start..<min(start + Limits.runWishes, wishes.count)])
            send(.runRequest(RunMessage(session: session.id, wishes: part)), into: &directives)
        }
        spokeForSession(now: now)
        runs.ask(at: now.advanced(byMilliseconds: ClientTiming.runAsk))
    }

    /// On a connection that is new to the session whatever is awaited is asked for again.
    mutating func runsAreDue(now: Tick) {
        if !runs.isEmpty { runs.ask(at: now) }
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
        guard runs.ended(ended.id.number) else {
            // A repetition: it is being acknowledged, or the primary keeps it no more.
            return directives.append(.count(.staleFrames))
        }
        let isPatient = !runs.hasManyEnds && !buggify(.acknowledgesEndAtOnce)
        let delay = isPatient ? ClientTiming.acknowledgement : 0
        runs.ask(at: now.advanced(byMilliseconds: delay))
        knowledge.noteAnswered(epoch: ended.epoch, sequence: ended.sequence)
        directives.append(.ended(ended))
    }

    mutating func runGoneReceived(_ id: RunID, into directives: inout [ClientDirective]) {
        guard isBound(id.session) else { return directives.append(.count(.staleFrames)) }
        if runs.forgotten(id.number) { directives.append(.endLost(id)) }
    }

    /// The session is over: what its actions still do is no longer learnt.
    mutating func loseRuns(of session: SessionID, into directives: inout [ClientDirective]) {
        for number in runs.awaitedNumbers {
            directives.append(.endLost(RunID(session: session, number: number)))
        }
    }
}
