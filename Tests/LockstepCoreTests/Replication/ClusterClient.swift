import LockstepCore

/// A client of a ``DataCluster``: adds one at a time and follows whoever is primary, or only reads there.
///
/// Each action adds 1, so the reply to number n must be n: nothing acknowledged was lost, and nothing counted twice.
struct ClusterClient {
    let connection: Connection
    let isReader: Bool
    /// What HELLO says that it knows; a reader that says nothing may ask a primary whose reign is over.
    var known = KnownPosition.none

    enum Stage { case away, greeting, entering, ready }

    var stage = Stage.away
    /// Whom it talks to: the node's index, and its process.
    var target: (index: Int, boot: BootID)?
    var session: SessionID?
    var opens: UInt64 = 1
    /// Answered without a hole.
    var answered: RequestNumber = 0
    var isWaiting = false
    /// Of linearizable reads under way: what was answered when they were asked.
    var reads: [UInt64: RequestNumber] = [:]
    var nextRead: UInt64 = 1
    var readCount = 0
    var violation: String?
    /// What is to be said next.
    var outgoing: [Message] = []
    var actions: [UInt8] = []

    init(connection: UInt64, isReader: Bool) {
        self.connection = Connection(rawValue: connection)
        self.isReader = isReader
    }

    mutating func lost() {
        (stage, target, isWaiting, reads) = (.away, nil, false, [:])
    }

    /// Greets a primary.
    mutating func greet(_ index: Int, _ boot: BootID, nonce: UInt64) {
        lost()
        target = (index, boot)
        stage = .greeting
        outgoing = [
            .hello(
                Hello(
                    nonce: nonce, role: .client, node: "client", incarnation: Incarnation(rawValue: 1),
                    boot: BootID(rawValue: 5), store: "counters", known: known))
        ]
    }

    mutating func act() {
        guard stage == .ready, let session, !isWaiting else { return }
        isWaiting = true
        actions = [1, 1]
        outgoing.append(
            .submit(
                Submit(
                    session: session, first: answered + 1, ackedThrough: answered, count: 1, isVoid: false,
                    actions: 0..<2)))
    }

    /// Asks for the sum, which must be at least `least`.
    mutating func read(_ least: RequestNumber) {
        guard stage == .ready else { return }
        reads[nextRead] = least
        outgoing.append(
            .read(Read(id: nextRead, level: .linearizable, minimum: .zero, isIndexOnly: false, query: 0..<0)))
        nextRead += 1
    }

    /// A frame of the node that it talks to.
    mutating func received(_ frame: [UInt8]) {
        withBytes(of: frame) { span in
            guard let (_, message) = try? Message.decode(span, rule: .any) else {
                violation = "a frame that cannot be read"
                return
            }
            receive(message, span)
        }
    }

    private mutating func receive(_ message: Message, _ frame: RawSpan) {
        switch message {
        case .welcome(let welcome):
            guard stage == .greeting else { return }
            guard !isReader else { return stage = .ready }
            knows(welcome.commit.epoch, welcome.commit.sequence)
            stage = .entering
            if let session {
                outgoing.append(
                    .resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: answered)))
            } else {
                outgoing.append(
                    .open(
                        Open(
                            client: ClientKey(rawValue: 77), nonce: 1, timeToLive: 3_600_000_000_000,
                            windowNumbers: 64, windowBytes: 1 << 16)))
            }
        case .opened(let opened):
            if let session, session != opened.session { violation = "an opening has two sessions" }
            session = opened.session
            stage = .ready
        case .resumed: stage = .ready
        case .result(let series): answered(series, frame)
        case .readResult(let result): readAnswered(result, frame)
        case .busy: isWaiting = false
        case .sessionExpired, .sessionUnknown: violation = "a session that was opened is not known"
        case .outOfOrder(_, let expected): violation = "number \(answered + 1) is out of order, expected \(expected)"
        case .refused, .resync: lost()
        default: break
        }
    }

    private mutating func answered(_ series: ResultSeries, _ frame: RawSpan) {
        knows(series.epoch, series.firstSequence)
        var reader = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
        for number in series.first..<(series.first + UInt64(series.count)) {
            guard let item = try? ReplyItem(from: frame, &reader) else { return violation = "an answer without items" }
            var reply = ByteReader(offset: item.reply.lowerBound, end: item.reply.upperBound)
            let sum = (try? reply.readVarint(from: frame)) ?? 0
            if sum != number { violation = "number \(number) was answered with \(sum)" }
            answered = max(answered, number)
        }
        isWaiting = false
    }

    private mutating func knows(_ epoch: Epoch, _ sequence: SequenceNumber) {
        guard (epoch, sequence) > (known.position.epoch, known.position.sequence) else { return }
        known = KnownPosition(position: Position(epoch: epoch, sequence: sequence, hash: .none), boot: .none)
    }

    private mutating func readAnswered(_ result: ReadResult, _ frame: RawSpan) {
        guard let least = reads.removeValue(forKey: result.id), result.status == .answered else { return }
        var reader = ByteReader(offset: result.answer.lowerBound, end: result.answer.upperBound)
        let sum = (try? reader.readVarint(from: frame)) ?? 0
        readCount += 1
        if sum < least { violation = "a linearizable read saw \(sum) after \(least) was answered" }
    }
}
