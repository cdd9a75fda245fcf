import LockstepCore
import Testing

/// A primary, its executors and clients over bad links: boots are killed, disks are full, frames are lost.
struct RunHistory {
    struct Flight {
        var at: Tick
        var connection: Connection
        var frame: [UInt8]
    }

    /// A client's machine and what its driver learnt.
    struct Client {
        var machine: ClientStateMachine
        var connection = Connection(rawValue: 0)
        var inbox: [Flight] = []
        var accepted: Set<RunID> = []
        var ends: [RunID: [UInt8]] = [:]
        var lostEnds: Set<RunID> = []
        var lostSessions: Set<SessionID> = []
    }

    /// What the log says of a run.
    struct Logged {
        var isSerial = false
        var emissions = 0
        var end: [UInt8]?
        var place = SequenceNumber.zero
    }

    var random: SplitMix64
    var primary: PrimaryHarness
    var clients: [Client] = []
    var toPrimary: [Flight] = []
    var now: Tick
    var boot: UInt128 = 1
    var nextConnection: UInt64 = 1
    var nextTicket: UInt64 = 1
    var isFaulty = true
    /// What executors carry out now, and the group that they do it for.
    var running: Set<RunID> = []
    /// Emissions without an outcome, and those of a run that have one.
    var tickets: [UInt64: RunID] = [:]
    var emitted: [RunID: Int] = [:]
    /// Emissions that were under way when a boot was killed: they may be in the log.
    var doubtful: [RunID: Int] = [:]
    var logged: [RunID: Logged] = [:]
    var readBatches = 0
    /// The most runs of group "s" that executors carried out at a time.
    var mostSerial = 0
    let isUnusual: Bool

    init(seed: UInt64, isUnusual: Bool = false) {
        random = SplitMix64(seed: seed)
        self.isUnusual = isUnusual
        primary = PrimaryHarness(buggify: isUnusual ? Buggify(seed: seed) : .off, hasEffects: true)
        now = primary.now
        (primary.checksFrames, primary.checksEvents) = (false, false)
        primary.start()
        for index in 0..<3 as Range<UInt64> {
            let machine = ClientStateMachine(
                configuration: ClientConfiguration(
                    store: PrimaryHarness.storeName, node: "c\(index)", role: .client,
                    client: ClientKey(rawValue: UInt128(index) + 1), boot: BootID(rawValue: UInt128(index) + 100),
                    incarnation: Incarnation(rawValue: 9), cluster: nil, endpoint: "p", timeToLive: 20_000_000,
                    seed: seed &* 31 &+ index, wantsSession: true,
                    buggify: isUnusual ? Buggify(seed: seed &+ index + 1) : .off))
            clients.append(Client(machine: machine))
            event(Int(index), []) { $0.start(now: $1, into: &$2) }
        }
    }

    mutating func isHit(_ oneIn: UInt64) -> Bool { isFaulty && random.next(below: oneIn) == 0 }

    // MARK: - Links

    private mutating func launch(_ frame: [UInt8], _ connection: Connection) -> [Flight] {
        if isHit(12) { return [] }
        return (0..<(isHit(20) ? 2 : 1)).map { _ in
            let delay = Int64(isHit(8) ? random.next(below: 60) : 1)
            return Flight(at: now.advanced(byMilliseconds: delay), connection: connection, frame: frame)
        }
    }

    private static func due(_ flights: inout [Flight], _ now: Tick) -> [Flight] {
        let due = flights.filter { $0.at <= now }
        flights.removeAll { $0.at <= now }
        return due
    }

    // MARK: - Clients

    private mutating func event(
        _ index: Int, _ frame: [UInt8],
        _ body: (inout ClientStateMachine, Tick, inout [ClientDirective]) -> Void
    ) {
        var directives: [ClientDirective] = []
        body(&clients[index].machine, now, &directives)
        clients[index].machine.turnEnded(now: now, into: &directives)
        clients[index].machine.checkInvariants()
        for directive in directives { run(directive, index, frame) }
    }

    /// Takes another connection, of which the machine hears nothing: so does a socket that breaks.
    private mutating func renewConnection(_ index: Int) {
        clients[index].inbox = []
        clients[index].connection = Connection(rawValue: nextConnection)
        nextConnection += 1
    }

