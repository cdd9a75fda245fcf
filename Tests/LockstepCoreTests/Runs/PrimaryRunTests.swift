import LockstepCore
import Testing

/// Acceptance: the first answer of an action whose effect goes on, and when it runs.
@Suite struct PrimaryRunTests {
    private let peer = Connection(rawValue: 1)
    private let primary = PrimaryHarness.open(hasEffects: true)
    private let session: SessionID

    init() { session = primary.session(peer) }

    private func id(_ number: RequestNumber) -> RunID { RunID(session: session, number: number) }

    private var unfinished: [RequestNumber] {
        primary.machine.log.runs.sorted.filter { $0.end == nil }.map(\.id.number)
    }

    /// Goal: an accepted action is answered after its commit, then it begins; before, nothing shows (PROTOCOL R-16,
    ///
    @Test func anActionIsAcceptedAndBegins() throws {
        primary.submit(session, 1, actions: [EffectAction.run()], from: peer)
        #expect(primary.state.accepted == [id(1)])
        primary.turn()
        #expect(primary.answers.isEmpty && primary.begun.isEmpty)
        primary.persist()
        #expect(primary.answers.map(\.status) == [.accepted] && primary.answers[0].reply.isEmpty)
        #expect(primary.begun == [RunStart(id: id(1), attempt: 1, emissions: 0)])
        #expect(primary.order.suffix(4) == ["publish batch", "send result", "committed", "begin 1"])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: in one SUBMIT, actions that end at once and accepted ones take their numbers in order (PROTOCOL R-14,
    ///
    @Test func acceptedActionsStandInTheMiddle() throws {
        primary.submit(
            session, 1,
            actions: [
                EffectAction.run(), [5], [0], EffectAction.run(), EffectAction.run(.first, group: "f"),
                EffectAction.run(.first, group: "f"), [7],
            ], from: peer)
        primary.commit()
        #expect(
            primary.answers.map(\.status) == [
                .accepted, .committed, .rejected, .accepted, .accepted, .rejected, .committed,
            ])
        #expect(primary.answers.map(\.number) == Array(1...7))
        #expect(String(decoding: primary.answers[5].reply, as: UTF8.self) == "ignored: f is under way")
        #expect(primary.begunNumbers == [1, 4, 5] && primary.state.sum == 12)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: a number that was accepted is answered from the kept reply when it comes again, and runs once
    /// (PROTOCOL ).
    @Test func aRepeatedActionIsAcceptedOnce() throws {
        let actions = [[3], EffectAction.run(), [4]]
        primary.submit(session, 1, actions: actions, from: peer)
        primary.commit()
        let answers = primary.answers
        primary.forget()
        primary.submit(session, 1, actions: actions, from: peer)
        primary.commit()
        #expect(primary.answers == answers)
        #expect(primary.begun.isEmpty && primary.machine.log.runs.count == 1 && primary.state.sum == 7)
        let next = primary.killed(boot: 2)
        next.hello(peer)
        let resume = Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: 0)
        next.receive(.resume(resume), from: peer)
        next.submit(session, 1, actions: actions, from: peer)
        #expect(next.answers.prefix(3) == answers[...])
        #expect(next.machine.log.runs.count == 1)
    }

