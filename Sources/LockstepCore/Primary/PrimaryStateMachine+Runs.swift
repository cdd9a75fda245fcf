// Effects that do not end at once (PROTOCOL, R-60 to R-65).
//
//     SUBMIT --mutate--> accepted --committed--> running --finish--> finished --committed--> RUN_ENDED
//                            |    (its turn)        |  \--emit--> emitted --committed--> the executor goes on
//                            `---- cancel, superseded: finished as void, at once ----'
//
// An emission or an end counts only for a run that this boot began and that has not ended; whatever else comes from an
// executor is dropped before it is logged.

extension PrimaryStateMachine {
    // MARK: - Acceptance

    /// What came of a request for a run.
    enum Acceptance {
        case accepted
        case rejected(String)
        case busy
    }

    /// Brings the action that is to be accepted into the log, or says why not; only an accepted one cancels others.
    mutating func accept(
        _ id: RunID, _ plan: RunPlan, _ request: RunRequest, in frame: RawSpan, ackedThrough: RequestNumber,
        _ step: inout PrimaryStep
    ) -> Acceptance {
        guard log.runs.count < Limits.runs, log.runs.byteCount <= Limits.runBytes else { return .busy }
        let ofSession = log.runs.count(of: id.session)
        if ofSession > 0, buggify(.fewRuns) { return .busy }
        var replaced = cancelled(by: request)
        switch scheduler.decide(plan, cancelling: replaced) {
        case .rejected(let reason): return .rejected(reason)
        case .accepted(let superseded): replaced += superseded
        }
        if ofSession >= Limits.runsOfSession {
            let (unfinished, left) = log.runs.unfinishedCounts(of: id.session, without: Set(replaced))
            // Waiting could be for ever: what follows this action may be what ends them.
            guard left < Limits.runsOfSession else { return .rejected(Self.tooManyRuns) }
            // The others have ended, and go when their sender has acknowledged them.
            guard ofSession - unfinished < Limits.runsOfSession else { return .busy }
        }
        for other in replaced { cancelRun(other, &step) }
        let entry = Entry.accepted(
            session: id.session, number: id.number, ackedThrough: ackedThrough, action: request.action)
        append(entry, source: frame, &step) { machine, sequence in
            let isNext = machine.log.accepted(
                id, ackedThrough: ackedThrough, action: copyBytes(of: frame, request.action), epoch: machine.epoch,
                at: sequence)
            precondition(isNext, "the number was checked")
            machine.scheduler.accepted(id, plan, at: sequence)
        }
        step.state.runAccepted(id)
        answerLater(id.session, numbers: id.number...id.number)
        return .accepted
    }

    private static var tooManyRuns: String {
        "\(Limits.runsOfSession) actions of this session go on already; wait for some to end, or cancel them"
    }

    /// What an action cancels, in its order.
    func cancelled(by request: RunRequest) -> [RunID] {
        request.cancelledRuns + request.cancelledNames.flatMap { scheduler.runs(named: $0) }
    }

    /// Ends a run as void; nothing more of it is logged.
    mutating func cancelRun(_ id: RunID, _ step: inout PrimaryStep) {
        guard log.runs.isUnfinished(id) else { return }
        var item = ByteWriter()
        item.writeItem(.void, reply: "")
        finish(id, item: item.bytes, &step)
    }

    // MARK: - What executors bring

    /// A running effect, or a source, has mutations: a count, then each preceded by its length.
    ///
    /// `ticket` comes back with ``PrimaryDirective/emission(_:_:)``. What is larger than an entry may be is dropped,
    /// and ends its run as failed.
    package mutating func emitted(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64, _ step: inout PrimaryStep) {
        guard isLive(cause, ticket: ticket, step.state) else {
            step.directives.append(.count(.emissionsDropped))
            return step.directives.append(.emission(ticket, .dropped))
        }
        guard admits, !buggify(.busyEmission) else { return step.directives.append(.emission(ticket, .busy)) }
        guard mutations.count <= Limits.actionBytes else {
            step.directives.append(.count(.emissionsDropped))
            step.directives.append(.emission(ticket, .dropped))
            guard case .action(let session, let number) = cause else { return }
            let id = RunID(session: session, number: number)
            return fail(id, Self.tooLarge, &step)
        }
        let sequence = withBytes(of: mutations) { bytes in
            append(cause, bytes, &step)
        }
        answers.append(.emission(ticket, sequence), at: sequence)
    }

