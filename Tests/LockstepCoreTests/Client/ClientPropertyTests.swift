import LockstepCore
import Testing

@Suite("A client over a bad link")
struct ClientPropertyTests {
    /// Client, model primary, and a link that loses, doubles, delays and reorders frames and breaks.
    struct World {
        var random: SplitMix64
        var client: ClientStateMachine
        var primary = ModelPrimary()
        var now = Tick.zero
        var connection = 0
        var isFaulty = true
        /// Nothing arrives until silence tells the client to make a new connection.
        var isCut = false
        var toPrimary: [Flight] = []
        var toClient: [Flight] = []
        /// What each number of the present session was given for.
        var actions: [RequestNumber: UInt8] = [:]
        var givenUp: Set<RequestNumber> = []
        var session: SessionID?
        var nextAnswer: RequestNumber = 1
        var submitted = 0
        var settled = 0
        var lost = 0
        var voids = 0

        struct Flight {
            var at: Tick
            var connection: Int
            var frame: [UInt8]
        }

        init(seed: UInt64, buggify: Buggify = .off) {
            random = SplitMix64(seed: seed)
            client = ClientStateMachine(
                configuration: ClientConfiguration(
                    store: "s", node: "n", role: .client, client: ClientKey(rawValue: 7), boot: BootID(rawValue: 8),
                    incarnation: Incarnation(rawValue: 9), cluster: nil, endpoint: "p", seed: seed,
                    wantsSession: true, buggify: buggify))
        }

        mutating func isHit(_ oneIn: UInt64) -> Bool { isFaulty && random.next(below: oneIn) == 0 }

        mutating func launch(_ frame: [UInt8], _ connection: Int) -> [Flight] {
            if isCut || isHit(12) { return [] }
            var flights: [Flight] = []
            for _ in 0..<(isHit(20) ? 2 : 1) {
                let delay = Int64(isHit(8) ? random.next(below: 60) : 1)
                flights.append(Flight(at: now.advanced(byMilliseconds: delay), connection: connection, frame: frame))
            }
            return flights
        }

        mutating func run(_ directives: [ClientDirective], _ frame: [UInt8]) throws {
            for directive in directives {
                switch directive {
                case .connect:
                    connection += 1
                    isCut = false
                case .send(let bytes): toPrimary += launch(bytes, connection)
                case .opened(let id):
                    #expect(session == nil, "a session is opened when there is none")
                    session = id
                    nextAnswer = 1
                case .answered(let answers): try answered(answers, frame)
                case .lost(let id, let numbers):
                    #expect(id == session)
                    if let numbers {
                        #expect(numbers.lowerBound == nextAnswer)
                        #expect(numbers.count == actions.count)
                        lost += numbers.count
                        settled += numbers.count
                    } else {
                        #expect(actions.isEmpty)
                    }
                    actions = [:]
                    givenUp = []
                    session = nil
                case .welcomed, .count: break
                case .readAnswered, .readDelayed, .watchAnswered, .noPrimary, .queried, .queryAnswered, .refused,
                    .closed, .ended,
                    .endLost:
                    Issue.record("\(directive)")
                }
            }
        }

        mutating func answered(_ answers: ClientDirective.Answers, _ frame: [UInt8]) throws {
            let id = try #require(session)
            #expect(answers.first == nextAnswer, "answers come in order, each once")
            try withBytes(of: frame) { span in
                var reader = ByteReader(offset: answers.items.lowerBound, end: answers.items.upperBound)
                for number in answers.first..<answers.first + UInt64(answers.count) {
                    let item = try ReplyItem(from: span, &reader)
                    guard let action = actions.removeValue(forKey: number) else {
                        Issue.record("number \(number) was answered before, or never given")
                        continue
                    }
                    if item.status == .void {
                        #expect(givenUp.contains(number))
                        voids += 1
                    } else {
                        // The macro costs more than the comparison, which is made a million times.
                        if copyBytes(of: span, item.reply) != ModelPrimary.reply(id, number, action) {
                            Issue.record("number \(number) has another's reply")
                        }
                    }
                    settled += 1
                }
                try reader.finish()
            }
            nextAnswer += UInt64(answers.count)
        }

