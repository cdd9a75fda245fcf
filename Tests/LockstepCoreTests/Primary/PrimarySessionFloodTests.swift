import LockstepCore
import Testing

/// Peers that open as many sessions as they can, those who come after them, and what an operator can do.
@Suite struct PrimarySessionFloodTests {
    private static let sevenDays: Int64 = 7 * 86_400 * 1_000_000
    private let honest = Connection(rawValue: 9_000)

    /// Opens `count` sessions over each of these connections, all with the longest time to live.
    private func flood(_ primary: PrimaryHarness, connections: Range<UInt64>, count: Int) {
        primary.checksFrames = false
        for raw in connections {
            let connection = Connection(rawValue: raw)
            primary.hello(connection, node: "flood-\(raw)")
            for nonce in 1...UInt64(count) {
                primary.receive(
                    PrimaryHarness.openMessage(client: UInt128(raw), nonce: nonce, timeToLive: Self.sevenDays),
                    from: connection)
                if nonce % 1_024 == 0 { primary.commit() }
                // Nine thousand of them a second were seen.
                if nonce % 64 == 0 { primary.advance(milliseconds: 7) }
            }
        }
        primary.commit()
        primary.checksFrames = true
    }

    private func opens(_ primary: PrimaryHarness, client: UInt128 = 5) -> SessionID? {
        primary.forget()
        primary.hello(honest, node: "honest")
        primary.receive(PrimaryHarness.openMessage(client: client), from: honest)
        primary.commit()
        return primary.sent.compactMap(\.opened).last?.session
    }