    /// Appends mutations that are not reduced yet.
    private mutating func append(_ cause: EffectCause, _ mutations: RawSpan, _ step: inout PrimaryStep)
        -> SequenceNumber
    {
        let entry = Entry.emitted(cause: cause, mutations: 0..<mutations.byteCount)
        let state = step.state
        return append(entry, source: mutations, &step) { machine, sequence in
            let isCounted = machine.log.emitted(cause)
            precondition(isCounted, "the run was looked up")
            guard let batch = machine.pipeline.open else { preconditionFailure("the entry's batch is open") }
            do throws(WireError) {
                try LogState.reduce(
                    mutations, 0..<mutations.byteCount, at: (machine.epoch, sequence), time: batch.head.time,
                    into: state)
            } catch {
                preconditionFailure("mutations that this process encoded cannot be decoded: \(error)")
            }
        }
    }

    /// Whether what comes under this ticket may be logged: which actions run is known here, what else must hold of the
    /// state only there.
    private func isLive(_ cause: EffectCause, ticket: UInt64, _ state: any ReplicatedState) -> Bool {
        guard takesEmissions else { return false }
        if case .action(let session, let number) = cause {
            guard isRunning(RunID(session: session, number: number)) else { return false }
        }
        return state.isLive(cause, ticket: ticket)
    }

    private var takesEmissions: Bool { phase != .stopping && !isOver }
    private func isRunning(_ id: RunID) -> Bool { scheduler.isRunning(id) && log.runs.isUnfinished(id) }

    /// A running effect ended by itself: its item, whose mutations are not reduced yet.
    ///
    /// Answers with ``PrimaryDirective/runEnd(_:_:)``: `busy` asks the executor to come again.
    package mutating func runFinished(_ id: RunID, item: [UInt8], _ step: inout PrimaryStep) {
        guard takesEmissions, isRunning(id) else {
            return step.directives.append(.runEnd(id, .dropped))
        }
        guard admits, !buggify(.busyRunEnd) else { return step.directives.append(.runEnd(id, .busy)) }
        guard item.count <= Limits.actionBytes else {
            return fail(id, Self.tooLarge, isStopping: false, &step)
        }
        finish(id, item: item, isStopping: false, &step)
    }

    private static var tooLarge: String { "the effect wrote more than \(Limits.actionBytes) bytes at once" }

    private mutating func fail(_ id: RunID, _ reason: String, isStopping: Bool = true, _ step: inout PrimaryStep) {
        var item = ByteWriter()
        item.writeItem(.rejected, reply: reason)
        finish(id, item: item.bytes, isStopping: isStopping, &step)
    }

    /// An operator, or the sender, wants the run ended; false if it has ended.
    package mutating func abandonRun(_ id: RunID, reason: String?, _ step: inout PrimaryStep) -> Bool {
        guard admits, log.runs.isUnfinished(id) else { return false }
        var item = ByteWriter()
        item.writeItem(reason == nil ? .void : .rejected, reply: reason ?? "")
        finish(id, item: item.bytes, &step)
        return true
    }

    private mutating func finish(
        _ id: RunID, item: [UInt8], isReduced: Bool = false, isStopping: Bool = true, _ step: inout PrimaryStep
    ) {
        let state = step.state
        let sequence = withBytes(of: item) { bytes in
            let entry = Entry.finished(session: id.session, number: id.number, item: 0..<bytes.byteCount)
            return append(entry, source: bytes, &step) { machine, sequence in
                machine.end(id, bytes, at: sequence, isReduced: isReduced, state)
            }
        }
        if scheduler.ended(id, at: sequence), isStopping { step.directives.append(.stopRun(id)) }
        step.state.runEnded(id)
        answers.append(.end(id), at: sequence)
    }

    private mutating func end(
        _ id: RunID, _ bytes: RawSpan, at sequence: SequenceNumber, isReduced: Bool, _ state: any ReplicatedState
    ) {
        guard let batch = pipeline.open else { preconditionFailure("the entry's batch is open") }
        do throws(WireError) {
            var reader = ByteReader(bytes)
            let item = try Item(from: bytes, &reader)
            try reader.finish()
            var reply = ByteWriter(capacity: item.reply.count + 4)
            ReplyItem.write(item.status, bytes, item.reply, to: &reply)
            let isEnded = log.finished(id, Run.End(epoch: epoch, sequence: sequence, item: reply.bytes))
            precondition(isEnded, "the run was looked up")
            guard item.mutationCount > 0, !isReduced else { return }
            try state.apply(
                bytes, mutations: item.mutations, count: item.mutationCount, at: (epoch, sequence),
                time: batch.head.time)
        } catch {
            preconditionFailure("an item that this process wrote cannot be read: \(error)")
        }
    }

    /// Accepted actions that have not ended, in the order of acceptance, and whether they run now.
    ///
    /// Cost: a sort.
    package var unfinishedRuns: [(run: Run, isRunning: Bool)] {
        log.runs.sorted.filter { $0.end == nil }.map { ($0, scheduler.isRunning($0.id)) }
    }

    // MARK: - Beginning

