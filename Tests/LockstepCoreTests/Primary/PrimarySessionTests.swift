import LockstepCore
import Testing

/// How sessions are opened, moved, closed and ended.
@Suite struct PrimarySessionTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    /// Goal: OPENED waits for the commit, and a repeated OPEN gets the same session (PROTOCOL ).
    @Test func aRepeatedOpenGetsTheSameSessionAfterItsCommit() {
        let primary = PrimaryHarness.open()
        primary.hello(one)
        primary.forget()
        primary.receive(PrimaryHarness.openMessage(), from: one)
        primary.receive(PrimaryHarness.openMessage(), from: one)
        primary.turn()
        #expect(primary.sent.isEmpty)
        primary.persist()
        primary.receive(PrimaryHarness.openMessage(), from: one)
        let opened = primary.sent.compactMap(\.opened)
        #expect(opened.count == 3)
        #expect(Set(opened.map(\.session)).count == 1)
        #expect(opened.first?.session.sequence == SequenceNumber(rawValue: 2))
        #expect(primary.machine.log.sessions.count == 1)
        primary.receive(PrimaryHarness.openMessage(nonce: 2), from: one)
        primary.commit()
        #expect(primary.machine.log.sessions.count == 2)
    }

    /// Goal: nobody learns of a session before its OPEN is committed, not even by guessing (PROTOCOL R-16).
    @Test func anUncommittedSessionIsNotSpokenOf() {
        let primary = PrimaryHarness.open()
        primary.hello(one)
        primary.hello(two)
        primary.receive(PrimaryHarness.openMessage(), from: one)
        primary.forget()
        let guessed = SessionID(epoch: primary.machine.epoch, sequence: SequenceNumber(rawValue: 2))
        primary.turn()
        primary.submit(guessed, 5, [1], from: one)
        primary.receive(.query(Query(session: guessed, number: 1)), from: two)
        primary.receive(.close(guessed), from: one)
        primary.receive(
            .resume(Resume(session: guessed, openNonce: 1, connectionNonce: 1, ackedThrough: 0)), from: two)
        #expect(primary.sent.isEmpty)
        #expect(primary.counts[.framesRefused] == 4)
    }

    /// Goal: what an OPEN asks for is cut to what is granted; all windows together have an end, which refuses nobody
    /// (PROTOCOL R-24).
    @Test func windowsAreCutAndTheirSumIsBounded() {
        let primary = PrimaryHarness.open()
        primary.checksFrames = false
        for nonce in 1...Limits.sessions * 3 / 4 {
            let connection = Connection(rawValue: UInt64(nonce / 1_000) + 1)
            if nonce == 1 || nonce % 1_000 == 0 { primary.hello(connection) }
            let open = Open(
                client: ClientKey(rawValue: 9), nonce: UInt64(nonce), timeToLive: .max, windowNumbers: .max,
                windowBytes: .max)
            primary.receive(.open(open), from: connection)
        }
        primary.commit()
        let opened = primary.sent.compactMap(\.opened)
        #expect(opened.count == Limits.sessions * 3 / 4)
        #expect(opened.prefix(50).allSatisfy { $0.windowBytes == Limits.windowBytes })
        #expect(opened.allSatisfy { $0.windowBytes >= Limits.smallestWindowBytes })
        #expect(opened.last?.windowBytes == Limits.smallestWindowBytes)
        let above = opened.reduce(0) { $0 + Int($1.windowBytes - Limits.smallestWindowBytes) }
        #expect(above <= Limits.windowBudgetBytes && above > Limits.windowBudgetBytes - (1 << 20))
        #expect(opened.allSatisfy { $0.windowNumbers == Limits.windowNumbers })
        let (first, rest) = (opened.prefix(Limits.sessions / 2), opened.dropFirst(Limits.sessions / 2))
        #expect(first.allSatisfy { $0.timeToLive == 7 * 86_400 * 1_000_000 })
        #expect(rest.allSatisfy { $0.timeToLive == 60_000_000 })
        #expect(primary.sent.compactMap(\.refused).isEmpty)
    }

    /// Goal: kept and later answers go to the connection of the newest RESUME; the one before is told (PROTOCOL R-29).
    @Test func resumeMovesKeptAndWaitingAnswersToTheNewConnection() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1, 2], from: one)
        primary.commit()
        primary.submit(session, 3, [3], from: one)
        primary.turn()
        primary.forget()
        primary.hello(two)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 77, ackedThrough: 1)), from: two)
        #expect(primary.kinds == [.welcome, .sessionMoved, .resumed, .result])
        #expect(primary.sent[1].connection == one)
        #expect(primary.sent.compactMap(\.resumed).map(\.connectionNonce) == [77])
        #expect(primary.sent.compactMap(\.resumed).map(\.expected) == [4])
        #expect(primary.answers.map(\.number) == [2])
        primary.forget()
        primary.persist()
        #expect(primary.answers.map(\.number) == [3])
        #expect(primary.sent.allSatisfy { $0.connection == two })
    }

    /// Goal: RESUME needs the session's open nonce, and may name any number without harm (PROTOCOL ).
    @Test(arguments: [0, 1, 2, 1_000, UInt64.max])
    func resumeWithAnyAcknowledgementIsAnswered(acked: UInt64) {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        primary.forget()
        let wrong = Resume(session: session, openNonce: 2, connectionNonce: 3, ackedThrough: acked)
        primary.receive(.resume(wrong), from: one)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.protocolViolation])
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 3, ackedThrough: acked)), from: one)
        #expect(primary.sent.compactMap(\.resumed).map(\.expected) == [2])
        #expect(primary.answers.map(\.number) == (acked == 0 ? [1] : []))
    }

    /// Goal: CLOSE is answered after its commit, again when repeated, and frees the window (PROTOCOL ).
    @Test func closeIsAnsweredAfterItsCommit() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.receive(.close(session), from: one)
        primary.receive(.close(session), from: one)
        primary.turn()
        #expect(primary.sent.isEmpty)
        primary.persist()
        #expect(primary.kinds == [.closed, .closed])
        #expect(primary.machine.log.sessions.count == 0)
        #expect(primary.machine.log.sessions.windowBytes == 0)
        primary.submit(session, 1, [1], from: one)
        #expect(primary.kinds == [.closed, .closed, .sessionExpired])
    }

    /// Goal: only silence ends a session, by an entry; SUBMIT and KEEPALIVE are not silence (PROTOCOL R-27; I13).
    @Test func aSilentSessionExpiresByAnEntry() {
        let primary = PrimaryHarness.open()
        let silent = primary.session(one, client: 1, timeToLive: 5_000_000)
        let alive = primary.session(two, client: 2, timeToLive: 5_000_000)
        for _ in 0..<10 {
            primary.pass(milliseconds: 900)
            primary.receive(
                .keepAlive(KeepAlive(session: alive, ackedThrough: 0, applied: .zero)), from: two)
            primary.turn()
            if primary.machine.isPersisting { primary.persist() }
        }
        #expect(primary.machine.log.sessions.standing(of: silent) == nil)
        #expect(primary.machine.log.sessions.standing(of: alive) != nil)
        #expect(primary.counts[.sessionsExpired] == 1)
    }

    /// Goal: a SUBMIT that meets an uncommitted end learns of it after the commit, also when the log never rests
    /// (PROTOCOL ).
    @Test func aSubmitThatMeetsAnEndLearnsOfItAfterTheCommit() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, client: 1, timeToLive: 2_000_000)
        let busy = primary.session(two, client: 2)
        primary.pass(milliseconds: 4_000)
        primary.forget()
        primary.hello(one)
        primary.submit(session, 1, [1], from: one)
        primary.receive(.query(Query(session: session, number: 1)), from: one)
        primary.turn()
        #expect(primary.kinds == [.welcome])
        // There is always something sequenced that is not committed.
        primary.submit(busy, 1, [1], from: two)
        primary.persist()
        #expect(primary.kinds == [.welcome, .sessionExpired, .queryResult])
        #expect(primary.sent.compactMap(\.queryStatus) == [.sessionEnded])
        #expect(primary.state.sum == 1)
    }

    /// Goal: a pause of the whole process ends no session, since nobody could be heard in it (PROTOCOL R-27).
    @Test func aPauseOfTheProcessIsNobodysSilence() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, timeToLive: 5_000_000)
        primary.advance(milliseconds: 120_000)
        primary.tick()
        primary.turn()
        #expect(primary.machine.log.sessions.standing(of: session) != nil)
        primary.pass(milliseconds: 7_000)
        #expect(primary.machine.log.sessions.standing(of: session) == nil)
    }

    /// Goal: what is heard after a pause begins a session's time, and the pause is not added to it (PROTOCOL R-27).
    @Test func whoIsHeardAfterAPauseIsNotExcusedForIt() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, timeToLive: 5_000_000)
        primary.advance(milliseconds: 25_000)
        primary.receive(.keepAlive(KeepAlive(session: session, ackedThrough: 0, applied: .zero)), from: one)
        primary.tick()
        primary.turn()
        #expect(primary.machine.log.sessions.standing(of: session) != nil)
        primary.pass(milliseconds: 7_000)
        #expect(primary.machine.log.sessions.standing(of: session) == nil)
    }

    /// Goal: each boot gives every session its full time again and answers as before (PROTOCOL ).
    @Test func aRebootKeepsSessionsAndTheirAnswers() {
        let before = PrimaryHarness.open()
        let session = before.session(one, timeToLive: 5_000_000)
        before.submit(session, 1, [5, 0], from: one)
        before.commit()
        let answers = before.answers
        let after = PrimaryHarness.open(durable: before.durable, boot: 2)
        #expect(after.machine.epoch > before.machine.epoch)
        after.pass(milliseconds: 4_000)
        after.hello(two)
        after.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: 0)), from: two)
        #expect(after.answers == answers)
        after.pass(milliseconds: 4_000)
        #expect(after.machine.log.sessions.standing(of: session) != nil)
    }

    /// Goal: a session that this log never had is unknown, one that it ended has ended (PROTOCOL R-27).
    @Test func anUnknownSessionIsToldFromAnEndedOne() {
        let before = PrimaryHarness.open()
        let ended = before.session(one)
        before.receive(.close(ended), from: one)
        before.commit()
        let primary = PrimaryHarness.open(durable: before.durable, boot: 2)
        primary.hello(one)
        primary.forget()
        let foreign = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
        let future = SessionID(epoch: primary.machine.epoch, sequence: SequenceNumber(rawValue: 1_000))
        for session in [ended, foreign, future] { primary.submit(session, 1, [1], from: one) }
        #expect(primary.kinds == [.sessionExpired, .sessionUnknown, .sessionUnknown])
    }

    /// Goal: acknowledgements by KEEPALIVE become one entry a second and free the kept replies (PROTOCOL R-23).
    @Test func acknowledgementsAreLoggedOnceASecondTogether() {
        let primary = PrimaryHarness.open()
        let first = primary.session(one, client: 1)
        let second = primary.session(two, client: 2)
        for (session, connection) in [(first, one), (second, two)] {
            primary.submit(session, 1, [1, 2], from: connection)
            primary.commit()
            for acked in [1, 2, 1, 2] as [UInt64] {
                let keepAlive = KeepAlive(session: session, ackedThrough: acked, applied: .zero)
                primary.receive(.keepAlive(keepAlive), from: connection)
            }
        }
        let before = primary.machine.log.position.sequence
        primary.pass(milliseconds: 1_000)
        primary.commit()
        // One `sessionAck` for both, and perhaps a mark after it.
        #expect(primary.machine.log.position.sequence.rawValue - before.rawValue <= 2)
        for session in [first, second] {
            #expect(primary.machine.log.sessions.standing(of: session)?.ackedThrough == 2)
            #expect(primary.machine.log.sessions.standing(of: session)?.keptBytes == 0)
        }
    }

    /// Goal: opening and closing sessions while the journal is slow neither fills a batch beyond its size nor memory
    /// beyond its bounds (PROTOCOL; I17).
    @Test func sessionEntriesKeepToTheBounds() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1], from: one)
        primary.turn()
        primary.checksFrames = false
        for nonce in 10..<3_010 as Range<UInt64> {
            primary.receive(PrimaryHarness.openMessage(nonce: nonce), from: one)
            primary.receive(PrimaryHarness.openMessage(nonce: nonce), from: one)
        }
        for index in 0..<70_000 as Range<UInt64> {
            let unknown = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: index + 1))
            primary.receive(.close(unknown), from: one)
        }
        primary.machine.checkInvariants()
        primary.persist()
        primary.commit()
        #expect(primary.durable.allSatisfy { $0.bytes.count < Limits.broadcastBytes })
        #expect(primary.sent.count <= Limits.waitingAnswers + 1)
        #expect(primary.sent.compactMap(\.opened).count == 6_000)
    }
}
