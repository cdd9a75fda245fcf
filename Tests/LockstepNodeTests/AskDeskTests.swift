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

    /// Goal: one who asks in vain is told that the outcome stays open, and not that the action had no effect.
    @Test(.timeLimit(.minutes(5))) func whoAsksInVainIsNotToldThatNothingHappened() async throws {
        let node = try Node(.client(of: "tcp://127.0.0.1:22499"))
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
