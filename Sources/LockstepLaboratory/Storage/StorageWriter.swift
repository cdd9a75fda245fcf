import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
package import LockstepSQLite
import Synchronization

/// Drives a journal through a script, as a node does, and notes in a file of its own what it begins and what was
/// acknowledged.
///
/// A note is one small write, so a recorder of system calls sees it in its place between the journal's own calls. A
/// writer that finds notes goes on where they end, as a process does that was killed and started anew.
package final class StorageWriter {
    private let script: StorageScript
    private let folder: String
    private let notes: FileHandle
    private var noted: StorageNotes
    private var journal: SQLiteJournal?
    /// The answer to the snapshot that is being saved.
    private var save: PendingSave?

    /// How a writer ends that could not go on.
    package struct Stop: Error, CustomStringConvertible {
        package var description: String
    }

    /// Small sizes, so that a few hundred batches checkpoint, trim and save as gigabytes do otherwise.
    package static var tuning: JournalTuning {
        var tuning = JournalTuning()
        tuning.checkpointBytes = 48 << 10
        tuning.chunkBytes = 4_096
        tuning.retainedBytes = 16_000
        return tuning
    }

    package init(_ script: StorageScript, folder: String, notes path: String) throws {
        self.script = script
        self.folder = folder
        let there = FileManager.default.contents(atPath: path) ?? Data()
        noted = StorageNotes(lines: String(decoding: there, as: UTF8.self))
        if there.isEmpty { try Data().write(to: URL(fileURLWithPath: path)) }
        notes = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try notes.seekToEnd()
    }

    /// Works to the end of the script, or as far as the notes' `stop` says; throws ``Stop`` if the journal fails.
    package func run(through last: Int = .max) async throws {
        var next = 0
        if noted.done != nil {
            try recover(create: false)
            next = try resume()
        }
        while next < script.steps.count, next <= last {
            note("b", next)
            try await perform(next)
            note("d", next)
            next += 1
        }
        journal?.close()
        journal = nil
    }

    private func note(_ mark: String, _ step: Int) {
        let line = "\(mark) \(step)\n"
        notes.write(Data(line.utf8))
        noted.add(line)
    }

    /// The step to go on with, and the note of how far the log was found to be.
    private func resume() throws -> Int {
        guard let done = noted.done, let begun = noted.begun, let head = journal?.head else { return 0 }
        // What was found counts as durable from now on, also if nobody was told before.
        let isBegunThere =
            script.steps[begun].head != script.steps[done].head
            && head == script.position(script.steps[begun].head)
        guard isBegunThere || head == script.position(script.steps[done].head) else {
            throw Stop(description: "the journal was found to end at \(head), after step \(done)")
        }
        note("d", isBegunThere ? begun : done)
        return isBegunThere || begun == done ? begun + 1 : begun
    }

    private func perform(_ index: Int) async throws {
        let step = script.steps[index]
        switch step.action {
        case .create: try recover(create: true)
        case .identify: try NodeFolder(folder).write(StorageScript.identity)
        case .append(let links): try await append(links.map { script.links[$0].batch }, then: index)
        case .beginSave: if let head = step.head { beginSave(head) }
        case .endSave(let link):
            if save == nil { beginSave(link) }
            if let save { try check(await save.outcome()) }
            save = nil
        case .replace: if let head = step.head { try await replace(head) }
        case .note(let text): try journal?.setNote(.lossAccepted, to: text)
        case .cut: try cut(to: script.position(step.head))
        case .reopen:
            journal?.close()
            try recover(create: false)
        case .settle: try await Task.sleep(for: .milliseconds(1_100))
        case .arbitrated(let action): try await perform(action, index)
        }
    }

    private func recover(create: Bool) throws {
        let journal = try SQLiteJournal(folder: folder, request: script.request, create: create, tuning: Self.tuning)
        self.journal = journal
        var found = FoundLog(start: .start(of: StorageScript.store))
        try journal.recover {
            found.begin($0)
        } batch: {
            found.append($0)
        }
    }

    /// A full disk is tried again unchanged; after any other failure nothing more may be written.
    private func append(
        _ batches: [SealedBatch], committed: SequenceNumber = .zero, then index: Int
    ) async throws {
        guard let journal else { return }
        try await written(index) { journal.append(batches, committed: committed, completion: $0) }
    }

    private func written(_ index: Int, _ ask: (@escaping @Sendable (JournalOutcome) -> Void) -> Void) async throws {
        var outcome = await Self.outcome(ask)
        for _ in 0..<3 {
            guard case .failure(.diskFull) = outcome else { break }
            outcome = await Self.outcome(ask)
        }
        if case .failure(.failed) = outcome { if case .success = await Self.outcome(ask) { note("x", index) } }
        try check(outcome)
    }

    private static func outcome(
        _ ask: (@escaping @Sendable (JournalOutcome) -> Void) -> Void
    ) async -> JournalOutcome {
        await withCheckedContinuation { done in ask { done.resume(returning: $0) } }
    }

    // MARK: - A data node's journal

    private func perform(_ action: StorageScript.Arbitrated, _ index: Int) async throws {
        guard let journal else { return }
        switch action {
        case .mark: try await written(index, journal.markArbitrated)
        case .append(let links, let committed):
            try await append(
                links.map { script.links[$0].batch }, committed: script.position(committed).sequence, then: index)
        case .commit(let link):
            let number = script.position(link).sequence
            try await written(index) { journal.store(commit: number, completion: $0) }
        case .truncate: try await truncate(after: script.position(script.steps[index].head), index)
        case .truncateCommitted(let link):
            let end = script.position(link)
            let answer = await withCheckedContinuation { done in
                journal.truncate(after: end, reason: "below what is committed") { done.resume(returning: $0) }
            }
            if case .failure(.committed) = answer { return }
            if case .failure(.write(let failure)) = answer { try check(.failure(failure)) }
            throw Stop(description: "what is committed was cut after \(end): \(answer)")
        case .promise(let epoch):
            try await written(index) { journal.promise(epoch.map(Epoch.init(rawValue:)), completion: $0) }
        case .remember(let revision):
            let memory = StorageScript.Known(arbiter: revision).memory
            try await written(index) { journal.remember(memory, completion: $0) }
        }
    }

    private func truncate(after end: Position, _ index: Int) async throws {
        guard let journal else { return }
        try await written(index) { done in
            journal.truncate(after: end, reason: "the script says so") { answer in
                switch answer {
                case .success: done(.success(()))
                case .failure(.write(let failure)): done(.failure(failure))
                case .failure(let refusal): done(.failure(.failed("the cut after \(end) was refused: \(refusal)")))
                }
            }
        }
    }

    private func beginSave(_ link: Int) {
        guard let journal else { return }
        let bytes = script.snapshot(at: link)
        let position = script.position(link)
        let save = PendingSave()
        journal.save(snapshot: bytes, at: position) { save.end($0) }
        self.save = save
    }

    private func replace(_ link: Int) async throws {
        guard let journal else { return }
        let bytes = script.snapshot(at: link)
        let position = script.position(link)
        try check(
            await withCheckedContinuation { done in
                journal.replace(withSnapshot: bytes, at: position) { done.resume(returning: $0) }
            })
    }

    private func cut(to position: Position) throws {
        journal?.close()
        let repair = try SQLiteJournal(folder: folder, request: script.request, create: false, tuning: Self.tuning)
        try repair.openForRepair()
        _ = try repair.quarantine(after: position, reason: "the script says so")
        repair.close()
        try recover(create: false)
    }

    private func check(_ outcome: JournalOutcome) throws {
        switch outcome {
        case .success: return
        case .failure(.diskFull): throw Stop(description: "the disk is full")
        case .failure(.failed(let text)): throw Stop(description: text)
        }
    }
}

