package import LockstepCore

/// What histories said that an operator gave up: who learned it then was told the truth.
package struct GivenUp {
    private var replies: [LogReply.Key: [LogReply]] = [:]
    private var ends: [RunID: [RunNote.End]] = [:]
    /// The last number of the calls' order when a history was given up.
    var order: Int64 = 0
    /// Runs of which a node said that it keeps none, in any history.
    var gone: Set<RunID> = []

    package init() {}

    /// Keeps what belongs to batches that are given up.
    package mutating func keep(
        _ replies: [LogReply.Key: LogReply], _ runs: [RunID: RunNote], _ discarded: Set<BatchHash>
    ) {
        for (key, reply) in replies where discarded.contains(reply.batch) {
            self.replies[key, default: []].append(reply)
        }
        for (id, run) in runs {
            if let end = run.end, discarded.contains(end.batch) { ends[id, default: []].append(end) }
        }
    }

    /// Whether such a history answered so.
    package func has(
        _ key: LogReply.Key, _ epoch: Epoch, _ sequence: SequenceNumber, _ status: ActionStatus, _ bytes: [UInt8]
    ) -> Bool {
        replies[key, default: []].contains {
            $0.epoch == epoch && $0.sequence == sequence && $0.status == status && $0.bytes == bytes
        }
    }

    /// Whether a run ended so in such a history.
    package func has(_ ended: RunEnded, _ status: ActionStatus, _ bytes: [UInt8]) -> Bool {
        ends[ended.id, default: []].contains { $0.isTold(by: ended, status, bytes) }
    }

    /// Whether the end of a run that the log keeps must be acknowledged before all is at rest.
    ///
    /// Its sender lives, and it was accepted after the place where a history was given up last: of what is older the
    /// acknowledgement may have been given up, and its sender no longer knows of it. `acceptedAt` is nil for a run
    /// that the checkers do not know.
    package static func mustBeAcknowledged(
        acceptedAt: SequenceNumber?, isSessionOpen: Bool, forkedAt: SequenceNumber
    ) -> Bool {
        guard let acceptedAt else { return isSessionOpen }
        return isSessionOpen && acceptedAt > forkedAt
    }

    /// Whether a read is compared with a batch of `batchEpoch` that ends at the number which it names.
    ///
    /// A batch that was given up may be shown in its own epoch only. With one of the present history every read is
    /// compared, so that a wrong epoch hides nothing.
    package static func mayShow(_ batchEpoch: Epoch, isGivenUp: Bool, readIn epoch: Epoch) -> Bool {
        !isGivenUp || batchEpoch == epoch
    }

    /// A call as the history that was kept has it; nil if it is not in that one.
    ///
    /// `reply` is what the kept history answers to its number, in the session that was opened there with the nonce
    /// `opening`; `isAtPresentPlace` says whether a batch of that history ends where the call was read, and none that was
    /// given up. It lacks the answers and reads of those that were given up, whose actions did not happen.
    package static func kept(
        _ record: CallRecord, reply: LogReply?, opening: UInt64?, isAtPresentPlace: Bool
    ) -> CallRecord? {
        switch record.outcome {
        case .pending, .unknown: return record
        case .read:
            guard isAtPresentPlace else { return nil }
            // Its caller may have stopped to ask for what was given up and came back; its minimum was compared.
            var read = record
            if case .read(let query, .session) = record.call { read.call = .read(query, .local) }
            return read
        case .answered:
            guard record.session != .none else { return record }
            // A session of the same name may be another one's, since an older copy gave its epoch a number again.
            guard let reply, opening == record.opening else { return nil }
            if reply.epoch == record.epoch, reply.sequence == record.sequence { return record }
            // It came again, and nobody was told.
            var again = record
            again.outcome = .answered(reply.status, reply.bytes)
            (again.epoch, again.sequence, again.returned) = (reply.epoch, reply.sequence, nil)
            return again
        }
    }
}

