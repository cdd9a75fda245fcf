import LockstepCore
import Testing

/// Random histories of a primary with careless clients, slow and full disks, and crashes, against a model.
@Suite struct PrimaryModelTests {
    /// Goal: whatever clients, time and the disk do, each number is answered once and always alike, numbers are dense
    /// in the log, nothing shows before it is durable, and everybody who applies the log gets the same tables and
    /// digest (PROTOCOL ).
    @Test(arguments: 0..<50 as Range<UInt64>) func randomHistoriesKeepTheModel(seed: UInt64) throws {
        var history = PrimaryHistory(seed: seed)
        do {
            for _ in 0..<150 { try history.step() }
            try history.quiesce()
        } catch {
            Issue.record("seed \(seed), step \(history.steps): \(error)")
        }
    }

    /// Goal: the same holds of a primary that takes unusual ways, and rest is reached when it leaves them
    /// (PROTOCOL ).
    @Test(arguments: 0..<40 as Range<UInt64>) func unusualWaysKeepTheModel(seed: UInt64) throws {
        var history = PrimaryHistory(seed: seed, isUnusual: true)
        do {
            for _ in 0..<150 { try history.step() }
            history.primary.machine.buggify = .off
            try history.quiesce()
        } catch {
            Issue.record("seed \(seed), step \(history.steps): \(error)")
        }
    }

    /// Goal: the histories above hold something; clients that nobody welcomes would keep any model (PROTOCOL R-22).
    @Test func theHistoriesHoldAnswers() throws {
        var answers = 0
        for seed in 0..<20 as Range<UInt64> {
            var history = PrimaryHistory(seed: seed)
            for _ in 0..<150 { try history.step() }
            answers += history.model.shown.count
        }
        #expect(answers > 1_000)
    }
}

/// One random history.

struct PrimaryHistory {
    /// A client that knows its session and its numbers, and little else.
    struct Client {
        var connection: Connection
        var key: UInt128
        var nonce: UInt64
        var session: SessionID?
        var given: RequestNumber = 0
        var answered: RequestNumber = 0
    }

    var random: SplitMix64
    var primary: PrimaryHarness
    var model = PrimaryModel()
    var clients: [Client] = []
    var nextConnection: UInt64 = 1
    var boot: UInt128 = 1
    var steps = 0

    /// Whether the primary takes the unusual ways of its seed.
    let isUnusual: Bool

    init(seed: UInt64, isUnusual: Bool = false) {
        random = SplitMix64(seed: seed)
        self.isUnusual = isUnusual
        primary = PrimaryHarness(buggify: isUnusual ? Buggify(seed: seed) : .off)
        primary.start()
        for index in 0..<3 as Range<UInt64> {
            clients.append(Client(connection: .local, key: UInt128(index + 1), nonce: random.next()))
            connect(Int(index))
        }
    }

    mutating func chance(_ one: UInt64, in many: UInt64) -> Bool { random.next(below: many) < one }

    mutating func connect(_ index: Int) {
        clients[index].connection = Connection(rawValue: nextConnection)
        nextConnection += 1
        hello(index)
    }

    private func hello(_ index: Int) {
        // A client's newest RESULT is a place of this log, so it says where it is.
        var known = KnownPosition.none
        if let session = clients[index].session,
            let answer = model.answers[PrimaryModel.Key(session: session, number: clients[index].answered)]
        {
            let epoch = model.log.epochEnds.first { $0.sequence >= answer.sequence }?.epoch ?? model.log.position.epoch
            known.position.epoch = epoch
            known.position.sequence = answer.sequence
        }
        primary.hello(clients[index].connection, known: known)
    }

    mutating func step() throws {
        steps += 1
        let index = Int(random.next(below: UInt64(clients.count)))
        switch random.next(below: 24) {
        case 0...8: submit(index)
        case 9: open(index)
        case 10: resume(index, isNew: true)
        case 11: resume(index, isNew: false)
        case 12: keepAlive(index)
        case 13: if chance(1, in: 3) { close(index) }
        case 14: query(index)
        case 15...16: pass()
        case 17...19: primary.turn()
        case 20...21: if primary.machine.isPersisting { primary.persist() }
        case 22:
            if primary.machine.isPersisting, !primary.atJournal.isEmpty { primary.fail(isDiskFull: true) }
        default:
            if chance(1, in: 6) { crash() } else if chance(1, in: 8) { primary.machine.snapshotDue() }
        }
        try observe()
    }

    /// Compares what was said, and at each commit the machine's tables with those of one who applied the log.
    mutating func observe() throws {
        let before = model.log.position
        try model.follow(primary.durable)
        for sent in primary.sent + primary.published {
            try model.check(sent)
            learn(sent)
        }
        let unknown = Set(
            primary.sent.compactMap { sent -> Connection? in
                if case .resync = sent.message { sent.connection } else { nil }
            })
        for (_, image) in primary.images where image.log.position == model.log.position {
            guard image.log == model.log, image.digest == model.state.digest + model.log.digest else {
                throw PrimaryModel.Failure(description: "a snapshot of another state at \(image.log.position)")
            }
        }
        // After a crash, what is at the journal belongs to the next boot.
        if model.log.position != before, let handedOver = primary.handedOver,
            handedOver.log.position == model.log.position || primary.atJournal.isEmpty
        {
            guard handedOver.log == model.log, handedOver.digest == model.state.digest else {
                throw PrimaryModel.Failure(
                    description: "the primary's tables are not the log's at \(model.log.position)")
            }
        }
        primary.forget()
        guard !unknown.isEmpty else { return }
        for index in clients.indices where unknown.contains(clients[index].connection) { hello(index) }
        try observe()
    }