    /// Goal: 16,384 OPENs with 7 days of time to live from 16 connections leave room: a client opens a session at
    /// once, also after a restart, and keeps it when it uses it while the flood goes on (PROTOCOL R-19).
    @Test func aFloodOfSessionsKeepsNobodyOut() throws {
        let primary = PrimaryHarness.open()
        flood(primary, connections: 1..<17, count: 1_024)
        #expect(primary.machine.log.sessions.count <= Limits.sessions * 3 / 4 + 128)
        let session = try #require(opens(primary))
        primary.submit(session, 1, [7], from: honest)
        flood(primary, connections: 17..<18, count: 1_024)
        #expect(primary.machine.log.sessions.standing(of: session) != nil)
        // What was opened above half of the limit lives 60 s at most.
        let long = primary.machine.sessionRows(after: .none, limit: .max, now: primary.now)
            .count { $0.timeToLive > 60_000_000 }
        #expect(long <= Limits.sessions / 2)

        let after = PrimaryHarness.open(durable: primary.durable, boot: 2)
        #expect(opens(after, client: 7) != nil)
        flood(after, connections: 30..<31, count: 1_024)
        #expect(opens(after, client: 6) != nil)
        after.hello(honest, node: "honest")
        after.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: 0)), from: honest)
        #expect(after.answers.map(\.number) == [1])
    }

    /// Goal: one connection has at most 10,240 sessions, and 1,024 when the table is three quarters full; it is told
    /// why (PROTOCOL R-19).
    @Test func aConnectionHasSoManySessions() {
        let primary = PrimaryHarness.open()
        flood(primary, connections: 1..<2, count: 10_300)
        #expect(primary.machine.log.sessions.count == 10_240)
        let refused = primary.sent.compactMap(\.refused)
        #expect(refused.count == 60 && refused.allSatisfy { $0.reason == .sessionLimit })
        #expect(refused.first?.text.contains("this connection has 10240 sessions") == true)
        flood(primary, connections: 2..<3, count: 10_240)
        #expect(primary.machine.log.sessions.count == 12_288)
        #expect(opens(primary) != nil)
    }

    /// Goal: sessions that were used stay, whoever asks for more; then the limit refuses (PROTOCOL ).
    @Test func usedSessionsStay() {
        let primary = PrimaryHarness.open()
        primary.machine.sessionRoom.limit = 64
        var used: [SessionID] = []
        for raw in 1..<65 as Range<UInt64> {
            let connection = Connection(rawValue: raw)
            let session = primary.session(connection, client: UInt128(raw))
            primary.submit(session, 1, [1], from: connection)
            primary.commit()
            primary.advance(milliseconds: 20)
            used.append(session)
        }
        #expect(primary.machine.log.sessions.count == 64)
        primary.forget()
        #expect(opens(primary, client: 500) == nil)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.sessionLimit])
        #expect(used.allSatisfy { primary.machine.log.sessions.standing(of: $0) != nil })
    }

    /// Goal: of those that were never used, the oldest of the peer with the most go first; a client whose session ended
    /// so learns it at its next message (PROTOCOL ).
    @Test func thePeerWithTheMostGivesWay() {
        let primary = PrimaryHarness.open()
        primary.machine.sessionRoom.limit = 64
        let few = primary.session(honest, client: 100)
        let many = (1...47).map { (nonce: UInt64) in
            let connection = nonce <= 40 ? nonce % 10 + 1 : 1
            return primary.session(Connection(rawValue: connection), client: UInt128(nonce))
        }
        // The first connection has 4 and 7 more; the others have 4 each.
        #expect(primary.machine.log.sessions.count == 48)
        primary.advance(milliseconds: 100)
        primary.hello(Connection(rawValue: 77))
        primary.receive(PrimaryHarness.openMessage(client: 999), from: Connection(rawValue: 77))
        primary.commit()
        #expect(primary.machine.log.sessions.count == 48)
        #expect(primary.machine.log.sessions.standing(of: few) != nil)
        let gone = many.filter { primary.machine.log.sessions.standing(of: $0) == nil }
        #expect(gone == [many[9]])
        primary.forget()
        primary.submit(gone[0], 1, [1], from: Connection(rawValue: 1))
        #expect(primary.kinds == [.sessionExpired])
    }

    /// Goal: sessions end so from three quarters of the limit on, at most a 64th of it at a time, and every 10 ms at most
    /// (PROTOCOL R-19).
    @Test func sessionsGiveWayAFewAtATime() {
        let primary = PrimaryHarness.open()
        primary.machine.sessionRoom.limit = 128
        func open(_ nonce: UInt64) {
            let connection = Connection(rawValue: 200 + nonce)
            primary.hello(connection)
            primary.receive(PrimaryHarness.openMessage(client: UInt128(nonce)), from: connection)
            primary.commit()
        }
        for nonce in 1...96 as ClosedRange<UInt64> { open(nonce) }
        // Nobody gave way until the 96th was in.
        #expect(primary.machine.log.sessions.count == 96)
        primary.advance(milliseconds: 10)
        open(97)
        #expect(primary.machine.log.sessions.count == 95)
        open(98)
        #expect(primary.machine.log.sessions.count == 96)
        open(99)
        #expect(primary.machine.log.sessions.count == 97)
        primary.advance(milliseconds: 10)
        open(100)
        #expect(primary.machine.log.sessions.count == 96)
    }

    /// Goal: sessions whose connection this boot does not know count as one connection's, so after a restart they give
    /// way before those of a peer with fewer (PROTOCOL R-19).
    @Test func sessionsOfNobodyGiveWayFirst() {
        let primary = PrimaryHarness.open()
        let before = (1...40).map { primary.session(Connection(rawValue: UInt64($0)), client: UInt128($0)) }
        let after = PrimaryHarness.open(durable: primary.durable, boot: 2)
        after.machine.sessionRoom.limit = 64
        let few = (1...8).map { after.session(honest, client: 900, nonce: UInt64($0)) }
        #expect(after.machine.log.sessions.count == 48)
        after.advance(milliseconds: 10)
        _ = after.session(Connection(rawValue: 77), client: 999)
        #expect(after.machine.log.sessions.standing(of: before[0]) == nil)
        #expect((before.dropFirst() + few).allSatisfy { after.machine.log.sessions.standing(of: $0) != nil })
    }

    /// Goal: the alarm rises once at three quarters of the limit, also after a restart, and ends below half of it
    /// (PROTOCOL R-19).
    @Test func theAlarmRisesAndEnds() {
        let primary = PrimaryHarness.open()
        primary.machine.sessionRoom.limit = 64
        for nonce in 1..<48 as Range<UInt64> {
            _ = primary.session(Connection(rawValue: 100 + nonce % 4), client: 1, nonce: nonce)
        }
        #expect(primary.alarms.isEmpty)
        primary.hello(Connection(rawValue: 2))
        primary.receive(PrimaryHarness.openMessage(client: 2), from: Connection(rawValue: 2))
        primary.commit()
        #expect(primary.alarms == [.sessionsNearLimit(count: 48, limit: 64)])
        let after = PrimaryHarness.open(durable: primary.durable, boot: 2)
        after.machine.sessionRoom.limit = 64
        after.pass(milliseconds: 1_100)
        #expect(after.alarms == [.sessionsNearLimit(count: 48, limit: 64)])
        primary.forget()
        // Nothing is heard of any of them.
        for _ in 0..<5 {
            primary.pass(milliseconds: 15_000)
            primary.commit()
        }
        #expect(primary.alarms == [.sessionsHaveRoom])
    }

    /// Goal: an operator sees sessions with their peers, page by page, and ends them by ID, peer, silence or disuse;
    /// their clients are told (PROTOCOL ).
    @Test func anOperatorListsAndClosesSessions() throws {
        let primary = PrimaryHarness.open()
        let sessions = (1...6).map { raw in primary.session(Connection(rawValue: UInt64(raw)), client: UInt128(raw)) }
        primary.submit(sessions[0], 1, [1, 2], from: Connection(rawValue: 1))
        primary.commit()
        primary.advance(milliseconds: 5_000)
        primary.receive(
            .keepAlive(KeepAlive(session: sessions[1], ackedThrough: 0, applied: .zero)), from: Connection(rawValue: 2))
        let first = primary.machine.sessionRows(after: .none, limit: 4, now: primary.now)
        let rest = primary.machine.sessionRows(after: sessions[3], limit: 4, now: primary.now)
        #expect(first.map(\.id) + rest.map(\.id) == sessions)
        #expect(first[0].last == 2 && first[0].keptBytes > 0 && first[0].peer == "peer")
        #expect(first[0].idle == Tick.milliseconds(5_000) && first[1].idle == 0)
        primary.forget()
        func close(_ filter: PrimaryStateMachine.SessionFilter) -> Int? {
            var count: Int?
            primary.run { count = $0.closeSessions(filter, &$1) }
            return count
        }
        #expect(close(.init(id: sessions[5])) == 1)
        #expect(primary.sent.isEmpty)
        primary.commit()
        #expect(primary.kinds == [.sessionExpired])
        #expect(primary.sent.first?.connection == Connection(rawValue: 6))
        #expect(close(.init(id: sessions[5])) == 0)
        #expect(close(.init(peer: "nobody")) == 0)
        #expect(close(.init(idle: Tick.milliseconds(5_000), isUnused: true)) == 3)
        primary.commit()
        #expect(primary.machine.log.sessions.ids(after: .none) == [sessions[0], sessions[1]])
        #expect(close(.init(peer: "peer")) == 2)
        primary.commit()
        #expect(primary.machine.log.sessions.count == 0)
    }
}
