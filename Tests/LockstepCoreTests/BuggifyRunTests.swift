import LockstepCore
import Testing

/// The unusual ways of runs, each forced on.
@Suite struct BuggifyRunTests {
    private let peer = Connection(rawValue: 1)

    /// A primary with one accepted action, whose sites come on after that.
    private func primary(_ sites: Set<Buggify.Site>, accepting actions: Int = 1) -> (PrimaryHarness, SessionID) {
        let primary = PrimaryHarness.open(hasEffects: true)
        let session = primary.session(peer)
        primary.submit(session, 1, actions: Array(repeating: EffectAction.run(), count: actions), from: peer)
        primary.commit()
        primary.forget()
        primary.machine.buggify = Buggify(seed: 1, sites: sites, oneIn: 1)
        return (primary, session)
    }

    private func id(_ session: SessionID, _ number: RequestNumber) -> RunID { RunID(session: session, number: number) }

    /// What executors bring is answered busy and leaves no trace.
    @Test func executorsComeAgain() {
        let (primary, session) = primary([.busyEmission, .busyRunEnd])
        let head = primary.machine.log
        primary.emit(id(session, 1), [1], ticket: 5)
        primary.finish(id(session, 1))
        #expect(primary.emissions[5] == .busy)
        #expect(primary.ends[id(session, 1)] == [.busy])
        #expect(primary.machine.log == head)
        primary.machine.buggify = .off
        primary.emit(id(session, 1), [1], ticket: 6)
        primary.finish(id(session, 1))
        primary.commit()
        #expect(primary.state.sum == 1)
        #expect(primary.runEnds.map(\.id) == [id(session, 1)])
    }

    /// A run begins with the next tick, and may have ended by then (PROTOCOL R-62).
    @Test func aRunBeginsLate() {
        let (primary, session) = primary([.lateRun])
        primary.submit(session, 2, actions: [EffectAction.run(name: "n"), EffectAction.run()], from: peer)
        primary.commit()
        #expect(primary.begun.isEmpty)
        primary.machine.buggify = .off
        primary.submit(session, 4, actions: [EffectAction.cancel("n")], from: peer)
        primary.pass(milliseconds: 100)
        #expect(primary.begunNumbers == [3])
        primary.commit()
        #expect(primary.begunNumbers == [3])
        #expect(primary.end(of: 2)?.status == .void)
    }

    /// An end that is not pushed comes when its sender asks for it (PROTOCOL R-64).
    @Test func anEndIsKeptUntilItIsAskedFor() {
        let (primary, session) = primary([.keepsEnd])
        primary.finish(id(session, 1))
        primary.commit()
        #expect(primary.runEnds.isEmpty)
        primary.wish(session, .await, [1], from: peer)
        #expect(primary.runEnds.map(\.id.number) == [1])
    }

    /// An acknowledgement waits for the sweep after the next (PROTOCOL R-64).
    @Test func anAcknowledgementIsLeftOut() {
        let (primary, session) = primary([.skipsEndAcknowledgement])
        primary.finish(id(session, 1))
        primary.commit()
        primary.wish(session, .acknowledge, [1], from: peer)
        primary.pass(milliseconds: 1_100)
        primary.commit()
        #expect(primary.machine.log.runs.count == 1)
        primary.machine.buggify = .off
        primary.pass(milliseconds: 1_100)
        primary.commit()
        #expect(primary.machine.log.runs.count == 0)
    }

    /// A session with a run gets BUSY for the next, until the run is acknowledged (PROTOCOL R-61).
    @Test func aSessionMayHaveOneRun() {
        let (primary, session) = primary([.fewRuns])
        primary.submit(session, 2, actions: [EffectAction.run()], from: peer)
        let busy = primary.sent.compactMap(\.busy)
        #expect(busy.map(\.expected) == [2])
        #expect(busy.map(\.reason) == [.tooManyRuns])
        #expect(primary.machine.log.runs.count == 1)
    }

    /// A sender asks for an end, and acknowledges it, without delay (PROTOCOL R-64).
    @Test(arguments: [true, false]) func aSenderIsHasty(isHasty: Bool) throws {
        let sites: Set<Buggify.Site> = isHasty ? [.asksForEndAtOnce, .acknowledgesEndAtOnce] : []
        var script = ClientScript(buggify: Buggify(seed: 1, sites: sites, oneIn: 1))
        try script.open()
        script.submit(1)
        let accepted = ResultSeries(
            session: ClientScript.session, first: 1, count: 1, epoch: Epoch(rawValue: 5),
            firstSequence: SequenceNumber(rawValue: 100), items: 0..<1)
        script.receive(.result(accepted), source: [3])
        script.wait(1)
        #expect(wishes(script) == (isHasty ? [.await] : []))
        let ended = RunEnded(
            id: RunID(session: ClientScript.session, number: 1), epoch: Epoch(rawValue: 5),
            sequence: SequenceNumber(rawValue: 101), emissions: 0, item: 0..<1)
        script.receive(.runEnded(ended), source: [0])
        script.wait(1)
        #expect(wishes(script) == (isHasty ? [.acknowledge] : []))
    }

    private func wishes(_ script: ClientScript) -> [RunWish] {
        script.sent.flatMap { message -> [RunWish] in
            guard case .runRequest(let request) = message else { return [] }
            return request.wishes.map(\.kind)
        }
    }
}
