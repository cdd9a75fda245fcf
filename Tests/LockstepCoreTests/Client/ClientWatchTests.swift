import LockstepCore
import Testing

/// Queries that a client watches (PROTOCOL ).
@Suite struct ClientWatchTests {
    private func watching(_ script: inout ClientScript, _ number: UInt64 = 1, query: [UInt8] = [7]) -> Bool {
        var isTaken = false
        script.event { client, now, directives in
            isTaken = client.watch(number, query: query, interval: 100_000, now: now, into: &directives)
        }
        return isTaken
    }

    private func answer(
        _ script: inout ClientScript, _ text: String, number: UInt64 = 1, sequence: UInt64 = 10,
        status: ReadStatus = .answered
    ) {
        let bytes = Array(text.utf8)
        let result = ReadResult(
            id: number, status: status, epoch: Epoch(rawValue: 5), sequence: SequenceNumber(rawValue: sequence),
            time: .zero, answer: 0..<bytes.count)
        script.receive(.watchResult(result), source: bytes)
    }

    private func watches(_ directives: [ClientDirective]) -> [WatchRequest] {
        directives.compactMap { directive in
            guard case .send(let frame) = directive,
                case .watch(let request)? = withBytes(of: frame, { try? Message.decode($0, rule: .any).message })
            else { return nil }
            return request
        }
    }

    private func told(_ directives: [ClientDirective]) -> [SequenceNumber] {
        directives.compactMap { if case .watchAnswered(let result) = $0 { result.sequence } else { nil } }
    }

    /// Goal: a watch is said at once, soon again, and then every 4 to 5.5 s, with what the client has.
    @Test func aWatchIsRepeatedWithWhatTheClientHas() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script))
        #expect(watches(script.directives).map(\.has) == [0])
        answer(&script, "5")
        #expect(told(script.directives).count == 1)
        let five = withBytes(of: [0x35]) { ReadResult.fingerprint(.answered, $0, 0..<1) }
        let repeated = listen(&script, 30_000)
        #expect(repeated.allSatisfy { $0.has == five && $0.interval == 100_000 })
        #expect((8...11).contains(repeated.count), "\(repeated.count) in 30 s")
    }

    /// Lets time pass on a connection that lives.
    private func listen(_ script: inout ClientScript, _ milliseconds: Int64) -> [WatchRequest] {
        var all: [WatchRequest] = []
        for _ in 0..<milliseconds / 500 {
            all += watches(script.wait(500))
            script.receive(.welcome(script.primary.welcome(nonce: script.client.welcome?.nonce ?? 0)))
            all += watches(script.directives)
        }
        return all
    }

    /// Goal: what the client has already, and what is older on the same node, is not told to its driver.
    @Test func whatIsKnownOrOlderIsNotTold() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script))
        answer(&script, "5", sequence: 10)
        answer(&script, "5", sequence: 11)
        #expect(told(script.directives).isEmpty)
        answer(&script, "4", sequence: 9)
        #expect(told(script.directives).isEmpty)
        answer(&script, "this node has stopped", sequence: 0, status: .unavailable)
        #expect(told(script.directives).count == 1)
        answer(&script, "5", sequence: 11)
        #expect(told(script.directives).count == 1)
    }

    /// Goal: a node whose log is gone may begin anew at a lower epoch, as the clock of a volatile primary says; its WELCOME
    /// shows that, and its places count again (PROTOCOL ).
    @Test func aLogThatBeganAnewIsTold() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script))
        answer(&script, "5", sequence: 10)
        answer(&script, "0", sequence: 2)
        #expect(told(script.directives).isEmpty)
        for (epoch, isTold) in [(5, false), (4, true)] as [(UInt64, Bool)] {
            var welcome = script.primary.welcome(nonce: script.client.welcome?.nonce ?? 0)
            welcome.commit.epoch = Epoch(rawValue: epoch)
            script.receive(.welcome(welcome))
            answer(&script, "0", sequence: 2)
            #expect(told(script.directives).isEmpty == !isTold)
        }
    }

    /// Goal: a node that the client comes to is told of all watches at once, in order; places may begin anew there.
    @Test func anotherNodeIsToldOfAllWatches() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script, 1) && watching(&script, 2))
        answer(&script, "5", number: 1, sequence: 10)
        // Silence makes a new connection.
        script.wait(2_600)
        script.primary.boot = BootID(rawValue: 99)
        try script.welcome()
        #expect(watches(script.directives).map(\.id.number) == [1, 2])
        answer(&script, "3", number: 1, sequence: 2)
        #expect(told(script.directives) == [SequenceNumber(rawValue: 2)])
        // The WELCOME of a sign of life is no new connection.
        script.receive(.welcome(script.primary.welcome(nonce: script.client.welcome?.nonce ?? 0)))
        #expect(watches(script.directives).isEmpty)
    }

    /// Goal: a watch that has ended is said to have; and again when the node still answers it.
    @Test func aWatchThatEndsIsTakenBack() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script))
        script.event { client, _, directives in client.unwatch(1, into: &directives) }
        let id = WatchID(client: ClientKey(rawValue: 7), number: 1)
        #expect(script.sent == [.unwatch(id)])
        answer(&script, "5")
        #expect(script.sent == [.unwatch(id)] && told(script.directives).isEmpty)
        #expect(listen(&script, 10_000).isEmpty)
    }

    /// Goal: of many answers the node hears in time that they come, since it sends so many and then waits (PROTOCOL R-58).
    @Test func aClientThatHearsMuchSaysSo() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        #expect(watching(&script))
        var said: [Int] = []
        for round in 1...5 {
            answer(&script, String(repeating: "x", count: (1 << 20) - round), sequence: UInt64(round))
            said.append(watches(script.directives).count)
        }
        answer(&script, "y", sequence: 6)
        #expect(said == [0, 0, 1, 0, 0])
    }

    /// Goal: a client watches so many queries and no more.
    @Test func watchesAreBounded() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        for number in 1...UInt64(Limits.watchesOfConnection) { #expect(watching(&script, number)) }
        #expect(!watching(&script, 2_000))
        script.event { client, _, directives in client.unwatch(1, into: &directives) }
        #expect(watching(&script, 2_000))
    }
}
