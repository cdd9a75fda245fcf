import Foundation
package import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// What a recovery handed out.
package struct FoundLog: Equatable, Sendable {
    package var end: Position
    package var snapshot: Position?
    package var state: [UInt8] = []
    package var batches: [SealedBatch] = []
    /// The end of what was handed out as committed.
    package var committed: Position

    package init(start: Position) { (end, committed) = (start, start) }

    package mutating func begin(_ content: SnapshotContent) {
        snapshot = content.log.position
        state = content.state
        end = content.log.position
        committed = end
    }

    package mutating func append(_ batch: SealedBatch) {
        appendTail(batch)
        committed = end
    }

    /// Appends what was not handed out as committed.
    package mutating func appendTail(_ batch: SealedBatch) {
        batches.append(batch)
        end = batch.position
    }
}

/// Opens a folder with the code that a node starts with, and compares what it hands out with what a script wrote.
package struct StorageJudge: Sendable {
    package let script: StorageScript
    /// For each step, the newest snapshot that is acknowledged after it.
    private let saved: [Int?]
    /// For each snapshot, the step that began it.
    private let beginnings: [Int: Int]

    package init(_ script: StorageScript) {
        self.script = script
        var saved: [Int?] = []
        var beginnings: [Int: Int] = [:]
        for (index, step) in script.steps.enumerated() {
            var newest = saved.last ?? nil
            switch step.action {
            case .endSave(let link): newest = link
            case .beginSave: step.head.map { beginnings[$0] = index }
            case .replace:
                step.head.map { beginnings[$0] = index }
                newest = step.head
            default: break
            }
            saved.append(newest)
        }
        self.saved = saved
        self.beginnings = beginnings
    }

    /// What is wrong with a folder that a crash left after these notes; nil if nothing is.
    ///
    /// It is opened twice, and the second time must find the same; with `goesOn` a batch is appended in between.
    package func judge(_ folder: String, notes: StorageNotes, goesOn: Bool = false) -> String? {
        do {
            let first = try open(folder, notes: notes, goesOn: goesOn)
            if let wrong = compare(first.log, notes: notes) ?? compare(first.note, notes: notes) { return wrong }
            if let wrong = identity(folder, notes: notes) { return wrong }
            if script.isArbitrated, let wrong = try arbitration(first, folder, notes: notes) { return wrong }
            let second = try open(folder, notes: StorageNotes(lines: "d 0"), goesOn: false)
            var expected = first.log
            if let batch = first.appended {
                if first.known == nil { expected.append(batch) } else { expected.appendTail(batch) }
            }
            guard second.log == expected else { return "a second opening found something else: \(second.log.end)" }
            let reader = try SQLiteJournalReader(folder: folder, storeName: StorageScript.storeName)
            let findings = try reader.verifyAll()
            try reader.close()
            return findings.first.map { "the full verification found \($0)" }
        } catch let error as LockstepError {
            return "refused: \(error.code): \(error.message)"
        } catch {
            return "\(error)"
        }
    }

    struct Opened {
        var log: FoundLog
        var note: String?
        /// What an arbitrated journal knows.
        var known: JournalArbitration?
        var appended: SealedBatch?
    }

    /// Opens, recovers and closes; a journal that nobody was told of is made anew where it is missing.
    func open(_ folder: String, notes: StorageNotes, goesOn: Bool, create: Bool = false) throws -> Opened {
        let journal: SQLiteJournal
        do {
            journal = try SQLiteJournal(
                folder: folder, request: script.request, create: create, tuning: StorageWriter.tuning)
        } catch let error as LockstepError where error.code == .journalMissing && notes.done == nil && !create {
            return try open(folder, notes: notes, goesOn: goesOn, create: true)
        }
        defer { journal.close() }
        var opened = Opened(log: FoundLog(start: .start(of: StorageScript.store)))
        try journal.recover {
            opened.log.begin($0)
        } batch: {
            opened.log.append($0)
        } tail: {
            opened.log.appendTail($0)
        }
        opened.known = journal.arbitration
        guard journal.head == opened.log.end else { throw Lie("it says that it ends at \(journal.head)") }
        opened.note = try journal.note(.lossAccepted)
        if goesOn {
            let batch = Self.further(after: opened.log.end)
            try journal.appendRecovered([batch])
            opened.appended = batch
        }
        return opened
    }

    /// Why the log that was found is not one that these notes allow; nil if it is.
    package func compare(_ found: FoundLog, notes: StorageNotes, demandsSnapshot: Bool = true) -> String? {
        let begun = notes.begun ?? 0
        let done = notes.done ?? 0
        let heads = (done...max(done, begun)).map { script.steps[$0].head }
        guard let head = heads.last(where: { script.position($0) == found.end }) else {
            let known = script.places[found.end].map { "which is batch \($0)" } ?? "which nobody wrote"
            return "it ends at \(found.end), \(known); acknowledged is \(script.position(heads[0]))"
                + (heads.count > 1 ? ", begun \(script.position(heads[heads.count - 1]))" : "")
        }
        var base: Int?
        if let snapshot = found.snapshot {
            guard let link = script.places[snapshot], let step = beginnings[link], step <= begun else {
                return "the snapshot at \(snapshot) is none that was written"
            }
            guard found.state == script.state(at: link) else { return "the snapshot at \(snapshot) has another state" }
            base = link
        }
        guard let path = script.path(to: head, after: base) else { return "its snapshot is of another history" }
        guard path == found.batches else { return "its batches to \(found.end) are not those that were written" }
        guard demandsSnapshot, notes.done != nil, let wanted = saved[done] else { return nil }
        // A snapshot that is being saved may be there already, one that is acknowledged must.
        let isThere = base.map { script.position($0).sequence >= script.position(wanted).sequence } ?? false
        guard isThere || heads.count > 1 && script.steps[begun].action == .replace else {
            return "the snapshot at \(script.position(wanted)) was acknowledged and is gone"
        }
        return nil
    }

    func compare(_ note: String?, notes: StorageNotes) -> String? {
        var last: String?
        var allowed: [String?] = []
        for (index, step) in script.steps.enumerated() where index <= notes.begun ?? -1 {
            guard case .note(let text) = step.action else { continue }
            if index <= notes.done ?? -1 { last = text } else { allowed.append(text) }
        }
        return [last].contains(note) || allowed.contains(note)
            ? nil : "the note is \(note ?? "gone"), not \(last ?? "-")"
    }

    /// `node.json`, if it was acknowledged.
    private func identity(_ folder: String, notes: StorageNotes) -> String? {
        guard let done = notes.done, done >= 1 else { return nil }
        do {
            let found = try NodeFolder(folder).identity()
            let wanted = StorageScript.identity
            guard found.node == wanted.node, found.cluster == wanted.cluster, found.stores == wanted.stores else {
                return "node.json says \(found)"
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// A batch as the next boot would write it.
    private static func further(after end: Position) -> SealedBatch {
        let epoch = Epoch(rawValue: end.epoch.rawValue + 1)
        var builder = BatchBuilder(store: StorageScript.store, epoch: epoch, after: end, time: LogTime(rawValue: 2_000))
        builder.append(
            .epochOpen(
                node: StorageScript.node, incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1 << 100)))
        return builder.sealed()
    }

    struct Lie: Error, CustomStringConvertible {
        var description: String
        init(_ description: String) { self.description = description }
    }
}
