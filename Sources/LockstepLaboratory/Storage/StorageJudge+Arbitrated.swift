package import LockstepCore
package import LockstepNode
import LockstepSQLite

// What only a data node's journal must hold (PROTOCOL, R-84, R-85).
extension StorageJudge {
    /// What is wrong with what an arbitrated journal knows, its tail and its quarantine; nil if nothing is.
    ///
    /// One transaction writes batches and commit number, so both must be of the same step, and so must be what was
    /// promised, what the arbiter said, and what was cut.
    func arbitration(_ found: Opened, _ folder: String, notes: StorageNotes) throws -> String? {
        if found.known != nil, !isRefusedStatically(folder) { return "a node without an arbiter opens it" }
        let reader = try SQLiteJournalReader(folder: folder, storeName: StorageScript.storeName)
        let cut = try reader.quarantined().map(\.batch)
        try reader.close()
        return known(found.log, found.known, cut: cut, notes: notes)
    }

    /// Why this is not what a step left that these notes allow; nil if it is.
    package func known(
        _ log: FoundLog, _ known: JournalArbitration?, cut: [SealedBatch?], notes: StorageNotes
    ) -> String? {
        let done = notes.done ?? 0
        let steps = script.steps[done...max(done, notes.begun ?? 0)]
        var reasons: [String] = []
        for step in steps where script.position(step.head) == log.end {
            guard let reason = difference(of: log, known, cut, from: step) else { return nil }
            reasons.append(reason)
        }
        return reasons.first ?? "no step that was begun ends at \(log.end)"
    }

    private func difference(
        of log: FoundLog, _ known: JournalArbitration?, _ cut: [SealedBatch?], from step: StorageScript.Step
    ) -> String? {
        guard let wanted = step.known, let known else {
            if step.known == nil, known == nil { return log.committed == log.end ? nil : "it has a tail and no mark" }
            return known == nil ? "it is not marked as arbitrated" : "it is marked as arbitrated already"
        }
        let committed = script.position(wanted.committed)
        guard log.committed == committed else {
            return "it is committed through \(log.committed.sequence), and should be through \(committed.sequence)"
        }
        guard known.promised?.rawValue == wanted.promised else {
            return "it promises \(known.promised?.description ?? "nothing"), not \(wanted.promised ?? 0)"
        }
        guard known.arbiter == wanted.memory else {
            return "it remembers revision \(known.arbiter.revision) of the arbiter, not \(wanted.arbiter)"
        }
        guard cut == wanted.cut.map({ script.links[$0].batch }) else {
            return "\(cut.count) batches are kept aside, not the \(wanted.cut.count) that were cut"
        }
        return nil
    }

    /// Whether a node without an arbiter is refused the journal, for the right reason.
    private func isRefusedStatically(_ folder: String) -> Bool {
        do {
            let journal = try SQLiteJournal(
                folder: folder, request: StorageScript.staticRequest, create: false, tuning: StorageWriter.tuning)
            journal.close()
            return false
        } catch let error as LockstepError {
            return error.code == .wrongRole
        } catch {
            return false
        }
    }
}
