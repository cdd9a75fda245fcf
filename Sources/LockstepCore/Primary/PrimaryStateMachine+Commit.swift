import DequeModule

extension PrimaryStateMachine {
    /// Hands all sealed batches to the journal in one transaction if it is free.
    mutating func handOver(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard inFlight.isEmpty else { return }
        seal(now: now, wall: wall, state: state)
        guard !sealed.isEmpty else { return }
        captureView(now: now, state: state)
        inFlight = sealed
        inFlightMark = log.mark
        sealed = []
        #if LOCKSTEP_PLANTED_DEFECTS
            showEarly(state: state, into: &directives)
        #endif
        directives.append(.persist(inFlight))
    }

    /// What was handed over is durable, and so it is committed.
    ///
    /// In this order: broadcast, answers, observers.
    package mutating func persisted(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard let last = inFlight.last else { preconditionFailure("nothing is at the journal") }
        let batches = inFlight
        inFlight = []
        for batch in batches {
            let largest = buggify(.headOnly) ? 0 : Limits.broadcastBytes
            directives.append(.publish(stamp.frame(broadcasting: batch, largest: largest)))
            window.append(batch)
            sealedBytes -= batch.bytes.count
            if batch.tellsSomething { told = batch.head.last }
        }
        if buggify(.shrinksWindow) { window.shrink(to: 4_096) }
        unpersistedLimit = buggify(.tinyUnpersisted) ? 4_096 : Limits.unpersistedBytes
        committed = KnownPosition(position: last.position, boot: configuration.boot)
        committedTime = last.head.time
        committedMark = inFlightMark
        hurryBeacons(now: now)
        let isOpening = phase == .opening
        if isOpening { opened(now: now) }
        state.publish(through: committed.position.sequence)
        if captured.sequence <= committed.position.sequence { view = captured }
        releaseAnswers(into: &directives)
        answerReads(state: state, into: &directives)
        directives.append(.committed(batches))
        if isOpening, phase == .admitting {
            resumeRuns(now: now, wall: wall, state: state, into: &directives)
        } else {
            beginRuns(into: &directives)
        }
        if case .captured(let number, let sequence) = snapshot, sequence <= committed.position.sequence {
            snapshot = .encoding(number)
            directives.append(.encodeSnapshot(number))
        }
        if isDiskFull {
            isDiskFull = false
            retryPersist = .never
            if !isSpaceLow { directives.append(.alarm(.diskHasRoom)) }
        }
    }

