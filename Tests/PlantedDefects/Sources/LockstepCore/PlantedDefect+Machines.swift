// What the planted defects do, where it is more than a line.

extension PrimaryStateMachine {
    /// Shows what is handed to the journal before it is durable.
    mutating func showEarly(_ step: inout PrimaryStep) {
        if PlantedDefect.isActive(.publishBeforeCommit) {
            for batch in pipeline.atJournal { step.directives.append(.publish(stamp.frame(broadcasting: batch))) }
        }
        guard PlantedDefect.isActive(.viewBeforeCommit) else { return }
        readers.capture(log, now: step.now, step.state)
        readers.show(through: log.position.sequence, step.state)
    }

    /// Answers committed numbers with something that is not in the log.
    func answersAnew(
        _ submit: Submit, _ numbers: ClosedRange<RequestNumber>, to connection: Connection,
        _ step: inout PrimaryStep
    ) -> Bool {
        let status: ActionStatus
        if PlantedDefect.isActive(.resumeWithoutReplies) {
            status = .rejected
        } else if PlantedDefect.isActive(.voidWins), submit.isVoid {
            status = .void
        } else {
            return false
        }
        guard
            let last = log.sessions.lastNumber(of: submit.session, through: committed.position.sequence),
            numbers.lowerBound <= last
        else { return false }
        let reason = status == .void ? "" : "the number is in the log"
        let count = Int(min(last, numbers.upperBound) - numbers.lowerBound) + 1
        var items = ByteWriter()
        for _ in 0..<count {
            items.writeVarint(UInt64(reason.utf8.count) << 2 | UInt64(status.rawValue))
            items.writeRaw(reason)
        }
        withBytes(of: items.bytes) { bytes in
            let series = ResultSeries(
                session: submit.session, first: numbers.lowerBound, count: count, epoch: epoch,
                firstSequence: submit.session.sequence, items: 0..<bytes.byteCount)
            step.directives.append(.send(stamp.frame(.result(series), source: bytes), to: connection))
        }
        return submit.first + UInt64(submit.count) - 1 <= last
    }
}

extension PrimaryStateMachine {
    /// Begins what is only sequenced.
    mutating func beginUncommitted(_ step: inout PrimaryStep) {
        for id in scheduler.committed(through: SequenceNumber(rawValue: .max)) {
            guard let run = log.runs[id] else { continue }
            step.directives.append(.beginRun(RunStart(id: id, attempt: run.attempts, emissions: run.emissions)))
        }
    }

    /// Whether a cause may emit, where a defect decides that; an end has no ticket.
    func plantedLife(of cause: EffectCause, ticket: UInt64) -> Bool? {
        switch cause {
        case .action(let session, let number):
            let id = RunID(session: session, number: number)
            return PlantedDefect.isActive(.emitsAfterEnd) && ticket > 0 && log.runs[id]?.end != nil ? true : nil
        case .feedback: return PlantedDefect.isActive(.feedbackOutlivesRequest) ? true : nil
        case .source, .time: return nil
        }
    }

    /// Logs the ends that a former primary left once more.
    mutating func endAgain(_ step: inout PrimaryStep) {
        guard PlantedDefect.isActive(.endsAgainAfterRestart) else { return }
        for run in log.runs.sorted where run.end != nil {
            var item = ByteWriter()
            item.writeItem(.void, reply: "")
            withBytes(of: item.bytes) { bytes in
                let entry = Entry.finished(
                    session: run.id.session, number: run.id.number, item: 0..<bytes.byteCount)
                let isFull = withOpenBatch(at: step.moment) { batch in
                    batch.append(entry, source: bytes)
                    return batch.isFull
                }
                if isFull { seal(&step) }
            }
        }
    }
}

extension ReplicaStateMachine {
    /// Applies the first series of a duplicate to the state alone.
    func applyAgain(_ part: StreamBuffer.Part, to state: any FollowingState) {
        guard let bytes = part.bytes else { return }
        var scratch = LogState(store: log.store)
        scratch.position = Position(
            epoch: part.head.epoch, sequence: SequenceNumber(rawValue: part.head.first.rawValue - 1),
            hash: part.head.previous)
        let batch = SealedBatch(head: part.head, hash: .none, bytes: bytes)
        // The session is not there, so it ends with an error after the mutations of the first series.
        _ = try? scratch.apply(batch, to: state)
    }

    /// Takes what is missing before a batch for applied.
    mutating func skipHole(before head: BatchHead) {
        guard head.first > log.position.sequence.next else { return }
        log.position.sequence = SequenceNumber(rawValue: head.first.rawValue - 1)
        log.position.hash = head.previous
        window.removeAll()
    }

    /// Ends sessions after a third of their time without a batch.
    mutating func expireSilent(now: Tick) {
        for session in log.sessions.sorted where now - stream.lastBatch > session.timeToLive * 1_000 / 3 {
            log.sessions.remove(session.id)
        }
    }

    /// Throws away what the primary does not have, and joins anew.
    mutating func giveUpHistory(now: Tick, into directives: inout [ReplicaDirective]) {
        guard upstream.publisher != nil else { return }
        handOver(into: &directives)
        stop()
        log = LogState(store: log.store)
        window.removeAll()
        upstream.forgetEpochs()
        snapshots.forget()
        install.require()
        readers.forget()
        directives.append(upstream.bulkConnection)
        subscribe(now: now, into: &directives)
    }
}

extension ClientStateMachine {
    /// Takes the answers of a series for those to the oldest unanswered numbers.
    mutating func takeForMissing(
        _ series: ResultSeries, _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        var answers = part(of: series, frame, 0..<series.count)
        answers.first = pending.answered + 1
        pending.answer(through: answers.first + UInt64(series.count) - 1)
        pace.progressed(now: now)
        directives.append(.answered(answers))
    }
}
