import LockstepCore
import LockstepNode
import Testing

/// Questions about numbers, and what is left of them when nobody waits.
@Suite struct AskDeskTests {
    private static let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
    private let soon = Tick(rawValue: 1_000)

    private func pending(_ numbers: ClosedRange<RequestNumber>) -> PendingOutcome {
        PendingOutcome(session: Self.session, numbers: numbers)
    }

    private func waiter(_ pending: PendingOutcome, deadline: Tick = .never) -> Waiter {
        Waiter(count: pending.numbers.count, deadline: deadline, asked: pending) { _ in }
    }

    /// Goal: who leaves takes the question back; a number that somebody else asks about is asked on (PROTOCOL, QUERY).
    @Test func whoLeavesTakesTheQuestionBack() {
        var desk = AskDesk()
        for (id, numbers) in [(1, 1...3), (2, 3...4)] as [(UInt64, ClosedRange<RequestNumber>)] {
            let isAdded = desk.add(id, pending(numbers), waiter(pending(numbers)))
            #expect(isAdded)
        }
        #expect(desk.takeOrphans().isEmpty)
        let isCancelled = desk.cancel(1)
        #expect(isCancelled)
        #expect(desk.takeOrphans().map(\.number) == [1, 2])
        #expect(desk.takeOrphans().isEmpty)
        _ = desk.cancel(2)
        #expect(desk.takeOrphans().map(\.number) == [3, 4])
    }

    /// Goal: a question whose time is over is taken back, and the desk knows when.
    @Test func aQuestionWhoseTimeIsOverIsTakenBack() {
        var desk = AskDesk()
        let late = waiter(pending(7...7), deadline: soon)
        _ = desk.add(1, pending(7...7), late)
        #expect(desk.nextDeadline == soon)
        // The callers' desk tells it first.
        late.fail(AskDesk.full)
        _ = desk.ticked(soon, refusal: nil)
        #expect(desk.takeOrphans().map(\.number) == [7])
        #expect(desk.nextDeadline == .never)
    }

    /// Goal: when one number's answer ends the whole question, the others are no longer asked about.
    @Test func anAnswerThatEndsAQuestionEndsAllOfIt() {
        var desk = AskDesk()
        _ = desk.add(1, pending(1...5), waiter(pending(1...5)))
        desk.queried(QueryResult(session: Self.session, number: 2, status: .pending))
        #expect(desk.takeOrphans().map(\.number) == [1, 2, 3, 4, 5])
        _ = desk.add(2, pending(8...9), waiter(pending(8...9)))
        desk.refuse(2)
        #expect(desk.takeOrphans().map(\.number) == [8, 9])
    }

    /// Goal: what nobody waits for any more is asked no more: the primary gets no further QUERY when its asker was
    /// cancelled (PROTOCOL, QUERY).
    @Test(.timeLimit(.minutes(5))) func aQuestionThatWasGivenUpIsNotRepeated() async throws {
        let primary = try FakePrimary()
        defer { primary.end() }
        let node = try Node(.client(of: primary.endpoint))
        let port = try node.attachRemote(name: "sum")
        let asked = pending(1...1)
        try await withRunning(node) {
            let asking = Task { try await port.resolve(asked, timeout: .seconds(600)) }
            // It is asked again and again.
            try await until { primary.count(.query) >= 2 }
            asking.cancel()
            await #expect(throws: CancellationError.self) { _ = try await asking.value }
            // HELLO comes every half second or second, as the questions did: what was under way has come with the next.
            let (hellos, first) = (primary.count(.hello), primary.count(.query))
            try await until { primary.count(.hello) >= hellos + 1 }
            let last = primary.count(.query)
            #expect(last <= first + 1)
            try await until { primary.count(.hello) >= hellos + 4 }
            #expect(primary.count(.query) == last)
        }
    }

