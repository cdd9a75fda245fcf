import LockstepCore
import LockstepSimulator
import Testing

/// Requests that are always answered, apart from a run (PROTOCOL, section 4).
@Suite struct DebtsTests {
    private static let second: Int64 = 1_000_000_000
    private static let (one, other) = (Connection(rawValue: 1), Connection(rawValue: 2))
    private static let position = Position(epoch: .zero, sequence: .zero, hash: .none)
    private static let session = SessionID(epoch: Epoch(rawValue: 7), sequence: SequenceNumber(rawValue: 3))

    private static let requests: [MessageKind: Message] = [
        .hello: .hello(
            Hello(
                nonce: 5, role: .client, node: "c", incarnation: .none, boot: BootID(rawValue: 1), store: "s",
                known: .none)),
        .read: .read(Read(id: 5, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0)),
        .query: .query(Query(session: session, number: 5)),
        .sync: .sync(
            Sync(
                nonce: 5, store: StoreID(rawValue: 1), node: "r", have: .none, firstFrame: .zero, wantsSnapshot: false)),
        .chunkRequest: .chunkRequest(ChunkRequest(snapshot: 5, index: 0, window: 1)),
        .repairRequest: .repairRequest(
            RepairRequest(nonce: 5, after: position, through: .zero, largestReply: 1_000)),
    ]

    private static func refused(_ nonce: UInt64) -> Message {
        .refused(Refused(nonce: nonce, reason: .unavailable, text: ""))
    }

