/// The log that a standby keeps: everything that its primary has sent, uncommitted batches included (PROTOCOL, R-86).
///
/// Only its end and the ends of its epochs are kept here, and the newest batches; the journal has the rest.
///
/// Invariants, checked by ``checkInvariants()``: what is committed and what is durable lie within the log; the epochs'
/// ends are in order, and the last is the log's; the batches end where the log does.
package struct KeptLog: Hashable, Sendable {
    /// Why a batch does not follow.
    package enum Fault: Error, Hashable, Sendable {
        case wrongStore
        /// Something is missing before it, or it is of another history.
        case notNext
        /// An epoch begins with its `epochOpen`, and nothing else does.
        case wrongEpoch
    }

    package let store: StoreID
    package private(set) var end: Position
    package private(set) var epochEnds: [EpochEnd]
    /// Through which everything is known to be committed; it never falls.
    package private(set) var committed: SequenceNumber
    /// Through which everything is on the own disk.
    package private(set) var durable: SequenceNumber
    /// The newest batches, for a takeover without the journal.
    package private(set) var window: ResendWindow

    /// Begins with what the journal holds; all of it is durable.
    package init(
        store: StoreID, end: Position, epochEnds: [EpochEnd], committed: SequenceNumber,
        window: ResendWindow = ResendWindow()
    ) {
        (self.store, self.end, self.epochEnds, self.committed) = (store, end, epochEnds, committed)
        (durable, self.window) = (end.sequence, window)
        checkInvariants()
    }

    /// What FETCH says of it, for which nothing may be on its way to the journal, and RECORD.
    package var summary: FollowerLog { FollowerLog(end: end, committed: committed, epochEnds: epochEnds) }
    package var isDurable: Bool { durable == end.sequence }

    /// The hash at this end of a batch, if it is known.
    package func hash(at sequence: SequenceNumber) -> BatchHash? {
        if sequence == end.sequence { return end.hash }
        return window.hash(at: sequence) ?? epochEnds.last { $0.sequence == sequence }?.hash
    }

    /// What comes after this end of a batch; nil if that is not of this log, or no longer in memory.
    package func batches(after position: Position) -> [SealedBatch]? {
        guard position.sequence <= end.sequence, hash(at: position.sequence) == position.hash else { return nil }
        guard position.sequence < end.sequence else { return [] }
        return window.batches(after: position.sequence, through: end.sequence, bytes: .max)
    }

    /// What the state of a replica beside it lacks, for a takeover without the journal.
    ///
    /// Nil if only the journal can tell: the state is wrong, or too old for what is in memory.
    package func tail(after replica: ReplicaStateMachine) -> [SealedBatch]? {
        guard replica.phase != .quarantined, replica.phase != .halted else { return nil }
        return batches(after: replica.log.position)
    }

    /// Appends the next batch, which is then to be written.
    package mutating func append(_ batch: SealedBatch) throws(Fault) {
        let head = batch.head
        guard head.store == store else { throw .wrongStore }
        guard head.first == end.sequence.next, head.previous == end.hash else { throw .notNext }
        guard head.epoch >= end.epoch else { throw .wrongEpoch }
        let opened = batch.openedBy
        guard (opened != nil) == (head.epoch > end.epoch) else { throw .wrongEpoch }
        // A log begins with an opening; epoch 0 has none.
        guard opened != nil || !epochEnds.isEmpty else { throw .wrongEpoch }
        if let opened {
            epochEnds.append(EpochEnd(epoch: head.epoch, boot: opened, sequence: head.last, hash: batch.hash))
        } else {
            epochEnds[epochEnds.count - 1].sequence = head.last
            epochEnds[epochEnds.count - 1].hash = batch.hash
        }
        end = batch.position
        window.append(batch)
    }

    /// The journal has everything through this end of a batch.
    package mutating func wrote(through sequence: SequenceNumber) {
        durable = max(durable, min(sequence, end.sequence))
    }

    /// The primary has said that everything through `sequence` is committed, of a log that begins with this one.
    package mutating func committed(through sequence: SequenceNumber) {
        committed = max(committed, min(sequence, end.sequence))
    }

    /// Cuts off what comes after this end of a batch; false, and unchanged, if that is known to be committed.
    package mutating func truncate(to position: Position) -> Bool {
        guard position.sequence >= committed, position.sequence <= end.sequence else { return false }
        guard position.sequence < end.sequence else { return position.hash == end.hash }
        epochEnds.removeAll { $0.epoch > position.epoch }
        if let last = epochEnds.indices.last {
            epochEnds[last].sequence = position.sequence
            epochEnds[last].hash = position.hash
        }
        end = position
        durable = min(durable, position.sequence)
        window.removeLast(after: position.sequence)
        return true
    }

    /// The journal begins anew with a snapshot of committed state.
    package mutating func replaced(at known: KnownPosition, epochEnds ends: [EpochEnd]) {
        end = known.position
        epochEnds = ends
        (committed, durable) = (max(committed, end.sequence), end.sequence)
        window.removeAll()
    }

    package func checkInvariants() {
        precondition(committed <= end.sequence && durable <= end.sequence, "the log ends after what is known of it")
        precondition(epochEnds.last.map { $0.sequence == end.sequence } ?? (end.sequence == .zero), "its end is an end")
        precondition(
            zip(epochEnds, epochEnds.dropFirst()).allSatisfy { $0.epoch < $1.epoch && $0.sequence < $1.sequence },
            "epochs are in order")
        if let last = window.last { precondition(last.position == end, "the window ends with the log") }
    }
}

extension SealedBatch {
    /// Who opens an epoch with this batch; nil if it opens none, or its first entry cannot be read.
    package var openedBy: BootID? {
        withBytes(of: bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            guard case .epochOpen(_, _, let boot)? = try? Entry(from: bytes, &reader) else { return nil }
            return boot
        }
    }
}
