import LockstepCore
import Testing

@Suite("Connection and session of a client")
struct ClientSessionTests {
    /// HELLO is repeated with one nonce until WELCOME; a WELCOME with another nonce is nobody's.
    @Test func helloIsRepeatedUntilWelcome() throws {
        var script = ClientScript(cluster: nil)
        #expect(script.connects == ["home"])
        let nonce = try #require(script.helloNonce)
        script.wait(1_000)
        #expect(script.sent.count >= 3 && script.helloNonce == nonce)
        script.receive(.welcome(script.primary.welcome(nonce: nonce &+ 1)))
        #expect(script.directives.isEmpty)
        script.receive(.welcome(script.primary.welcome(nonce: nonce)))
        #expect(script.client.phase == .welcomed && script.client.cluster == ModelPrimary.cluster)
        #expect(script.openNonce != nil)
    }

    /// OPEN is repeated with the same nonce, so that a lost OPENED does not make a second session (PROTOCOL R-20).
    @Test func openIsRepeatedWithItsNonce() throws {
        var script = ClientScript()
        try script.welcome()
        let nonce = try #require(script.openNonce)
        script.wait(500)
        #expect(script.openNonce == nonce)
        // Silence makes a new connection.
        script.wait(2_600)
        try script.welcome()
        #expect(script.openNonce == nonce)
        script.receive(script.opened(nonce &+ 1))
        #expect(script.client.session == nil)
        script.receive(script.opened(nonce))
        #expect(script.directives == [.opened(ClientScript.session)])
    }

