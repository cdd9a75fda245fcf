extension PrimaryStateMachine {
    /// Hands all sealed batches to the journal in one transaction if it is free.
    mutating func handOver(_ step: inout PrimaryStep) {
        guard pipeline.isJournalFree else { return }
        seal(&step)
        guard !pipeline.sealed.isEmpty else { return }
        captureView(&step)
        let batches = pipeline.handOver()
        step.directives.append(.persist(batches))
        // Beside the write of the own disk, not after it.
        replicate(&step) { server, log, _, directives in server.pump(log: log, into: &directives) }
    }

    /// What was handed over is durable here.
    package mutating func persisted(_ step: inout PrimaryStep) {
        pipeline.wasPersisted()
        guard phase != .deposed else { return }
        if commit(&step) {
            replicate(&step) { server, log, _, directives in server.pump(log: log, into: &directives) }
        }
        if let alarm = journalRoom.found() { step.directives.append(.alarm(alarm)) }
    }

    /// Where the commit may go: to the end of what this disk has, and of what every required member has.
    ///
    /// Who is required follows from the record, which this disk has first: else an arbiter that is set back, and a node
    /// that has forgotten the record, could give the epoch to who lacks what was acknowledged.
    private var commitEnd: SequenceNumber {
        let end = pipeline.persistedEnd
        if replication?.isMemoryKept == false { return committed.position.sequence }
        return replication?.commitEnd(ownDurable: end, committed: committed.position.sequence) ?? end
    }

    /// Commits what may be; in this order: broadcast, answers, observers.
    ///
    /// False if that is nothing.
    mutating func commit(_ step: inout PrimaryStep) -> Bool {
        let batches = pipeline.commit(through: commitEnd, boot: configuration.boot)
        guard !batches.isEmpty else { return false }
        for batch in batches {
            let largest = buggify(.headOnly) ? 0 : Limits.broadcastBytes
            step.directives.append(.publish(stamp.frame(broadcasting: batch, largest: largest)))
        }
        if buggify(.shrinksWindow) { pipeline.shrinkWindow(to: 4_096) }
        pipeline.unpersistedLimit = buggify(.tinyUnpersisted) ? 4_096 : Limits.unpersistedBytes
        beacons.hurry(now: step.now)
        let isOpening = phase == .opening
        if isOpening { opened(&step) }
        readers.show(through: committed.position.sequence, step.state)
        releaseAnswers(&step)
        answerReads(&step)
        step.directives.append(.committed(batches))
        if isOpening, phase == .admitting {
            resumeRuns(&step)
        } else {
            beginRuns(&step)
        }
        if let number = snapshots.committed(through: committed.position.sequence) {
            step.directives.append(.encodeSnapshot(number))
        }
        return true
    }

    /// The journal did not write.
    ///
    /// For want of room nothing happened, and the same batches are tried again, unchanged. Anything else
    /// leaves the outcome unknown: the node stops and never tries that commit again.
    package mutating func persistFailed(isDiskFull full: Bool, reason: String, _ step: inout PrimaryStep) {
        precondition(!pipeline.isJournalFree, "nothing is at the journal")
        guard full else {
            phase = .halted
            step.directives.append(.halt(.journalFailed(reason)))
            return
        }
        if let alarm = journalRoom.foundNone(now: step.now) { step.directives.append(.alarm(alarm)) }
    }

    /// The driver saw that less than the reserve is free, or that there is room again.
    package mutating func freeSpaceChanged(isLow: Bool, _ step: inout PrimaryStep) {
        if let alarm = journalRoom.reserveChanged(isLow: isLow) { step.directives.append(.alarm(alarm)) }
    }

    // MARK: - Answers

    /// Keeps an answer until everything sequenced so far has committed; sends it at once if everything has.
    ///
    /// Above ``Limits/waitingAnswers`` it is dropped: whoever waits for it repeats what it asked.
    mutating func answer(_ message: Message, to connection: Connection, _ step: inout PrimaryStep) {
        guard head > committed.position.sequence else {
            step.directives.append(.send(stamp.frame(message), to: connection))
            return
        }
        answers.append(message, to: connection, at: head)
    }

    /// Keeps the answers to numbers that were just sequenced; neighbours of one session become one.
    mutating func answerLater(_ session: SessionID, numbers: ClosedRange<RequestNumber>) {
        answers.append(numbers, of: session, at: head) { pipeline.isBeforeHandOver($0) }
    }

    mutating func releaseAnswers(_ step: inout PrimaryStep) {
        while let answer = answers.next(committed: committed.position.sequence) {
            switch answer.content {
            case .message(let message, let connection):
                if buggify(.losesAnswer) { continue }
                step.directives.append(.send(stamp.frame(message), to: connection))
            case .emission(let ticket, let sequence):
                step.directives.append(.emission(ticket, .committed(epoch, sequence)))
            case .end(let id): endCommitted(id, at: answer.sequence, &step)
            case .results(let session, let numbers):
                guard let connection = bindings[session]?.connection, !buggify(.losesAnswer) else { continue }
                sendReplies(of: session, numbers, to: connection, &step)
            }
        }
    }

    /// Sends kept replies, one RESULT for each kept series; all of `numbers` must have committed.
    func sendReplies(
        of session: SessionID, _ numbers: ClosedRange<RequestNumber>, to connection: Connection,
        _ step: inout PrimaryStep
    ) {
        // A closure that reads it would keep a copy of the whole machine.
        let stamp = stamp
        log.sessions.forEachReply(of: session, in: numbers) { series, bytes, range in
            let result = ResultSeries(
                session: session, first: series.first, count: series.count, epoch: series.epoch,
                firstSequence: series.firstSequence, items: range)
            step.directives.append(.send(stamp.frame(.result(result), source: bytes), to: connection))
        }
    }
}
