import LockstepCore
import Testing

/// What runs bring into the log, their ends, and how senders learn them.
@Suite struct PrimaryRunEndTests {
    private let peer = Connection(rawValue: 1)
    private let primary = PrimaryHarness.open(hasEffects: true)
    private let session: SessionID

    init() {
        session = primary.session(peer)
        primary.submit(session, 1, actions: [EffectAction.run(name: "n"), EffectAction.run(name: "n")], from: peer)
        primary.commit()
        primary.forget()
    }

    private func id(_ number: RequestNumber) -> RunID { RunID(session: session, number: number) }

    /// Goal: an emission is reduced when it is sequenced, and its run is told after the commit (PROTOCOL ).
    @Test func anEmissionIsToldAfterItsCommit() throws {
        primary.emit(id(1), [3, 4], ticket: 1)
        #expect(primary.state.sum == 7 && primary.emissions.isEmpty)
        primary.turn()
        #expect(primary.emissions.isEmpty)
        primary.persist()
        let sequence = primary.machine.committed.position.sequence
        #expect(primary.emissions[1] == .committed(primary.machine.epoch, sequence))
        #expect(primary.machine.log.runs[id(1)]?.emissions == 1)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: what may no longer emit leaves no trace, whatever its cause, also if its action runs; what may is logged
    /// (PROTOCOL ).
    @Test func onlyWhatLivesEmits() throws {
        primary.state.deadTickets = [2, 6]
        primary.emit(.source("s"), EffectAction.emission([1]), ticket: 1)
        primary.emit(.source("s"), EffectAction.emission([2]), ticket: 2)
        primary.emit(.feedback("f"), EffectAction.emission([4]), ticket: 3)
        primary.emit(id(9), [8], ticket: 4)
        primary.emit(id(1), [16], ticket: 6)
        primary.commit()
        #expect(primary.state.sum == 5)
        #expect(primary.emissions[2] == .dropped && primary.emissions[4] == .dropped)
        #expect(primary.emissions[6] == .dropped && primary.machine.log.runs[id(1)]?.emissions == 0)
        #expect(primary.counts[.emissionsDropped] == 3)
        #expect(try primary.isLikeReplica())
        primary.machine.stop()
        primary.emit(.source("s"), EffectAction.emission([1]), ticket: 5)
        #expect(primary.emissions[5] == .dropped)
    }

    /// Goal: while nothing is admitted an emission and an end are busy, and nothing of them is logged; they come again
    /// (PROTOCOL ).
    @Test func aFullDiskMakesExecutorsComeAgain() throws {
        primary.submit(session, 3, [9], from: peer)
        primary.turn()
        primary.fail(isDiskFull: true)
        let head = primary.machine.log
        primary.emit(id(1), [1], ticket: 1)
        primary.finish(id(1))
        #expect(primary.emissions[1] == .busy && primary.ends[id(1)] == [.busy])
        #expect(!primary.abandon(id(1)) && primary.machine.log == head)
        primary.wish(session, .cancel, [1], from: peer)
        #expect(primary.machine.log == head)
        primary.advance(milliseconds: 300)
        primary.tick()
        primary.persist()
        primary.emit(id(1), [1], ticket: 1)
        primary.finish(id(1))
        primary.commit()
        #expect(primary.state.sum == 10 && primary.end(of: 1)?.status == .committed)
        #expect(primary.ends[id(1)]?.count == 2)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: an end with its last mutations is sent to its sender after its commit, once, and nothing of the run is
    /// logged after it (PROTOCOL ).
    @Test func anEndIsSentAfterItsCommit() throws {
        primary.finish(id(1), EffectAction.end(adding: [6], reply: [1, 2]))
        #expect(primary.state.sum == 6 && primary.state.ended == [id(1)])
        primary.emit(id(1), [1], ticket: 1)
        primary.finish(id(1))
        #expect(primary.emissions[1] == .dropped && primary.ends[id(1)] == [.dropped])
        primary.turn()
        #expect(primary.sent.isEmpty)
        primary.persist()
        #expect(primary.kinds == [.runEnded] && primary.end(of: 1)?.reply == [1, 2])
        #expect(primary.stopped.isEmpty, "it ended by itself")
        #expect(primary.ends[id(1)]?.count == 2)
        #expect(primary.state.sum == 6)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: an emission or an end that no entry can hold ends its run as failed (PROTOCOL R-12).
    @Test func whatIsTooLargeEndsAsFailed() throws {
        let large = EffectAction.emission([]) + [UInt8](repeating: 0, count: Limits.actionBytes)
        primary.emit(.action(session, 1), large, ticket: 1)
        #expect(primary.emissions[1] == .dropped && primary.stopped == [id(1)])
        primary.finish(id(2), EffectAction.end(reply: large))
        primary.emit(.source("s"), large, ticket: 2)
        #expect(primary.emissions[2] == .dropped)
        primary.commit()
        #expect(primary.end(of: 1)?.status == .rejected && primary.end(of: 2)?.status == .rejected)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: an end that is lost is sent whenever it is asked for, until it is acknowledged; then it is gone
    /// (PROTOCOL R-64).
    @Test func anEndIsRepeatedUntilItIsAcknowledged() throws {
        primary.wish(session, .await, [1], from: peer)
        #expect(primary.sent.isEmpty, "it runs")
        primary.wish(session, .acknowledge, [1], from: peer)
        primary.finish(id(1))
        primary.wish(session, .await, [1], from: peer)
        primary.wish(session, .acknowledge, [1], from: peer)
        #expect(primary.sent.isEmpty, "its end has not committed")
        primary.commit()
        primary.pass(milliseconds: 1_100)
        primary.commit()
        #expect(primary.machine.log.runs[id(1)] != nil, "what was not told is not acknowledged")
        for count in 2...3 {
            primary.wish(session, .await, [1], from: peer)
            #expect(primary.runEnds.count == count)
        }
        primary.forget()
        primary.wish(session, .acknowledge, [1], from: peer)
        #expect(primary.sent.isEmpty && primary.machine.log.runs[id(1)] != nil)
        primary.pass(milliseconds: 1_100)
        primary.wish(session, .acknowledge, [1], from: peer)
        #expect(primary.goneNumbers.isEmpty, "the entry has not committed")
        primary.commit()
        #expect(primary.goneNumbers == [1] && primary.machine.log.runs[id(1)] == nil)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: many acknowledgements are logged at once, few of them once a second (PROTOCOL R-64).
    @Test func manyAcknowledgementsAreLoggedAtOnce() throws {
        primary.checksFrames = false
        let count = Limits.waitingRunAcks
        primary.submit(session, 3, actions: Array(repeating: EffectAction.run(), count: count), from: peer)
        primary.commit()
        let numbers = (3..<UInt64(count) + 3).map { $0 }
        for number in numbers { primary.finish(id(number)) }
        primary.commit()
        primary.wish(session, .acknowledge, numbers.dropLast(), from: peer)
        #expect(primary.machine.log.runs.count == count + 2)
        primary.wish(session, .acknowledge, [numbers[numbers.count - 1]], from: peer)
        #expect(primary.machine.log.runs.count == 2)
        primary.commit()
        #expect(try primary.isLikeReplica())
    }

    /// Goal: the sender cancels what runs; what ended meanwhile keeps its end (PROTOCOL ).
    @Test func theSenderCancels() throws {
        primary.finish(id(2), EffectAction.end(reply: [7]))
        primary.wish(session, .cancel, [1, 2], from: peer)
        #expect(primary.stopped == [id(1)])
        primary.emit(id(1), [5], ticket: 1)
        primary.commit()
        #expect(primary.end(of: 1)?.status == .void && primary.end(of: 2)?.reply == [7])
        #expect(primary.emissions[1] == .dropped && primary.state.sum == 0)
        primary.forget()
        primary.wish(session, .cancel, [1, 2], from: peer)
        #expect(primary.runEnds.map(\.id.number) == [1, 2])
        #expect(try primary.isLikeReplica())
    }

    /// Goal: a cancellation before the entry of acceptance has committed is logged after it; the run never begins
    /// (PROTOCOL R-63).
    @Test func anUncommittedRunIsCancelled() throws {
        primary.submit(session, 3, actions: [EffectAction.run()], from: peer)
        primary.wish(session, .cancel, [3], from: peer)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.accepted] && primary.end(of: 3)?.status == .void)
        #expect(primary.begun.isEmpty && primary.stopped.isEmpty)
        #expect(primary.kinds == [.result, .runEnded], "the first answer comes first")
        #expect(try primary.isLikeReplica())
    }

    /// Goal: only the connection of the session is listened to; numbers that never were accepted are gone (PROTOCOL
    ///
    @Test func strangersGetNothing() {
        let other = Connection(rawValue: 2)
        primary.hello(other)
        primary.finish(id(1))
        primary.commit()
        primary.forget()
        for kind in [RunWish.await, .cancel, .acknowledge] { primary.wish(session, kind, [1, 2], from: other) }
        #expect(primary.kinds == [.resync, .resync, .resync])
        primary.pass(milliseconds: 1_100)
        primary.commit()
        #expect(primary.machine.log.runs.count == 2 && primary.machine.log.runs.isUnfinished(id(2)))
        primary.forget()
        primary.wish(session, .await, [1, 50, 99], from: peer)
        #expect(primary.runEnds.map(\.id.number) == [1] && primary.goneNumbers == [50, 99])
        primary.forget()
        let unknown = SessionID(epoch: Epoch(rawValue: 1), sequence: session.sequence)
        primary.wish(unknown, .await, [1], from: peer)
        #expect(primary.kinds == [.sessionUnknown])
    }

    /// Goal: a request cannot make the primary send more than a connection's credit (PROTOCOL R-64).
    @Test func aRequestGetsAtMostItsCredit() {
        primary.checksFrames = false
        primary.submit(session, 3, actions: Array(repeating: EffectAction.run(), count: 10), from: peer)
        primary.commit()
        let reply = [UInt8](repeating: 1, count: 900_000)
        for number in 1...12 as ClosedRange<UInt64> { primary.finish(id(number), EffectAction.end(reply: reply)) }
        primary.commit()
        primary.forget()
        primary.wish(session, .await, Array(1...12), from: peer)
        #expect(primary.runEnds.map(\.id.number) == Array(1...5))
        primary.wish(session, .await, [7, 7], from: peer)
        #expect(primary.runEnds.count == 5 && primary.counts[.framesRefused] == 1, "each number once")
    }

    /// Goal: when a session ends its runs end by themselves, and nobody keeps their answers (PROTOCOL R-61).
    @Test func aClosedSessionLetsItsRunsEnd() throws {
        primary.finish(id(1))
        primary.commit()
        primary.wish(session, .acknowledge, [1], from: peer)
        primary.receive(.close(session), from: peer)
        primary.commit()
        #expect(primary.machine.log.runs.count == 1 && primary.machine.log.runs.isUnfinished(id(2)))
        primary.forget()
        primary.emit(id(2), [5], ticket: 1)
        primary.finish(id(2), EffectAction.end(adding: [6]))
        primary.commit()
        #expect(primary.state.sum == 11 && primary.machine.log.runs.count == 0)
        #expect(primary.sent.isEmpty && primary.ends[id(2)]?.count == 1)
        primary.pass(milliseconds: 1_100)
        primary.commit()
        primary.wish(session, .await, [2], from: peer)
        #expect(primary.sent.last?.message.kind == .sessionExpired)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: a moved session's end goes where the session is (PROTOCOL ).
    @Test func anEndFollowsItsSession() {
        let other = Connection(rawValue: 2)
        primary.finish(id(1))
        primary.turn()
        primary.hello(other)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 2, ackedThrough: 2)), from: other)
        primary.forget()
        primary.persist()
        #expect(primary.sent.map(\.connection) == [other] && primary.kinds == [.runEnded])
    }
}
