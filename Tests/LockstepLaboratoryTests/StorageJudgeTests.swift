import Foundation
import LockstepCore
import LockstepLaboratory
import LockstepNode
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

    // MARK: - The journal of a data node

    /// Goal: the script of a data node has everything in it that only such a journal can do, and goes by its own rules: the
    /// commit number is in the log and falls only with a replacement, and no cut goes below it (PROTOCOL ).
    @Test func aDataNodesScriptGoesByTheRules() throws {
        let script = try StorageScript(seed: 3, steps: 400, isArbitrated: true)
        #expect(try StorageScript(seed: 3, steps: 400, isArbitrated: true).steps.count == script.steps.count)
        let kinds = Set(
            script.steps.compactMap { step -> Substring? in
                guard case .arbitrated(let action) = step.action else { return nil }
                return "\(action)".prefix { $0 != "(" }
            })
        #expect(kinds.count == 7, "\(kinds)")
        var before = script.steps[2]
        for step in script.steps[3...] {
            let (old, new) = (script.position(before.known?.committed), script.position(step.known?.committed))
            #expect(step.action == .replace || new.sequence >= old.sequence)
            #expect(script.path(to: step.head, after: step.known?.committed) != nil)
            before = step
        }
        #expect((script.steps.last?.known?.cut.count ?? 0) > 10)
    }

    /// Goal: what a writer leaves of a data node's journal is right, also if it stopped in between and another went on;
    /// and a judge who is told something else finds it: another commit number, promise, arbiter, quarantine, a missing mark.
    @Test func whatADataNodesWriterLeavesIsRight() async throws {
        defer { remove() }
        let script = try StorageScript(seed: 11, steps: 80, isArbitrated: true)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try await StorageWriter(script, folder: folder, notes: place + "/notes").run(through: 40)
        let first = StorageNotes(lines: try String(contentsOfFile: place + "/notes", encoding: .utf8))
        #expect(StorageJudge(script).judge(folder, notes: first) == nil)
        let notes = try await written(script)
        let judge = StorageJudge(script)
        #expect(judge.judge(folder, notes: notes, goesOn: false) == nil)

        let last = try #require(script.steps.last)
        let known = try #require(last.known)
        var log = FoundLog(start: .start(of: StorageScript.store))
        log.end = script.position(last.head)
        log.committed = script.position(known.committed)
        var arbitration = JournalArbitration(adopted: .start(of: StorageScript.store))
        arbitration.promised = known.promised.map(Epoch.init(rawValue:))
        arbitration.arbiter = known.memory
        let cut = known.cut.map { Optional(script.links[$0].batch) }
        #expect(judge.known(log, arbitration, cut: cut, notes: notes) == nil)
        var lie = log
        lie.committed = .start(of: StorageScript.store)
        #expect(judge.known(lie, arbitration, cut: cut, notes: notes)?.contains("it is committed through") == true)
        #expect(judge.known(log, nil, cut: cut, notes: notes) == "it is not marked as arbitrated")
        #expect(judge.known(log, arbitration, cut: cut.dropLast(), notes: notes)?.contains("kept aside") == true)
        var other = arbitration
        other.promised = Epoch(rawValue: 1 << 30)
        #expect(judge.known(log, other, cut: cut, notes: notes)?.contains("it promises") == true)
        other = arbitration
        other.arbiter = ArbiterMemory(revision: 1 << 30, number: 0, epoch: .zero, boot: .none)
        #expect(judge.known(log, other, cut: cut, notes: notes)?.contains("it remembers") == true)
        // What goes on from here is a tail, too.
        #expect(judge.judge(folder, notes: notes, goesOn: true) == nil)
    }
}