    /// Silence makes a new connection, on which the session is resumed and the rest submitted (PROTOCOL R-29).
    @Test func silenceReconnectsAndResumes() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(4)
        script.submit(4)
        script.answer(1...3)
        script.wait(2_600)
        #expect(script.connects == ["home"])
        try script.welcome()
        guard case .resume(let resume) = script.sent.first else { throw Failure.unexpected(script.sent) }
        #expect(resume.session == ClientScript.session && resume.ackedThrough == 3)
        #expect(script.submits.isEmpty)
        script.receive(
            .resumed(
                Resumed(session: ClientScript.session, connectionNonce: resume.connectionNonce, expected: 5)))
        #expect(script.submits == [[5, 4, 0, 3]])
        script.answer(4...8)
        #expect(script.answers.map(\.first) == [4])
    }

    enum Failure: Error { case unexpected([Message]) }

    /// RESYNC starts over on the same connection, once for all the frames that it answers (PROTOCOL R-29).
    @Test func resyncGreetsOnce() throws {
        var script = try ClientSubmissionTests.opened()
        script.receive(.resync)
        #expect(script.connects.isEmpty && script.sent.count == 1)
        let nonce = script.helloNonce
        script.receive(.resync)
        #expect(script.directives.isEmpty)
        script.receive(.welcome(script.primary.welcome(nonce: try #require(nonce))))
        #expect(script.sent.map(\.kind) == [.resume])
    }

    /// PROTOCOL R-42: a WELCOME of the boot before, which comes after that of the next one on the same connection, is old:
    /// it must not look as if the primary had lost its history.
    @Test func aLateWelcomeOfTheBootBeforeIsDropped() throws {
        var script = ClientScript()
        let nonce = try #require(script.helloNonce)
        let old = script.primary.welcome(nonce: nonce)
        script.receive(.welcome(old))
        script.primary.boot = BootID(rawValue: 2)
        script.primary.epoch = Epoch(rawValue: 6)
        let new = script.primary.welcome(nonce: nonce)
        script.receive(.welcome(new))
        #expect(script.client.welcome == new)
        script.receive(.welcome(old))
        #expect(script.directives.isEmpty && script.client.welcome == new)
        // On another connection it is what the peer says now.
        script.wait(10_000)
        script.receive(.welcome(script.primary.welcome(nonce: try #require(script.helloNonce))))
        #expect(script.client.welcome != nil)
    }

    /// A RESYNC may come later than the WELCOME that ended its cause; HELLO after it follows at most every 100 ms.
    @Test func lateResyncsMakeNoStorm() throws {
        var script = try ClientSubmissionTests.opened()
        script.receive(.resync)
        #expect(script.helloNonce != nil)
        try script.welcome()
        script.receive(.resync)
        #expect(script.sent.isEmpty && script.client.phase == .greeting)
        #expect(script.wait(99).isEmpty)
        script.wait(1)
        #expect(script.helloNonce != nil)
        try script.welcome()
        #expect(script.sent.map(\.kind) == [.resume])
        // The one that waited counts as well.
        script.wait(20)
        script.receive(.resync)
        #expect(script.sent.isEmpty)
        #expect(script.wait(79).isEmpty)
        script.wait(1)
        #expect(script.helloNonce != nil)
        try script.welcome()
        script.wait(100)
        script.receive(.resync)
        #expect(script.helloNonce != nil)
    }

    /// A driver that sees a refused handshake need not wait for the silence to end: the back-off begins at once.
    @Test func aConnectionOfNoUseIsGivenUp() throws {
        var script = try ClientSubmissionTests.opened()
        script.event { client, now, directives in client.connectionFailed(now: now, into: &directives) }
        #expect(script.client.phase == .waiting && script.connects.isEmpty)
        let connects = script.wait(2_000).contains { if case .connect = $0 { true } else { false } }
        #expect(connects)
    }

    /// A session that ended leaves unknown outcomes; the next begins at 1 (PROTOCOL R-27).
    @Test func anExpiredSessionIsLost() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(4)
        script.answer(1...1)
        script.receive(.sessionExpired(ClientScript.session))
        #expect(script.lost == [2...4])
        #expect(script.submit(1) == nil)
        try #require(script.client.session == nil)
        script.wait(500)
        script.receive(script.opened(try #require(script.openNonce)))
        #expect(script.submit(1) == 1)
    }

    /// A primary that does not know the session is asked for ten seconds (PROTOCOL R-27).
    @Test func anUnknownSessionIsLostAfterTenSeconds() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(2)
        script.receive(.sessionUnknown(ClientScript.session))
        for _ in 0..<19 {
            script.wait(500)
            #expect(script.lost.isEmpty)
            script.receive(.sessionUnknown(ClientScript.session))
        }
        script.wait(600)
        script.receive(.sessionUnknown(ClientScript.session))
        #expect(script.lost == [1...2])
        #expect(script.openNonce != nil)
    }

    /// The ten seconds go on over new connections and RESYNC; otherwise a peer that comes and goes would hold the session
    /// open for ever (PROTOCOL R-27).
    @Test func anUnknownSessionIsLostAlthoughTheConnectionBreaksAgainAndAgain() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(2)
        for _ in 0..<20 {
            script.receive(.sessionUnknown(ClientScript.session))
            #expect(script.lost.isEmpty)
            script.receive(.resync)
            try script.welcome()
            script.wait(500)
        }
        script.receive(.sessionUnknown(ClientScript.session))
        #expect(script.lost == [1...2])
    }

    /// SESSION_MOVED on the bound connection may come from a late RESUME of an older one.
    ///
    /// The client resumes again, and loses the session only when that goes on without an answer. Before it is bound here,
    /// the message is about an older connection (PROTOCOL R-29).
    @Test func aMovedSessionIsResumedAndLostOnlyWhenItIsTakenAgainAndAgain() throws {
        var script = try ClientSubmissionTests.opened()
        script.receive(.resync)
        try script.welcome()
        script.receive(.sessionMoved(ClientScript.session))
        #expect(script.client.session != nil)
        func resumed() -> Message {
            .resumed(
                Resumed(session: ClientScript.session, connectionNonce: script.client.welcome?.nonce ?? 0, expected: 1))
        }
        script.receive(resumed())
        for _ in 0..<5 {
            script.receive(.sessionMoved(ClientScript.session))
            #expect(script.sent.contains { if case .resume = $0 { true } else { false } })
            #expect(script.client.session != nil)
            script.receive(resumed())
        }
        script.receive(.sessionMoved(ClientScript.session))
        #expect(script.client.session == nil)
    }

    /// A volatile primary with another incarnation has lost everything, and it says so (PROTOCOL R-43).
    @Test func aNewVolatilePrimaryEndsTheSession() throws {
        var script = ClientScript()
        script.primary.isVolatile = true
        try script.open()
        script.submit(3)
        script.answer(1...1)
        script.primary.incarnation = Incarnation(rawValue: 99)
        script.receive(.resync)
        try script.welcome()
        #expect(script.lost == [2...3])
        #expect(script.openNonce != nil)
        #expect(script.client.known == .none)
    }

    /// HELLO names the newest answer's place, or what the driver knows beyond it (PROTOCOL R-40).
    @Test func helloNamesTheHighestKnownPosition() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(1)
        script.answer(1...1, sequence: 77)
        script.receive(.resync)
        guard case .hello(let hello) = script.sent.first else { throw Failure.unexpected(script.sent) }
        #expect(hello.known.position == Position(epoch: Epoch(rawValue: 5), sequence: .init(rawValue: 77), hash: .none))
        #expect(hello.known.boot == .none)
        let told = KnownPosition(
            position: Position(epoch: Epoch(rawValue: 6), sequence: .init(rawValue: 1), hash: .init(rawValue: 3)),
            boot: BootID(rawValue: 4))
        script.client.setKnown(told)
        #expect(script.client.known == told)
    }

    /// CLOSE is repeated for a second at most; unanswered numbers are lost with the session (PROTOCOL R-27).
    @Test func closeWaitsForClosedButNotLong() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(2)
        var other = script
        script.event { client, now, directives in client.close(now: now, into: &directives) }
        #expect(script.sent == [.close(ClientScript.session)])
        script.receive(.closed(ClientScript.session))
        #expect(script.lost == [1...2] && script.directives.last == .closed)
        #expect(script.client.nextDeadline == .never)
        other.event { client, now, directives in client.close(now: now, into: &directives) }
        let all = other.wait(1_000)
        #expect(all.last == .closed && other.client.phase == .stopped)
    }

    /// Who leaves says so, also where the log does not have the session any more: nobody waits for it then (PROTOCOL R-48).
    @Test(arguments: [Message.sessionUnknown(ClientScript.session), .sessionExpired(ClientScript.session)])
    func whoLeavesSaysSoOfASessionThatIsGone(_ gone: Message) throws {
        var script = try ClientSubmissionTests.opened()
        script.receive(.sessionUnknown(ClientScript.session))
        script.event { client, now, directives in client.close(now: now, into: &directives) }
        #expect(script.sent.isEmpty)
        script.receive(gone)
        #expect(script.sent == [.close(ClientScript.session)])
        script.receive(.closed(ClientScript.session))
        #expect(script.directives.last == .closed)
    }

    /// A read is sent again until it is answered or cancelled, and at once on a new connection.
    @Test func readsAreRepeated() throws {
        var script = ClientScript(wantsSession: false)
        func read(_ id: UInt64, _ script: inout ClientScript) {
            script.event { client, now, directives in
                #expect(
                    client.read(
                        id: id, level: .linearizable, minimum: .zero, query: [1, 2], isIndexOnly: false, now: now,
                        into: &directives))
            }
        }
        read(1, &script)
        #expect(script.sent.isEmpty)
        script.wait(400)
        try script.welcome()
        read(2, &script)
        #expect(script.sent.map(\.kind) == [.read])
        script.wait(500)
        #expect(script.sent.map(\.kind) == [.read, .read])
        script.client.cancelRead(1)
        var result = ReadResult(
            id: 2, status: .unavailable, epoch: Epoch(rawValue: 5), sequence: .zero, time: .zero, answer: 0..<1)
        script.receive(.readResult(result), source: [7])
        guard case .readDelayed(let delayed) = script.directives.first else { throw Failure.unexpected(script.sent) }
        #expect(delayed.id == 2 && delayed.answer.count == 1)
        result.status = .answered
        script.receive(.readResult(result), source: [7])
        guard case .readAnswered(let answered) = script.directives.first else { throw Failure.unexpected(script.sent) }
        #expect(answered.id == 2)
        #expect(!script.wait(900).contains { if case .send = $0 { true } else { false } } || script.helloNonce != nil)
        #expect(!script.sent.contains { $0.kind == .read })
    }

    /// At the bound a read is not taken.
    @Test func tooManyReadsAreNotTaken() {
        var script = ClientScript(wantsSession: false)
        script.event { client, now, directives in
            for id in 0...UInt64(Limits.waitingReads) {
                let isTaken = client.read(
                    id: id, level: .local, minimum: .zero, query: [], isIndexOnly: true, now: now, into: &directives)
                if isTaken != (id < UInt64(Limits.waitingReads)) { Issue.record("read \(id)") }
            }
        }
    }

    /// A query is answered by its status, or by the kept answer of whatever session it names.
    @Test func queriesAreAnswered() throws {
        var script = try ClientSubmissionTests.opened()
        let old = SessionID(epoch: Epoch(rawValue: 4), sequence: SequenceNumber(rawValue: 9))
        script.event { client, now, directives in
            #expect(client.query(old, 3, now: now, into: &directives))
            #expect(client.query(old, 4, now: now, into: &directives))
        }
        #expect(script.sent.map(\.kind) == [.query, .query])
        let status = QueryResult(session: old, number: 4, status: .sessionEnded)
        script.receive(.queryResult(status))
        #expect(script.directives == [.queried(status)])
        let run = ResultSeries(
            session: old, first: 2, count: 3, epoch: old.epoch, firstSequence: SequenceNumber(rawValue: 50),
            items: 0..<6)
        script.receive(.result(run), source: [4, 1, 4, 2, 4, 3])
        guard case .queryAnswered(old, let answers) = script.directives.first else {
            throw Failure.unexpected(script.sent)
        }
        #expect(answers.first == 3 && answers.count == 1 && answers.firstSequence.rawValue == 51)
    }
}