    private static func taken(_ kind: MessageKind) throws -> Debts {
        var debts = Debts()
        debts.taken(try #require(requests[kind]), from: one, by: 0, at: second)
        return debts
    }

    private static func isOverdue(_ debts: Debts, at now: Int64, healthySince: Int64 = 0) -> Bool {
        debts.overdue(now: now, healthySince: { _ in healthySince }) != nil
    }

    /// Each kind is found past its bound and not at it, counted from its arrival or from the node's health.
    @Test(arguments: [MessageKind.hello, .read, .query, .sync, .chunkRequest, .repairRequest])
    func aRequestWithoutAnAnswerIsFound(kind: MessageKind) throws {
        let debts = try Self.taken(kind)
        let end = Self.second + Debts.bound(kind)
        #expect(!Self.isOverdue(debts, at: end))
        #expect(Self.isOverdue(debts, at: end + 1))
        #expect(debts.overdue(now: end + 1, healthySince: { _ in 0 })?.kind == kind)
        #expect(!Self.isOverdue(debts, at: end + 1, healthySince: 2 * Self.second))
        #expect(Self.isOverdue(debts, at: end + Self.second + 1, healthySince: 2 * Self.second))
    }

    /// An answer counts if it repeats what the request named, on its connection, from its node; RESYNC answers all.
    @Test(arguments: [MessageKind.hello, .read, .sync, .repairRequest])
    func anAnswerMustBeTheRequests(kind: MessageKind) throws {
        let late = 100 * Self.second
        for (answer, connection, process, isOwed) in [
            (Self.refused(5), Self.one, 0, false), (Self.refused(6), Self.one, 0, true),
            (Self.refused(5), Self.other, 0, true), (Self.refused(5), Self.one, 1, true),
            (.resync, Self.one, 0, false), (.resync, Self.other, 0, true),
        ] as [(Message, Connection, Int, Bool)] {
            var debts = try Self.taken(kind)
            debts.answered(answer, to: connection, by: process)
            #expect(Self.isOverdue(debts, at: late) == isOwed)
        }
    }

    /// A node that welcomes a connection and then does not know it answers by RESYNC a few times only, unless it has
    /// unusual ways; another answer in between is a new beginning, and so is another connection.
    @Test func welcomeAndResyncAgainAndAgainAreNoAnswer() throws {
        let read = try #require(Self.requests[.read])
        let welcome = Message.welcome(
            Welcome(
                nonce: 5, cluster: ClusterID(rawValue: 1), role: .replica, isVolatile: false, node: "r",
                incarnation: .none, boot: BootID(rawValue: 1), channel: Channel(rawValue: 0),
                store: StoreID(rawValue: 1), commit: Self.position, publishEndpoint: "", bulkEndpoint: "",
                primaryEndpoint: "", creditActions: 1, creditBytes: 1, largestAction: 1))
        func isOwed(
            rounds: Int, isUsual: Bool = true, isWelcomed: Bool = true, between: Message? = nil,
            other: Connection = Self.one
        ) -> Bool {
            var debts = Debts()
            for round in 0..<rounds {
                let connection = round == 0 ? other : Self.one
                if isWelcomed { debts.answered(welcome, to: connection, by: 0, isUsual: isUsual) }
                debts.taken(read, from: connection, by: 0, at: 0)
                if let between, round == 1 { debts.answered(between, to: connection, by: 0, isUsual: isUsual) }
                debts.answered(.resync, to: connection, by: 0, isUsual: isUsual)
            }
            return Self.isOverdue(debts, at: 100 * Self.second)
        }
        let answer = ReadResult(
            id: 6, status: .answered, epoch: Epoch(rawValue: 1), sequence: .zero, time: .zero, answer: 0..<0)
        let most = Debts.mostRounds
        #expect(!isOwed(rounds: most))
        #expect(isOwed(rounds: most + 1))
        #expect(!isOwed(rounds: 10 * most, isUsual: false))
        // What was under way on a new connection gets a RESYNC for each frame.
        #expect(!isOwed(rounds: 10 * most, isWelcomed: false))
        #expect(isOwed(rounds: most + 1, between: Self.refused(6)))
        #expect(!isOwed(rounds: most + 1, between: .readResult(answer)))
        #expect(!isOwed(rounds: most + 1, other: Self.other))
    }

    /// A QUERY is answered by QUERY_RESULT, by RESULT of its number, or by a REFUSED, which has no number then.
    @Test func aQueryHasThreeAnswers() throws {
        func run(_ first: RequestNumber, count: Int) -> Message {
            .result(
                ResultSeries(
                    session: Self.session, first: first, count: count, epoch: Epoch(rawValue: 7), firstSequence: .zero,
                    items: 0..<0))
        }
        for (answer, isOwed) in [
            (run(5, count: 1), false), (run(3, count: 3), false), (run(3, count: 2), true), (run(6, count: 2), true),
            (Self.refused(0), false), (Self.refused(9), true),
        ] {
            var debts = try Self.taken(.query)
            debts.answered(answer, to: Self.one, by: 0)
            #expect(Self.isOverdue(debts, at: 100 * Self.second) == isOwed)
        }
    }

    /// What comes again while it is owed counts from the first; once it is answered it is a new request.
    @Test func aRepetitionCountsFromTheFirst() throws {
        let hello = try #require(Self.requests[.hello])
        var debts = try Self.taken(.hello)
        debts.taken(hello, from: Self.one, by: 0, at: 2 * Self.second)
        #expect(Self.isOverdue(debts, at: 2 * Self.second + 1))
        debts.answered(Self.refused(5), to: Self.one, by: 0)
        #expect(debts.isEmpty)
        debts.taken(hello, from: Self.one, by: 0, at: 3 * Self.second)
        #expect(!Self.isOverdue(debts, at: 4 * Self.second))
    }

    /// A node that was killed no longer owes anything, the others do; and what need not be answered is not owed.
    @Test func aNodeThatEndedOwesNothing() throws {
        var debts = try Self.taken(.sync)
        debts.taken(try #require(Self.requests[.sync]), from: Self.one, by: 1, at: 0)
        debts.ended(1)
        #expect(debts.hasAny(of: 0, to: Self.one) && !debts.hasAny(of: 1, to: Self.one))
        debts.ended(0)
        debts.taken(.resync, from: Self.one, by: 0, at: 0)
        #expect(debts.isEmpty)
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        #expect(Debts.isOwed(stamp.frame(try #require(Self.requests[.sync]))))
        #expect(!Debts.isOwed(stamp.frame(.resync)) && !Debts.isOwed([1, 2]))
    }
}
