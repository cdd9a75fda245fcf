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
    /// How many epochs the committed log of each store has; with data nodes each but the first is another reign.
    package var epochs: [String: Int] = [:]

    /// Whether nothing was found and nothing is left open.
    package var passed: Bool { checks.allSatisfy { $0.findings.isEmpty && $0.undecided.isEmpty } }
    package var foundNothing: Bool { checks.allSatisfy(\.findings.isEmpty) }

    private enum CodingKeys: String, CodingKey {
        case checks, operations, acknowledged, resolvedWithEffect, resolvedWithoutEffect, unresolved, nodes, epochs
    }

    /// Reads histories and journals; the first folder is the primary's, unless all are of data nodes.
    package init(histories: [String], nodes folders: [String]) throws {
        let history = try RecordedHistory(paths: histories)
        let stores = ["counters", "search", Workbench.store]
        var logs: [String: [JournalLog]] = [:]
        for store in stores {
            // Of data nodes nobody knows yet whose journal has everything.
            logs[store] = try folders.map { try JournalLog(folder: $0, store: store, keepsActions: false) }
        }
        judgeJournals(stores.flatMap { logs[$0] ?? [] })
        judgeHistories(logs, history)
        for folder in folders {
            nodes[folder] = logs.compactMapValues { $0.first { $0.folder == folder }?.last }
        }
        let sources = logs.mapValues(Self.sources)
        epochs = sources.mapValues { $0.reduce(into: Set()) { $0.formUnion($1.epochs) }.count }
        let judge = Judge(
            history, logs: try sources.filter { $0.key != "search" }.mapValues { try Judge.JournalEvidence(of: $0) })
        checks += judge.checks()
        if let first = folders.first {
            checks += judge.finalChecks(try RebuiltStates(through: [:]) { sources[$0]?.first?.folder ?? first })
            checks.append(try digests(folders, logs))
        }
        count(history, judge)
    }

    /// The journals of a store that calls are judged by: the primary's, or of data nodes those that have everything.
    private static func sources(_ logs: [JournalLog]) -> [JournalLog] {
        let ofDataNodes = logs.filter(\.isArbitrated)
        return ofDataNodes.isEmpty ? Array(logs.prefix(1)) : DataNodeJournals(ofDataNodes).covering
    }

    private mutating func judgeJournals(_ all: [JournalLog]) {
        var check = Judge.Check("journals", all.reduce(0) { $0 + $1.hashes.count })
        check.findings = all.flatMap(\.findings)
        checks.append(check)
    }

    /// All nodes have the same history, and data nodes have all of it that was acknowledged.
    private mutating func judgeHistories(_ logs: [String: [JournalLog]], _ history: RecordedHistory) {
        var same = Judge.Check("same history", 0)
        var kept = Judge.Check("acknowledged on all", 0)
        for (store, logs) in logs.sorted(by: { $0.key < $1.key }) {
            let journals = DataNodeJournals(logs.filter(\.isArbitrated))
            guard let source = journals.longest ?? logs.first else { continue }
            let (checked, findings) = journals.differences()
            same.checked += checked
            same.findings += findings
            for log in logs where !log.isArbitrated && log.folder != source.folder {
                same.checked += log.hashes.count
                same.findings += log.differences(from: source)
            }
            let acknowledged = history.calls.filter {
                $0.outcome == .answered && $0.isWrite && Judge.store(of: $0) == store
            }
            let lacking = journals.lacking(acknowledged.compactMap(\.operation.place))
            kept.checked += lacking.checked
            kept.findings += lacking.findings
        }
        checks += [same, kept]
    }

    /// The journals of all nodes lead to equal states, where the shortest of them ends.
    private func digests(_ folders: [String], _ logs: [String: [JournalLog]]) throws -> Judge.Check {
        let ends = logs.compactMapValues { $0.map(\.last).min() }
        let states = try folders.map { folder in try RebuiltStates(through: ends) { _ in folder }.digests }
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
