package import LockstepCore

/// Runs ``EffectScript``s in virtual time, checks what the machine directs, and misbehaves as effects do: it emits for
/// a while after its stop, and for runs whose turn has not come.
package final class ScriptedExecutor: EffectExecutor {
    private unowned let port: any EffectPort
    private var random: SplitMix64
    private var runs: [RunID: Running] = [:]
    private var groups = GroupWatch()
    private var feedbacks: [UInt64: Feedback] = [:]
    /// Emissions that have no outcome yet.
    private var tickets: [UInt64: Emission] = [:]
    private var wakes: [UInt64: Work] = [:]
    private var nextToken: UInt64 = 1
    private var nextSerial: UInt64 = 1
    private var sourceIndices: [UInt64: UInt64] = [:]

    private struct Running {
        var script: EffectScript
        var start: RunStart
        var toSend: UInt64
        var sent: UInt64 = 0
        var outstanding = 0
        var isEnding = false
        var isStopped = false
        /// A wake-up is on its way; two would become four while nothing is admitted.
        var isWaking = false
        /// How often it still emits after its stop.
        var leftovers = 0
    }

    private struct Feedback {
        var ticket: UInt64
        var toSend: Int
        var sent: UInt64 = 0
        var leftovers: Int
        var isStopped = false
    }

    private enum Emission {
        case run(RunID)
        /// It must be dropped.
        case ghost
        case source(UInt64)
        case feedback(UInt64, ticket: UInt64)
    }

    private enum Work {
        case run(RunID)
        case ghost
        case source(UInt64)
        case feedback(UInt64)
    }

    package init(port: any EffectPort, random: SplitMix64) {
        self.port = port
        self.random = random
        for source in 0..<UInt64(2) { wake(.source(source), within: 4_000) }
        wake(.ghost, within: 500)
    }

    // MARK: - Directives

    package func begin(_ start: RunStart) {
        let id = start.id
        guard let note = port.committedRun(id) else {
            return port.fail(.effects, "the effect of \(id) begins before its acceptance has committed")
        }
        guard note.end == nil else { return port.fail(.effects, "the effect of \(id) begins after its end") }
        guard runs[id] == nil else { return port.fail(.effects, "the effect of \(id) begins twice") }
        guard note.attempts == start.attempt, note.emissions == start.emissions else {
            return port.fail(
                .effects,
                "\(id) begins as attempt \(start.attempt) after \(start.emissions) emissions; the log has attempt "
                    + "\(note.attempts) and \(note.emissions)")
        }
        guard let script = (port.effectState as? EffectState)?.effects[id] else {
            return port.fail(.effects, "\(id) begins, and its effect is not there")
        }
        if let problem = groups.begins(id, script.plan, at: note.sequence) { return port.fail(.effects, problem) }
        port.note(start.attempt > 1 ? .begunAgain : .begun, id.number)
        runs[id] = Running(script: script, start: start, toSend: script.emissions)
        wakeRun(id, within: 2 * script.pace)
    }

    package func stop(_ id: RunID) {
        guard var run = runs[id], !run.isStopped else {
            return port.fail(.effects, "\(id) is stopped and does not run")
        }
        run.isStopped = true
        run.leftovers = Int(random.next(below: 4))
        runs[id] = run
        // An end that it asked for stops it, too.
        guard !run.isEnding else { return }
        port.note(.stopped, id.number)
        if run.leftovers > 0 { wakeRun(id, within: 300) }
    }

    package func emissionEnded(_ ticket: UInt64, _ outcome: EmissionOutcome) {
        guard let emission = tickets.removeValue(forKey: ticket) else {
            return port.fail(.effects, "an emission has two outcomes, the second is \(outcome)")
        }
        switch outcome {
        case .committed(_, let sequence): committed(emission, at: sequence)
        case .busy: port.note(.busyEmission, ticket)
        case .dropped: port.note(.droppedEmission, ticket)
        }
        // What runs does not go on in this life.
        if outcome == .dropped, port.isMachineStopping { return }
        switch emission {
        case .run(let id): runEmissionEnded(id, outcome)
        case .ghost:
            guard outcome == .dropped else {
                return port.fail(.effects, "an emission of a run that has not begun, or is stopped, is \(outcome)")
            }
            port.note(.droppedGhost, 0)
        case .source(let source):
            if case .committed = outcome { sourceIndices[source, default: 0] += 1 }
            if outcome == .dropped { port.fail(.effects, "an emission of a source is dropped") }
            wake(.source(source), within: outcome == .busy ? 1_000 : 12_000)
        case .feedback(let name, let ticket): feedbackEnded(name, ticket, outcome)
        }
    }

    package func runEnded(_ id: RunID, _ outcome: EmissionOutcome) {
        switch outcome {
        case .committed:
            guard port.committedRun(id)?.end != nil else {
                return port.fail(.effects, "the end of \(id) counts as committed and is not in the log")
            }
            groups.ended(id)
            if runs[id]?.leftovers == 0 || runs[id]?.isEnding == true { runs[id] = nil }
        case .busy:
            port.note(.busyEnd, id.number)
            runs[id]?.isEnding = false
            wakeRun(id, within: 1_000)
        case .dropped:
            port.note(.droppedEnd, id.number)
            guard !port.isMachineStopping else { return }
            guard runs[id]?.isStopped == true else {
                return port.fail(.effects, "the end of \(id), which runs, is dropped")
            }
            runs[id] = nil
        }
    }

    package func committed(through sequence: SequenceNumber) {
        guard let state = port.effectState as? EffectState else { return }
        for (name, ticket) in state.tables.requests.sorted(by: { $0.key < $1.key })
        where ticket <= sequence.rawValue && feedbacks[name]?.ticket != ticket {
            feedbacks[name] = Feedback(
                ticket: ticket, toSend: Int(random.between(1, 4)), leftovers: Int(random.next(below: 3)))
            wake(.feedback(name), within: 1_500)
        }
    }

    // MARK: - Time

    private func wake(_ work: Work, within milliseconds: UInt64) {
        wakes[nextToken] = work
        // A cluster that is to come to rest has no patience.
        let longest = port.isHealing ? min(milliseconds, 300) : milliseconds
        port.wake(after: random.between(0, Int64(longest) * Span.millisecond), token: nextToken)
        nextToken += 1
    }

    private func wakeRun(_ id: RunID, within milliseconds: UInt64) {
        guard runs[id]?.isWaking == false else { return }
        runs[id]?.isWaking = true
        wake(.run(id), within: milliseconds)
    }

    package func due(_ token: UInt64) {
        switch wakes.removeValue(forKey: token) {
        case .run(let id):
            runs[id]?.isWaking = false
            goOn(id)
        case .ghost: emitForGhost()
        case .source(let source):
            guard !port.isHealing else { return }
            emit(
                .source(source), cause: .source("s\(source)"),
                .source(source, index: sourceIndices[source, default: 0]))
        case .feedback(let name): goOn(feedback: name)
        case nil: break
        }
    }

    private func emit(_ emission: Emission, cause: EffectCause, _ mutations: EffectMutation..., prefix: UInt64 = 0) {
        let ticket = prefix << 24 | nextSerial
        nextSerial += 1
        tickets[ticket] = emission
        port.emit(cause, mutations: EffectMutation.list(mutations), ticket: ticket)
    }

    private func committed(_ emission: Emission, at sequence: SequenceNumber) {
        port.note(.committedEmission, sequence.rawValue)
        let cause: EffectCause? =
            switch emission {
            case .run(let id): .action(id.session, id.number)
            case .source(let source): .source("s\(source)")
            case .feedback(let name, _): .feedback("f\(name)")
            case .ghost: nil
            }
        if let cause, !port.isEmission(cause, at: sequence) {
            port.fail(.effects, "an emission of \(cause) counts as committed at \(sequence) and is not there")
        }
    }

    // MARK: - Runs

    private func goOn(_ id: RunID) {
        guard var run = runs[id], !run.isEnding else { return }
        if run.isStopped {
            guard run.leftovers > 0 else {
                runs[id] = nil
                return
            }
            run.leftovers -= 1
            runs[id] = run
            if run.leftovers == 0, random.chance(0.5) { return port.finish(id, item: item(run)) }
            emit(
                .ghost, cause: .action(id.session, id.number),
                .emission(id, epoch: port.effectEpoch, attempt: run.start.attempt, index: 1_000_000))
            wakeRun(id, within: 300)
        } else if run.toSend > 0, run.outstanding == 0 || run.script.isEager {
            run.toSend -= 1
            run.outstanding += 1
            run.sent += 1
            runs[id] = run
            emit(
                .run(id), cause: .action(id.session, id.number),
                .emission(id, epoch: port.effectEpoch, attempt: run.start.attempt, index: run.sent))
            if run.script.isEager, runs[id]?.toSend ?? 0 > 0 { wakeRun(id, within: run.script.pace) }
        } else if run.toSend == 0, run.outstanding == 0 {
            runs[id]?.isEnding = true
            port.finish(id, item: item(run))
        }
    }

    private func item(_ run: Running) -> [UInt8] {
        let id = run.start.id
        if run.script.fails { return EffectMutation.item(.rejected, [], reply: Array("it failed".utf8)) }
        let last = EffectMutation.lastWord(id, epoch: port.effectEpoch, attempt: run.start.attempt)
        var reply = ByteWriter()
        reply.write(EffectBytes.marker)
        reply.writeVarint(port.effectEpoch.rawValue)
        reply.writeVarint(run.start.attempt)
        return EffectMutation.item(.committed, run.script.pace % 2 == 0 ? [last] : [], reply: reply.bytes)
    }

    private func runEmissionEnded(_ id: RunID, _ outcome: EmissionOutcome) {
        guard var run = runs[id] else { return }
        run.outstanding -= 1
        switch outcome {
        case .committed: break
        case .busy: run.toSend += 1
        case .dropped:
            guard run.isStopped else { return port.fail(.effects, "an emission of \(id), which runs, is dropped") }
        }
        runs[id] = run
        if !run.isStopped { wakeRun(id, within: outcome == .busy ? 1_000 : 2 * run.script.pace) }
    }

    /// An effect that runs where it must not: of an action whose turn has not come.
    private func emitForGhost() {
        guard !port.isHealing else { return }
        wake(.ghost, within: 8_000)
        let waiting = port.unfinishedRuns.filter { runs[$0] == nil }
        guard !waiting.isEmpty else { return }
        let id = random.pick(waiting)
        emit(
            .ghost, cause: .action(id.session, id.number),
            .emission(id, epoch: port.effectEpoch, attempt: 1, index: 1_000_000))
    }

    // MARK: - Feedback

    private func goOn(feedback name: UInt64) {
        guard var feedback = feedbacks[name] else { return }
        if feedback.isStopped {
            guard feedback.leftovers > 0 else { return }
            feedback.leftovers -= 1
        } else {
            feedback.toSend -= 1
            feedback.sent += 1
        }
        feedbacks[name] = feedback
        let cause = EffectCause.feedback("f\(name)")
        let mutation = EffectMutation.feedback(name, ticket: feedback.ticket, index: feedback.sent)
        if !feedback.isStopped, feedback.toSend <= 0 {
            emit(
                .feedback(name, ticket: feedback.ticket), cause: cause, mutation, .withdrawn(name),
                prefix: feedback.ticket)
        } else {
            emit(.feedback(name, ticket: feedback.ticket), cause: cause, mutation, prefix: feedback.ticket)
        }
    }

    private func feedbackEnded(_ name: UInt64, _ ticket: UInt64, _ outcome: EmissionOutcome) {
        guard var feedback = feedbacks[name], feedback.ticket == ticket else { return }
        switch outcome {
        case .committed:
            port.note(.feedback, name)
            if feedback.toSend <= 0 { feedback.isStopped = true }
        case .busy: if !feedback.isStopped { feedback.toSend += 1 }
        case .dropped:
            if (port.effectState as? EffectState)?.tables.requests[name] == ticket {
                return port.fail(.effects, "an emission of a feedback that the state asks for is dropped")
            }
            feedback.isStopped = true
        }
        feedbacks[name] = feedback
        wake(.feedback(name), within: outcome == .busy ? 1_000 : 1_500)
    }
}