    private mutating func learn(_ sent: PrimaryHarness.Sent) {
        guard let index = clients.firstIndex(where: { $0.connection == sent.connection }) else { return }
        switch sent.message {
        case .opened(let opened) where opened.nonce == clients[index].nonce && clients[index].session == nil:
            clients[index].session = opened.session
        case .result:
            for answer in sent.answers
            where answer.session == clients[index].session && answer.number == clients[index].answered + 1 {
                clients[index].answered += 1
            }
        case .sessionExpired(let session), .closed(let session), .sessionUnknown(let session):
            guard clients[index].session == session else { return }
            clients[index] = Client(
                connection: clients[index].connection, key: clients[index].key, nonce: random.next())
        default: break
        }
    }

    private mutating func submit(_ index: Int) {
        guard let session = clients[index].session else { return open(index) }
        let client = clients[index]
        // Mostly the next numbers; else again from some place, or with a gap.
        var first = client.given + 1
        if chance(1, in: 3) { first = 1 + random.next(below: client.given + 1) }
        if chance(1, in: 12) { first = client.given + 2 + random.next(below: 3) }
        let count = chance(1, in: 40) ? 4_000 : 1 + Int(random.next(below: 6))
        let bodies = (0..<count).map { _ -> [UInt8] in
            chance(1, in: 30) ? [] : [UInt8(truncatingIfNeeded: random.next())]
        }
        let isVoid = chance(1, in: 8)
        let acked = chance(1, in: 2) ? min(client.answered, first - 1) : 0
        model.sent(session, first, bodies, isVoid: isVoid)
        if first <= client.given + 1 { clients[index].given = max(client.given, first + UInt64(count) - 1) }
        primary.receive(
            primary.submitFrame(session, first, bodies, acked: acked, isVoid: isVoid), from: client.connection)
    }

    private mutating func open(_ index: Int) {
        let timeToLive: Int64 = chance(1, in: 3) ? 1_500_000 : 600_000_000
        let client = clients[index]
        primary.receive(
            PrimaryHarness.openMessage(client: client.key, nonce: client.nonce, timeToLive: timeToLive),
            from: client.connection)
    }

    private mutating func resume(_ index: Int, isNew: Bool) {
        guard let session = clients[index].session else { return }
        if isNew { connect(index) }
        let resume = Resume(
            session: session, openNonce: clients[index].nonce, connectionNonce: random.next(),
            ackedThrough: clients[index].answered)
        primary.receive(.resume(resume), from: clients[index].connection)
    }

    private mutating func keepAlive(_ index: Int) {
        guard let session = clients[index].session else { return }
        let acked = random.next(below: clients[index].answered + 2)
        primary.receive(
            .keepAlive(KeepAlive(session: session, ackedThrough: acked, applied: .zero)),
            from: clients[index].connection)
    }

    private mutating func close(_ index: Int) {
        guard let session = clients[index].session else { return }
        primary.receive(.close(session), from: clients[index].connection)
    }

    private mutating func query(_ index: Int) {
        guard let session = clients[index].session else { return }
        let number = random.next(below: clients[index].given + 3)
        primary.receive(.query(Query(session: session, number: number)), from: clients[index].connection)
        primary.read(1, .linearizable, from: clients[index].connection)
    }

    private mutating func pass() {
        if chance(1, in: 5) {
            primary.advance(milliseconds: Int64(random.next(below: 4_000)))
            primary.tick()
        } else {
            primary.pass(milliseconds: Int64(random.next(below: 900)))
        }
    }

    /// The process dies; what was at the journal is there or not, and nothing else is.
    private mutating func crash() {
        var durable = primary.durable
        if chance(1, in: 2) { durable += primary.atJournal }
        boot += 1
        let (now, wall) = (primary.now, primary.wall)
        let buggify = isUnusual ? Buggify(seed: random.next()) : .off
        primary = PrimaryHarness(durable: durable, boot: boot, now: now, wall: wall, buggify: buggify)
        primary.start()
        for index in clients.indices {
            connect(index)
            // What was given and is not in the log was never seen; the client goes on from what it has.
            clients[index].given = max(clients[index].answered, clients[index].given)
        }
    }

    /// The faults end: every number that was given and whose session lives is answered.
    mutating func quiesce() throws {
        primary.machine.checkInvariants()
        for _ in 0..<3 {
            while primary.machine.isPersisting { primary.persist() }
            primary.commit()
            try observe()
            for index in clients.indices {
                hello(index)
                resume(index, isNew: false)
            }
            primary.commit()
            try observe()
        }
        for index in clients.indices {
            // A careless client said that it has an answer which it never got; nobody sends it again.
            if let session = clients[index].session, let standing = primary.machine.log.sessions.standing(of: session) {
                clients[index].answered = max(clients[index].answered, standing.ackedThrough)
            }
            while let session = clients[index].session, clients[index].answered < clients[index].given {
                let before = clients[index].answered
                let first = before + 1
                let bodies = [[UInt8]](repeating: [3], count: Int(min(clients[index].given - before, 100)))
                model.sent(session, first, bodies, isVoid: false)
                primary.receive(
                    primary.submitFrame(session, first, bodies, acked: before), from: clients[index].connection)
                primary.commit()
                try observe()
                guard clients[index].session == nil || clients[index].answered > before else {
                    throw PrimaryModel.Failure(description: "number \(first) of \(session) is never answered")
                }
            }
        }
        guard primary.machine.log == model.log, primary.state.digest == model.state.digest else {
            throw PrimaryModel.Failure(description: "the primary's tables are not the log's at rest")
        }
        let rebooted = PrimaryHarness(durable: primary.durable, boot: boot + 1)
        guard rebooted.machine.log == model.log else {
            throw PrimaryModel.Failure(description: "recovery gives other tables")
        }
    }
}
