import LockstepCore
import Testing

@Suite("Submission and answers")
struct ClientSubmissionTests {
    static func opened() throws -> ClientScript {
        var script = ClientScript()
        try script.open()
        return script
    }

    /// Numbers are contiguous from 1; chunks of one turn share a frame (PROTOCOL R-21).
    @Test func chunksOfOneTurnShareAFrame() throws {
        var script = try Self.opened()
        script.event { client, now, directives in
            #expect(client.submit([1, 7, 1, 8], count: 2, now: now, into: &directives) == 1)
            #expect(client.submit([0], count: 1, now: now, into: &directives) == 3)
        }
        #expect(script.submits == [[1, 3, 0, 0]])
    }

    /// A few small chunks wait while four frames are unanswered, and go with the next answer.
    @Test func smallChunksWaitForFourFrames() throws {
        var script = try Self.opened()
        for number in 1...4 as ClosedRange<UInt64> {
            script.submit(1)
            #expect(script.submits == [[number, 1, 0, 0]])
        }
        script.submit(1)
        script.submit(2)
        #expect(script.submits.isEmpty)
        script.answer(1...1)
        #expect(script.submits == [[5, 3, 0, 1]])
    }

    @Test func manyBytesAreNotHeld() throws {
        var script = try Self.opened()
        for _ in 1...4 { script.submit(1) }
        script.event { client, now, directives in
            let action = [0x80, 0x40] + [UInt8](repeating: 7, count: 8_192)
            #expect(client.submit(action + action, count: 2, now: now, into: &directives) == 5)
        }
        #expect(script.submits == [[5, 2, 0, 0]])
    }

    /// The credit of WELCOME bounds what is unanswered (PROTOCOL R-25).
    @Test func beyondTheCreditNothingIsTaken() throws {
        var script = try Self.opened()
        #expect(script.submit(999) == 1)
        #expect(script.submit(2) == nil)
        #expect(script.submit(1) == 1_000)
        script.answer(1...10)
        #expect(script.submit(2) == 1_001)
    }

    /// Answers overlap what is answered already: only the new part counts, at its place in the frame (PROTOCOL R-22).
    @Test func overlappingAnswersCountOnce() throws {
        var script = try Self.opened()
        script.submit(10)
        script.answer(1...4)
        #expect(script.answers.map(\.count) == [4])
        script.answer(2...7, sequence: 101)
        let part = try #require(script.answers.first)
        #expect(part.first == 5 && part.count == 3 && part.firstSequence.rawValue == 104 && part.items.count == 6)
        script.answer(1...7)
        #expect(script.answers.isEmpty)
        #expect(script.client.known.position.sequence.rawValue == 106)
    }

    /// A hole in the answers sends the client back to the first unanswered number, once (PROTOCOL R-21).
    @Test func aHoleInTheAnswersGoesBackOnce() throws {
        var script = try Self.opened()
        script.submit(5)
        script.submit(5)
        script.answer(1...2)
        script.answer(6...10)
        #expect(script.answers.isEmpty)
        #expect(script.submits == [[3, 8, 0, 2]])
        script.answer(7...10)
        #expect(script.submits.isEmpty)
        script.answer(3...10)
        #expect(script.answers.map(\.count) == [8])
    }

    /// Numbers that nobody gave, and items that do not fill the frame, are refused.
    @Test func nonsenseIsNotAnswered() throws {
        var script = try Self.opened()
        script.submit(3)
        script.answer(1...4)
        #expect(script.answers.isEmpty)
        let run = ResultSeries(
            session: ClientScript.session, first: 1, count: 2, epoch: Epoch(rawValue: 5),
            firstSequence: SequenceNumber(rawValue: .max), items: 0..<4)
        script.receive(.result(run), source: [4, 1, 4, 2])
        #expect(script.answers.isEmpty)
        var short = run
        short.firstSequence = SequenceNumber(rawValue: 100)
        short.count = 1
        script.receive(.result(short), source: [4, 1, 4, 2])
        #expect(script.answers.isEmpty)
        script.receive(.outOfOrder(ClientScript.session, expected: .max))
        script.receive(.outOfOrder(ClientScript.session, expected: 0))
        script.receive(
            .busy(Busy(session: ClientScript.session, expected: .max, retryAfter: .max, reason: .overloaded)))
        #expect(script.submits.isEmpty && !script.client.isBusy)
    }

    /// OUT_OF_ORDER goes back to the number expected, not further (PROTOCOL R-21).
    @Test func outOfOrderGoesBackToTheExpectedNumber() throws {
        var script = try Self.opened()
        for _ in 1...3 { script.submit(2) }
        script.receive(.outOfOrder(ClientScript.session, expected: 3))
        #expect(script.submits == [[3, 4, 0, 0]])
    }

    /// BUSY consumes nothing: after the wait everything from the expected number goes again (PROTOCOL R-26).
    @Test func busyIsTriedAgainAfterItsWait() throws {
        var script = try Self.opened()
        script.submit(2)
        script.submit(2)
        script.receive(
            .busy(Busy(session: ClientScript.session, expected: 1, retryAfter: 20_000, reason: .diskFull)))
        script.receive(.outOfOrder(ClientScript.session, expected: 1))
        #expect(script.client.isBusy && script.submits.isEmpty)
        script.wait(19)
        #expect(script.submits.isEmpty)
        script.wait(1)
        #expect(script.submits == [[1, 4, 0, 0]] && !script.client.isBusy)
    }

    /// What is not answered for 1.5 s is sent again, if the connection lives.
    @Test func unansweredActionsAreSentAgain() throws {
        var script = try Self.opened()
        script.submit(2)
        script.wait(1_000)
        try script.welcome()
        script.wait(499)
        #expect(script.submits.isEmpty)
        script.wait(1)
        #expect(script.submits == [[1, 2, 0, 0]])
    }

    /// A number that was given up goes as void when it has to be sent again, and only then (PROTOCOL R-28).
    @Test func aNumberGivenUpGoesAsVoid() throws {
        var script = try Self.opened()
        script.submit(10)
        script.event { client, _, _ in client.giveUp(4...5) }
        #expect(script.submits.isEmpty)
        script.receive(.outOfOrder(ClientScript.session, expected: 1))
        #expect(script.submits == [[1, 3, 0, 0], [4, 2, 1, 0], [6, 5, 0, 0]])
        script.answer(1...4)
        script.receive(.outOfOrder(ClientScript.session, expected: 5))
        #expect(script.submits == [[5, 1, 1, 4], [6, 5, 0, 4]])
    }

    /// Answers are acknowledged by the next SUBMIT, or by KEEPALIVE half a second later (PROTOCOL R-23).
    @Test func answersAreAcknowledged() throws {
        var script = try Self.opened()
        script.submit(2)
        script.answer(1...2)
        script.wait(499)
        #expect(script.sent.isEmpty)
        script.wait(1)
        #expect(
            script.sent == [
                .keepAlive(KeepAlive(session: ClientScript.session, ackedThrough: 2, applied: .zero))
            ])
    }

    /// An idle session says that it lives at a third of its time to live (PROTOCOL R-27).
    @Test func anIdleSessionSaysThatItLives() throws {
        var script = ClientScript(timeToLive: 1_200_000)
        try script.open()
        script.wait(400)
        #expect(
            script.sent == [
                .keepAlive(KeepAlive(session: ClientScript.session, ackedThrough: 0, applied: .zero))
            ])
    }
}
