import Foundation
import LockstepCore
import LockstepLaboratory
import LockstepSQLite
import Testing

/// The judge of a journal's files passes what a writer left, and finds each lie that is planted in it.
@Suite(.timeLimit(.minutes(5))) struct StorageJudgeTests {
    private let place = NSTemporaryDirectory() + "lockstep-\(UUID().uuidString)"
    private var folder: String { place + "/node" }

    private func written(_ script: StorageScript) async throws -> StorageNotes {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try await StorageWriter(script, folder: folder, notes: place + "/notes").run()
        return StorageNotes(lines: try String(contentsOfFile: place + "/notes", encoding: .utf8))
    }

    private func remove() { try? FileManager.default.removeItem(atPath: place) }  // The next test has its own.

    /// Goal: a seed has one script, and other seeds have others; a script has everything in it that a journal can do.
    @Test func aSeedHasOneScript() throws {
        let script = try StorageScript(seed: 3, steps: 300)
        #expect(try StorageScript(seed: 3, steps: 300).links.map(\.batch) == script.links.map(\.batch))
        #expect(try StorageScript(seed: 4, steps: 300).links.map(\.batch) != script.links.map(\.batch))
        let kinds = Set(script.steps.map { "\($0.action)".prefix { $0 != "(" } })
        #expect(kinds.count == 10, "\(kinds)")
        #expect(script.places.count == script.links.count)
    }

    /// Goal: what a writer leaves behind is right, also if it stopped in between and another went on.
    @Test func whatAWriterLeavesIsRight() async throws {
        defer { remove() }
        let script = try StorageScript(seed: 5, steps: 60)
        let notes = StorageNotes(lines: "")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        #expect(notes.done == nil)
        try await StorageWriter(script, folder: folder, notes: place + "/notes").run(through: 30)
        let first = StorageNotes(lines: try String(contentsOfFile: place + "/notes", encoding: .utf8))
        #expect(first.done == 30 && first.begun == 30)
        #expect(StorageJudge(script).judge(folder, notes: first) == nil)
        let all = try await written(script)
        #expect(all.done == script.steps.count - 1)
        #expect(StorageJudge(script).judge(folder, notes: all, goesOn: true) == nil)
    }

    /// Goal: a writer whose task is cancelled waits for its saves all the same: the journal takes one at a time.
    @Test func aCancelledWriterWaitsForItsSaves() async throws {
        defer { remove() }
        let script = try StorageScript(seed: 5, steps: 60)
        let saves = script.steps.filter { if case .endSave = $0.action { true } else { false } }
        try #require(saves.count > 1)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let (folder, notes) = (folder, place + "/notes")
        let work = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await StorageWriter(script, folder: folder, notes: notes).run()
        }
        try await work.value
        let found = StorageNotes(lines: try String(contentsOfFile: notes, encoding: .utf8))
        #expect(found.done == script.steps.count - 1)
    }

    /// Goal: an acknowledged step that is not there, one that nobody began, a changed record, a lost snapshot, a wrong
    /// note and a missing `node.json` are all found.
    @Test func everyLieIsFound() async throws {
        defer { remove() }
        let script = try StorageScript(seed: 6, steps: 60)
        let notes = try await written(script)
        let judge = StorageJudge(script)
        let last = script.steps.count - 1
        #expect(judge.judge(folder, notes: notes) == nil)
        #expect(judge.judge(folder, notes: StorageNotes(lines: "d \(last - 1)"))?.contains("it ends at") == true)
        var longer = try StorageScript(seed: 6, steps: 90)
        longer.falsify()
        #expect(StorageJudge(longer).judge(folder, notes: StorageNotes(lines: "d 80"))?.contains("it ends at") == true)

        var found = FoundLog(start: .start(of: StorageScript.store))
        let reader = try SQLiteJournalReader(folder: folder, storeName: StorageScript.storeName)
        try reader.snapshot(atOrBelow: SequenceNumber(rawValue: 1 << 60)).map { found.begin($0) }
        try reader.batches(after: found.end.sequence) { found.append($0) }
        try reader.close()
        #expect(judge.compare(found, notes: notes) == nil)
        for change in [
            { (log: inout FoundLog) in log.state[3] ^= 1 }, { $0.batches.removeFirst() },
            { $0.batches.append($0.batches[0]) }, { $0.batches.swapAt(0, $0.batches.count - 1) },
        ] {
            var changed = found
            change(&changed)
            #expect(judge.compare(changed, notes: notes) != nil)
        }
        var whole = FoundLog(start: .start(of: StorageScript.store))
        for batch in try #require(script.path(to: script.steps[last].head, after: nil)) { whole.append(batch) }
        #expect(judge.compare(whole, notes: notes)?.contains("was acknowledged and is gone") == true)
        #expect(judge.compare(whole, notes: notes, demandsSnapshot: false) == nil)

        try FileManager.default.removeItem(atPath: folder + "/node.json")
        #expect(judge.judge(folder, notes: notes)?.contains("node") == true)
    }
}
