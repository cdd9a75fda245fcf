import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// What an operator's recovery leaves when it is interrupted (PROTOCOL R-47).
@Suite(.timeLimit(.minutes(5)))
struct JournalReplacementTests {
    private struct Crash: Error {}

    /// Goal: a crash before any move leaves the old journal or one that a start refuses, never one that starts with
    /// less; and a repetition replaces it.
    @Test func aCrashInBetweenIsRefused() async throws {
        var moves = 0
        while try await crash(before: moves) { moves += 1 }
        // The database and its log go, mark and database come, at least.
        #expect(moves >= 4)
    }

    /// Replaces the journal of a killed node, whose batches are in its write-ahead log, with a crash before a move;
    /// returns whether there was such a move.
    private func crash(before move: Int) async throws -> Bool {
        let running = JournalFolder()
        let journal = try running.emptyJournal()
        var history = History(store: running.store)
        try await journal.appended(try history.add(count: 3))
        let folder = try running.copy(named: "-killed")
        journal.close()
        let old = history.batches
        _ = try history.add(count: 2)
        let (first, second) = (try await fresh(history), try await fresh(history))
        var rest = move
        do {
            try replace(folder, with: first) {
                guard rest > 0 else { throw Crash() }
                rest -= 1
            }
            #expect(try folder.recovered().batches == history.batches)
            return false
        } catch is Crash {}
        if move == 0 {
            #expect(try folder.copy().recovered().batches == old)
        } else {
            #expect(try folder.copy().refusal()?.code == .journalDamaged, "before move \(move)")
        }
        try replace(folder, with: second)
        #expect(try folder.recovered().batches == history.batches, "after a crash before move \(move)")
        return true
    }

    /// Goal: what a journal says of itself outlives an interrupted swap: a repetition finds all that the first command
    /// has found (PROTOCOL ).
    @Test func theNotesOutliveAnInterruptedSwap() async throws {
        let notes: [JournalNote: String] = [.role: "primary", .audience: "replica-1,replica-2", .lossAccepted: "7:3"]
        var moves = 0
        while try await keeps(notes, afterACrashBefore: moves) { moves += 1 }
        #expect(moves >= 4)
    }

    /// Replaces a journal with notes, with a crash before a move, and once more; returns whether there was such a move.
    private func keeps(_ notes: [JournalNote: String], afterACrashBefore move: Int) async throws -> Bool {
        let running = JournalFolder()
        let journal = try running.emptyJournal()
        for (note, text) in notes { try journal.setNote(note, to: text) }
        var history = History(store: running.store)
        try await journal.appended(try history.add(count: 3))
        let folder = try running.copy(named: "-killed")
        journal.close()
        var rest = move
        var isInterrupted = false
        do {
            try makeAnew(folder, history.batches) {
                guard rest > 0 else { throw Crash() }
                rest -= 1
            }
        } catch is Crash { isInterrupted = true }
        if isInterrupted, move == 0 {
            // What may not be possible comes first, so that nothing has changed if it fails.
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let kept = try #require(names.first { $0.hasPrefix("kept-") })
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/\(kept)") == ["counters.mark"])
            #expect(try folder.copy().recovered().batches == history.batches)
        }
        #expect(found(in: folder) == notes, "after a crash before move \(move)")
        if isInterrupted { try makeAnew(folder, history.batches) }
        #expect(found(in: folder) == notes, "after a repetition, with a crash before move \(move)")
        #expect(try folder.recovered().batches == history.batches)
        return isInterrupted
    }

    private func found(in folder: JournalFolder) -> [JournalNote: String] {
        JournalReplacement.notesToKeep(folder: folder.path, store: JournalFolder.storeName)
    }

    /// Makes a new journal in the folder, with the notes that are found, and puts it in the place of the old one.
    private func makeAnew(
        _ folder: JournalFolder, _ batches: [SealedBatch], step: () throws -> Void = {}
    ) throws {
        let notes = found(in: folder)
        let path = JournalReplacement.freshFolder(of: JournalFolder.storeName, in: folder.path)
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        let journal = try SQLiteJournal(folder: path, request: folder.request(), create: true)
        try journal.openForRepair()
        for (note, text) in notes { try journal.setNote(note, to: text) }
        try journal.appendRecovered(batches)
        journal.close()
        let place = try JournalReplacement(folder: folder.path, store: JournalFolder.storeName, node: "node-1")
        _ = try place.swap(with: path, step: step)
    }

    /// Takes the folder's lock, as the command does, and gives it back.
    private func replace(_ folder: JournalFolder, with fresh: JournalFolder, step: () throws -> Void = {}) throws {
        let place = try JournalReplacement(folder: folder.path, store: JournalFolder.storeName, node: "node-1")
        _ = try place.swap(with: fresh.path, step: step)
    }

    private func fresh(_ history: History) async throws -> JournalFolder {
        let folder = JournalFolder(named: "-fresh")
        let journal = try folder.emptyJournal()
        try await journal.appended(history.batches)
        journal.close()
        return folder
    }

    /// Goal: the mark follows what a recovery writes, so until it has ended its note keeps a start away.
    @Test func anInterruptedRecoveryIsRefused() async throws {
        let folder = JournalFolder()
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 3))
        journal.close()
        try note(KnownPosition(position: history.end, boot: BootID(rawValue: 0)).noteText, in: folder)
        #expect(try folder.refusal()?.code == .journalDamaged)
        try note(nil, in: folder)
        #expect(try folder.recovered().batches == history.batches)
    }

    private func note(_ text: String?, in folder: JournalFolder) throws {
        let journal = try folder.journal()
        defer { journal.close() }
        try journal.openForRepair()
        try journal.setNote(.recovering, to: text)
    }
}
