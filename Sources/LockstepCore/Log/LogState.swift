/// What the log alone determines besides the user's state: where it stands, its sessions, the ends of its epochs.
///
/// Primary, replica and recovery run the same ``apply(_:to:)``; the primary's own entries pass through the same tables
/// as it sequences them. Hence equal positions mean equal values of this type on every node (PROTOCOL, R-50).
package struct LogState: Hashable, Sendable {
    package let store: StoreID
    package internal(set) var position: Position
    package internal(set) var time: LogTime = .zero
    /// Who opened the epoch of ``position``; none before the first.
    package internal(set) var boot: BootID = .none
    package internal(set) var sessions = SessionTable()
    /// The last batch of every epoch before the present one, oldest first; never shortened.
    package internal(set) var epochEnds: [EpochEnd] = []
    /// The newest digest mark.
    package internal(set) var mark: Mark?

    package struct Mark: Hashable, Sendable {
        package var sequence: SequenceNumber
        package var digest: Digest
    }

    package init(store: StoreID) {
        self.store = store
        position = .start(of: store)
    }

    package var known: KnownPosition { KnownPosition(position: position, boot: boot) }

    /// The hash at a batch's end, as far as the ends of epochs tell.
    package func epochEnd(of epoch: Epoch) -> EpochEnd? { epochEnds.last { $0.epoch == epoch } }

    /// Why a batch cannot be applied.
    package enum ApplyError: Error, Hashable, Sendable {
        case wrongStore
        /// The batch does not begin behind this position.
        case notNext(expected: SequenceNumber, found: SequenceNumber)
        /// It begins at the right place behind another history.
        case wrongHash(at: SequenceNumber)
        case lowerEpoch(Epoch)
        /// Bytes that no correct primary writes, or a mutation that cannot be decoded, in the entry at this number.
        case malformed(at: SequenceNumber, WireError)
        /// The entry needs a newer version of this program (PROTOCOL, R-60).
        case unsupported(at: SequenceNumber)
    }

    /// Applies a whole batch to this value and to the user's state, or throws before either is changed, except for
    /// `malformed` and `unsupported`, after which the node must not go on.
    ///
    /// Returns the digest that the batch's mark demands, if it has one; the caller compares.
    package mutating func apply(_ batch: SealedBatch, to state: any ReplicatedState) throws(ApplyError) -> Mark? {
        let head = batch.head
        guard head.store == store else { throw .wrongStore }
        guard head.first == position.sequence.next else {
            throw .notNext(expected: position.sequence.next, found: head.first)
        }
        guard head.previous == position.hash else { throw .wrongHash(at: position.sequence) }
        guard head.epoch >= position.epoch else { throw .lowerEpoch(head.epoch) }
        var sequence = head.first
        var found: Mark?
        do throws(WireError) {
            try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                guard isInTime(head) else { throw WireError(.outOfRange, at: 40) }
                while reader.remaining > 0 {
                    guard found == nil else { throw WireError(.trailingBytes, at: reader.offset) }
                    let entry = try Entry(from: bytes, &reader)
                    guard sequence.advanced(by: entry.sequenceCount - 1) <= head.last else {
                        throw WireError(.outOfRange, at: reader.offset)
                    }
                    // An epoch begins with its `epochOpen`, which stands nowhere else.
                    let beginsEpoch = head.epoch > position.epoch && sequence == head.first
                    guard entry.opensEpoch == beginsEpoch else {
                        throw WireError(.outOfRange, at: reader.offset)
                    }
                    try apply(entry, bytes, head: head, sequence: sequence, to: state)
                    if case .digestMark(let digest) = entry { found = Mark(sequence: sequence, digest: digest) }
                    sequence = sequence.advanced(by: entry.sequenceCount)
                }
                guard sequence == head.last.next else { throw WireError(.truncated, at: reader.offset) }
            }
        } catch {
            if error.problem == .unknownKind, error.offset == Self.unsupportedOffset {
                throw .unsupported(at: sequence)
            }
            throw .malformed(at: sequence, error)
        }
        finish(head: head, hash: batch.hash)
        if let found { mark = found }
        return found
    }

    /// An offset that no batch has: says that an entry is known, but not served by this version.
    private static let unsupportedOffset = -1

    /// Moves the position to the end of a batch whose entries are applied.
    mutating func finish(head: BatchHead, hash: BatchHash) {
        position = Position(epoch: head.epoch, sequence: head.last, hash: hash)
        time = max(time, head.time)
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.logTimeGoesBack) { time = head.time }
        #endif
    }

    /// Log time does not go back.
    private func isInTime(_ head: BatchHead) -> Bool {
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.logTimeGoesBack) { return true }
        #endif
        return head.time >= time
    }

    private mutating func apply(
        _ entry: Entry, _ bytes: RawSpan, head: BatchHead, sequence: SequenceNumber, to state: any ReplicatedState
    ) throws(WireError) {
        switch entry {
        case .actions(let run): try apply(run, bytes, head: head, sequence: sequence, to: state)
        case .epochOpen(_, _, let boot): epochOpened(by: boot, epoch: head.epoch)
        case .sessionOpen(let open):
            // An opening has one session; a snapshot of a log with two of them could not be read.
            guard sessions.session(openedBy: open.client, nonce: open.nonce) == nil else {
                throw WireError(.outOfRange, at: BatchHead.byteCount)
            }
            sessions.open(SessionID(epoch: head.epoch, sequence: sequence), open)
        case .sessionClose(let session): _ = sessions.remove(session)
        case .sessionExpire(let expired): for session in expired { _ = sessions.remove(session) }
        case .sessionAck(let acknowledgements):
            for acknowledgement in acknowledgements {
                _ = sessions.acknowledge(acknowledgement.session, through: acknowledgement.through)
            }
        case .digestMark, .clockJump: break
        case .accepted, .emitted, .finished: throw WireError(.unknownKind, at: Self.unsupportedOffset)
        }
    }

    /// Closes the epoch before and begins this one.
    mutating func epochOpened(by boot: BootID, epoch: Epoch) {
        if position.epoch > .zero {
            epochEnds.append(
                EpochEnd(epoch: position.epoch, boot: self.boot, sequence: position.sequence, hash: position.hash))
        }
        self.boot = boot
    }

    private mutating func apply(
        _ run: ActionRun, _ bytes: RawSpan, head: BatchHead, sequence: SequenceNumber, to state: any ReplicatedState
    ) throws(WireError) {
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        var replies = ByteWriter(capacity: run.items.count / 4)
        for index in 0..<run.count {
            let item = try Item(from: bytes, &reader)
            if item.mutationCount > 0 {
                try state.apply(
                    bytes, mutations: item.mutations, count: item.mutationCount,
                    at: (head.epoch, sequence.advanced(by: index)), time: head.time)
            }
            ReplyItem.write(item.status, bytes, item.reply, to: &replies)
        }
        try reader.finish()
        let kept = ReplyRing.Run(
            first: run.first, count: run.count, epoch: head.epoch, firstSequence: sequence, byteCount: replies.count)
        let isNext = withBytes(of: replies.bytes) {
            sessions.append(kept, to: run.session, ackedThrough: run.ackedThrough, items: $0, 0..<replies.count)
        }
        guard isNext else { throw WireError(.outOfRange, at: run.items.lowerBound) }
    }
}
