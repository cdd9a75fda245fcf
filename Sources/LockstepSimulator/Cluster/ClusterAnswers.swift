import LockstepCore

/// What the committed history of a user's workload answers, read from its batches and not from any machine's tables.
struct ClusterAnswers {
    /// A batch that committed, and what the workload remembers of the state there.
    struct Known {
        var batch: SealedBatch
        var digest: Digest
        var remembered: any Sendable
    }

    private(set) var known: [BatchHash: Known] = [:]
    private(set) var replies: [LogReply.Key: LogReply] = [:]
    private(set) var runs = RunChecker(readsScripts: false)
    /// Accepted actions whose end their sender learned.
    private(set) var told: Set<RunID> = []
    /// The highest place that anybody was told: a linearizable read that begins now includes it.
    private(set) var toldThrough = SequenceNumber.zero
    private var ends: [SequenceNumber: BatchHash] = [:]
    /// The last number of each session.
    private var last: [SessionID: RequestNumber] = [:]
    private(set) var violation: Violation?

    mutating func fail(_ promise: Violation.Promise, _ text: String) {
        if violation == nil { violation = Violation(promise, text) }
    }

    // MARK: - The log

    mutating func committed(_ batch: SealedBatch, digest: Digest, remembered: any Sendable) {
        known[batch.hash] = Known(batch: batch, digest: digest, remembered: remembered)
        ends[batch.head.last] = batch.hash
        var sequence = batch.head.first
        withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0, let entry = try? Entry(from: bytes, &reader) {
                note(entry, bytes, batch, sequence)
                if let broken = runs.saw(entry, bytes, batch, at: sequence, told: told) {
                    fail(broken.promise, broken.text)
                }
                sequence = sequence.advanced(by: entry.sequenceCount)
            }
        }
        if sequence != batch.head.last.next { fail(.agreement, "the batch at \(batch.head.first) cannot be read") }
    }

    private mutating func note(_ entry: Entry, _ bytes: RawSpan, _ batch: SealedBatch, _ sequence: SequenceNumber) {
        switch entry {
        case .actions(let series):
            follows(series.session, series.first, count: series.count, sequence)
            var reader = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
            for place in 0..<series.count {
                guard let item = try? Item(from: bytes, &reader) else { return }
                let key = LogReply.Key(session: series.session, number: series.first + UInt64(place))
                replies[key] = LogReply(
                    epoch: batch.head.epoch, sequence: sequence.advanced(by: place), status: item.status,
                    bytes: copyBytes(of: bytes, item.reply), batch: batch.hash)
            }
        case .accepted(let session, let number, _, _):
            follows(session, number, count: 1, sequence)
            replies[LogReply.Key(session: session, number: number)] = LogReply(
                epoch: batch.head.epoch, sequence: sequence, status: .accepted, bytes: [], batch: batch.hash)
        case .sessionOpen, .sessionClose, .sessionExpire, .sessionAck, .emitted, .finished, .runAck, .epochOpen,
            .digestMark, .clockJump:
            break
        }
    }

    private mutating func follows(
        _ session: SessionID, _ first: RequestNumber, count: Int, _ sequence: SequenceNumber
    ) {
        let before = last[session] ?? 0
        if first != before + 1 { fail(.exactlyOnce, "\(session) has \(first) after \(before) at \(sequence)") }
        last[session] = first + UInt64(count) - 1
    }

    // MARK: - What callers learn

    /// The batch that ends at a number.
    func ending(at sequence: SequenceNumber) -> Known? { ends[sequence].flatMap { known[$0] } }

    /// Somebody got an answer: it is the log's.
    mutating func answered(
        _ key: LogReply.Key, epoch: Epoch, _ sequence: SequenceNumber, _ status: ActionStatus, _ bytes: [UInt8],
        by name: String
    ) {
        toldThrough = max(toldThrough, sequence)
        guard let reply = replies[key] else {
            return fail(.durability, "\(name) got an answer to \(key.session) \(key.number), which is not in the log")
        }
        if reply.status != status || reply.bytes != bytes || reply.sequence != sequence || reply.epoch != epoch {
            fail(.replyStability, "\(name) got another answer to \(key.session) \(key.number) than the log has")
        }
    }

    /// Somebody learned how an accepted action ended.
    mutating func ended(_ ended: RunEnded, _ status: ActionStatus, _ bytes: [UInt8], by name: String) {
        told.insert(ended.id)
        toldThrough = max(toldThrough, ended.sequence)
        guard let end = runs.runs[ended.id]?.end else {
            return fail(.durability, "\(name) learned the end of \(ended.id), which is not in the log")
        }
        if !end.isTold(by: ended, status, bytes) {
            fail(.replyStability, "\(name) learned another end of \(ended.id) than the log has")
        }
    }
}
