import LockstepCore
import Testing

/// What an access list says of senders, at the primary: names in the log, kinds of actions, quotas.
@Suite struct PrimarySenderTests {
    private let web = Connection(rawValue: 1)
    private let other = Connection(rawValue: 2)

    private func primary(_ senders: [Connection: Sender]) -> PrimaryHarness {
        let primary = PrimaryHarness.open()
        primary.senders = senders
        return primary
    }

    /// What the log says: the names with which sessions were opened, in order.
    private func openers(in batches: [SealedBatch]) -> [String?] {
        batches.flatMap { batch in
            withBytes(of: batch.bytes) { bytes in
                var names: [String?] = []
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                while reader.remaining > 0, let entry = try? Entry(from: bytes, &reader) {
                    if case .sessionOpen(_, let name) = entry { names.append(name) }
                }
                return names
            }
        }
    }

    // MARK: - Names

    /// Goal: the opening of a session names who opened it, the state sees the name, and both survive a restart and a
    /// snapshot; without keys nobody is named (PROTOCOL R-71).
    @Test func theLogNamesWhoOpenedASession() throws {
        let primary = primary([web: Sender(name: "web-1")])
        let session = primary.session(web)
        let unnamed = primary.session(other, client: 2)
        primary.submit(session, 1, [7], from: web)
        primary.commit()
        #expect(primary.state.sender == "web-1")
        primary.submit(unnamed, 1, [7], from: other)
        primary.commit()
        #expect(primary.state.sender == nil)
        #expect(openers(in: primary.durable) == ["web-1", nil])

        let after = PrimaryHarness.open(durable: primary.durable, boot: 2)
        #expect(after.machine.log.sessions.senders == [session: "web-1"])
        let log = after.machine.log
        let bytes = SnapshotContent(log: log, digest: log.digest, state: []).encoded()
        let read = try SnapshotContent(bytes).log.sessions
        #expect(read.senders == [session: "web-1"])
        #expect(read.share(of: "web-1") == SessionTable.Share(sessions: 1, inFlight: 1))
        #expect(read.digest == log.sessions.digest)
    }

    /// Goal: an operator closes all sessions of a name, also when its connections have been gone for long (PROTOCOL R-19).
    @Test func theSessionsOfANameAreClosed() {
        let primary = primary([web: Sender(name: "web-1")])
        let session = primary.session(web)
        let unnamed = primary.session(other, client: 2)
        primary.commit()
        let after = PrimaryHarness.open(durable: primary.durable, boot: 2)
        var count: Int?
        after.run { count = $0.closeSessions(.init(peer: "web-1"), &$1) }
        after.commit()
        #expect(count == 1 && after.machine.log.sessions.ids(after: .none) == [unnamed] && session != unnamed)
    }

    /// Goal: two logs that differ in a name alone have other digests (PROTOCOL ).
    @Test func theDigestHasTheNames() {
        let digests = ["web-1", "web-2", "web-1\0", "a name of more than eight bytes", nil].map { name in
            let primary = primary(name.map { [web: Sender(name: $0)] } ?? [:])
            _ = primary.session(web)
            return primary.machine.log.sessions.digest
        }
        #expect(Set(digests).count == digests.count)
    }

