import LockstepCore
import LockstepNode
import Testing

struct FeedDeskTests {
    /// Goal: a snapshot may bring another history, so every consumer that waits is told to begin again, also one that waits
    /// at the snapshot's own place or after it (PROTOCOL ).
    @Test(arguments: [3, 5, 9] as [UInt64])
    func aSnapshotEndsAllWaits(after place: UInt64) throws {
        var desk = FeedDesk()
        desk.begin(ResendWindow(), end: SequenceNumber(rawValue: place))
        var outcome: Result<[SealedBatch], any Error>?
        desk.request(1, after: SequenceNumber(rawValue: place)) { outcome = $0 }
        #expect(outcome == nil, "nothing follows yet")
        desk.restart(at: SequenceNumber(rawValue: 5))
        let error = #expect(throws: LockstepError.self) { try outcome?.get() }
        #expect(error?.code == .positionTooOld)
        let stillWaits = desk.cancel(1)
        #expect(!stillWaits)
    }
}
