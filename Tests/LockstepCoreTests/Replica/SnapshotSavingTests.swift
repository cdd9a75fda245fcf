import LockstepCore
import Testing

/// Which snapshot a journal is given, and when (PROTOCOL R-46: the newest snapshot and every batch behind it are there).
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

    @Test func whatWaitsGoesWithTheStateThatWasReplaced() {
        var saving = SnapshotSaving()
        saving.offer(1, at: number(1))
        saving.forget()
        #expect(saving.next(written: number(9)) == nil)
    }
}