        mutating func submit() {
            let count = 1 + Int(random.next(below: 20))
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            var directives: [ClientDirective] = []
            guard
                let first = client.submit(bytes.flatMap { [1, $0] }, count: count, now: now, into: &directives)
            else { return }
            for (index, byte) in bytes.enumerated() { actions[first + UInt64(index)] = byte }
            submitted += count
            if isHit(10) {
                let from = first + random.next(below: UInt64(count))
                client.giveUp(from...from + 3)
                for number in from...from + 3 where actions[number] != nil { givenUp.insert(number) }
            }
        }

        /// Breaks the connection as a socket does, which says nothing: it stays dead, or comes back as another one.
        mutating func breakConnection() {
            toClient = []
            if random.next(below: 2) == 0 { isCut = true } else { connection += 1 }
        }

        mutating func step() throws {
            now = now.advanced(byMilliseconds: 1)
            // Nothing happens before the client's next deadline.
            if isCut || (!isFaulty && toPrimary.isEmpty && toClient.isEmpty) { now = max(now, client.nextDeadline) }
            var directives: [ClientDirective] = []
            if isHit(200) { breakConnection() }
            if isHit(300) { primary.restart() }
            if isHit(600), let session {
                primary.sessions[session] = nil
                primary.expired.insert(session)
            }
            if isHit(60) { primary.isBusy.toggle() } else if !isFaulty { primary.isBusy = false }
            if isHit(5) { submit() }
            if now >= client.nextDeadline { client.ticked(now: now, into: &directives) }
            try run(directives, [])
            for flight in Self.due(&toPrimary, now) {
                for frame in primary.received(flight.frame, from: flight.connection) {
                    toClient += launch(frame, flight.connection)
                }
            }
            if !isFaulty || random.next(below: 3) == 0 {
                for (connection, frame) in primary.commit() { toClient += launch(frame, connection) }
            }
            // A closed socket delivers nothing.
            for flight in Self.due(&toClient, now) where flight.connection == connection {
                directives = []
                withBytes(of: flight.frame) { client.received($0, now: now, into: &directives) }
                client.checkInvariants()
                try run(directives, flight.frame)
            }
            directives = []
            client.turnEnded(now: now, into: &directives)
            client.checkInvariants()
            try run(directives, [])
        }

        static func due(_ flights: inout [Flight], _ now: Tick) -> [Flight] {
            let due = flights.filter { $0.at <= now }
            flights.removeAll { $0.at <= now }
            return due
        }
    }

    /// Every number is answered exactly once, in order and with its own reply, or lost with its session; and once the
    /// link is good, everything that was given is settled (PROTOCOL ).
    @Test(arguments: 0..<12)
    func everyNumberIsAnsweredOnceOrLost(group: Int) throws { try check(group) { _ in .off } }

    /// The same holds of a client that takes unusual ways and never leaves them (PROTOCOL ).
    @Test(arguments: 0..<6)
    func unusualWaysAnswerEveryNumberOnce(group: Int) throws { try check(group) { Buggify(seed: $0) } }

    private func check(_ group: Int, _ buggify: (UInt64) -> Buggify) throws {
        var (answered, lost, voids) = (0, 0, 0)
        for seed in UInt64(group * 10)..<UInt64(group * 10 + 10) {
            var world = World(seed: seed, buggify: buggify(seed))
            var directives: [ClientDirective] = []
            world.client.start(now: world.now, into: &directives)
            try world.run(directives, [])
            for _ in 0..<450 { try world.step() }
            world.isFaulty = false
            for _ in 0..<15_000 where !world.actions.isEmpty || !world.client.isBound { try world.step() }
            #expect(world.actions.isEmpty && world.client.isBound, "seed \(seed): \(world.client.phase)")
            #expect(world.settled == world.submitted, "seed \(seed)")
            answered += world.settled - world.lost
            lost += world.lost
            voids += world.voids
        }
        #expect(answered > 1_000 && lost > 0 && voids > 0, "the link did its worst, and something came through")
    }
}
