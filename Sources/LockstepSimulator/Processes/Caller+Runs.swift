import LockstepCore

// Second answers: the ends of a caller's accepted actions.
extension Caller {
    /// The sender's handle: the effect of its action is to end.
    func cancelRun(_ id: RunID) {
        machine.cancelRun(id, now: process.now)
        process.wake(at: simulation.now)
    }

    /// Plans the cancellation of actions that were just submitted, if their sender means to.
    func planCancellation(of bytes: [UInt8], _ number: RequestNumber) {
        guard let session = machine.session?.id, let delay = store.workload.cancelDelay(of: bytes) else { return }
        process.mail(.cancelRun(RunID(session: session, number: number)), after: delay)
    }

    func ended(_ ended: RunEnded, _ frame: [UInt8]) {
        guard let item = ended.read(in: frame) else {
            simulation.fail(.invariant, "\(process.name) is given an end that cannot be read")
            return
        }
        guard let record = awaited.removeValue(forKey: ended.id) else {
            simulation.fail(.runEnd, "\(process.name) is told the end of \(ended.id), which it does not await")
            return
        }
        simulation.trace(process.id, .runEnded, ended.id.session.sequence.rawValue, ended.id.number)
        simulation.coverage.note(item.status == .void ? .learnedCancel : .learnedEnd)
        store.oracle.learned(ended, item.status, item.reply, by: process)
        store.history[record].end = .told(item.status, item.reply)
        seen = max(seen, ended.sequence)
    }

    func endLost(_ id: RunID) {
        guard let record = awaited.removeValue(forKey: id) else {
            simulation.fail(.runEnd, "\(process.name) loses the end of \(id), which it does not await")
            return
        }
        store.history[record].end = .lost
        simulation.coverage.note(.lostEnd)
        // While the session is its own, only the primary can have said so.
        if machine.session?.id == id.session, !isClosed { store.oracle.lostEnd(id, by: process) }
    }
}
