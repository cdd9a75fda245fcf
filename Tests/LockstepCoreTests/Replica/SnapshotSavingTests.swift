import LockstepCore
import Testing

/// Which snapshot a journal is given, and when (PROTOCOL R-46: the newest snapshot and every batch after it are there).
@Suite struct SnapshotSavingTests {
    private func number(_ value: UInt64) -> SequenceNumber { SequenceNumber(rawValue: value) }

    /// A state is ahead of its journal while a write is under way: its snapshot waits for the batches before it.
    @Test func aSnapshotWaitsForTheJournalToReachItsPlace() {
        var saving = SnapshotSaving()
        saving.offer(1, at: number(10))
        #expect(saving.next(written: number(9)) == nil)
        #expect(!saving.isSaving)
        #expect(saving.next(written: number(10)) == 1)
        #expect(saving.isSaving)
    }

    @Test func oneIsSavedAtATimeAndOfThoseThatWaitTheNewest() {
        var saving = SnapshotSaving()
        saving.offer(1, at: number(1))
        #expect(saving.next(written: number(9)) == 1)
        saving.offer(2, at: number(2))
        saving.offer(3, at: number(3))
        #expect(saving.next(written: number(9)) == nil)
        saving.ended()
        #expect(saving.next(written: number(9)) == 3)
        saving.ended()
        #expect(saving.next(written: number(9)) == nil)
    }

    /// The journal's sizes call a snapshot due until a save has ended: taking another would only double the work.
    @Test func nothingIsTakenWhileOneIsOnItsWay() {
        var saving = SnapshotSaving()
        #expect(saving.isReady(at: .zero))
        saving.offer(1, at: number(2))
        #expect(!saving.isReady(at: .zero))
        #expect(saving.next(written: number(2)) == 1)
        #expect(!saving.isReady(at: .zero))
        saving.ended()
        #expect(saving.isReady(at: .zero))
    }

    /// A state that cannot be encoded, or a disk without room for it, must not cost a walk over the state each second.
    @Test func afterAFailureThereIsAPause() {
        var saving = SnapshotSaving()
        let now = Tick.zero.advanced(byMilliseconds: 5)
        saving.failed(at: now)
        #expect(!saving.isReady(at: now.advanced(byMilliseconds: SnapshotSaving.pauseMilliseconds - 1)))
        #expect(saving.isReady(at: now.advanced(byMilliseconds: SnapshotSaving.pauseMilliseconds)))
    }

    @Test func whatWaitsGoesWithTheStateThatWasReplaced() {
        var saving = SnapshotSaving()
        saving.offer(1, at: number(1))
        saving.forget()
        #expect(saving.next(written: number(9)) == nil)
    }
}
