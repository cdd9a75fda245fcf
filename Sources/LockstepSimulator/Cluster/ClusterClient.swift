import LockstepCore

/// A client of a simulated cluster: it takes tickets in one session, and reads how many were taken.
///
/// It follows whoever is primary, resumes its session there, and says again what was not answered.
final class ClusterClient {
    enum Stage { case away, greeting, entering, ready }

    let index: Int
    /// It opens no session and says nothing of what it knows, so a primary whose reign is over may be asked.
    let isReader: Bool
    var known = KnownPosition.none
    var stage = Stage.away
    var link: ClusterLink?
    var session: SessionID?
    /// How many sessions it has lost with what an operator gave up; each is another client's in the log.
    private(set) var losses: UInt8 = 0
    /// What was answered in those.
    private(set) var answeredBefore: RequestNumber = 0
    /// The answers that came, by number; a hole is still waited for.
    private(set) var answers: [RequestNumber: UInt64] = [:]
    /// Everything up to here is answered.
    private(set) var answered: RequestNumber = 0
    /// The last number that was ever said.
    private(set) var submitted: RequestNumber = 0
    /// How many tickets were known to be taken when a number was said first.
    private(set) var floors: [RequestNumber: UInt64] = [:]
    /// Of reads under way: what was known to be taken when they were asked.
    private(set) var reads: [UInt64: UInt64] = [:]
    private var nextRead: UInt64 = 1
    private(set) var readCount = 0
    /// When something was last heard on the connection.
    var lastHeard: Int64 = 0
    /// Until when it says no action, since the primary asked for that.
    private var pauseEnds: Int64 = 0
    /// When what is unanswered is said again.
    private var nextAgain: Int64 = 0
    /// Whom to try next.
    var hint: Int?

    init(_ index: Int, isReader: Bool) { (self.index, self.isReader) = (index, isReader) }

    /// Who it is in the log.
    var tag: UInt8 { UInt8(truncatingIfNeeded: index + 8 * Int(losses)) }
    var answeredInAll: RequestNumber { answeredBefore + answered }

    var isIdle: Bool { answered == submitted && reads.isEmpty }

    func lost() {
        (stage, link, reads) = (.away, nil, [:])
    }

    /// What it learned is lost, as it was told: it begins as another client.
    private func beginsAnew() {
        losses += 1
        answeredBefore += answered
        (session, known, answers, answered, submitted, floors) = (nil, .none, [:], 0, 0, [:])
        lost()
    }

    /// The history goes on from a place before what was known.
    func forgets(above count: UInt64) {
        floors = floors.mapValues { min($0, count) }
        reads = reads.mapValues { min($0, count) }
    }

    func hello(nonce: UInt64) -> Message {
        stage = .greeting
        return .hello(
            Hello(
                nonce: nonce, role: .client, node: "client-\(tag)", incarnation: Incarnation(rawValue: 1),
                boot: BootID(rawValue: UInt128(tag + 1)), store: "counters", known: known))
    }

    /// An action more, or what is unanswered once more; the count of actions in the second part.
    func submit(isNew: Bool, floor: UInt64, now: Int64) -> Message? {
        guard stage == .ready, let session, now >= pauseEnds else { return nil }
        let first: RequestNumber
        if isNew, submitted - answered < 16 {
            submitted += 1
            floors[submitted] = floor
            first = submitted
            nextAgain = max(nextAgain, now + 300 * Span.millisecond)
        } else {
            guard submitted > answered, now >= nextAgain else { return nil }
            first = answered + 1
            nextAgain = now + 300 * Span.millisecond
        }
        let count = Int(submitted - first + 1)
        return .submit(
            Submit(
                session: session, first: first, ackedThrough: answered, count: count, isVoid: false,
                actions: 0..<(2 * count)))
    }

