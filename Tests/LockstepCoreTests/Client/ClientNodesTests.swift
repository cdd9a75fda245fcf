import LockstepCore
import Testing

/// A client that knows several nodes (PROTOCOL R-91).
struct ClientNodesTests {
    private static let others = ["b", "c"]

    /// A connection, and after how many milliseconds it was opened.
    private struct Visit: Equatable {
        var endpoint: String
        var at: Int64
    }

    /// What is connected to within so many milliseconds, and when, from now on.
    private func visits(_ script: inout ClientScript, _ milliseconds: Int64) -> [Visit] {
        let start = script.now
        let end = start.advanced(byMilliseconds: milliseconds)
        var all: [Visit] = []
        while script.client.nextDeadline <= end {
            let wait = max(0, script.client.nextDeadline - script.now)
            script.now = script.now.advanced(byMicroseconds: wait / 1_000)
            script.event { client, now, directives in client.ticked(now: now, into: &directives) }
            all += script.connects.map { Visit(endpoint: $0, at: (script.now - start) / Tick.milliseconds(1)) }
        }
        script.now = end
        return all
    }

    private func isBroken(_ script: inout ClientScript) {
        script.event { client, now, directives in client.connectionBroke(now: now, into: &directives) }
    }

    /// Each node that is silent costs half a second, and only after all of them there is a pause.
    @Test func eachNodeIsAskedOnceInARound() throws {
        var script = ClientScript(others: Self.others)
        #expect(script.connects == ["home"])
        let first = visits(&script, 1_400)
        #expect(first == [Visit(endpoint: "b", at: 500), Visit(endpoint: "c", at: 1_000)])
        let second = visits(&script, 1_700)
        #expect(second.map(\.endpoint) == ["home", "b", "c"])
        #expect((125...150).contains(second[0].at), "the round ends after 100 ms, and the pause is 25 to 50 ms")
        #expect(second[1].at == second[0].at + 500)
    }

