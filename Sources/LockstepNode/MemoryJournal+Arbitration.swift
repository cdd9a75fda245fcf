package import LockstepCore

// The journal of a data node, in memory: what the durable one does to its file (PROTOCOL, R-84, R-85).
extension MemoryJournal: ArbitratedJournal {
    package var arbitration: JournalArbitration? { inspect { $0.arbitration } }

    /// What was cut off and is kept aside, in the order of cutting.
    package var quarantined: [CutBatch] { inspect { $0.cut } }

    /// Hands out what a data node's journal holds; that of any other node holds nothing.
    ///
    /// It may be called again while the process lives: that is how a node begins anew from it.
    package func recover(
        snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void,
        tail: (SealedBatch) throws -> Void
    ) throws {
        let (saved, batches, committed) = inspect { state in
            let end = state.snapshot?.position.sequence ?? .zero
            return (state.snapshot?.bytes, state.batches, state.arbitration?.committed(snapshot: end))
        }
        if let saved {
            let content: SnapshotContent
            do throws(WireError) { content = try SnapshotContent(saved) } catch {
                throw LockstepError(.journalFailed, "the snapshot in memory cannot be decoded: \(error)")
            }
            try snapshot(content)
        }
        for sealed in batches {
            if let committed, sealed.head.last > committed { try tail(sealed) } else { try batch(sealed) }
        }
    }

    package func append(
        _ batches: [SealedBatch], committed: SequenceNumber,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            state.append(batches)
            state.store(committed)
        }
    }

    package func store(
        commit number: SequenceNumber, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { $0.store(number) }
    }

    package func truncate(
        after end: Position, reason: String,
        completion: @escaping @Sendable (Result<CutBatches, TruncationFailure>) -> Void
    ) {
        change {
            $0.truncate(after: end, reason: reason)
        } then: {
            completion($0 ?? .failure(.write(Self.closed)))
        }
    }

    package func promise(_ epoch: Epoch?, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        arbitrated(completion) { arbitration in
            arbitration.promise(epoch)
        }
    }

    package func remember(
        _ memory: ArbiterMemory, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        arbitrated(completion) { $0.arbiter = memory.stored }
    }

    /// Fails for a journal with entries that was not opened for a data node: it has not kept them.
    package func markArbitrated(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        change { state -> Result<Void, JournalFailure> in
            guard state.arbitration == nil else { return .success(()) }
            guard state.isForDataNode || state.head.sequence == .zero else {
                return .failure(.failed("a journal in memory that has forgotten its entries cannot be arbitrated"))
            }
            state.isForDataNode = true
            state.arbitration = JournalArbitration(adopted: state.head)
            return .success(())
        } then: {
            completion($0 ?? .failure(Self.closed))
        }
    }

    package func removeArbitratedMark(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        answer(completion) { $0.arbitration = nil }
    }

    private func arbitrated(
        _ completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void,
        _ body: @escaping @Sendable (inout JournalArbitration) -> Void
    ) {
        answer(completion) { state in
            guard var arbitration = state.arbitration else {
                preconditionFailure("only an arbitrated journal is asked for this")
            }
            body(&arbitration)
            state.arbitration = arbitration
        }
    }
}

extension MemoryJournal.State {
    fileprivate mutating func store(_ number: SequenceNumber) {
        guard let known = arbitration?.committed else { return }
        precondition(number <= head.sequence, "the commit number names a place of this log")
        arbitration?.committed = max(known, number)
    }

    fileprivate mutating func truncate(
        after end: Position, reason: String
    ) -> Result<CutBatches, TruncationFailure> {
        guard let arbitration else { preconditionFailure("only an arbitrated journal is cut") }
        let expiry = JournalQuarantine.expiry
        let committed = arbitration.committed(snapshot: snapshot?.position.sequence ?? .zero)
        guard end.sequence >= committed else { return .failure(.committed(through: committed)) }
        let ends = batches.map(\.position) + [snapshot?.position ?? .start(of: identity.store)]
        guard ends.contains(end) else { return .failure(.noEnd(end)) }
        let gone = batches.filter { $0.head.first > end.sequence }
        guard !gone.isEmpty else { return .success(CutBatches(batches: 0, end: end)) }
        let now = MonotonicClock.wall.rawValue / 1_000_000
        cut.removeAll { $0.movedAt < expiry }
        cut += gone.map { .init(batch: $0, reason: JournalQuarantine.cutPrefix + reason, movedAt: now) }
        batches.removeLast(gone.count)
        batchBytes = batches.reduce(0) { $0 + $1.bytes.count }
        head = end
        return .success(CutBatches(batches: gone.count, end: end))
    }
}
