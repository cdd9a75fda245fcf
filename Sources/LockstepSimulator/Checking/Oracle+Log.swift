import LockstepCore

// A second opinion on what batches hold: sessions, numbers, answers, runs.
extension Oracle {
    /// Reads the batch's entries into tables of its own: a second opinion on sessions and numbers.
    func note(_ batch: SealedBatch) {
        var sequence = batch.head.first
        withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0, let entry = try? Entry(from: bytes, &reader) {
                switch entry {
                case .actions(let run): note(run, bytes, batch, sequence)
                case .sessionOpen(let open, let sender):
                    let id = SessionID(epoch: batch.head.epoch, sequence: sequence)
                    checkOpener(of: id, open, sender)
                    noteAdmission(batch, sequence)
                    sessions[id] = Standing(open, sender: sender)
                case .sessionClose(let session):
                    checkClose(of: session)
                    sessions[session]?.isOver = true
                case .sessionExpire(let expired): for session in expired { sessions[session]?.isOver = true }
                case .accepted(let session, let number, let ackedThrough, _):
                    acknowledged(through: ackedThrough, of: session, in: batch)
                    note(RunID(session: session, number: number), batch, sequence)
                case .emitted, .finished: noteAdmission(batch, sequence)
                case .sessionAck(let list):
                    for item in list { acknowledged(through: item.through, of: item.session, in: batch) }
                case .epochOpen, .digestMark, .clockJump, .runAck: break
                }
                if let broken = runs.saw(entry, bytes, batch, at: sequence, told: told) {
                    fail(broken.promise, broken.text)
                }
                sequence = sequence.advanced(by: entry.sequenceCount)
            }
        }
        checkQuotas(at: batch.head.last)
        if sequence != batch.head.last.next { fail(.agreement, "the batch at \(batch.head.first) cannot be read") }
    }

    private func note(_ run: ActionSeries, _ bytes: RawSpan, _ batch: SealedBatch, _ sequence: SequenceNumber) {
        guard noteNumbers(of: run.session, run.first, count: run.count, batch, sequence) else { return }
        acknowledged(through: run.ackedThrough, of: run.session, in: batch)
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for place in 0..<run.count {
            guard let item = try? Item(from: bytes, &reader) else { return }
            let key = ReplyKey(session: run.session, number: run.first + UInt64(place))
            replies[key] = Reply(
                epoch: batch.head.epoch, sequence: sequence.advanced(by: place), status: item.status,
                bytes: Array(batch.bytes[item.reply]), batch: batch.hash)
            kept(item.reply.count + 1, of: run.session, at: sequence.advanced(by: place))
            if item.status == .void, let standing = sessions[run.session] {
                checkVoid(run.session, standing, run.first + UInt64(place))
            }
        }
    }

    /// Numbers of a session stand in the log; false if the session is not open.
    private func noteNumbers(
        of session: SessionID, _ first: RequestNumber, count: Int, _ batch: SealedBatch, _ sequence: SequenceNumber
    ) -> Bool {
        guard let standing = sessions[session], !standing.isOver else {
            fail(.exactlyOnce, "an action of \(session), which is not open, is at \(sequence)")
            return false
        }
        noteAdmission(batch, sequence)
        largestBatch = max(largestBatch, batch.bytes.count)
        if first != standing.last + 1 {
            fail(.exactlyOnce, "\(session) has \(first) after \(standing.last) at \(sequence)")
        }
        sessions[session]?.last = first + UInt64(count) - 1
        checkOwner(of: session, standing, through: first + UInt64(count) - 1)
        return true
    }

    /// A replica may leave only what tells nothing: marks, and the opening of epochs (PROTOCOL R-42).
    func checkLeft(_ place: BatchHash, for position: Position, by process: NodeProcess) {
        let kept = Set((path(to: position.hash) ?? []).map(\.hash))
        var left = place
        while !kept.contains(left), let batch = batches[left]?.batch {
            guard !batch.tellsSomething else {
                return fail(.monotonic, "\(process.name) gave up \(batch.head.last) for \(position.sequence)")
            }
            left = batch.head.previous
        }
        if left != place { simulation.coverage.note(.emptyEndGivenUp) }
    }

    /// A replica follows nobody: its primary lacks what it was told, and not only an end that tells nothing.
    func checkAhead(_ process: NodeProcess, of primary: Position) {
        // A primary whose epoch is below one that was seen is not even asked.
        guard let machine = (process as? ReplicaProcess)?.machine, machine.highestEpoch <= primary.epoch else { return }
        let told = machine.told.position
        guard let path = path(to: primary.hash), path.contains(where: { $0.hash == told.hash }) else { return }
        fail(
            .falseAlarm,
            "\(process.name), at \(machine.log.position), AHEAD of \(primary), which has all that it was told: \(told)")
    }

    /// A primary was told that it is behind: of its epoch nothing commits but what it had taken by then.
    func toldBehind(_ process: NodeProcess) {
        guard let machine = (process as? PrimaryProcess)?.machine, behind?.epoch != machine.epoch else { return }
        behind = (machine.epoch, machine.status.head)
    }

    /// A primary was told to stop: the same holds for it.
    func toldToStop(_ process: PrimaryProcess) {
        guard let machine = process.machine else { return }
        stopping = (machine.epoch, machine.status.head)
    }

    /// A primary begins an epoch.
    ///
    /// An earlier boot may have given its own the same number, if the opening of that was never durable: what that boot
    /// was told does not hold for this one.
    func began(_ epoch: Epoch) {
        if behind?.epoch == epoch { behind = nil }
        if stopping?.epoch == epoch { stopping = nil }
        if unheard?.epoch == epoch { unheard = nil }
    }

    private func noteAdmission(_ batch: SealedBatch, _ sequence: SequenceNumber) {
        if let behind, behind.epoch == batch.head.epoch, sequence > behind.head {
            fail(.admission, "the primary was told at \(behind.head) that it is behind, and took \(sequence)")
        }
        if let stopping, stopping.epoch == batch.head.epoch, sequence > stopping.head {
            fail(.admission, "the primary was told at \(stopping.head) to stop, and took \(sequence)")
        }
        if let unheard, unheard.epoch == batch.head.epoch, sequence <= unheard.head {
            fail(.admission, "the primary took \(sequence) before it had heard its replicas (R-48)")
        }
    }

    /// An action was accepted: that is its first answer.
    private func note(_ id: RunID, _ batch: SealedBatch, _ sequence: SequenceNumber) {
        guard noteNumbers(of: id.session, id.number, count: 1, batch, sequence) else { return }
        replies[ReplyKey(session: id.session, number: id.number)] = Reply(
            epoch: batch.head.epoch, sequence: sequence, status: .accepted, bytes: [], batch: batch.hash)
        kept(1, of: id.session, at: sequence)
        store.workload.wasAccepted(id)
    }

    /// Everything is healed since a while: from here on timers are not late.
    func isCalm() { runs.isCalm(at: reference.time) }
}
