import LockstepChecking

/// The judgement of a whole run: its histories and the folders of its stopped nodes.
package struct RunJudgement: Encodable, Sendable {
    package var checks: [Judge.Check] = []
    package var operations = 0
    package var acknowledged = 0
    /// Writes whose client gave up, and what the log says: they took effect, or never did.
    package var resolvedWithEffect = 0
    package var resolvedWithoutEffect = 0
    package var unresolved = 0
    package var nodes: [String: [String: UInt64]] = [:]

    /// Whether nothing was found and nothing is left open.
    package var passed: Bool { checks.allSatisfy { $0.findings.isEmpty && $0.undecided.isEmpty } }
    package var foundNothing: Bool { checks.allSatisfy(\.findings.isEmpty) }

    private enum CodingKeys: String, CodingKey {
        case checks, operations, acknowledged, resolvedWithEffect, resolvedWithoutEffect, unresolved, nodes
    }

    /// Reads histories and journals; the first folder is the primary's.
    package init(histories: [String], nodes folders: [String]) throws {
        let history = try RecordedHistory(paths: histories)
        let stores = ["counters", "search", Workbench.store]
        var logs: [String: [JournalLog]] = [:]
        for store in stores {
            logs[store] = try folders.map { folder in
                try JournalLog(folder: folder, store: store, keepsActions: folder == folders.first)
            }
        }
        judgeJournals(stores.flatMap { logs[$0] ?? [] }, logs)
        for folder in folders {
            nodes[folder] = logs.compactMapValues { $0.first { $0.folder == folder }?.last }
        }
        let evidence = logs.compactMapValues { logs in
            logs.first.map { Judge.JournalEvidence(actions: $0.actions, first: $0.first) }
        }
        let judge = Judge(history, logs: evidence.filter { $0.key != "search" })
        checks += judge.checks()
        if let primary = folders.first {
            checks += judge.finalChecks(try RebuiltStates(folder: primary, through: [:]))
            checks.append(try digests(folders, logs))
        }
        count(history, judge)
    }

    private mutating func judgeJournals(_ all: [JournalLog], _ logs: [String: [JournalLog]]) {
        var check = Judge.Check("journals", all.reduce(0) { $0 + $1.hashes.count })
        check.findings = all.flatMap(\.findings)
        checks.append(check)
        var same = Judge.Check("same history", 0)
        for logs in logs.values {
            guard let primary = logs.first else { continue }
            for log in logs.dropFirst() {
                same.checked += log.hashes.count
                same.findings += log.differences(from: primary)
            }
        }
        checks.append(same)
    }

    /// The journals of all nodes lead to equal states, where the shortest of them ends.
    private func digests(_ folders: [String], _ logs: [String: [JournalLog]]) throws -> Judge.Check {
        let ends = logs.compactMapValues { $0.map(\.last).min() }
        let states = try folders.map { try RebuiltStates(folder: $0, through: ends).digests }
        let findings = zip(folders, states).filter { $0.1 != states[0] }
            .map { "\($0.0) leads to \($0.1), \(folders[0]) to \(states[0])" }
        return Judge.Check("equal states", states.count, findings)
    }

    private mutating func count(_ history: RecordedHistory, _ judge: Judge) {
        operations = history.calls.reduce(0) { $0 + $1.count }
        acknowledged = history.calls.reduce(0) { $0 + ($1.outcome == .answered && $1.isWrite ? $1.count : 0) }
        for (before, after) in zip(history.calls, judge.history.calls) where before.isWrite {
            guard before.outcome != .answered, before.outcome != .failed else { continue }
            if after.operation.place != nil {
                resolvedWithEffect += 1
            } else if after.outcome == .failed {
                resolvedWithoutEffect += 1
            } else {
                unresolved += 1
            }
        }
    }
}
