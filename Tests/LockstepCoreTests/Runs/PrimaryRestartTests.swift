import LockstepCore
import Testing

/// Accepted actions after a restart of the primary.
@Suite struct PrimaryRestartTests {
    private let peer = Connection(rawValue: 1)
    private let primary = PrimaryHarness.open(hasEffects: true)
    private let session: SessionID

    init() { session = primary.session(peer) }

    private func id(_ number: RequestNumber) -> RunID { RunID(session: session, number: number) }

    private func resume(_ primary: PrimaryHarness) {
        primary.hello(peer)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: 9)), from: peer)
        primary.forget()
    }

    /// Goal: what had not ended runs again, in the order of acceptance, with its attempts and emissions; what the former
    /// boot's executors bring is dropped (PROTOCOL R-62).
    @Test func whatHasNotEndedRunsAgain() throws {
        primary.submit(session, 1, actions: Array(repeating: EffectAction.run(), count: 3), from: peer)
        primary.commit()
        primary.emit(id(1), [1], ticket: 1)
        primary.emit(id(1), [2], ticket: 2)
        primary.finish(id(2), EffectAction.end(reply: [8]))
        primary.commit()
        primary.emit(id(3), [4], ticket: 3)
        let second = primary.killed(boot: 2)
        #expect(
            second.state.resumed == [
                RunStart(id: id(1), attempt: 2, emissions: 2), RunStart(id: id(3), attempt: 2, emissions: 0),
            ], "the last emission was not durable")
        #expect(second.begun == second.state.resumed)
        #expect(second.order.firstIndex(of: "committed") ?? 99 < second.order.firstIndex(of: "begin 1") ?? 0)
        let third = second.killed(boot: 3)
        #expect(third.begun.map(\.attempt) == [3, 3])
        resume(third)
        third.wish(session, .await, [1, 2, 3], from: peer)
        #expect(third.runEnds.map(\.id.number) == [2] && third.end(of: 2)?.reply == [8])
        third.commit()
        #expect(try third.isLikeReplica())
    }

    /// Goal: an end is logged once, whether the primary is killed before or after its commit (PROTOCOL ).
    @Test func anEndIsLoggedOnce() throws {
        primary.submit(session, 1, actions: [EffectAction.run()], from: peer)
        primary.commit()
        primary.finish(id(1), EffectAction.end(adding: [5]))
        primary.turn()
        let lost = primary.killed(boot: 2)
        #expect(lost.begunNumbers == [1] && lost.state.sum == 0)
        primary.durable += primary.atJournal
        let kept = primary.killed(boot: 3)
        #expect(kept.begun.isEmpty && kept.state.sum == 5)
        kept.finish(id(1), EffectAction.end(adding: [5]))
        #expect(kept.ends[id(1)] == [.dropped] && kept.state.sum == 5)
    }

    /// Goal: run again, an action may end at once; its item is logged and its mutations are reduced once
    /// (PROTOCOL R-62).
    @Test func whatRunsAgainMayEndAtOnce() throws {
        primary.submit(session, 1, actions: [EffectAction.run(), EffectAction.run()], from: peer)
        primary.commit()
        let next = primary.killed(boot: 2, endsOnResume: [1])
        #expect(next.begunNumbers == [2])
        resume(next)
        next.commit()
        #expect(next.state.ended == [id(1)] && next.machine.log.runs.isUnfinished(id(2)))
        #expect(next.state.sum == 7 && next.end(of: 1)?.status == .committed)
        #expect(try next.isLikeReplica())
    }

    /// Goal: after a restart runs pass through their policies again (PROTOCOL ).
    @Test func policiesHoldAfterARestart() throws {
        let serial = EffectAction.run(.serial(waiting: 2), group: "s")
        let first = EffectAction.run(.first, group: "f")
        primary.submit(
            session, 1, actions: [serial, serial, serial, first, EffectAction.run(.latest, group: "l")], from: peer)
        primary.commit()
        let next = primary.killed(boot: 2)
        #expect(next.begunNumbers == [1, 4, 5])
        resume(next)
        next.submit(session, 6, actions: [serial, first], from: peer)
        next.commit()
        #expect(next.answers.map(\.status) == [.rejected, .rejected])
        next.finish(id(1))
        next.commit()
        #expect(next.begunNumbers == [2])
        #expect(try next.isLikeReplica())
    }

    /// Goal: a primary that holds effects runs none of those it found; an operator, or their sender, ends them, and new
    /// ones run (PROTOCOL R-62).
    @Test func heldRunsWaitForAnOperator() throws {
        primary.submit(session, 1, actions: Array(repeating: EffectAction.run(), count: 3), from: peer)
        primary.commit()
        let held = primary.killed(boot: 2, holdsEffects: true)
        #expect(held.begun.isEmpty && held.state.resumed.isEmpty && held.machine.log.runs.unfinishedCount == 3)
        resume(held)
        held.emit(id(1), [1], ticket: 1)
        #expect(held.emissions[1] == .dropped)
        #expect(held.abandon(id(1)) && !held.abandon(id(1)))
        held.wish(session, .cancel, [2], from: peer)
        held.submit(session, 4, actions: [EffectAction.run()], from: peer)
        held.commit()
        #expect(held.begunNumbers == [4])
        #expect(held.end(of: 1)?.status == .rejected && held.end(of: 2)?.status == .void)
        #expect(String(decoding: held.end(of: 1)?.reply ?? [], as: UTF8.self) == "abandoned")
        let next = held.killed(boot: 3)
        #expect(
            next.begun == [
                RunStart(id: id(3), attempt: 3, emissions: 0), RunStart(id: id(4), attempt: 2, emissions: 0),
            ])
        #expect(try held.isLikeReplica())
    }

    /// Goal: an operator ends a run that runs; its executor is stopped (PROTOCOL R-62).
    @Test func anOperatorAbandonsARun() throws {
        primary.submit(
            session, 1,
            actions: [
                EffectAction.run(.serial(waiting: 1), group: "s"), EffectAction.run(.serial(waiting: 1), group: "s"),
            ], from: peer)
        primary.commit()
        #expect(primary.abandon(id(1)))
        #expect(primary.stopped == [id(1)])
        primary.commit()
        #expect(primary.begunNumbers == [1, 2] && primary.end(of: 1)?.status == .rejected)
        #expect(!primary.abandon(id(7)))
        #expect(try primary.isLikeReplica())
    }

    /// Goal: a primary that is stopped begins nothing more, and says so to executors (PROTOCOL R-62).
    @Test func aStoppingPrimaryBeginsNothing() {
        primary.submit(session, 1, actions: [EffectAction.run()], from: peer)
        primary.turn()
        primary.machine.stop()
        primary.persist()
        #expect(primary.begun.isEmpty && primary.answers.map(\.status) == [.accepted])
        #expect(primary.killed(boot: 2).begunNumbers == [1])
    }
}
