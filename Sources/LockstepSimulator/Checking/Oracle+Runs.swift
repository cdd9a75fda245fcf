import LockstepCore

// What the log says of runs, against what nodes and senders say of them.
extension Oracle {
    /// A node says how an accepted action ended.
    func check(_ ended: RunEnded, _ bytes: RawSpan, _ process: NodeProcess) {
        var reader = ByteReader(offset: ended.item.lowerBound, end: ended.item.upperBound)
        guard let item = try? ReplyItem(from: bytes, &reader) else {
            fail(.invariant, "\(process.name) sends an end that cannot be read")
            return
        }
        guard let end = runs.runs[ended.id]?.end else {
            fail(.committedOnly, "\(process.name) tells the end of \(ended.id), which has not committed")
            return
        }
        if !end.isTold(by: ended, item.status, copyBytes(of: bytes, item.reply)) {
            fail(.replyStability, "\(process.name) tells another end of \(ended.id) than the log has")
        }
    }

    /// A node says that it keeps no such run.
    func checkGone(_ id: RunID, _ process: NodeProcess) {
        // One that asks for what it has not submitted yet may be told so after its acceptance, as no right sender is.
        givenUp.gone.insert(id)
        guard isOfPresent(process), !rogueSessions.contains(id.session), let run = runs.runs[id],
            sessions[id.session]?.isOver == false
        else { return }
        if run.end == nil || !told.contains(id) {
            fail(.runEnd, "\(process.name) has forgotten \(id), whose sender waits for its end")
        }
    }

    /// A sender learns how its action ended.
    func learned(_ ended: RunEnded, _ status: ActionStatus, _ bytes: [UInt8], by process: SimulatedProcess) {
        told.insert(ended.id)
        if givenUp.has(ended, status, bytes) { return }
        guard let end = runs.runs[ended.id]?.end else {
            return fail(.durability, "\(process.name) learned the end of \(ended.id), which is not in the log")
        }
        if !end.isTold(by: ended, status, bytes) {
            fail(.replyStability, "\(process.name) learned another end of \(ended.id) than the log has")
        }
        learnedEnds.append((ended.id, end.batch, process.name))
    }

    /// A sender is told that it will not learn an end, while its session goes on.
    func lostEnd(_ id: RunID, by process: SimulatedProcess) {
        guard sessions[id.session]?.isOver == false else { return }
        // The primary of a history that was given up may have said so.
        if hasForked, givenUp.gone.contains(id) { return }
        fail(.runEnd, "\(process.name) does not learn the end of \(id), and its session is open")
    }

    /// At the end: every end that anybody learned is in the log, every accepted action has one, and whatever was
    /// rejected had to be.
    func checkRuns() {
        for end in learnedEnds where runs.runs[end.id]?.end?.batch != end.batch {
            guard discarded.contains(end.batch) else {
                return fail(.durability, "\(end.process) was told the end of \(end.id), which is lost")
            }
        }
        if let id = runs.unfinished.sorted().first { return fail(.runEnd, "\(id) has no end") }
        guard runs.readsScripts else { return }
        for record in store.history.records {
            guard case .action(let bytes) = record.call, case .start(let script)? = EffectAction(bytes),
                case .answered(.rejected, _) = record.outcome, isPresent(record)
            else { continue }
            simulation.coverage.note(.refusedByPolicy)
            if !runs.isRejectionRight(script.plan, at: record.sequence) {
                return fail(.effects, "\(record.session) \(record.number) was rejected without cause")
            }
        }
    }
}

extension RunNote.End {
    func isTold(by ended: RunEnded, _ status: ActionStatus, _ bytes: [UInt8]) -> Bool {
        epoch == ended.epoch && sequence == ended.sequence && self.status == status && self.bytes == bytes
    }
}