    /// Goal: another name gets no session by RESUME, nor by the OPEN that made it, whatever it knows; the same name does,
    /// and its answers (PROTOCOL R-71).
    @Test func anotherNameGetsNoSession() {
        let primary = primary([web: Sender(name: "web-1"), other: Sender(name: "web-2")])
        let session = primary.session(web)
        primary.submit(session, 1, [7], from: web)
        primary.commit()
        primary.forget()
        primary.hello(other)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 2, ackedThrough: 0)), from: other)
        primary.receive(PrimaryHarness.openMessage(), from: other)
        primary.commit()
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.protocolViolation, .protocolViolation])
        #expect(primary.answers.isEmpty)
        #expect(!primary.kinds.contains(.sessionMoved))
        #expect(primary.kinds.count { $0 == .opened || $0 == .resumed } == 0)

        let again = Connection(rawValue: 3)
        primary.senders[again] = Sender(name: "web-1")
        primary.hello(again)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 3, ackedThrough: 0)), from: again)
        #expect(primary.answers.map(\.number) == [1])
    }

    // MARK: - Kinds

    /// Goal: an action of a kind that its sender may not send is void with a reason, also in the middle of a batch, and the
    /// others of the batch take effect; a repeated SUBMIT brings the same answers (PROTOCOL R-72).
    @Test func kindsAreLookedAtInsideABatch() {
        let primary = primary([web: Sender(name: "web-1", kinds: ["1", "3", "0"])])
        let session = primary.session(web)
        primary.submit(session, 1, [1, 2, 3, 0, 9], from: web)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.committed, .void, .committed, .rejected, .void])
        let reasons = primary.answers.filter { $0.status == .void }.map { String(decoding: $0.reply, as: UTF8.self) }
        #expect(reasons == ["no 2 of web-1", "no 9 of web-1"])
        #expect(primary.state.sum == 4)
        let first = primary.answers
        primary.submit(session, 1, [1, 2, 3, 0, 9], from: web)
        primary.commit()
        #expect(Array(primary.answers.dropFirst(5)) == first)
        #expect(primary.state.sum == 4)
    }

    // MARK: - Quotas

    /// Goal: a name has as many sessions as its quota says, over all its connections; another name is not concerned, and
    /// one that is closed makes room (PROTOCOL R-73).
    @Test func aNameHasSoManySessions() {
        let quota = SenderQuota(sessions: 2)
        let second = Connection(rawValue: 3)
        let primary = primary([
            web: Sender(name: "web-1", quota: quota), second: Sender(name: "web-1", quota: quota),
            other: Sender(name: "web-2"),
        ])
        let session = primary.session(web, client: 1)
        _ = primary.session(second, client: 2)
        primary.receive(PrimaryHarness.openMessage(client: 3), from: second)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.sessionLimit])
        #expect(primary.sent.compactMap(\.refused).first?.text.contains("web-1 has 2 sessions") == true)
        _ = primary.session(other, client: 4)
        primary.receive(.close(session), from: web)
        primary.commit()
        _ = primary.session(second, client: 5)
        #expect(primary.machine.log.sessions.share(of: "web-1").sessions == 2)
    }

    /// Goal: what a process left in flight that ended at once does not stop the next of its name: its session has one at
    /// a time (PROTOCOL R-73).
    @Test func whatWasLeftInFlightStopsNobody() {
        let quota = SenderQuota(inFlight: 3)
        let primary = primary([web: Sender(name: "web-1", quota: quota), other: Sender(name: "web-1", quota: quota)])
        let before = primary.session(web, client: 1)
        primary.submit(before, 1, [1, 1, 1], from: web)
        primary.commit()
        let after = primary.session(other, client: 2)
        primary.submit(after, 1, [1, 1], from: other)
        primary.commit()
        #expect(primary.state.sum == 4, "the first of two")
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.quota])
        primary.submit(after, 2, [1], acked: 1, from: other)
        primary.commit()
        #expect(primary.state.sum == 5)
    }

    /// Goal: of a SUBMIT as many actions are taken as the quota leaves, over all sessions of the name; the rest gets
    /// BUSY(quota), and goes on when answers are acknowledged (PROTOCOL R-73).
    @Test func aNameHasSoManyActionsInFlight() {
        let quota = SenderQuota(inFlight: 5)
        let second = Connection(rawValue: 3)
        let primary = primary([
            web: Sender(name: "web-1", quota: quota), second: Sender(name: "web-1", quota: quota),
            other: Sender(name: "web-2"),
        ])
        let one = primary.session(web, client: 1)
        let two = primary.session(second, client: 2)
        primary.submit(one, 1, [1, 1, 1], from: web)
        primary.submit(two, 1, [1, 1, 1, 1], from: second)
        primary.commit()
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.quota])
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [3])
        #expect(primary.state.sum == 5)
        // What acknowledges makes its own room.
        primary.submit(one, 4, [1, 1], acked: 3, from: web)
        primary.commit()
        #expect(primary.state.sum == 7)
        primary.submit(two, 3, [1, 1], from: second)
        primary.commit()
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [3, 4])
        let third = primary.session(other, client: 4)
        primary.submit(third, 1, [1, 1, 1, 1, 1, 1, 1, 1], from: other)
        primary.commit()
        #expect(primary.state.sum == 16)
    }

    /// Goal: bytes above the quota wait as long as BUSY says and are taken then; one large SUBMIT passes and is paid for
    /// (PROTOCOL R-73).
    @Test func aNameSendsSoManyBytes() throws {
        let primary = primary([web: Sender(name: "web-1", quota: SenderQuota(bytesPerSecond: 100))])
        let session = primary.session(web)
        // Each action takes two bytes of the frame.
        primary.submit(session, 1, Array(repeating: 1, count: 150), from: web)
        primary.commit()
        #expect(primary.state.sum == 150)
        primary.submit(session, 151, [1], from: web)
        let busy = try #require(primary.sent.compactMap(\.busy).last)
        #expect(busy.reason == .quota && busy.expected == 151)
        #expect((2_000_000...2_020_000).contains(busy.retryAfter))
        primary.advance(milliseconds: 1_900)
        primary.submit(session, 151, [1], from: web)
        #expect(primary.state.sum == 150)
        primary.advance(milliseconds: 130)
        primary.submit(session, 151, [1], from: web)
        primary.commit()
        #expect(primary.state.sum == 151)
    }

    /// Goal: who looks often, at a rate of less than a byte for each look, still gets all of it (PROTOCOL R-73).
    @Test(arguments: [1, 300, 999, 70_001]) func lookingOftenLosesNothing(rate: Int) {
        var budgets = SenderBudgets()
        var (now, sent) = (Tick(rawValue: 1_000_000_000), 0)
        let end = now.advanced(byMilliseconds: 20_000)
        while now < end {
            if budgets.wait(of: "a", rate: rate, now: now) == nil {
                budgets.pay(1, of: "a")
                sent += 1
            }
            now = Tick(rawValue: now.rawValue + 10_007)
        }
        // The first second's worth is there at once; a look comes every 10 us, and may gain a nanosecond.
        #expect(abs(sent - rate * 21) <= 2 + rate / 1_000, "\(sent)")
    }

    /// Goal: a budget fills evenly, holds a second's worth at most, and is forgotten when it is full.
    @Test func budgetsFillEvenly() {
        var budgets = SenderBudgets()
        let begin = Tick(rawValue: 1_000_000_000)
        #expect(budgets.wait(of: "a", rate: 1_000, now: begin) == nil)
        budgets.pay(1_500, of: "a")
        #expect(budgets.wait(of: "a", rate: 1_000, now: begin) == 501_000)
        #expect(budgets.wait(of: "a", rate: 1_000, now: begin.advanced(byMilliseconds: 502)) == nil)
        budgets.sweep(now: begin.advanced(byMilliseconds: 1_000))
        #expect(budgets != SenderBudgets())
        budgets.sweep(now: begin.advanced(byMilliseconds: 1_600))
        #expect(budgets == SenderBudgets())
        // The largest rate does not overflow, nor after a long rest, which pays for everything.
        #expect(budgets.wait(of: "b", rate: .max, now: begin) == nil)
        budgets.pay(.max / 4, of: "b")
        #expect(budgets.wait(of: "b", rate: .max, now: begin) == 5_000_000)
        #expect(budgets.wait(of: "b", rate: .max, now: Tick(rawValue: .max / 2)) == nil)
    }
}
