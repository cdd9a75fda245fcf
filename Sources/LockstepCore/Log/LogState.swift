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
    /// Accepted actions that have not ended, or whose end may still be asked for.
    package internal(set) var runs = RunTable()
    /// The last batch of every epoch before the present one, oldest first; never shortened.
    package internal(set) var epochEnds: [EpochEnd] = []
    /// The newest digest mark.
    package internal(set) var mark: Mark?
    /// The end of the last batch that tells anything; what follows it was never told to anybody.
    package internal(set) var told = KnownPosition.none

    package struct Mark: Hashable, Sendable {
        package var sequence: SequenceNumber
        package var digest: Digest

        package init(sequence: SequenceNumber, digest: Digest) {
            self.sequence = sequence
            self.digest = digest
        }
    }

    package init(store: StoreID) {
        self.store = store
        position = .start(of: store)
    }

    package var known: KnownPosition { KnownPosition(position: position, boot: boot) }

    /// Why a batch cannot be applied.
    package enum ApplyError: Error, Hashable, Sendable {
        case wrongStore
        /// The batch does not begin after this position.
        case notNext(expected: SequenceNumber, found: SequenceNumber)
        /// It begins at the right place after another history.
        case wrongHash(at: SequenceNumber)
        case lowerEpoch(Epoch)
        /// Bytes that no correct primary writes, or a mutation that cannot be decoded, in the entry at this number.
        case malformed(at: SequenceNumber, WireError)
    }

    /// Applies a whole batch to this value and to the user's state, or throws before either is changed, except for
    /// `malformed`, after which the node must not go on.
    ///
    /// Returns the digest that the batch's mark demands, if it has one; the caller compares.
    package mutating func apply(_ batch: SealedBatch, to state: any AppliedState) throws(ApplyError) -> Mark? {
        let head = batch.head
        guard head.store == store else { throw .wrongStore }
        guard head.first == position.sequence.next else {
            throw .notNext(expected: position.sequence.next, found: head.first)
        }
        guard head.previous == position.hash else { throw .wrongHash(at: position.sequence) }
        guard head.epoch >= position.epoch else { throw .lowerEpoch(head.epoch) }
        var sequence = head.first
        var found: Mark?
        var tells = false
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
                    if entry.tellsSomething { tells = true }
                    if case .digestMark(let digest) = entry { found = Mark(sequence: sequence, digest: digest) }
                    sequence = sequence.advanced(by: entry.sequenceCount)
                }
                guard sequence == head.last.next else { throw WireError(.truncated, at: reader.offset) }
            }
        } catch {
            throw .malformed(at: sequence, error)
        }
        finish(head: head, hash: batch.hash, tells: tells)
        if let found { mark = found }
        return found
    }

    /// Moves the position to the end of a batch whose entries are applied; `tells`: one of them tells something.
    package mutating func finish(head: BatchHead, hash: BatchHash, tells: Bool) {
        position = Position(epoch: head.epoch, sequence: head.last, hash: hash)
        time = max(time, head.time)
        if tells { told = known }
    }

    /// Log time does not go back.
    private func isInTime(_ head: BatchHead) -> Bool {
        head.time >= time
    }

    private mutating func apply(
        _ entry: Entry, _ bytes: RawSpan, head: BatchHead, sequence: SequenceNumber, to state: any AppliedState
    ) throws(WireError) {
        switch entry {
        case .actions(let series): try apply(series, bytes, head: head, sequence: sequence, to: state)
        case .epochOpen(_, _, let boot): epochOpened(by: boot, epoch: head.epoch)
        case .sessionOpen(let open, let sender):
            // An opening has one session; a snapshot of a log with two of them could not be read.
            guard sessions.session(openedBy: open.client, nonce: open.nonce) == nil else {
                throw WireError(.outOfRange, at: BatchHead.byteCount)
            }
            sessions.open(SessionID(epoch: head.epoch, sequence: sequence), open, sender: sender)
        case .sessionClose(let session): sessionEnded(session)
        case .sessionExpire(let expired): for session in expired { sessionEnded(session) }
        case .sessionAck(let acknowledgements):
            for acknowledgement in acknowledgements {
                _ = sessions.acknowledge(acknowledgement.session, through: acknowledgement.through)
            }
        case .digestMark, .clockJump: break
        case .accepted(let session, let number, let ackedThrough, let action):
            let id = RunID(session: session, number: number)
            guard number > 0, number < UInt64(Int64.max),
                accepted(
                    id, ackedThrough: ackedThrough, action: copyBytes(of: bytes, action), epoch: head.epoch,
                    at: sequence)
            else { throw WireError(.outOfRange, at: action.lowerBound) }
        case .emitted(let cause, let mutations):
            guard emitted(cause) else { throw WireError(.outOfRange, at: mutations.lowerBound) }
            try Self.reduce(bytes, mutations, at: (head.epoch, sequence), time: head.time, into: state)
        case .finished(let session, let number, let range):
            let id = RunID(session: session, number: number)
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let item = try Item(from: bytes, &reader)
            try reader.finish()
            var reply = ByteWriter(capacity: item.reply.count + 4)
            ReplyItem.write(item.status, bytes, item.reply, to: &reply)
            guard finished(id, Run.End(epoch: head.epoch, sequence: sequence, item: reply.bytes)) else {
                throw WireError(.outOfRange, at: range.lowerBound)
            }
            guard item.mutationCount > 0 else { return }
            try state.apply(
                bytes, mutations: item.mutations, count: item.mutationCount, at: (head.epoch, sequence),
                time: head.time)
        case .runAck(let acknowledged): for id in acknowledged { runs.acknowledge(id) }
        }
    }

    // MARK: - What the entries of effects do to the tables; the primary does the same as it sequences them

    /// An action was accepted: its number is answered, and it runs.
    mutating func accepted(
        _ id: RunID, ackedThrough: RequestNumber, action: [UInt8], epoch: Epoch, at sequence: SequenceNumber
    ) -> Bool {
        var reply = ByteWriter()
        withBytes(of: []) { ReplyItem.write(.accepted, $0, 0..<0, to: &reply) }
        let kept = ReplyRing.Series(
            first: id.number, count: 1, epoch: epoch, firstSequence: sequence, byteCount: reply.count)
        let isNext = withBytes(of: reply.bytes) {
            sessions.append(kept, to: id.session, ackedThrough: ackedThrough, items: $0, 0..<reply.count)
        }
        return isNext && runs.insert(Run(id: id, sequence: sequence, action: action))
    }

    mutating func emitted(_ cause: EffectCause) -> Bool {
        guard case .action(let session, let number) = cause else { return true }
        return runs.emitted(RunID(session: session, number: number))
    }

    mutating func finished(_ id: RunID, _ end: Run.End) -> Bool {
        runs.finish(id, end, keepingAnswer: sessions.standing(of: id.session) != nil)
    }

    mutating func sessionEnded(_ session: SessionID) {
        _ = sessions.remove(session)
        runs.sessionEnded(session)
    }

    /// Reduces the mutations of an emission: a count, then each after its length.
    static func reduce(
        _ bytes: RawSpan, _ mutations: Range<Int>, at position: (Epoch, SequenceNumber), time: LogTime,
        into state: any AppliedState
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        let count = try reader.readVarint(from: bytes)
        guard count <= UInt64(reader.remaining) else { throw WireError(.outOfRange, at: mutations.lowerBound) }
        let start = reader.offset
        for _ in 0..<count { _ = try reader.readRange(from: bytes) }
        try reader.finish()
        guard count > 0 else { return }
        try state.apply(
            bytes, mutations: start..<mutations.upperBound, count: Int(count), at: position, time: time)
    }

    /// Closes the epoch before and begins this one.
    mutating func epochOpened(by boot: BootID, epoch: Epoch) {
        if position.epoch > .zero {
            epochEnds.append(
                EpochEnd(epoch: position.epoch, boot: self.boot, sequence: position.sequence, hash: position.hash))
        }
        self.boot = boot
        runs.epochOpened()
    }

    /// The digest of what the log determines besides the user's state.
    package var digest: Digest { sessions.digest + runs.digest }

    private mutating func apply(
        _ series: ActionSeries, _ bytes: RawSpan, head: BatchHead, sequence: SequenceNumber, to state: any AppliedState
    ) throws(WireError) {
        var replies = ByteWriter(capacity: series.items.count / 4)
        try state.apply(
            bytes, items: series.items, count: series.count, at: (head.epoch, sequence), time: head.time,
            replies: &replies)
        let kept = ReplyRing.Series(
            first: series.first, count: series.count, epoch: head.epoch, firstSequence: sequence,
            byteCount: replies.count)
        let isNext = withBytes(of: replies.bytes) {
            sessions.append(kept, to: series.session, ackedThrough: series.ackedThrough, items: $0, 0..<replies.count)
        }
        guard isNext else { throw WireError(.outOfRange, at: series.items.lowerBound) }
    }
}
