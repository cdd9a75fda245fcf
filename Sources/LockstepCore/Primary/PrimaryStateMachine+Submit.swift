extension PrimaryStateMachine {
    /// Takes exactly the session's next numbers; answers those it has, says where to go on for those it cannot take.
    mutating func submitReceived(
        _ submit: Submit, _ frame: RawSpan, from connection: Connection, _ step: inout PrimaryStep
    ) {
        guard let standing = log.sessions.standing(of: submit.session) else {
            answerForMissing(submit.session, to: connection, &step)
            return
        }
        guard bindings.isHeld(submit.session, by: connection) else {
            step.directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        bindings.heard(submit.session, now: step.now)
        guard acknowledges(submit.ackedThrough, submit.session, standing, from: connection, &step) else {
            return
        }
        guard let starts = Self.measure(submit, frame, standing.last) else {
            step.directives.append(.count(.framesRefused))
            return
        }
        let expected = standing.last + 1
        guard submit.first <= expected else {
            guard bindings.takeOutOfOrder(submit.session, expected: expected) else { return }
            step.directives.append(.count(.outOfOrder))
            step.directives.append(.send(stamp.frame(.outOfOrder(submit.session, expected: expected)), to: connection))
            return
        }
        let last = submit.first + UInt64(submit.count) - 1
        if submit.first < expected {
            step.directives.append(.count(.duplicateActions))
            let through = min(last, standing.last)
            // What the owner acknowledged may still be kept, in a series with others; it is not sent again.
            let first = max(submit.first, standing.ackedThrough + 1)
            if first <= through {
                sendCommitted(of: submit.session, first...through, to: connection, &step)
            }
        }
        guard last >= expected else { return }
        var rest = submit
        rest.first = expected
        rest.count = Int(last - expected) + 1
        rest.actions = starts..<submit.actions.upperBound
        take(rest, frame, standing, from: connection, &step)
    }

    /// Sequences what is new, as far as there is room, and says where to go on with the rest.
    private mutating func take(
        _ rest: Submit, _ frame: RawSpan, _ standing: SessionTable.Standing, from connection: Connection,
        _ step: inout PrimaryStep
    ) {
        let sender = peers[connection]?.sender
        let wait = waitForBytes(sender, &step)
        let refusal =
            busyReason() ?? (wait != nil ? .quota : nil) ?? (buggify(.busyWithoutCause) ? .overloaded : nil)
        let taken = refusal.map { (next: rest.first, stopped: $0) } ?? sequence(rest, frame, sender, &step)
        if taken.next > rest.first {
            pay(rest, next: taken.next, sender)
            bindings.wentOn(rest.session)
        } else {
            // What it acknowledges is not in the log by this frame; then the next sweep brings it there.
            bindings.note(rest.ackedThrough, of: rest.session, standing)
        }
        if let reason = taken.stopped {
            sendBusy(reason, after: wait, rest.session, expected: taken.next, to: connection, &step)
        }
        if buggify(.batchOfOneSubmit) { seal(&step) }
    }

    /// After how many microseconds the sender's name may send bytes again; nil: now.
    private mutating func waitForBytes(_ sender: Sender?, _ step: inout PrimaryStep) -> UInt32? {
        guard let sender, let rate = sender.quota.bytesPerSecond else { return nil }
        return sessionRoom.budgets.wait(of: sender.name, rate: rate, now: step.now)
    }

    /// Takes the bytes of what was sequenced from the budget of the sender's name.
    private mutating func pay(_ submit: Submit, next: RequestNumber, _ sender: Sender?) {
        guard let sender, sender.quota.bytesPerSecond != nil, submit.count > 0 else { return }
        let taken = Int(clamping: next - submit.first)
        sessionRoom.budgets.pay(submit.actions.count * taken / submit.count, of: sender.name)
    }

    private func sendBusy(
        _ reason: BusyReason, after wait: UInt32?, _ session: SessionID, expected: RequestNumber,
        to connection: Connection, _ step: inout PrimaryStep
    ) {
        step.directives.append(.count(.busyAnswers))
        // Microseconds. Replicas come, and posts are taken, within a fraction of a second.
        let isShort = phase == .awaiting || isGivingAwayPost
        let retryAfter = isShort ? 20_000 : reason == .quota ? wait ?? reason.retryAfter : reason.retryAfter
        let busy = Busy(session: session, expected: expected, retryAfter: retryAfter, reason: reason)
        step.directives.append(.send(stamp.frame(.busy(busy)), to: connection))
    }

    /// Checks that the actions fill the frame and none is too large; returns where those above `last` begin.
    private static func measure(_ submit: Submit, _ frame: RawSpan, _ last: RequestNumber) -> Int? {
        guard !submit.isVoid else { return submit.actions.lowerBound }
        var reader = ByteReader(offset: submit.actions.lowerBound, end: submit.actions.upperBound)
        let known = last >= submit.first ? last - submit.first + 1 : 0
        var start = reader.offset
        do throws(WireError) {
            for index in 0..<submit.count {
                if UInt64(index) == known { start = reader.offset }
                let action = try reader.readRange(from: frame)
                guard action.count <= Limits.actionBytes else { return nil }
            }
            try reader.finish()
        } catch {
            return nil
        }
        return start
    }

    /// Whether all that a client says to have answers to has been answered; one that says more is refused.
    func acknowledges(
        _ number: RequestNumber, _ session: SessionID, _ standing: SessionTable.Standing, from connection: Connection,
        _ step: inout PrimaryStep
    ) -> Bool {
        guard number > standing.ackedThrough else { return true }
        let committed = log.sessions.lastNumber(of: session, through: committed.position.sequence)
        let answered = max(standing.ackedThrough, committed ?? 0)
        guard number > answered else { return true }
        step.directives.append(.count(.framesRefused))
        let text =
            "session \(session) acknowledges \(number), and \(answered) is the last number that was answered; "
            + "open another session"
        refuse(.protocolViolation, text, nonce: peers[connection]?.hello.nonce ?? 0, connection, &step)
        return false
    }

    private func busyReason() -> BusyReason? {
        guard phase == .admitting, !isGivingAwayPost else { return .notAdmitting }
        guard admits else {
            return journalRoom.isMissing ? .diskFull : lacksMembers ? .insufficientMembers : .overloaded
        }
        // A session may go beyond its window by one reply; many of them must not.
        return log.sessions.keptBytes <= sessionRoom.keptLimit ? nil : .windowFull
    }

    /// How many numbers may be taken, and how many bytes of replies before the last of them; or why none may.
    private enum Room {
        case free(numbers: UInt64, bytes: Int)
        case full(BusyReason)
    }

    /// What the session's window takes, and what the quota of the sender's name leaves of it.
    ///
    /// When all is acknowledged the window takes one number at least.
    private func room(of submit: Submit, _ sender: Sender?) -> Room {
        guard let standing = log.sessions.standing(of: submit.session) else { preconditionFailure("it was looked up") }
        let acknowledged = max(standing.ackedThrough, submit.ackedThrough)
        let numbers = standing.last - acknowledged
        let bytes = log.sessions.keptBytes(of: submit.session, above: acknowledged)
        guard numbers < UInt64(standing.windowNumbers), bytes <= Int(standing.windowBytes) else {
            return .full(.windowFull)
        }
        var most = UInt64(standing.windowNumbers) - numbers
        if let sender, let quota = sender.quota.inFlight {
            let newlyAcknowledged = Int(clamping: acknowledged - standing.ackedThrough)
            let open = log.sessions.share(of: sender.name).inFlight - newlyAcknowledged
            // What a process left in flight that ended at once must not stop the next: a session has its one.
            guard open < quota || numbers == 0 else { return .full(.quota) }
            most = min(most, UInt64(max(1, quota - open)))
        }
        return .free(numbers: most, bytes: Int(standing.windowBytes) - bytes)
    }

    /// Performs the actions into batches; each series of them is one entry header and one kept series.
    ///
    /// A reactor may write far more than it was sent, so the bounds are looked at again after each full batch, and the
    /// session's window after each series. Returns the number to go on with, and why it stopped there if actions are left.
    private mutating func sequence(
        _ submit: Submit, _ frame: RawSpan, _ sender: Sender?, _ step: inout PrimaryStep
    ) -> (next: RequestNumber, stopped: BusyReason?) {
        var reader = ByteReader(offset: submit.actions.lowerBound, end: submit.actions.upperBound)
        var number = submit.first
        var left = submit.count
        let epoch = epoch
        while left > 0 {
            let sealedBefore = pipeline.sealed.count
            let (numbers, replyRoom): (UInt64, Int)
            switch room(of: submit, sender) {
            case .free(let free, let bytes): (numbers, replyRoom) = (free, bytes)
            case .full(let reason): return (number, reason)
            }
            let most = Int(min(UInt64(left), numbers))
            let (done, isFull) = withOpenBatch(at: step.moment) { batch in
                let sequence = batch.nextSequence
                batch.beginSeries(
                    session: submit.session, first: number, ackedThrough: submit.ackedThrough, replyRoom: replyRoom)
                if submit.isVoid {
                    for _ in 0..<most { batch.appendItem(.void) }
                } else {
                    let performed = step.state.perform(
                        frame, &reader, count: most,
                        context: PerformContext(
                            session: submit.session, firstNumber: number, epoch: epoch,
                            firstSequence: sequence, time: batch.head.time, sender: sender?.name,
                            kinds: sender?.kinds),
                        into: &batch)
                    precondition(performed >= 0 && performed <= most, "a reactor performs what it was asked for")
                }
                return (batch.endSeries(), batch.isFull)
            }
            if done > 0 {
                keep(submit, number: number, count: done)
                answerLater(submit.session, numbers: number...number + UInt64(done) - 1)
                number += UInt64(done)
                left -= done
            }
            // Before anything else is appended: the entry that fills a batch is its last.
            if isFull { seal(&step) }
            let request = submit.isVoid ? nil : step.state.takeRequest()
            precondition(done > 0 || request?.plan != nil, "a reactor performs at least one action, or asks for a run")
            precondition(left > 0 || request?.plan == nil, "an action that is to be accepted is one of the frame's")
            if let request {
                if let reason = follow(request, submit, frame, number, &step) {
                    return (number, reason)
                }
                if request.plan != nil {
                    number += 1
                    left -= 1
                }
            }
            if left > 0, pipeline.sealed.count > sealedBefore, let reason = busyReason() { return (number, reason) }
        }
        return (number, nil)
    }

    /// Does what the last action asked for besides its item; returns why it could not, and then nothing happened.
    private mutating func follow(
        _ request: RunRequest, _ submit: Submit, _ frame: RawSpan, _ number: RequestNumber, _ step: inout PrimaryStep
    ) -> BusyReason? {
        guard let plan = request.plan else {
            for id in cancelled(by: request) { cancelRun(id, &step) }
            return nil
        }
        let id = RunID(session: submit.session, number: number)
        switch accept(id, plan, request, in: frame, ackedThrough: submit.ackedThrough, &step)
        {
        case .busy: return .tooManyRuns
        case .accepted: bindings.logged(submit.ackedThrough, of: submit.session)
        case .rejected(let reason):
            let isFull = withOpenBatch(at: step.moment) { batch in
                batch.beginSeries(session: submit.session, first: number, ackedThrough: submit.ackedThrough)
                batch.appendItem(.rejected, reason: reason)
                _ = batch.endSeries()
                return batch.isFull
            }
            keep(submit, number: number, count: 1)
            answerLater(submit.session, numbers: number...number)
            if isFull { seal(&step) }
        }
        return nil
    }

    /// Keeps the replies of the series that was just written.
    private mutating func keep(_ submit: Submit, number: RequestNumber, count: Int) {
        guard let batch = pipeline.open else { preconditionFailure("the batch of the series is open") }
        let firstSequence = batch.nextSequence.advanced(by: -count)
        let series = ReplyRing.Series(
            first: number, count: count, epoch: epoch, firstSequence: firstSequence, byteCount: batch.replies.count)
        let isNext = withBytes(of: batch.replies.bytes) { bytes in
            log.sessions.append(
                series, to: submit.session, ackedThrough: submit.ackedThrough, items: bytes, 0..<bytes.byteCount)
        }
        precondition(isNext, "the numbers were checked")
        bindings.logged(submit.ackedThrough, of: submit.session)
    }
}

extension BusyReason {
    /// Microseconds after which another try is worth its while.
    var retryAfter: UInt32 {
        switch self {
        case .overloaded: 2_000
        case .windowFull, .quota: 5_000
        case .tooManyRuns: 50_000
        case .diskFull, .insufficientMembers: 250_000
        case .notAdmitting: 500_000
        }
    }
}