    /// The journal did not write.
    ///
    /// For want of room nothing happened, and the same batches are tried again, unchanged. Anything else
    /// leaves the outcome unknown: the node stops and never tries that commit again.
    package mutating func persistFailed(
        isDiskFull full: Bool, reason: String, now: Tick, into directives: inout [PrimaryDirective]
    ) {
        precondition(!inFlight.isEmpty, "nothing is at the journal")
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.failedCommitIgnored), !full { return countAsCommitted(into: &directives) }
            let full = full || PlantedDefect.isActive(.failedCommitRetried)
        #endif
        guard full else {
            phase = .halted
            directives.append(.halt(.journalFailed(reason)))
            return
        }
        retryPersist = now.advanced(byMilliseconds: 250)
        guard !isDiskFull else { return }
        isDiskFull = true
        if !isSpaceLow { directives.append(.alarm(.diskFull)) }
    }

    /// The driver saw that less than the reserve is free, or that there is room again.
    package mutating func freeSpaceChanged(isLow: Bool, into directives: inout [PrimaryDirective]) {
        guard isLow != isSpaceLow else { return }
        isSpaceLow = isLow
        guard !isDiskFull else { return }
        directives.append(.alarm(isLow ? .diskFull : .diskHasRoom))
    }

    // MARK: - Answers

    /// Keeps an answer until everything sequenced so far has committed; sends it at once if everything has.
    ///
    /// Above ``Limits/waitingAnswers`` it is dropped: whoever waits for it repeats what it asked.
    mutating func answer(
        _ message: Message, to connection: Connection, into directives: inout [PrimaryDirective]
    ) {
        guard head > committed.position.sequence else {
            directives.append(.send(stamp.frame(message), to: connection))
            return
        }
        guard waitingMessages < Limits.waitingAnswers else { return }
        waitingMessages += 1
        answers.append(PendingAnswer(sequence: head, content: .message(message, connection)))
    }

    /// Keeps the answers to numbers that were just sequenced; neighbours of one session become one.
    mutating func answerLater(_ session: SessionID, numbers: ClosedRange<RequestNumber>) {
        if let last = answers.last, case .results(session, let before) = last.content,
            before.upperBound + 1 == numbers.lowerBound, isInOpenHandOver(last.sequence)
        {
            answers[answers.count - 1] = PendingAnswer(
                sequence: head, content: .results(session, before.lowerBound...numbers.upperBound))
        } else {
            answers.append(PendingAnswer(sequence: head, content: .results(session, numbers)))
        }
    }

    /// Whether `sequence` will commit no earlier than what is sequenced now: then one answer may cover both.
    private func isInOpenHandOver(_ sequence: SequenceNumber) -> Bool {
        guard let last = inFlight.last else { return true }
        return sequence > last.head.last
    }

    mutating func releaseAnswers(into directives: inout [PrimaryDirective]) {
        while let first = answers.first, first.sequence <= committed.position.sequence {
            answers.removeFirst()
            switch first.content {
            case .message(let message, let connection):
                waitingMessages -= 1
                if buggify(.losesAnswer) { continue }
                directives.append(.send(stamp.frame(message), to: connection))
            case .emission(let ticket, let sequence): directives.append(.emission(ticket, .committed(epoch, sequence)))
            case .end(let id): endCommitted(id, at: first.sequence, into: &directives)
            case .results(let session, let numbers):
                guard let connection = bindings[session]?.connection, !buggify(.losesAnswer) else { continue }
                sendReplies(of: session, numbers, to: connection, into: &directives)
            }
        }
    }

    /// Sends kept replies, one RESULT for each kept run; all of `numbers` must have committed.
    func sendReplies(
        of session: SessionID, _ numbers: ClosedRange<RequestNumber>, to connection: Connection,
        into directives: inout [PrimaryDirective]
    ) {
        log.sessions.forEachReply(of: session, in: numbers) { run, bytes, range in
            let result = ResultRun(
                session: session, first: run.first, count: run.count, epoch: run.epoch,
                firstSequence: run.firstSequence, items: range)
            directives.append(.send(stamp.frame(.result(result), source: bytes), to: connection))
        }
    }

    // MARK: - What may be seen

    /// Takes a root at the end of what is handed over: it may be shown when that has committed.
    ///
    /// Under load that is when the schedule says so; a few entries cost so little that they are always shown at once.
    private mutating func captureView(now: Tick, state: any ReplicatedState) {
        let isDue = views.isDue(now: now, isWanted: state.isViewWanted || !reads.isEmpty)
        let isTaken = (isDue || isLittle(behind: captured.sequence)) && !buggify(.lateView)
        guard isTaken || buggify(.earlyView) else { return }
        capture(now: now, state: state)
    }

    private func isLittle(behind sequence: SequenceNumber) -> Bool {
        log.position.sequence.rawValue - sequence.rawValue < 64
    }

    private mutating func capture(now: Tick, state: any ReplicatedState) {
        captured = ViewPlace(epoch: log.position.epoch, sequence: log.position.sequence, time: log.time)
        state.capture(at: captured.sequence, epoch: captured.epoch, time: captured.time)
        views.taken(now: now)
    }

    /// When nothing is waiting, the working state is the committed one and can be shown as it is.
    mutating func refreshView(now: Tick, state: any ReplicatedState) {
        guard view.sequence < committed.position.sequence, head == committed.position.sequence else { return }
        let isDue = views.isDue(now: now, isWanted: state.isViewWanted || !reads.isEmpty)
        guard isDue || isLittle(behind: view.sequence) else { return }
        capture(now: now, state: state)
        state.publish(through: committed.position.sequence)
        view = captured
    }

    /// Why the state may not be read now: a primary that is behind lacks what was acknowledged.
    package var readRefusal: ReadRefusal? {
        switch phase {
        case .created: .opening
        // What was recovered is shown in this process while its epoch opens, on a full disk for long.
        case .opening: view.sequence > .zero ? nil : .opening
        case .awaiting, .admitting, .stopping: nil
        case .behind: .behind
        case .halted: .halted
        }
    }

    /// Those that wait are told what those that come will be.
    mutating func refuseReads(into directives: inout [PrimaryDirective]) {
        for read in reads.takeAll() {
            let frame = stamp.readUnavailable(id: read.id, view: view, because: readRefusal)
            directives.append(.send(frame, to: read.connection))
        }
    }

    /// Answers the reads whose sequence number the view has reached.
    mutating func answerReads(state: any ReplicatedState, into directives: inout [PrimaryDirective]) {
        guard !reads.isEmpty else { return }
        for read in reads.take(publishedThrough: view.sequence) {
            let frame = withBytes(of: read.query) { query in
                stamp.readResult(
                    id: read.id, isIndexOnly: read.isIndexOnly, query: 0..<query.byteCount, in: query, state: state,
                    view: view)
            }
            directives.append(.send(frame, to: read.connection))
        }
    }
}