private typealias JournalOutcome = Result<Void, JournalFailure>

/// The answer to a save, for which a cancelled task waits too: the journal takes one save at a time.
private final class PendingSave: Sendable {
    private struct State {
        var outcome: JournalOutcome?
        var waiter: CheckedContinuation<JournalOutcome, Never>?
    }

    private let state = Mutex(State())

    func end(_ outcome: JournalOutcome) {
        let waiter = state.withLock { state in
            state.outcome = outcome
            return state.waiter.take()
        }
        waiter?.resume(returning: outcome)
    }

    func outcome() async -> JournalOutcome {
        await withCheckedContinuation { waiter in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = waiter }
                return state.outcome
            }
            if let outcome { waiter.resume(returning: outcome) }
        }
    }
}

/// What a writer noted: `b` of a step that begins, `d` of one that is acknowledged, `x` of one that succeeded although
/// the journal had failed before.
package struct StorageNotes: Hashable, Sendable {
    package private(set) var done: Int?
    package private(set) var begun: Int?
    package private(set) var wrongSuccesses: [Int] = []

    package init(lines: String = "") { for line in lines.split(separator: "\n") { add(String(line)) } }

    /// Takes over one note.
    package mutating func add(_ line: String) {
        let words = line.split { $0 == " " || $0 == "\n" }
        guard words.count == 2, let step = Int(words[1]) else { return }
        switch words[0] {
        case "b": begun = step
        case "d":
            done = step
            begun = max(begun ?? step, step)
        case "x": wrongSuccesses.append(step)
        default: break
        }
    }
}