    /// One node is waited for as if there were no others: 3 s for a WELCOME, 2.5 s for a frame, HELLO after 1 s.
    @Test func oneNodeIsWaitedFor() throws {
        var script = ClientScript()
        let visits = visits(&script, 3_100)
        #expect(visits.count == 1 && visits[0].endpoint == "home" && (3_025...3_050).contains(visits[0].at))
        script.wait(100)
        try script.open()
        isBroken(&script)
        #expect(script.directives.isEmpty && script.client.isBound)
        script.submit(1)
        #expect(
            !script.wait(999).contains { if case .connect = $0 { true } else { false } } && script.helloNonce == nil)
        script.wait(1)
        #expect(script.helloNonce != nil)
        #expect(self.visits(&script, 1_499).isEmpty)
        #expect(script.wait(100).contains(.connect(endpoint: "home")))
    }

    /// Nobody listens at two of them, and a broken connection is no reason to wait.
    @Test func aBrokenConnectionLeadsToTheNextAtOnce() throws {
        var script = ClientScript(others: Self.others)
        isBroken(&script)
        #expect(script.connects == ["b"])
        isBroken(&script)
        #expect(script.connects == ["c"])
        isBroken(&script)
        #expect(script.connects.isEmpty && script.client.phase == .waiting)
        #expect(script.wait(50).contains(.connect(endpoint: "home")))
    }

    /// A node that is sent to and is not there costs its half second once; then the list goes on.
    @Test func aHintToADeadNodeFallsBackToTheList() throws {
        var script = ClientScript(others: Self.others)
        script.primary.role = .replica
        script.primary.primaryEndpoint = "dead"
        try script.welcome()
        #expect(script.connects == ["dead"])
        let next = visits(&script, 500)
        #expect(next == [Visit(endpoint: "b", at: 500)])
        // The same hint, and one to a node that was asked, lead nowhere new.
        try welcomeAgain(&script)
        #expect(script.connects == ["c"])
        script.primary.primaryEndpoint = "home"
        try welcomeAgain(&script)
        #expect(script.connects.isEmpty && script.client.phase == .waiting)
        #expect(!script.directives.contains { if case .noPrimary = $0 { true } else { false } })
        // In the next round it is followed.
        script.wait(50)
        #expect(script.connects == ["home"])
    }

    private func welcomeAgain(_ script: inout ClientScript) throws {
        if script.helloNonce == nil { script.wait(30) }
        try script.welcome()
    }

    /// A primary that others named is followed like any; when it is gone, the session goes on wherever the next one is, with
    /// the same numbers (PROTOCOL ).
    @Test func theSessionGoesOnAtTheNextPrimary() throws {
        var script = ClientScript(others: Self.others)
        script.primary.role = .replica
        script.primary.primaryEndpoint = "named"
        try script.welcome()
        #expect(script.connects == ["named"])
        script.primary.role = .primary
        try script.open()
        script.submit(3)
        script.answer(1...1)
        isBroken(&script)
        #expect(script.connects == ["home"] && script.lost.isEmpty)
        isBroken(&script)
        #expect(script.connects == ["b"])
        script.primary.boot = BootID(rawValue: 2)
        script.primary.epoch = Epoch(rawValue: 6)
        try script.welcome()
        let resume = try #require(
            script.sent.compactMap { if case .resume(let resume) = $0 { resume } else { nil } }.first)
        #expect(resume.session == ClientScript.session)
        script.receive(
            .resumed(
                Resumed(session: ClientScript.session, connectionNonce: resume.connectionNonce, expected: 2)))
        #expect(script.submits == [[2, 2, 0, 1]])
        script.answer(2...3)
        #expect(script.answers.map(\.first) == [2] && script.client.unanswered == nil)
    }

    /// A primary that lost its post and does not know it is not believed (PROTOCOL ); one whose memory is new is.
    @Test func aLowerEpochIsOldNews() throws {
        var script = ClientScript(others: Self.others)
        try script.open()
        isBroken(&script)
        #expect(script.connects == ["b"])
        script.primary.epoch = Epoch(rawValue: 4)
        try script.welcome()
        #expect(script.connects == ["c"] && script.client.phase == .greeting)
        #expect(!script.directives.contains { if case .welcomed = $0 { true } else { false } })
        script.primary.isVolatile = true
        try script.welcome()
        #expect(script.client.phase == .welcomed)
    }

    /// What is known from elsewhere counts as well: a replica that has applied entries of an epoch (PROTOCOL R-40).
    @Test func anEpochThatWasAppliedCounts() throws {
        var script = ClientScript(others: Self.others)
        let position = Position(epoch: Epoch(rawValue: 6), sequence: SequenceNumber(rawValue: 9), hash: .none)
        script.event { client, _, _ in client.setKnown(KnownPosition(position: position, boot: BootID(rawValue: 3))) }
        script.wait(20)
        try script.welcome()
        #expect(script.connects == ["b"])
        script.primary.epoch = Epoch(rawValue: 7)
        script.event { client, _, _ in client.reached(Epoch(rawValue: 8)) }
        script.wait(20)
        try script.welcome()
        #expect(script.connects == ["c"])
    }

    /// Who owes an answer is asked whether it is there after 250 ms, and given up half a second later; at rest a second
    /// passes before it is asked.
    @Test(arguments: [true, false]) func aSilentPrimaryIsGivenUp(isOwing: Bool) throws {
        var script = ClientScript(others: Self.others)
        try script.open()
        if isOwing { script.submit(1) }
        let rest: Int64 = isOwing ? 250 : 1_000
        #expect(!script.wait(rest - 1).contains { if case .send = $0 { true } else { false } })
        script.wait(1)
        #expect(script.helloNonce != nil)
        #expect(visits(&script, 499).isEmpty)
        #expect(script.wait(1).contains(.connect(endpoint: "b")))
    }

    /// A primary that says WELCOME and does nothing may be cut off from its members: after 1.5 s another node is asked.
    @Test(arguments: [nil, BusyReason.insufficientMembers, .notAdmitting, .diskFull])
    func aPrimaryThatDoesNothingIsLeft(reason: BusyReason?) throws {
        var script = ClientScript(others: Self.others)
        try script.open()
        script.submit(1)
        var next: [String] = []
        for _ in 0..<20 where next.isEmpty {
            next = visits(&script, 100).map(\.endpoint)
            guard next.isEmpty else { break }
            if let nonce = script.helloNonce { script.receive(.welcome(script.primary.welcome(nonce: nonce))) }
            let busy = reason.map { Busy(session: ClientScript.session, expected: 1, retryAfter: 1_000, reason: $0) }
            if let busy { script.receive(.busy(busy)) }
        }
        // A full disk is no reason to go: the primary has its post.
        #expect(next == (reason == .diskFull ? [] : ["b"]))
    }

    /// That one of several cannot serve is no trouble; that none can is told.
    ///
    /// What only an operator can end is told at once.
    @Test func refusalsLeadToTheNext() throws {
        var script = ClientScript(others: Self.others)
        let foreign = Refused(nonce: try #require(script.helloNonce), reason: .unknownStore, text: "no", endpoint: "")
        script.receive(.refused(foreign))
        #expect(script.directives == [.refused(foreign)] && script.client.endpoint == "home")
        #expect(visits(&script, 50) == [Visit(endpoint: "b", at: 50)])
        for (isLast, next) in [(false, ["c"]), (true, [])] {
            let nonce = try #require(script.helloNonce)
            let refused = Refused(nonce: nonce, reason: .unavailable, text: "ask again", endpoint: "")
            script.receive(.refused(refused))
            #expect(script.directives == (isLast ? [.refused(refused)] : []))
            #expect(visits(&script, 50).map(\.endpoint) == next)
        }
    }

    /// The patience grows where nobody answers, so that a long way is no reason to give up; what was needed is remembered.
    @Test func aLongWayGetsMoreTime() throws {
        var script = ClientScript(others: ["b"])
        // Eight connections of half a second in four rounds.
        let visits = visits(&script, 6_000)
        let gaps = zip(visits.dropFirst(), visits).map { $0.at - $1.at }
        #expect(gaps.prefix(6).filter { $0 == 500 }.count >= 3 && gaps.contains(1_000))
        script.wait(4_000)
        repeat { script.wait(10) } while script.helloNonce == nil
        let endpoint = script.client.endpoint
        try script.open()
        script.submit(1)
        script.wait(250)
        // It took no time to be welcomed, so little is waited for.
        #expect(self.visits(&script, 500).count == 1 && script.client.endpoint != endpoint)
    }

    /// A reader that is at no primary asks it no more than in rounds, whatever the nodes name (PROTOCOL R-38).
    @Test func aReadIsSentOnOnlyInRounds() throws {
        var script = ClientScript(wantsSession: false, others: ["b"])
        script.primary.role = .replica
        script.primary.primaryEndpoint = "dead"
        script.event { client, now, directives in
            _ = client.read(
                id: 5, level: .linearizable, minimum: .zero, query: [], isIndexOnly: false, now: now, into: &directives)
        }
        var visited: [String] = []
        let end = script.now.advanced(byMilliseconds: 2_000)
        while script.now < end {
            if script.client.endpoint == "dead" {
                isBroken(&script)
                visited += script.connects
            }
            if script.helloNonce == nil {
                script.wait(20)
                visited += script.connects
            }
            guard script.helloNonce != nil, script.client.endpoint != "dead" else { continue }
            try script.welcome()
            script.receive(.refused(Refused(nonce: 5, reason: .notPrimary, text: "", endpoint: "dead")))
            visited += script.connects
        }
        // Three a round, and six rounds with the pauses between them; without pauses it would be one every 20 ms.
        #expect(visited.contains("dead") && (6...24).contains(visited.count), "\(visited)")
    }
}
