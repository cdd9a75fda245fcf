import LockstepCore
import Testing

/// How a session's window bounds what one SUBMIT may bring, and what a session may say that it has.
@Suite struct PrimaryWindowTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    /// Goal: of a SUBMIT the primary takes what fits the window, and names where to go on (PROTOCOL R-24).
    @Test func ofASubmitTheWindowTakesWhatFits() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, windowNumbers: 4)
        primary.submit(session, 1, [1, 2, 3, 4, 5, 6, 7, 8], from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1, 2, 3, 4])
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.windowFull])
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [5])
        primary.forget()
        // Nothing of these is acknowledged yet.
        primary.submit(session, 5, [5, 6, 7, 8], from: one)
        primary.commit()
        #expect(primary.answers.isEmpty)
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [5])
        primary.forget()
        primary.submit(session, 5, [5, 6, 7, 8], acked: 2, from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [5, 6])
        #expect(primary.answers.map(\.reply) == [[15], [21]])
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [7])
        #expect(primary.state.sum == 21)
    }

    /// Goal: numbers that were given up keep to the window too (PROTOCOL ).
    @Test func voidNumbersKeepToTheWindow() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, windowNumbers: 3)
        primary.submit(session, 1, [0, 0, 0, 0, 0], isVoid: true, from: one)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.void, .void, .void])
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [4])
    }

    /// Goal: replies of one SUBMIT fill the window's bytes and leave them by one reply at most, over several batches
    /// (PROTOCOL R-24).
    @Test func theRepliesOfOneSubmitKeepToTheWindowsBytes() throws {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let window = Int(try #require(primary.machine.log.sessions.standing(of: session)).windowBytes)
        // Each is rejected with a reason of four bytes: more than the window holds, in three batches.
        primary.submit(session, 1, [UInt8](repeating: 0, count: Limits.submitActions), from: one)
        primary.commit()
        let kept = try #require(primary.machine.log.sessions.standing(of: session)).keptBytes
        #expect(kept > window - 256 && kept <= window + 128)
        let taken = try #require(primary.answers.last).number
        #expect(taken > 10_000 && taken < Limits.submitActions)
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [taken + 1])
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.windowFull])
        // What the next frame acknowledges makes room for itself.
        primary.forget()
        primary.submit(session, taken + 1, [7], acked: taken, from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [taken + 1])
        var log = LogState(store: PrimaryHarness.store)
        let state = CountingState()
        for batch in primary.durable { _ = try log.apply(batch, to: state) }
        #expect(log == primary.machine.log)
    }

    /// Goal: a SUBMIT or KEEPALIVE that acknowledges what was never answered, sequenced or not, is refused in words
    /// that name the number, and changes nothing (PROTOCOL R-18).
    @Test func anAcknowledgementOfWhatWasNeverAnsweredIsRefused() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        primary.submit(session, 2, [2], acked: 1, from: one)
        primary.turn()
        primary.forget()
        // 2 is at the journal, and so it has no answer.
        primary.submit(session, 3, [3], acked: 2, from: one)
        primary.receive(.keepAlive(KeepAlive(session: session, ackedThrough: 2, applied: .zero)), from: one)
        primary.receive(.keepAlive(KeepAlive(session: session, ackedThrough: .max, applied: .zero)), from: one)
        let refused = primary.sent.compactMap(\.refused)
        #expect(refused.map(\.reason) == [.protocolViolation, .protocolViolation, .protocolViolation])
        #expect(refused.allSatisfy { $0.nonce == one.rawValue })
        #expect(refused.first?.text.contains("acknowledges 2, and 1 is the last number that was answered") == true)
        primary.persist()
        primary.commit()
        #expect(primary.answers.map(\.number) == [2])
        #expect(primary.state.sum == 3)
        primary.forget()
        primary.submit(session, 3, [3], acked: 2, from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [3])
    }

    /// Goal: RESUME with such a number is answered by RESUMED, which says what the log has (PROTOCOL ).
    @Test func aResumeThatAcknowledgesTooMuchLearnsWhatTheLogHas() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.hello(two)
        primary.forget()
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 9, ackedThrough: 7)), from: two)
        #expect(primary.sent.compactMap(\.resumed).map(\.expected) == [1])
        #expect(primary.sent.compactMap(\.refused).isEmpty)
    }

    /// Goal: a client whose session the primary contradicts loses it with a word, and goes on with a new one
    /// (PROTOCOL R-18).
    @Test func aClientThatIsContradictedLosesItsSession() throws {
        var script = ClientScript()
        let nonce = try #require(script.helloNonce)
        try script.open()
        script.submit(3)
        script.receive(.refused(Refused(nonce: nonce, reason: .protocolViolation, text: "no", endpoint: "")))
        #expect(script.lost == [1...3])
        #expect(script.openNonce != nil)
    }
}
