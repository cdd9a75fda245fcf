import LockstepCore
import LockstepNode
import Testing

/// Callers that wait for the ends of accepted actions.
@Suite struct EndDeskTests {
    private static let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
    private static let run = RunID(session: session, number: 3)
    private static let deadline = Tick.zero.advanced(byMilliseconds: 5)

    enum Change: CaseIterable, Sendable { case ended, lost, sessionLost }

    /// Whoever was told that an action goes on may ask for it later, until its end is here or nobody can know it
    /// (PROTOCOL, R-64).
    @Test(arguments: [false, true], Change.allCases) func whatGoesOnIsKnown(isStopped: Bool, change: Change) {
        var desk = EndDesk()
        var codes: [LockstepError.Code] = []
        desk.add(1, Self.run, mayCome: true, deadline: Self.deadline) { outcome in
            if case .failure(let error as LockstepError) = outcome { codes.append(error.code) }
        }
        #expect(!desk.hasUnfinished)
        if isStopped { desk.stop() } else { desk.ticked(Self.deadline) }
        #expect(codes == [.unfinished])
        #expect(desk.hasUnfinished)
        switch change {
        case .ended:
            let sequence = SequenceNumber(rawValue: 9)
            desk.ended(Self.run, RunEnding(epoch: Self.session.epoch, sequence: sequence, emissions: 0, item: []))
        case .lost: desk.lost(Self.run)
        case .sessionLost: desk.sessionLost(Self.session)
        }
        #expect(!desk.hasUnfinished)
    }

    /// A caller that was cancelled was told nothing of its action.
    @Test func whoIsCancelledLeavesNothing() {
        var desk = EndDesk()
        desk.add(1, Self.run, mayCome: true, deadline: Self.deadline) { _ in }
        let isFound = desk.cancel(1)
        #expect(isFound)
        #expect(!desk.hasUnfinished)
    }
}