    /// The bytes that a message of ``submit(isNew:floor:now:)`` points into.
    func actions(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in [1, tag] } }

    /// Asks how many tickets were taken; the answer must be at least `floor`.
    func read(floor: UInt64) -> Message? {
        guard stage == .ready, reads.count < 4 else { return nil }
        reads[nextRead] = floor
        nextRead += 1
        return .read(Read(id: nextRead - 1, level: .linearizable, minimum: .zero, isIndexOnly: false, query: 0..<0))
    }

    // MARK: - What comes

    /// What a client learned, for the checkers.
    enum Learned {
        case ticket(RequestNumber, UInt64, floor: UInt64)
        case count(UInt64, floor: UInt64)
        case wrong(String)
        /// The session is not known, or not as far as it was answered.
        case lost(SessionID, answered: RequestNumber)
        /// The primary does not have the place that is known.
        case unknownPlace(Position)
    }

    /// Takes a message; what is said in answer goes into `outgoing`.
    func receive(_ message: Message, _ frame: RawSpan, now: Int64, outgoing: inout [Message]) -> [Learned] {
        lastHeard = now
        switch message {
        case .welcome(let welcome):
            guard stage == .greeting else { return [] }
            guard !isReader else {
                stage = .ready
                return []
            }
            knows(welcome.commit.epoch, welcome.commit.sequence)
            stage = .entering
            outgoing.append(enter())
        case .opened(let opened):
            if let session, session != opened.session { return [.wrong("an opening has two sessions")] }
            (session, stage, nextAgain) = (opened.session, .ready, 0)
        case .resumed(let resumed):
            guard resumed.expected > answered else { return losesSession() }
            (stage, nextAgain) = (.ready, 0)
        case .result(let series): return answered(series, frame)
        case .readResult(let result): return readAnswered(result, frame)
        case .busy(let busy): pauseEnds = now + Int64(busy.retryAfter) * Span.microsecond
        case .sessionExpired: return [.wrong("a session that is used has ended")]
        case .sessionUnknown: return losesSession()
        // Who knows more than was kept, and comes after the reign that says so: its process begins anew.
        case .refused(let refused) where refused.reason == .primaryBehind:
            let learned = Learned.unknownPlace(known.position)
            beginsAnew()
            return [learned]
        case .outOfOrder(_, let expected):
            guard expected > answered else { return [.wrong("\(answered) is answered, and \(expected) is expected")] }
            nextAgain = 0
        case .refused, .resync: lost()
        default: break  // What no client of this kind is sent is nothing to it.
        }
        return []
    }

    private func losesSession() -> [Learned] {
        guard let session else { return [.wrong("who has no session is told that it is lost")] }
        let learned = Learned.lost(session, answered: answered)
        beginsAnew()
        return [learned]
    }

    private func enter() -> Message {
        guard let session else {
            return .open(
                Open(
                    client: ClientKey(rawValue: UInt128(tag + 77)), nonce: 1, timeToLive: 3_600_000_000_000,
                    windowNumbers: 64, windowBytes: 1 << 16))
        }
        return .resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: answered))
    }

    private func answered(_ series: ResultSeries, _ frame: RawSpan) -> [Learned] {
        knows(series.epoch, series.firstSequence)
        var learned: [Learned] = []
        var reader = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
        for number in series.first..<(series.first + UInt64(series.count)) {
            guard let item = try? ReplyItem(from: frame, &reader) else { return [.wrong("a RESULT without items")] }
            var reply = ByteReader(offset: item.reply.lowerBound, end: item.reply.upperBound)
            guard let ticket = try? reply.readVarint(from: frame) else { return [.wrong("an answer without a ticket")] }
            if let before = answers[number], before != ticket {
                return [.wrong("number \(number) was answered with \(before), and then with \(ticket)")]
            }
            if number > answered, answers[number] == nil {
                answers[number] = ticket
                learned.append(.ticket(number, ticket, floor: floors.removeValue(forKey: number) ?? 0))
            }
        }
        while answers[answered + 1] != nil { answered += 1 }
        return learned
    }

    private func knows(_ epoch: Epoch, _ sequence: SequenceNumber) {
        guard (epoch, sequence) > (known.position.epoch, known.position.sequence) else { return }
        known = KnownPosition(position: Position(epoch: epoch, sequence: sequence, hash: .none), boot: .none)
    }

    private func readAnswered(_ result: ReadResult, _ frame: RawSpan) -> [Learned] {
        guard let floor = reads.removeValue(forKey: result.id), result.status == .answered else { return [] }
        var reader = ByteReader(offset: result.answer.lowerBound, end: result.answer.upperBound)
        guard let count = try? reader.readVarint(from: frame) else { return [.wrong("a read without an answer")] }
        readCount += 1
        return [.count(count, floor: floor)]
    }
}
