import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// The file of a data node's journal: crashes around a cut, older copies, damage, and the end of what was kept aside
/// (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)))
struct JournalTruncationTests {
    let folder = JournalFolder()

    /// An arbitrated journal with three committed batches and three in the tail.
    private func written() async throws -> (journal: SQLiteJournal, history: History) {
        let journal = try folder.dataNodeJournal(create: true)
        _ = try journal.recovered()
        try await journal.done { journal.markArbitrated(completion: $0) }
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 3), committed: .zero)
        try await journal.appended(try history.add(count: 3), committed: history.batches[2].head.last)
        return (journal, history)
    }

    private func recovered(_ folder: JournalFolder) throws -> Recovered {
        let journal = try folder.dataNodeJournal()
        defer { journal.close() }
        return try journal.recovered()
    }

    private func refusal(_ folder: JournalFolder) -> LockstepError? {
        do { _ = try recovered(folder) } catch { return error as? LockstepError }
        return nil
    }

    /// Copies one file of a folder over that of another.
    private func put(_ source: String, over target: String) throws {
        try FileManager.default.removeItem(atPath: target)
        try FileManager.default.copyItem(atPath: source, toPath: target)
    }

    /// Goal: a crash between the cut and its side mark leaves a journal that opens without what was cut; the mark is then
    /// that of the cut, and knows what follows (PROTOCOL ).
    @Test func aCrashBeforeTheSideMarkIsRecovered() async throws {
        var (journal, history) = try await written()
        let before = try folder.copy()
        let end = history.batches[3].position
        #expect(journal.truncated(after: end) == .success(CutBatches(batches: 2, end: end)))
        let after = try folder.copy()
        journal.close()
        let torn = try after.copy()
        try put(before.mark, over: torn.mark)
        let kept = Array(history.batches[...2])
        for copy in [after, torn] {
            #expect(try recovered(copy) == Recovered(batches: kept, tail: [history.batches[3]]))
            let reader = try SQLiteJournalReader(folder: copy.path, storeName: JournalFolder.storeName)
            #expect(reader.mark?.position == end)
            #expect(try reader.verifyAll() == [])
            try reader.close()
        }
        var other = History(store: folder.store)
        for _ in history.batches[...3] { try other.add() }
        let opened = try torn.dataNodeJournal()
        _ = try opened.recovered()
        let next = try other.add(epoch: 2)
        try await opened.appended([next], committed: .zero)
        opened.close()
        #expect(try recovered(torn).tail == [history.batches[3], next])
        history = other
    }

    /// Goal: the side mark of a cut does not go with the journal of before it, nor with one that lost the cut with the end
    /// of its write-ahead log (PROTOCOL R-47).
    @Test func anOlderCopyIsRefusedAfterACut() async throws {
        let (journal, history) = try await written()
        let before = try folder.copy()
        _ = journal.truncated(after: history.batches[4].position)
        let after = try folder.copy()
        journal.close()
        try put(after.mark, over: before.mark)
        #expect(refusal(before)?.code == .journalDamaged)
        // Also where an older mark would go with it: the journal is cut shorter than what a commit returned for.
        let lost = try after.copy()
        try edit(lost.log) { $0.removeLast($0.count / 2) }
        #expect(refusal(lost)?.code == .journalDamaged)
    }

    /// Goal: a snapshot that is being saved is not cut away below: it holds nothing but what is committed (PROTOCOL R-84).
    @Test func aSnapshotThatIsBeingSavedIsNotCut() async throws {
        let (journal, history) = try await written()
        var log = History(store: folder.store)
        for _ in 0..<4 { try log.add() }
        let bytes = log.snapshot(bytes: 60_000)
        #expect(log.end == history.batches[3].position)
        let saved = AsyncStream<Bool>.makeStream()
        journal.save(snapshot: bytes, at: log.end) { result in
            if case .success = result { saved.continuation.yield(true) }
            saved.continuation.finish()
        }
        #expect(
            journal.truncated(after: history.batches[2].position)
                == .failure(.committed(through: log.end.sequence)))
        #expect(await saved.stream.reduce(into: []) { $0.append($1) } == [true])
        #expect(
            journal.truncated(after: log.end) == .success(CutBatches(batches: 2, end: log.end)))
        journal.close()
        let found = try recovered(folder)
        #expect(found.snapshot == log.end && found.batches == [] && found.tail == [])
    }

    /// Goal: a cut for which there is no room changes nothing, and goes through when there is (PROTOCOL R-45).
    @Test func aCutWithoutRoomMayBeTriedAgain() async throws {
        let journal = try folder.dataNodeJournal(create: true)
        _ = try journal.recovered()
        try await journal.done { journal.markArbitrated(completion: $0) }
        var history = History(store: folder.store)
        let batches = try history.add(count: 4, bytes: 40_000)
        try await journal.appended(batches, committed: batches[0].head.last)
        try journal.limitPages(45)
        let end = batches[0].position
        for _ in 0..<2 {
            #expect(journal.truncated(after: end) == .failure(.write(.diskFull)))
            #expect(journal.head == history.end)
        }
        #expect(try recovered(try folder.copy()).tail == Array(batches[1...]))
        try journal.limitPages(nil)
        #expect(journal.truncated(after: end) == .success(CutBatches(batches: 3, end: end)))
        journal.close()
        #expect(try recovered(folder) == Recovered(batches: [batches[0]]))
    }

    /// Goal: what was cut is kept for 7 days, then a start takes it away, and so does the next cut; what an operator's
    /// recovery set aside stays (PROTOCOL R-84).
    @Test func whatWasCutIsKeptForAWeek() async throws {
        let (journal, history) = try await written()
        _ = journal.truncated(after: history.batches[4].position)
        journal.close()
        try folder.tamper(
            """
            INSERT INTO quarantine(moved, reason, first, last, epoch, hash, bytes)
            SELECT 1, 'recovered from another', first, last, epoch, hash, bytes FROM quarantine
            """)
        try folder.tamper("UPDATE quarantine SET moved = moved - 86400 * 6 WHERE moved > 1")
        _ = try recovered(folder)
        #expect(try reasons() == ["cut: another primary", "recovered from another"])
        try folder.tamper("UPDATE quarantine SET moved = moved - 86400 * 2 WHERE moved > 1")
        _ = try recovered(folder)
        #expect(try reasons() == ["recovered from another"])
        // What is cut from here on is old at once.
        try folder.tamper(
            """
            CREATE TRIGGER age AFTER INSERT ON quarantine
            BEGIN UPDATE quarantine SET moved = 2 WHERE id = new.id; END
            """)
        let opened = try folder.dataNodeJournal()
        _ = try opened.recovered()
        for (end, reason) in [(history.batches[3].position, "second"), (history.batches[2].position, "third")] {
            #expect(
                opened.truncated(after: end, reason: reason) == .success(CutBatches(batches: 1, end: end)))
        }
        opened.close()
        #expect(try reasons() == ["recovered from another", "cut: third"])
    }

    private func reasons() throws -> [String] {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        defer { try? reader.close() }  // Nothing was written.
        return try reader.quarantined().map(\.reason)
    }

    /// Goal: the full verification finds damage in what was cut, and none in what an operator set aside because it was
    /// damaged.
    @Test func damageInWhatWasCutIsFound() async throws {
        let (journal, history) = try await written()
        _ = journal.truncated(after: history.batches[3].position)
        journal.close()
        let first = history.batches[4].head.first.rawValue
        try folder.tamper("UPDATE quarantine SET bytes = zeroblob(90) WHERE first = \(first)")
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        let findings = try reader.verifyAll()
        #expect(findings.map(\.subject) == [.quarantine] && findings[0].sequence.rawValue == first, "\(findings)")
        try reader.close()
        // It is no reason not to start.
        #expect(refusal(folder) == nil)
        try folder.tamper("UPDATE quarantine SET reason = 'damaged'")
        let again = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(try again.verifyAll() == [])
        try again.close()
    }

    /// Goal: damage of the tail is damage: it was acknowledged (PROTOCOL ).
    @Test func damageOfTheTailIsRefused() async throws {
        let (journal, history) = try await written()
        journal.close()
        let first = history.batches[5].head.first.rawValue
        try folder.tamper("UPDATE batches SET bytes = zeroblob(90) WHERE first = \(first)")
        #expect(refusal(folder)?.code == .journalDamaged)
        let lost = try folder.copy()
        try lost.tamper("DELETE FROM batches WHERE first = \(first)")
        #expect(refusal(lost)?.code == .journalDamaged)
    }

    /// Goal: commands that read a stopped node's journal show what is committed, and the tail apart (PROTOCOL R-84).
    @Test func aReaderKeepsTheTailApart() async throws {
        let (journal, history) = try await written()
        journal.close()
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        var (batches, tail): ([SealedBatch], [SealedBatch]) = ([], [])
        try reader.batches(after: .zero) { batches.append($0) }
        try reader.tail { tail.append($0) }
        #expect(batches == Array(history.batches[...2]) && tail == Array(history.batches[3...]))
        #expect(try reader.end() == history.batches[2].position)
        #expect(try reader.commitNumber() == history.batches[2].head.last)
        #expect(reader.mark?.position == history.end)
        try reader.close()
    }
}
