import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// Damage is found and named, never accepted (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)))
struct JournalDamageTests {
    let folder = JournalFolder()

    /// Two snapshots, batches before, between and after them; the journal is left open.
    private func filled(_ history: inout History) async throws -> SQLiteJournal {
        let journal = try folder.emptyJournal()
        for _ in 0..<2 {
            for _ in 0..<4 { try await journal.appended(try history.add(count: 2, bytes: 1_500)) }
            try await journal.saved(history.snapshot(), at: history.end)
        }
        for _ in 0..<6 { try await journal.appended([try history.add(bytes: 1_500)]) }
        return journal
    }

    /// Goal: no single flipped bit of the main file changes what is handed out without being named.
    ///
    /// Method: a bit of every 211th byte, one at a time.
    @Test func noFlippedBitOfTheMainFileIsSilent() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let whole = try folder.recovered()
        let found = try folder.flips(of: \.database, every: 211, whole: whole)
        #expect(found.named > 50)
        #expect(found.silent == 0)
    }

    /// Goal: the same for the write-ahead log, which SQLite itself would cut off in silence.
    @Test func noFlippedBitOfTheWriteAheadLogIsSilent() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        let killed = try folder.copy()
        journal.close()
        #expect(try killed.copy().recovered().batches == Array(history.batches.suffix(6)))
        let whole = try killed.copy().recovered()
        let found = try killed.flips(of: \.log, every: 503, whole: whole)
        #expect(found.named > 20)
        #expect(found.silent == 0)
    }

    /// Goal: acknowledged rows that vanished with the end of the write-ahead log are missed.
    @Test(arguments: [1, 2_000, 20_000])
    func aCutWriteAheadLogIsFound(bytes: Int) async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        let killed = try folder.copy()
        journal.close()
        // The file is longer than what it holds, since it is written again from its start after each checkpoint.
        try edit(killed.log) { log in
            let used = history.batches.last.flatMap {
                Data(log).range(of: Data($0.bytes.suffix(200)), options: .backwards)
            }
            log.removeLast(log.count - (used?.upperBound ?? 0) + bytes)
        }
        let error = try killed.refusal()
        #expect(error?.code == .journalDamaged)
        #expect(error?.message.contains("sequence number \(history.end.sequence)") == true)
    }

    /// Goal: a lost write-ahead log is missed.
    @Test func aLostWriteAheadLogIsFound() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        let killed = try folder.copy()
        journal.close()
        try FileManager.default.removeItem(atPath: killed.log)
        #expect(try killed.refusal()?.code == .journalDamaged)
    }

    /// Goal: an older copy of the file beside the newer mark is refused.
    @Test func anOlderCopyOfTheFileIsFound() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let older = try folder.copy()
        let again = try folder.journal()
        _ = try again.recovered()
        try await again.appended([try history.add()])
        again.close()
        try FileManager.default.removeItem(atPath: folder.database)
        try FileManager.default.copyItem(atPath: older.database, toPath: folder.database)
        let error = try folder.refusal()
        #expect(error?.code == .journalDamaged)
        #expect(error?.message.contains("\(history.end.sequence)") == true)
    }

    /// Goal: an operator's change that writes the mark anew does not take a cut journal for whole: no journal of the
    /// change is touched, also none that is whole.
    @Test func aCutJournalIsNotOpenedForAChange() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let older = try folder.copy()
        let end = history.end
        let again = try folder.journal()
        _ = try again.recovered()
        try await again.appended([try history.add()])
        again.close()
        try FileManager.default.removeItem(atPath: folder.database)
        try FileManager.default.copyItem(atPath: older.database, toPath: folder.database)
        let paths = [folder.database, folder.mark, older.database, older.mark]
        let before = paths.map { FileManager.default.contents(atPath: $0) }
        let (whole, cut) = (try older.journal(), try folder.journal())
        let error = #expect(throws: LockstepError.self) { try SQLiteJournal.openVerified([whole, cut]) }
        #expect(error?.code == .journalDamaged)
        #expect(error?.message.contains("a commit returned for \(history.end)") == true)
        whole.close()
        cut.close()
        #expect(before == paths.map { FileManager.default.contents(atPath: $0) })

        let opened = try older.journal()
        try SQLiteJournal.openVerified([opened])
        #expect(opened.head == end)
        opened.close()
    }

    /// Goal: another history of the same length is refused, even though its own chain is right.
    @Test func anotherHistoryBesideTheMarkIsFound() async throws {
        var history = History(store: folder.store)
        let journal = try folder.emptyJournal()
        try await journal.appended([try history.add(), try history.add()])
        journal.close()
        let base = try folder.copy()
        let again = try folder.journal()
        _ = try again.recovered()
        var fork = history
        try await again.appended([try history.add(bytes: 300)])
        again.close()
        let forked = try base.journal()
        _ = try forked.recovered()
        try await forked.appended([try fork.add(bytes: 900)])
        forked.close()
        try FileManager.default.removeItem(atPath: base.mark)
        try FileManager.default.copyItem(atPath: folder.mark, toPath: base.mark)
        let error = try base.refusal()
        #expect(error?.code == .journalDamaged)
        #expect(error?.message.contains("side mark at sequence number \(history.end.sequence)") == true)
    }

    /// Goal: a mark that is missing, unreadable or of another journal is refused, but a torn write of it is not.
    @Test func aDamagedMarkIsFound() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let missing = try folder.copy()
        try FileManager.default.removeItem(atPath: missing.mark)
        #expect(try missing.refusal()?.code == .journalDamaged)

        let unreadable = try folder.copy()
        try edit(unreadable.mark) {
            $0[40] ^= 1
            $0[552] ^= 1
        }
        #expect(try unreadable.refusal()?.code == .journalDamaged)

        for slot in [40, 552] {
            let torn = try folder.copy()
            try edit(torn.mark) { $0[slot] ^= 1 }
            let reader = try SQLiteJournalReader(folder: torn.path, storeName: JournalFolder.storeName)
            #expect(try reader.verifyAll().map(\.subject) == [.mark])
            try reader.close()
            #expect(try torn.recovered().batches == Array(history.batches.suffix(6)))
        }

        let other = JournalFolder()
        try other.emptyJournal().close()
        try FileManager.default.removeItem(atPath: folder.mark)
        try FileManager.default.copyItem(atPath: other.mark, toPath: folder.mark)
        #expect(try folder.refusal()?.code == .journalDamaged)
    }

    /// Goal: an empty journal has nothing that a mark could miss.
    @Test func anEmptyJournalNeedsNoMark() throws {
        try folder.emptyJournal().close()
        try FileManager.default.removeItem(atPath: folder.mark)
        #expect(try folder.recovered() == Recovered())
        #expect(FileManager.default.fileExists(atPath: folder.mark))
    }

    /// Goal: rows that were swapped, changed or taken away are named with their sequence number, and all of them by the
    /// full verification.
    ///
    /// Each is done with SQL, so SQLite finds nothing wrong with the file.
    @Test func changedRowsAreNamed() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let first = history.batches[18].head.first
        let second = history.batches[19].head.first
        let changes = [
            """
            UPDATE batches SET first = -1 WHERE first = \(first); UPDATE batches SET first = \(first) WHERE first = \
            \(second); UPDATE batches SET first = \(second) WHERE first = -1
            """,
            "DELETE FROM batches WHERE first = \(first)",
            "UPDATE batches SET bytes = zeroblob(500) WHERE first = \(first)",
            "UPDATE batches SET hash = zeroblob(16) WHERE first = \(first)",
            "UPDATE batches SET last = 'x', epoch = 'y', hash = 7 WHERE first = \(first)",
            "UPDATE batches SET epoch = epoch + 1 WHERE first = \(first)",
        ]
        for change in changes {
            let copy = try folder.copy()
            try copy.tamper(change)
            let error = try copy.refusal()
            #expect(error?.code == .journalDamaged)
            #expect(error?.message.contains("batch at sequence number \(first)") == true, "\(change)")
            let reader = try SQLiteJournalReader(folder: copy.path, storeName: JournalFolder.storeName)
            #expect(try reader.verifyAll().contains { $0.sequence == first })
            try reader.close()
        }
    }

    /// Goal: a damaged newest snapshot is named and refused; a damaged older one is found by the full verification.
    @Test func aDamagedSnapshotIsNamed() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        journal.close()
        let newest = history.batches[15].head.last
        for change in [
            "UPDATE chunks SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT max(id) FROM chunks)",
            "DELETE FROM chunks WHERE id = (SELECT max(id) - 1 FROM chunks)",
            "UPDATE snapshots SET size = size + 1", "UPDATE snapshots SET chunk_count = chunk_count - 1",
        ] {
            let copy = try folder.copy()
            try copy.tamper(change)
            let error = try copy.refusal()
            #expect(error?.code == .journalDamaged)
            #expect(error?.message.contains("snapshot at sequence number \(newest)") == true, "\(change)")
        }
        let older = history.batches[7]
        try folder.tamper(
            """
            UPDATE chunks SET bytes = x'00' WHERE id = (SELECT min(id) FROM chunks);
            UPDATE batches SET bytes = x'00' WHERE first = \(history.batches[9].head.first)
            """)
        let reopened = try folder.journal()
        #expect(try reopened.recovered().snapshot?.sequence == newest)
        let findings = await withCheckedContinuation { done in
            reopened.verifyOlder(progress: { _ in }) { done.resume(returning: $0) }
        }
        #expect(findings?.map(\.sequence) == [older.head.last, history.batches[9].head.first])
        reopened.close()
    }

    /// Goal: damage stays as it was found: a refused start changes neither the main file nor the write-ahead log.
    @Test func aRefusedStartChangesNothing() async throws {
        var history = History(store: folder.store)
        let journal = try await filled(&history)
        let killed = try folder.copy()
        journal.close()
        try edit(killed.log) { $0[5_000] ^= 0x10 }
        let before = [killed.database, killed.log, killed.mark].map { FileManager.default.contents(atPath: $0) }
        for _ in 0..<2 { #expect(try killed.refusal()?.code == .journalDamaged) }
        #expect(before == [killed.database, killed.log, killed.mark].map { FileManager.default.contents(atPath: $0) })
    }
}

extension JournalFolder {
    /// Flips one bit at a time and counts the refusals, and the starts that handed out something else than the whole.
    func flips(
        of file: KeyPath<JournalFolder, String>, every step: Int, whole: Recovered
    ) throws -> (named: Int, silent: Int) {
        var named = 0
        var silent = 0
        let copy = try copy()
        let originals = try [copy.database, copy.log, copy.mark].compactMap { path in
            FileManager.default.fileExists(atPath: path)
                ? (path, try Data(contentsOf: URL(fileURLWithPath: path))) : nil
        }
        let count = try Data(contentsOf: URL(fileURLWithPath: copy[keyPath: file])).count
        for offset in stride(from: 17, to: count, by: step) {
            try edit(copy[keyPath: file]) { $0[offset] ^= 1 << UInt8(offset % 8) }
            do {
                if try copy.recovered() != whole { silent += 1 }
            } catch is LockstepError {
                named += 1
            }
            // A start that succeeded has emptied the write-ahead log.
            try? FileManager.default.removeItem(atPath: copy.log)  // It may not be there.
            for (path, data) in originals { try data.write(to: URL(fileURLWithPath: path)) }
        }
        return (named, silent)
    }
}
