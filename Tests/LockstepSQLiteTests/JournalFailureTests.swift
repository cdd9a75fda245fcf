import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// What a journal does when it cannot write, and what operators do with one.
@Suite(.timeLimit(.minutes(5)))
struct JournalFailureTests {
    let folder = JournalFolder()

    /// Goal: a full disk writes nothing, and the same batches go through when there is room (PROTOCOL R-45).
    @Test func aFullDiskMayBeTriedAgainUnchanged() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        let end = history.end
        try journal.limitPages(10)
        let large = try history.add(count: 4, bytes: 30_000)
        for _ in 0..<2 {
            let error = await #expect(throws: JournalFailure.self) { try await journal.appended(large) }
            #expect(error == .diskFull)
        }
        #expect(journal.head == end)
        #expect(try folder.copy().recovered().batches.count == 1)
        try journal.limitPages(nil)
        try await journal.appended(large)
        journal.close()
        #expect(try folder.recovered().batches == history.batches)
    }

    /// Goal: a snapshot without room is given up; what the journal has stays, and appends go on.
    @Test func aSnapshotWithoutRoomIsGivenUp() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        try journal.limitPages(30)
        let error = await #expect(throws: JournalFailure.self) {
            try await journal.saved(history.snapshot(bytes: 300_000), at: history.end)
        }
        #expect(error == .diskFull)
        try await journal.appended([try history.add()])
        try journal.limitPages(nil)
        journal.close()
        #expect(try folder.recovered() == Recovered(batches: history.batches))
    }

    /// Goal: after any other error nothing more is written, and nothing is tried again (PROTOCOL R-44).
    @Test func anErrorEndsTheJournal() async throws {
        let journal = try folder.emptyJournal()
        journal.close()
        try folder.tamper(
            "CREATE TRIGGER fail BEFORE INSERT ON batches WHEN new.epoch = 2 BEGIN SELECT RAISE(ABORT, 'broken'); END")
        let failing = try folder.journal()
        _ = try failing.recovered()
        var history = History(store: folder.store)
        let good = try history.add()
        var other = history
        try await failing.appended([good])
        let bad = try history.add(epoch: 2)
        let error = await #expect(throws: JournalFailure.self) { try await failing.appended([bad]) }
        #expect(error != .diskFull)
        // It would have succeeded before.
        let fine = try other.add()
        await #expect(throws: JournalFailure.self) { try await failing.appended([fine]) }
        await #expect(throws: JournalFailure.self) { try await failing.saved(other.snapshot(), at: good.position) }
        #expect(throws: LockstepError.self) { try failing.setNote(.clockAccepted, to: "1") }
        failing.close()
        #expect(try folder.recovered().batches == [good])
    }

    /// Goal: a closed journal answers every call, with a failure; closing waits for what was asked before.
    @Test func aClosedJournalRefuses() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        let batches = try history.add(count: 10, bytes: 20_000)
        for batch in batches { journal.append([batch]) { _ in } }
        journal.close()
        journal.close()
        let next = try history.add()
        await #expect(throws: JournalFailure.self) { try await journal.appended([next]) }
        await #expect(throws: JournalFailure.self) {
            try await journal.saved(history.snapshot(), at: batches[9].position)
        }
        #expect(try folder.recovered().batches == batches)
    }

    /// Goal: notes are durable and can be taken away; the reader sees them.
    @Test func notesSurviveARestart() throws {
        let journal = try folder.emptyJournal()
        try journal.setNote(.lossAccepted, to: "7:3:00")
        try journal.setNote(.clockAccepted, to: "12")
        try journal.setNote(.clockAccepted, to: nil)
        journal.close()
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(reader.note(.lossAccepted) == "7:3:00")
        #expect(reader.note(.clockAccepted) == nil)
        #expect(reader.identity.cluster == folder.cluster)
        try reader.close()
        #expect(try SQLiteJournalReader.stores(in: folder.path) == [JournalFolder.storeName])
    }

    /// Goal: a note is not lost with the end of the write-ahead log, where no mark would show it.
    @Test func aNoteOutlivesTheWriteAheadLog() throws {
        let journal = try folder.emptyJournal()
        try journal.setNote(.lossAccepted, to: "7:3:00")
        let killed = try folder.copy()
        journal.close()
        try? FileManager.default.removeItem(atPath: killed.log)  // It may not be there.
        let reader = try SQLiteJournalReader(folder: killed.path, storeName: JournalFolder.storeName)
        #expect(reader.note(.lossAccepted) == "7:3:00")
        try reader.close()
    }

    /// Goal: an operator cuts a damaged end off, keeps it aside, and appends what another node still had.
    @Test func aDamagedEndIsQuarantinedAndFetchedAnew() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 3))
        try await journal.saved(history.snapshot(), at: history.end)
        try await journal.appended(try history.add(count: 4))
        journal.close()
        let damaged = history.batches[5]
        try folder.tamper("UPDATE batches SET bytes = zeroblob(100) WHERE first = \(damaged.head.first)")
        #expect(try folder.refusal()?.code == .journalDamaged)

        let repair = try folder.journal()
        try repair.openForRepair()
        let middle = history.batches[4].position
        #expect(throws: LockstepError.self) {
            try repair.quarantine(
                after: Position(epoch: middle.epoch, sequence: middle.sequence, hash: .none), reason: "no such end")
        }
        #expect(try repair.quarantine(after: middle, reason: "damaged") == 2)
        repair.close()

        let again = try folder.journal()
        #expect(try again.recovered().batches == Array(history.batches[3...4]))
        #expect(throws: LockstepError.self) { try again.appendRecovered([history.batches[6]]) }
        try again.appendRecovered(Array(history.batches[5...6]))
        #expect(again.head == history.end)
        again.close()
        #expect(try folder.recovered().batches == Array(history.batches[3...]))
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(try reader.quarantined().map(\.batch) == [nil, history.batches[6]])
        #expect(try reader.quarantined().allSatisfy { $0.reason == "damaged" && $0.movedAt > 0 })
        #expect(try reader.verifyAll() == [])
        try reader.close()
    }

    /// Goal: the reader hands out ranges of the log and snapshots, and leaves the files as they are.
    @Test func theReaderHandsOutRanges() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 4))
        let place = history.end
        try await journal.saved(history.snapshot(), at: place)
        try await journal.appended(try history.add(count: 4))
        let killed = try folder.copy()
        journal.close()
        let before = [killed.database, killed.log, killed.mark].map { FileManager.default.contents(atPath: $0) }
        let reader = try SQLiteJournalReader(folder: killed.path, storeName: JournalFolder.storeName)
        #expect(try reader.end() == history.end)
        #expect(reader.mark?.position == history.end)
        var found: [SealedBatch] = []
        try reader.batches(after: history.batches[1].head.last, through: history.batches[5].head.first) {
            found.append($0)
        }
        #expect(found == Array(history.batches[2...5]))
        #expect(try reader.snapshot(atOrBelow: history.end.sequence)?.log.position == place)
        #expect(try reader.snapshot(atOrBelow: history.batches[0].head.last) == nil)
        try reader.close()
        #expect(before == [killed.database, killed.log, killed.mark].map { FileManager.default.contents(atPath: $0) })
    }
}