    /// Goal: more numbers than a question may have are asked about in parts, one after the other, and the answers are
    /// in the order of the numbers (PROTOCOL, QUERY).
    @Test(.timeLimit(.minutes(5))) func manyNumbersAreAskedAboutInParts() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let port = try primary.attach(name: "sum") { SumState() }
        let count = 2 * AskDesk.numberBound + 1
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            // It acknowledges no answer, so that all of them are kept.
            let peer = try RawPeer(endpoint)
            let session = try Self.submit(count, from: peer)
            try await until {
                let read = try await port.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
                return try SumState.sum(read.answer) == UInt64(count)
            }
            let client = try Node(.client(of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                let asked = PendingOutcome(session: session, numbers: 1...UInt64(count))
                let replies = try await remote.resolve(asked, timeout: StorePort.patience)
                let sums = try replies.outcomes().map { try SumState.sum($0.reply) }
                #expect(sums == Array(1...UInt64(count)))
            }
            withExtendedLifetime(peer) {}
        }
    }

    /// Opens a session and submits so many actions, each of which adds 1.
    private static func submit(_ count: Int, from peer: RawPeer) throws -> SessionID {
        let hello = Hello(
            nonce: 1, role: .client, node: "raw", incarnation: .none, boot: BootID(rawValue: 1), store: "sum",
            known: .none)
        let greeting = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero).frame(.hello(hello))
        let open = Open(
            client: ClientKey(rawValue: 7), nonce: 7, timeToLive: 60_000_000, windowNumbers: 131_072,
            windowBytes: 4 << 20)
        var welcome: Welcome?
        while welcome == nil { if case .welcome(let new) = try peer.ask(greeting) { welcome = new } }
        let found = try #require(welcome)
        let stamp = FrameStamp(channel: found.channel, clusterHash: found.cluster.hash, epoch: .zero)
        let opening = stamp.frame(.open(open))
        var session: SessionID?
        while session == nil { if case .opened(let new) = try peer.ask(opening) { session = new.session } }
        let opened = try #require(session)
        let actions = SumState.actions(Array(repeating: 1, count: count))
        let submit = Submit(
            session: opened, first: 1, ackedThrough: 0, count: count, isVoid: false, actions: 0..<actions.count)
        try peer.send(withBytes(of: actions) { stamp.frame(.submit(submit), source: $0) })
        return opened
    }

    /// Goal: one who asks about many numbers in vain can ask about all of them again.
    @Test(.timeLimit(.minutes(5))) func whoAsksAboutManyInVainIsToldOfAll() async throws {
        let node = try Node(.client(of: "tcp://127.0.0.1:9"))
        let port = try node.attachRemote(name: "sum")
        let asked = pending(1...UInt64(AskDesk.numberBound) + 1)
        try await withRunning(node) {
            await #expect {
                _ = try await port.resolve(asked, timeout: .milliseconds(50))
            } throws: {
                guard let error = $0 as? LockstepError else { return false }
                return error.code == .timeout && error.pending == asked
            }
        }
    }

    /// Goal: reads that want more than the log that is there are found, once, to be asked anew (PROTOCOL, R-43).
    @Test func readsThatWantTooMuchAreFoundOnce() {
        var desk = AskDesk()
        for (id, minimum) in [(3, 100), (1, 50), (2, 5), (4, 0)] as [(UInt64, UInt64)] {
            desk.add(id, query: [UInt8(id)], minimum: SequenceNumber(rawValue: minimum), deadline: .never) { _ in }
        }
        let found = desk.lower(to: SequenceNumber(rawValue: 5))
        #expect(found.map(\.id) == [1, 3])
        #expect(found.map(\.query) == [[1], [3]])
        let again = desk.lower(to: SequenceNumber(rawValue: 5))
        #expect(again.isEmpty)
    }

    /// Goal: one who asks in vain is told that the outcome stays open, and not that the action had no effect.
    @Test(.timeLimit(.minutes(5))) func whoAsksInVainIsNotToldThatNothingHappened() async throws {
        let node = try Node(.client(of: "tcp://127.0.0.1:9"))
        let port = try node.attachRemote(name: "sum")
        try await withRunning(node) {
            await #expect {
                _ = try await port.resolve(pending(1...1), timeout: .milliseconds(50))
            } throws: {
                guard let error = $0 as? LockstepError else { return false }
                return error.code == .timeout && error.message.contains("stays open") && error.pending != nil
                    && !error.message.contains("without effect")
            }
        }
    }
}