    private mutating func run(_ directive: ClientDirective, _ index: Int, _ frame: [UInt8]) {
        switch directive {
        case .connect: renewConnection(index)
        case .send(let bytes): toPrimary += launch(bytes, clients[index].connection)
        case .answered(let answers): answered(answers, index, frame)
        case .ended(let ended):
            #expect(clients[index].accepted.contains(ended.id), "only what was accepted ends")
            #expect(clients[index].ends[ended.id] == nil && !clients[index].lostEnds.contains(ended.id), "once")
            let item = withBytes(of: frame) { copyBytes(of: $0, ended.item) }
            clients[index].ends[ended.id] = item
            #expect(logged[ended.id]?.end == item && logged[ended.id]?.place == ended.sequence, "what the log has")
        case .endLost(let id):
            #expect(clients[index].ends[id] == nil && clients[index].accepted.contains(id))
            #expect(clients[index].lostSessions.contains(id.session), "an end is lost only with its session")
            clients[index].lostEnds.insert(id)
        case .lost(let session, _): clients[index].lostSessions.insert(session)
        case .opened, .welcomed, .refused, .count: break
        case .readAnswered, .readDelayed, .watchAnswered, .noPrimary, .queried, .queryAnswered, .closed:
            Issue.record("\(directive)")
        }
    }

    private mutating func answered(_ answers: ClientDirective.Answers, _ index: Int, _ frame: [UInt8]) {
        guard let session = clients[index].machine.session?.id else {
            Issue.record("answers without a session")
            return
        }
        withBytes(of: frame) { span in
            var reader = ByteReader(offset: answers.items.lowerBound, end: answers.items.upperBound)
            for place in 0..<UInt64(answers.count) {
                guard let item = try? ReplyItem(from: span, &reader), item.status == .accepted else { continue }
                let id = RunID(session: session, number: answers.first + place)
                #expect(logged[id] != nil, "an answer shows what is durable")
                clients[index].accepted.insert(id)
                if random.next(below: 8) == 0 { clients[index].machine.cancelRun(id, now: now) }
            }
        }
    }

    private mutating func submit(_ index: Int) {
        let kinds: [[UInt8]] = [
            [3], [0], EffectAction.run(), EffectAction.run(name: "n"),
            EffectAction.run(.serial(waiting: 3), group: "s"), EffectAction.run(.serial(waiting: 3), group: "s"),
            EffectAction.run(.latest, group: "l"), EffectAction.run(.first, group: "f"), EffectAction.cancel("n"),
            EffectAction.run(.first, group: "f", cancelling: ["n"]), EffectAction.run(.merge(max: 2), group: "m"),
            [204, 1],
        ]
        let count = 1 + Int(random.next(below: 6))
        var bytes: [UInt8] = []
        for _ in 0..<count {
            let action = kinds[Int(random.next(below: UInt64(kinds.count)))]
            bytes += [UInt8(action.count)] + action
        }
        event(index, []) { client, now, directives in
            let first = client.submit(bytes, count: count, now: now, into: &directives)
            if let first, let session = client.session?.id, count == 1 {
                client.cancelRun(RunID(session: session, number: first), now: now)
            }
        }
    }

    // MARK: - The primary

    /// Brings what the primary said to where it goes.
    private mutating func collect() throws {
        try readLog()
        for start in primary.begun {
            #expect(running.insert(start.id).inserted, "a run begins once in a boot")
            #expect(logged[start.id] != nil, "what begins is durable")
        }
        for id in primary.stopped { running.remove(id) }
        for (ticket, outcome) in primary.emissions {
            guard let id = tickets[ticket] else { continue }
            tickets[ticket] = nil
            if case .committed = outcome { emitted[id, default: 0] += 1 }
        }
        let serial = running.filter { logged[$0]?.isSerial == true }
        mostSerial = max(mostSerial, serial.count)
        for sent in primary.sent {
            for flight in launch(sent.frame, sent.connection) {
                guard let index = clients.firstIndex(where: { $0.connection == sent.connection }) else { continue }
                clients[index].inbox.append(flight)
            }
        }
        primary.forget()
    }

    /// Reads what became durable, apart from the machine's tables.
    private mutating func readLog() throws {
        for batch in primary.durable[readBatches...] {
            var sequence = batch.head.first
            try withBytes(of: batch.bytes) { bytes in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                while reader.remaining > 0 {
                    let entry = try Entry(from: bytes, &reader)
                    read(entry, bytes, at: sequence)
                    sequence = sequence.advanced(by: entry.sequenceCount)
                }
            }
        }
        readBatches = primary.durable.count
    }

    private mutating func read(_ entry: Entry, _ bytes: RawSpan, at sequence: SequenceNumber) {
        switch entry {
        case .accepted(let session, let number, _, let action):
            let isSerial = copyBytes(of: bytes, action).prefix(2) == [200, 1]
            let before = logged.updateValue(
                Logged(isSerial: isSerial), forKey: RunID(session: session, number: number))
            #expect(before == nil, "a number is accepted once")
        case .emitted(.action(let session, let number), _):
            let id = RunID(session: session, number: number)
            #expect(logged[id] != nil && logged[id]?.end == nil, "what ended emits nothing")
            logged[id]?.emissions += 1
        case .finished(let session, let number, let range):
            let id = RunID(session: session, number: number)
            #expect(logged[id] != nil && logged[id]?.end == nil, "a run ends once")
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            guard let item = try? Item(from: bytes, &reader) else { return }
            var reply = ByteWriter()
            ReplyItem.write(item.status, bytes, item.reply, to: &reply)
            logged[id]?.end = reply.bytes
            logged[id]?.place = sequence
        default: break
        }
    }

