import LockstepCore

/// What a log may say and what a primary may have said, kept apart from the machine.
///
/// It reads the batches itself. Every answer is compared with the entry that it names, which must be durable, and
/// every entry with what clients sent.
struct PrimaryModel {
    struct Key: Hashable {
        var session: SessionID
        var number: RequestNumber
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Every body that was ever sent for a number; nil is its void.
    private(set) var bodies: [Key: [[UInt8]?]] = [:]
    /// The one answer to each number, as the durable log has it.
    private(set) var answers: [Key: PrimaryHarness.Answer] = [:]
    private(set) var lastNumber: [SessionID: RequestNumber] = [:]
    private(set) var live: Set<SessionID> = []
    private(set) var ended: Set<SessionID> = []
    private(set) var shown: Set<Key> = []
    private(set) var log = LogState(store: PrimaryHarness.store)
    let state = CountingState()
    private var sum: UInt64 = 0
    private var count = 0

    mutating func sent(_ session: SessionID, _ first: RequestNumber, _ sent: [[UInt8]], isVoid: Bool) {
        for (index, body) in sent.enumerated() {
            let key = Key(session: session, number: first + UInt64(index))
            bodies[key, default: []].append(isVoid ? nil : body)
        }
    }

    /// Reads what became durable since the last call, and applies it as a replica does.
    mutating func follow(_ durable: [SealedBatch]) throws {
        for batch in durable[count...] {
            try read(batch)
            let mark = try log.apply(batch, to: state)
            if let mark, mark.digest != state.digest + log.digest {
                throw Failure(description: "the mark at \(mark.sequence) has another digest")
            }
            guard state.sum == sum else { throw Failure(description: "the sum is \(state.sum), not \(sum)") }
        }
        count = durable.count
    }

    private mutating func read(_ batch: SealedBatch) throws {
        guard batch.head.first == log.position.sequence.next else {
            throw Failure(description: "the log goes on at \(batch.head.first) after \(log.position.sequence)")
        }
        var sequence = batch.head.first
        try withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0 {
                let entry = try Entry(from: bytes, &reader)
                switch entry {
                case .sessionOpen: live.insert(SessionID(epoch: batch.head.epoch, sequence: sequence))
                case .sessionClose(let session): try end(session)
                case .sessionExpire(let sessions): for session in sessions { try end(session) }
                case .actions(let run): try read(run, bytes, at: sequence)
                default: break
                }
                sequence = sequence.advanced(by: entry.sequenceCount)
            }
        }
    }

    private mutating func end(_ session: SessionID) throws {
        guard live.remove(session) != nil else { throw Failure(description: "\(session) ends twice") }
        ended.insert(session)
    }

    private mutating func read(_ run: ActionSeries, _ bytes: RawSpan, at first: SequenceNumber) throws {
        guard live.contains(run.session) else { throw Failure(description: "an action of \(run.session), which ended") }
        guard run.first == lastNumber[run.session, default: 0] + 1 else {
            throw Failure(description: "\(run.session) goes on at \(run.first)")
        }
        lastNumber[run.session] = run.first + UInt64(run.count) - 1
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for index in 0..<run.count {
            let item = try Item(from: bytes, &reader)
            let key = Key(session: run.session, number: run.first + UInt64(index))
            let reply = copyBytes(of: bytes, item.reply)
            try check(key, item.status, reply)
            answers[key] = PrimaryHarness.Answer(
                session: key.session, number: key.number, sequence: first.advanced(by: index), status: item.status,
                reply: reply)
        }
    }

    /// What became of a number must follow from one of the bodies that were sent for it, at this place of the log.
    private mutating func check(_ key: Key, _ status: ActionStatus, _ reply: [UInt8]) throws {
        let sent = bodies[key] ?? []
        let isPossible =
            switch status {
            case .void: sent.contains { $0 == nil }
            case .rejected: sent.contains { $0?.first == 0 || $0?.isEmpty == true }
            case .committed:
                sent.contains { body in
                    guard let byte = body?.first, byte != 0 else { return false }
                    var writer = ByteWriter()
                    writer.writeVarint(sum + (byte == 255 ? 0 : UInt64(byte)))
                    guard writer.bytes == reply else { return false }
                    sum += byte == 255 ? 0 : UInt64(byte)
                    return true
                }
            case .accepted: false
            }
        guard isPossible else { throw Failure(description: "\(key) became \(status) with \(reply)") }
    }

    /// Everything that left the machine must already be durable, and each answer the one that the log has.
    mutating func check(_ sent: PrimaryHarness.Sent) throws {
        let last = log.position
        switch sent.message {
        case .result:
            for answer in sent.answers {
                let key = Key(session: answer.session, number: answer.number)
                guard answers[key] == answer else {
                    throw Failure(description: "\(answer) is not \(answers[key] as Any)")
                }
                shown.insert(key)
            }
        case .opened(let opened):
            guard live.contains(opened.session) || ended.contains(opened.session) else {
                throw Failure(description: "OPENED of \(opened.session) before its commit")
            }
        case .resumed(let resumed):
            guard live.contains(resumed.session) else { throw Failure(description: "RESUMED of \(resumed.session)") }
        case .closed(let session), .sessionExpired(let session), .sessionUnknown(let session):
            guard !live.contains(session) else { throw Failure(description: "the end of \(session) shows too early") }
            if case .sessionUnknown = sent.message, ended.contains(session) {
                throw Failure(description: "\(session) is unknown although it ended in this log")
            }
        case .welcome(let welcome):
            guard welcome.commit == last else {
                throw Failure(description: "WELCOME at \(welcome.commit), not \(last)")
            }
        case .beacon(let beacon):
            guard beacon.commit == last, beacon.time == log.time else {
                throw Failure(description: "BEACON at \(beacon.commit), not \(last)")
            }
            guard beacon.markSequence == log.mark?.sequence ?? .zero else {
                throw Failure(description: "BEACON with the mark at \(beacon.markSequence), not \(log.mark as Any)")
            }
        case .readResult(let result):
            guard result.sequence <= last.sequence else { throw Failure(description: "a read at \(result.sequence)") }
        default: break
        }
    }
}
