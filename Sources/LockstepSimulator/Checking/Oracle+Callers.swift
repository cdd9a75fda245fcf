import LockstepCore

// What callers learn must be in the log, and stay there.
extension Oracle {
    /// Somebody got an answer: it is the log's, and it stays.
    func answered(
        _ session: SessionID, _ number: RequestNumber, epoch: Epoch, _ sequence: SequenceNumber,
        _ status: ActionStatus, _ bytes: [UInt8], by process: SimulatedProcess
    ) {
        let key = ReplyKey(session: session, number: number)
        // It may be an answer of a history that was given up meanwhile.
        if givenUp.has(key, epoch, sequence, status, bytes) { return }
        guard let reply = replies[key] else {
            fail(.durability, "\(process.name) got an answer to \(session) \(number), which is not in the log")
            return
        }
        if reply.status != status || reply.bytes != bytes || reply.sequence != sequence || reply.epoch != epoch {
            fail(.replyStability, "\(process.name) got another answer to \(session) \(number) than the log has")
        }
        learned.append(Learned(key: key, batch: reply.batch, process: process.name))
    }

    func wasRead(
        _ answer: [UInt8], to query: [UInt8], epoch: Epoch, _ sequence: SequenceNumber, by process: SimulatedProcess
    ) {
        guard sequence > .zero else { return }
        // One, unless a history was given up: then it may be that one's. The present one's may not be known yet, since a
        // primary that was killed had written it, and nobody had heard of it.
        let known = ends[sequence, default: []].compactMap { batches[$0] }.filter {
            GivenUp.mayShow($0.batch.head.epoch, isGivenUp: discarded.contains($0.batch.hash), readIn: epoch)
        }
        guard !known.isEmpty else { return }
        guard known.contains(where: { store.workload.isRight(answer, to: query, at: $0.remembered) }) else {
            fail(.committedOnly, "\(process.name) read at \(sequence) what the log does not give there")
            return
        }
    }

    /// Whether a batch of the present history ends there, in that epoch.
    func isPresent(_ epoch: Epoch, _ sequence: SequenceNumber) -> Bool {
        ends[sequence, default: []].contains { hash in
            !discarded.contains(hash) && batches[hash]?.batch.head.epoch == epoch
        }
    }

    /// At the end: everything that anybody learned is in the log, unless an operator gave it up.
    func checkLearned() {
        for answer in learned where replies[answer.key]?.batch != answer.batch {
            guard discarded.contains(answer.batch) else {
                fail(
                    .durability,
                    "\(answer.process) was told of \(answer.key.session) \(answer.key.number), which is lost")
                return
            }
        }
    }
}