    /// The process is killed; what was at the journal is durable or not.
    private mutating func kill() throws {
        try collect()
        if !primary.atJournal.isEmpty, random.next(below: 2) == 0 {
            primary.durable += primary.atJournal
            try readLog()
        }
        for id in tickets.values { doubtful[id, default: 0] += 1 }
        tickets = [:]
        running = []
        boot += 1
        (primary.now, primary.wall) = (now, primary.wall)
        let next = PrimaryHarness(
            durable: primary.durable, boot: boot, now: now, wall: primary.wall,
            buggify: isUnusual && isFaulty ? Buggify(seed: UInt64(boot)) : .off, hasEffects: true)
        next.state.endsOnResume = [3, 7]
        (next.checksFrames, next.checksEvents) = (false, false)
        next.start()
        primary = next
        toPrimary = []
        for index in clients.indices { clients[index].inbox = [] }
    }

    private mutating func execute() {
        guard !running.isEmpty else { return }
        let id = running.sorted()[Int(random.next(below: UInt64(running.count)))]
        if random.next(below: 3) == 0 {
            tickets[nextTicket] = id
            primary.emit(id, [1], ticket: nextTicket)
            nextTicket += 1
            return
        }
        primary.finish(id, EffectAction.end(adding: [2], reply: [UInt8(truncatingIfNeeded: id.number)]))
        if primary.ends[id]?.last != .busy { running.remove(id) }
    }

    /// How long nothing happens, once the links are good.
    private var pauseMilliseconds: Int64 {
        guard !isFaulty, running.isEmpty, toPrimary.isEmpty, clients.allSatisfy(\.inbox.isEmpty),
            primary.machine.isDrained
        else { return 1 }
        let next = clients.reduce(primary.machine.nextDeadline) { min($0, $1.machine.nextDeadline) }
        return max(1, (next - now) / 1_000_000)
    }

    mutating func step() throws {
        let pause = pauseMilliseconds
        now = now.advanced(byMilliseconds: pause)
        primary.advance(milliseconds: pause)
        if isHit(250) { try kill() }
        if isHit(12) { submit(Int(random.next(below: 3))) }
        if isHit(150) { renewConnection(Int(random.next(below: 3))) }
        for flight in Self.due(&toPrimary, now) { primary.receive(flight.frame, from: flight.connection) }
        if !isFaulty || random.next(below: 4) == 0 { execute() }
        if now >= primary.machine.nextDeadline { primary.tick() }
        if !isFaulty || random.next(below: 3) > 0 { primary.turn() }
        if primary.machine.isPersisting {
            if isHit(40) {
                primary.fail(isDiskFull: true)
            } else if !isFaulty || random.next(below: 3) == 0 {
                primary.persist()
            }
        }
        primary.machine.checkInvariants()
        try collect()
        for index in clients.indices {
            if now >= clients[index].machine.nextDeadline {
                event(index, []) { $0.ticked(now: $1, into: &$2) }
            }
            for flight in Self.due(&clients[index].inbox, now) where flight.connection == clients[index].connection {
                event(index, flight.frame) { client, now, directives in
                    withBytes(of: flight.frame) { client.received($0, now: now, into: &directives) }
                }
            }
        }
    }

    // MARK: - Rest

    /// Whether everything has an end that its sender knows, and nothing is kept of it.
    var isAtRest: Bool {
        running.isEmpty && primary.machine.isDrained && primary.machine.log.runs.count == 0
            && clients.allSatisfy { client in
                client.machine.unanswered == nil
                    && client.accepted.allSatisfy { client.ends[$0] != nil || client.lostEnds.contains($0) }
            }
    }

    /// Everything works from now on, until nothing is left to be done.
    mutating func rest() throws {
        isFaulty = false
        primary.machine.buggify = .off
        for index in clients.indices { clients[index].machine.buggify = .off }
        for _ in 0..<60_000 where !isAtRest { try step() }
        #expect(isAtRest, "\(primary.machine.log.runs.sorted.map(\.id)) are left")
        #expect(logged.values.allSatisfy { $0.end != nil }, "whatever was accepted has ended")
        #expect(mostSerial <= 1, "one of a serial group runs at a time")
        for (id, run) in logged {
            let certain = emitted[id, default: 0]
            let range = certain...certain + doubtful[id, default: 0]
            #expect(range.contains(run.emissions), "\(id): what committed is in the log, what was dropped is not")
        }
        #expect(try primary.isLikeReplica())
    }
}