// Checks that know to which history something belongs, and so stay on after a fork.
extension Oracle {
    /// Whether a primary's log is the present history: then all that it says is judged by that one's tables.
    func isOfPresent(_ process: NodeProcess) -> Bool {
        guard let machine = (process as? PrimaryProcess)?.machine else { return false }
        return machine.committed.position.hash == committed.hash
    }

    /// A primary gives out what it has; a replica that stands aside may hold what was given up.
    func checkIsKept(_ head: BatchHead, _ does: String, _ process: NodeProcess) {
        guard hasForked, isOfPresent(process), !isPresent(head.epoch, head.last) else { return }
        fail(.agreement, "\(process.name) \(does) the batch at \(head.first), which was given up")
    }

    func check(_ result: ReadResult, _ frame: [UInt8], _ process: NodeProcess) {
        guard result.status == .answered else { return }
        if let machine = (process as? PrimaryProcess)?.machine, behind?.epoch == machine.epoch {
            fail(.linearizability, "\(process.name) was told that it is behind, and answers a read (R-41)")
        }
        if result.sequence > .zero, heads(at: result.sequence).isEmpty {
            fail(.committedOnly, "\(process.name) answers a read at \(result.sequence), not committed")
        }
        if isOfPresent(process), result.sequence > committed.sequence {
            fail(.committedOnly, "\(process.name) answers a read at \(result.sequence), beyond its commit")
        }
        checkServes("answers a read", process)
        if process.state.isTainted { divergence.note(frame) }
    }

    /// SESSION_EXPIRED is said of what this log ended, SESSION_UNKNOWN of what it does not have.
    func checkEnded(_ session: SessionID, _ process: NodeProcess) {
        guard isOfPresent(process), sessions[session]?.isOver != true else { return }
        // An older copy may have given its epoch the number of one that it forgot; then the place is another entry's.
        guard sessions[session] != nil || !isInLog(session) else { return }
        fail(.expiry, "\(process.name) says that \(session) has ended; the log does not")
    }

    func isInLog(_ session: SessionID) -> Bool {
        var before = SequenceNumber.zero
        for end in reference.epochEnds {
            if session.sequence <= end.sequence { return end.epoch == session.epoch && session.sequence > before }
            before = end.sequence
        }
        return session.epoch == reference.position.epoch && session.sequence <= reference.position.sequence
    }

    /// Whether what a call learned of its action is the present history's.
    func isPresent(_ record: CallRecord) -> Bool {
        guard let reply = replies[ReplyKey(session: record.session, number: record.number)] else { return false }
        return reply.epoch == record.epoch && reply.sequence == record.sequence
    }

    /// Whether a batch of the present history ends at a place, and none that was given up.
    ///
    /// An older copy may have given its epoch the number of one that it forgot. A place that both have says nothing.
    private func isOnlyPresent(_ epoch: Epoch, _ sequence: SequenceNumber) -> Bool {
        isPresent(epoch, sequence) && heads(at: sequence).filter { $0.epoch == epoch }.count == 1
    }

    /// Whether a read began before a history was given up, or shows one that is: no place then says how fresh it is.
    ///
    /// The place of a primary that lost its end may have been asked for before, and a replica that stands aside may
    /// answer after it.
    func isAcrossFork(_ record: CallRecord, _ epoch: Epoch, _ sequence: SequenceNumber) -> Bool {
        hasForked && (record.invoked <= givenUp.order || sequence > .zero && !isOnlyPresent(epoch, sequence))
    }

    /// The calls as the history that was kept has them.
    func kept(_ records: [CallRecord]) -> [CallRecord] {
        guard hasForked else { return records }
        return records.compactMap { record in
            GivenUp.kept(
                record, reply: replies[ReplyKey(session: record.session, number: record.number)],
                opening: sessions[record.session]?.opening,
                isAtPresentPlace: isOnlyPresent(record.epoch, record.sequence))
        }
    }
}