    /// Goal: when a session has as many runs as it may, a further one is rejected, what follows it is taken, so that it
    /// can end some; one that ends others itself is accepted (PROTOCOL ).
    @Test func tooManyRunsAreRejected() throws {
        primary.checksFrames = false
        let most = Limits.runsOfSession
        primary.submit(session, 1, actions: Array(repeating: EffectAction.run(name: "n"), count: most), from: peer)
        primary.commit()
        primary.forget()
        let next = UInt64(most) + 1
        primary.submit(session, next, actions: [[5], EffectAction.run(), [6]], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.committed, .rejected, .committed] && primary.state.sum == 11)
        #expect(unfinished.count == most)
        primary.forget()
        primary.submit(session, next + 3, actions: [EffectAction.run(cancelling: ["n"])], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.accepted] && unfinished == [next + 3])
        #expect(primary.machine.log.runs.count == most + 1)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: where a session's most runs have ended and nobody acknowledged them a further one gets BUSY, no number is
    /// taken, and it cancels nothing; acknowledgements make room (PROTOCOL ).
    @Test func tooManyEndsAreBusy() throws {
        primary.checksFrames = false
        let most = Limits.runsOfSession
        primary.submit(session, 1, actions: Array(repeating: EffectAction.run(), count: most), from: peer)
        primary.commit()
        for number in 1...UInt64(most) { primary.finish(id(number)) }
        primary.commit()
        let next = UInt64(most) + 1
        primary.forget()
        let head = primary.machine.log.position
        primary.submit(session, next, actions: [EffectAction.run(cancelling: ["n"]), [6]], from: peer)
        let busy = try #require(primary.sent.compactMap(\.busy).first)
        #expect(busy.reason == .tooManyRuns && busy.expected == next && busy.retryAfter == 50_000)
        #expect(primary.machine.log.position == head)
        primary.wish(session, .acknowledge, [3], from: peer)
        primary.pass(milliseconds: 1_100)
        primary.commit()
        primary.forget()
        primary.submit(session, next, actions: [EffectAction.run(), [6]], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.accepted, .committed])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: the entry that fills a batch is its last, wherever in a SUBMIT actions are accepted, rejected or cancelled
    /// (PROTOCOL R-11).
    @Test func aFullBatchTakesNoFurtherEntry() throws {
        let large: [UInt8] = [204, 97]
        primary.submit(
            session, 1,
            actions: [
                EffectAction.run(.first, group: "f", name: "n"), large, EffectAction.run(), large, [201, 110], large,
                EffectAction.run(.first, group: "f"), EffectAction.run(.first, group: "f"), large, [5],
            ], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.number) == Array(1...10))
        for batch in primary.durable {
            try withBytes(of: batch.bytes) { bytes in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                while reader.remaining > 0 {
                    let isFull = reader.offset >= Limits.batchFullBytes
                    let entry = try Entry(from: bytes, &reader)
                    if case .digestMark = entry { continue }
                    #expect(!isFull, "an entry of kind \(entry) after a full batch")
                }
            }
        }
        #expect(unfinished == [3, 7])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: latest ends its predecessor as void, whether that has committed or not, and only the newest runs
    /// (PROTOCOL R-63).
    @Test func latestSupersedesAnUncommittedOne() throws {
        let latest = EffectAction.run(.latest, group: "l")
        primary.submit(session, 1, actions: [latest, latest], from: peer)
        primary.commit()
        #expect(primary.begunNumbers == [2] && primary.stopped.isEmpty)
        #expect(primary.answers.map(\.status) == [.accepted, .accepted])
        #expect(primary.end(of: 1)?.status == .void)
        primary.forget()
        primary.submit(session, 3, actions: [latest], from: peer)
        primary.emit(id(2), [9], ticket: 1)
        #expect(primary.emissions[1] == .dropped && primary.stopped == [id(2)])
        primary.commit()
        #expect(primary.begunNumbers == [3] && primary.state.sum == 0)
        #expect(primary.end(of: 2)?.status == .void && unfinished == [3])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: serial runs one at a time, each after the commit of the end before it (PROTOCOL R-63).
    @Test func serialRunsOneAfterTheOther() throws {
        let serial = EffectAction.run(.serial(waiting: 1), group: "s")
        primary.submit(session, 1, actions: [serial, serial, serial], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.accepted, .accepted, .rejected])
        #expect(primary.begunNumbers == [1])
        primary.emit(id(2), [1], ticket: 1)
        #expect(primary.emissions[1] == .dropped, "it waits")
        primary.finish(id(1))
        primary.turn()
        #expect(primary.begunNumbers == [1])
        primary.persist()
        #expect(primary.begunNumbers == [1, 2])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: an action cancels by name and by number what was accepted, also in its own SUBMIT, and an action can take
    /// the place of what it cancels (PROTOCOL R-63).
    @Test func actionsCancelRuns() throws {
        primary.submit(
            session, 1,
            actions: [
                EffectAction.run(.first, group: "f", name: "n"), [201, 110], EffectAction.run(.first, group: "f"),
                EffectAction.run(), [202, 4], EffectAction.run(.first, group: "f", name: "o", cancelling: ["o"]),
            ], from: peer)
        primary.commit()
        #expect(
            primary.answers.map(\.status) == [.accepted, .committed, .accepted, .accepted, .committed, .rejected])
        #expect(primary.begunNumbers == [3] && unfinished == [3])
        #expect(primary.end(of: 1)?.status == .void && primary.end(of: 4)?.status == .void)
        primary.forget()
        primary.submit(
            session, 7,
            actions: [
                EffectAction.run(.first, group: "g", name: "p"),
                EffectAction.run(.first, group: "g", name: "p", cancelling: ["p"]),
            ], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.accepted, .accepted], "the second took the place of the first")
        #expect(primary.begunNumbers == [8] && unfinished == [3, 8])
        #expect(try primary.isLikeReplica())
    }
}
