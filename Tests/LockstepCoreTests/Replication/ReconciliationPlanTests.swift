import LockstepCore
import Testing

/// Where two logs part, and what a standby does about it (PROTOCOL, R-83).
@Suite struct ReconciliationPlanTests {
    /// A log as a row of epochs, one entry and one batch each.
    private static func log(_ epochs: [UInt64]) -> [Position] {
        epochs.enumerated().map { place, epoch in
            Position(
                epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: UInt64(place + 1)),
                hash: BatchHash(rawValue: UInt128(epoch) << 64 | UInt128(place + 1)))
        }
    }
    private static func ends(_ log: [Position]) -> [EpochEnd] {
        var ends: [EpochEnd] = []
        for position in log {
            if ends.last?.epoch == position.epoch { ends.removeLast() }
            ends.append(
                EpochEnd(
                    epoch: position.epoch, boot: BootID(rawValue: UInt128(position.epoch.rawValue)),
                    sequence: position.sequence, hash: position.hash))
        }
        return ends
    }
    private static let start = Position(epoch: .zero, sequence: .zero, hash: .none)
    private static func plan(
        _ follower: [UInt64], of primary: [UInt64], committed: UInt64 = 0, oldest: UInt64 = 0
    ) -> ReconciliationPlan {
        let (theirs, ours) = (log(follower), log(primary))
        let known = FollowerLog(
            end: theirs.last ?? start, committed: SequenceNumber(rawValue: committed), epochEnds: ends(theirs))
        return ReconciliationPlan(
            known, epochEnds: ends(ours), oldest: SequenceNumber(rawValue: oldest),
            batchEnd: { place in place == .zero ? start : ours.last { $0.sequence <= place } })
    }

    /// A log that is a beginning of the primary's gets the rest.
    @Test func aBeginningGetsTheRest() {
        #expect(Self.plan([1, 1, 2], of: [1, 1, 2, 2, 4]) == .tail)
        #expect(Self.plan([1, 1], of: [1, 1]) == .tail)
        #expect(Self.plan([], of: [1]) == .tail)
    }

    /// What another primary wrote, or the same one and nobody else has, is cut off.
    @Test func whatNobodyElseHasIsCut() {
        let primary: [UInt64] = [1, 1, 4, 4]
        #expect(Self.plan([1, 1, 2, 2], of: primary) == .truncate(to: Self.log(primary)[1]))
        #expect(Self.plan([1, 1, 1, 1, 1], of: primary) == .truncate(to: Self.log(primary)[1]))
        #expect(Self.plan([3, 3], of: primary) == .truncate(to: Self.start))
        #expect(Self.plan([1, 3, 3], of: [1, 1, 4]) == .truncate(to: Self.log([1])[0]))
    }

    /// What is known to be committed is never cut.
    @Test func whatIsCommittedIsNeverCut() {
        #expect(Self.plan([1, 1, 2, 2], of: [1, 1, 4, 4], committed: 2) == .truncate(to: Self.log([1, 1])[1]))
        #expect(Self.plan([1, 1, 2, 2], of: [1, 1, 4, 4], committed: 3) == .losesCommitted)
    }

    /// Who lacks more than the primary can send fetches a snapshot.
    @Test func whoLacksTooMuchFetchesASnapshot() {
        #expect(Self.plan([1], of: [1, 1, 1, 2], oldest: 2) == .snapshot)
        #expect(Self.plan([1, 1], of: [1, 1, 1, 2], oldest: 2) == .tail)
    }

    /// The same place with another hash means that a disk has changed: nothing is built on it.
    @Test func aChangedHashIsNoBeginning() {
        var theirs = Self.log([1, 1])
        theirs[1].hash = BatchHash(rawValue: 5)
        let known = FollowerLog(end: theirs[1], committed: .zero, epochEnds: Self.ends(theirs))
        let ours = Self.log([1, 1, 2])
        let plan = ReconciliationPlan(
            known, epochEnds: Self.ends(ours), oldest: .zero, batchEnd: { place in ours.last { $0.sequence <= place } })
        #expect(plan == .losesCommitted)
    }

    /// On random pairs of logs, as primaries can have written them, what is left after the plan is a common beginning,
    /// and the longest one.
    @Test func thePlanFindsTheLongestCommonBeginning() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<2_000 {
            // Both branch off from one log, each with epochs of its own.
            let shared = (0..<random.next(below: 6)).map { $0 / 2 + 1 }
            let left = shared + (0..<random.next(below: 4)).map { 10 + $0 / 2 * 2 }
            let right = shared + (0..<random.next(below: 4)).map { 11 + $0 / 2 * 2 }
            let (theirs, ours) = (Self.log(left), Self.log(right))
            let common = zip(theirs, ours).prefix { $0 == $1 }.count
            let expected: ReconciliationPlan =
                common == theirs.count ? .tail : .truncate(to: common == 0 ? Self.start : ours[common - 1])
            #expect(Self.plan(left, of: right) == expected, "\(left) \(right)")
        }
    }
}