    /// What has committed may begin, in the order of acceptance.
    mutating func beginRuns(_ step: inout PrimaryStep) {
        guard phase == .admitting || phase == .behind else { return }
        scheduler.isHeld = buggify.isOn && scheduler.isDue(through: committed.position.sequence) && buggify(.lateRun)
        guard !scheduler.isHeld else { return }
        for id in scheduler.committed(through: committed.position.sequence) {
            guard let run = log.runs[id] else { preconditionFailure("a run that begins is in the table") }
            let start = RunStart(id: id, attempt: run.attempts, emissions: run.emissions)
            step.directives.append(.beginRun(start))
        }
    }

    /// The epoch is open: what a former primary left is run again, in the order of acceptance.
    mutating func resumeRuns(_ step: inout PrimaryStep) {
        guard !configuration.holdsEffects else { return }
        for run in log.runs.sorted where run.end == nil {
            let start = RunStart(id: run.id, attempt: run.attempts, emissions: run.emissions)
            var item = ByteWriter()
            let epoch = epoch
            let sender = log.sessions.sender(of: run.id.session)
            let context = withOpenBatch(at: step.moment) { batch in
                PerformContext(
                    session: run.id.session, firstNumber: run.id.number, epoch: epoch,
                    firstSequence: batch.nextSequence, time: batch.head.time, sender: sender)
            }
            switch step.state.resume(start, action: run.action, context: context, into: &item) {
            case .ended:
                finish(run.id, item: item.bytes, isReduced: true, &step)
            case .planned(let plan):
                resume(run, plan, &step)
            }
        }
        beginRuns(&step)
    }

    private mutating func resume(_ run: Run, _ plan: RunPlan, _ step: inout PrimaryStep) {
        switch scheduler.decide(plan) {
        case .accepted(let superseded):
            for other in superseded { cancelRun(other, &step) }
        case .rejected:
            // It was accepted, so it runs; a policy that is stricter now does not undo that.
            break
        }
        scheduler.accepted(run.id, plan, at: run.sequence)
    }

    // MARK: - The senders

    mutating func runRequestReceived(_ request: RunMessage, from connection: Connection, _ step: inout PrimaryStep) {
        guard log.sessions.standing(of: request.session) != nil else {
            return answerForMissing(request.session, to: connection, &step)
        }
        guard bindings.isHeld(request.session, by: connection) else {
            step.directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        bindings.heard(request.session, now: step.now)
        var sentBytes = 0
        for wish in request.wishes {
            let id = RunID(session: request.session, number: wish.number)
            if wish.kind == .cancel, admits { cancelRun(id, &step) }
            guard let run = log.runs[id] else {
                // Never accepted, or acknowledged. What removed it may be sequenced only: the answer waits for that.
                answer(.runGone(id), to: connection, &step)
                continue
            }
            guard let end = run.end, end.sequence <= committed.position.sequence else { continue }
            if wish.kind == .acknowledge {
                bindings.noteEnd(id)
            } else if sentBytes <= Limits.creditBytes {
                // What is above comes with the next request, when some of these are acknowledged.
                sentBytes += end.item.count
                sendEnd(run, end, to: connection, &step)
            }
        }
        if admits, bindings.endCount >= Limits.waitingRunAcks {
            acknowledgeEnds(&step)
        }
    }

    /// A run's end has committed: its executor and its sender learn it.
    mutating func endCommitted(_ id: RunID, at sequence: SequenceNumber, _ step: inout PrimaryStep) {
        step.directives.append(.runEnd(id, .committed(epoch, sequence)))
        guard let run = log.runs[id], let end = run.end, let connection = bindings[id.session]?.connection,
            !buggify(.keepsEnd)
        else { return }
        sendEnd(run, end, to: connection, &step)
    }

    func sendEnd(_ run: Run, _ end: Run.End, to connection: Connection, _ step: inout PrimaryStep) {
        withBytes(of: end.item) { bytes in
            let message = RunEnded(
                id: run.id, epoch: end.epoch, sequence: end.sequence, emissions: run.emissions,
                item: 0..<bytes.byteCount)
            step.directives.append(.send(stamp.frame(.runEnded(message), source: bytes), to: connection))
        }
    }

    /// Once a second, and when many have come: ends that their senders have.
    mutating func acknowledgeEnds(_ step: inout PrimaryStep) {
        guard bindings.endCount > 0, !buggify(.skipsEndAcknowledgement) else { return }
        // Those of sessions that ended meanwhile are gone already.
        let acknowledged = bindings.takeEnds { log.runs[$0] != nil }
        for start in stride(from: 0, to: acknowledged.count, by: Limits.runWishes) {
            let part = Array(acknowledged[start..<min(start + Limits.runWishes, acknowledged.count)])
            append(.runAck(part), &step) { machine, _ in
                for id in part { machine.log.runs.acknowledge(id) }
            }
        }
    }
}
