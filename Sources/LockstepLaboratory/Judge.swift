import Counters
import Lockstep
import LockstepChecking

/// Judges a run: what its clients were told, against the log and the state that it leads to.
///
/// Times come from one clock, and the log has an outcome for every number, so nothing is left to guess: an operation
/// without an answer is looked up, and is then checked like any other.
package struct Judge {
    /// The calls, resolved from the log.
    package private(set) var history: RecordedHistory
    /// What the log has, by store.
    package let logs: [String: JournalEvidence]
    /// The most findings of a check that are kept.
    package static let findingLimit = 16

    /// What one check came to.
    package struct Check: Encodable, Sendable {
        package var name: String
        /// How many things were compared; a check that passed and has 0 here says nothing.
        package var checked: Int
        package var findings: [String] = []
        /// What could not be decided within the bound.
        package var undecided: [String] = []

        init(_ name: String, _ checked: Int, _ findings: [String] = []) {
            self.name = name
            self.checked = checked
            self.findings = Array(findings.prefix(Judge.findingLimit))
        }
    }

    /// What of a journal the judge asks for.
    package struct JournalEvidence: Sendable {
        package var actions: [JournalLog.ActionName: JournalLog.LoggedAction]
        /// The first sequence number that is still there.
        package var first: UInt64

        /// Names what a log holds.
        package init(actions: [JournalLog.ActionName: JournalLog.LoggedAction], first: UInt64 = 1) {
            self.actions = actions
            self.first = first
        }

        /// Reads what journals of one history hold together.
        package init(of logs: [JournalLog]) throws {
            actions = [:]
            first = logs.map(\.first).min() ?? 1
            for log in logs {
                let read = try JournalLog(folder: log.folder, store: log.store)
                actions.merge(read.actions) { kept, _ in kept }
            }
        }
    }

    /// Takes a history and the logs by store, and resolves what the clients never learned.
    package init(_ history: RecordedHistory, logs: [String: JournalEvidence]) {
        self.history = history
        self.logs = logs
        for (index, call) in history.calls.enumerated() where call.outcome != .answered && call.isWrite {
            guard call.count == 1, let name = Self.name(of: call), let log = logs[Self.store(of: call)] else {
                continue
            }
            let found = log.actions[name]
            // What is not in a log that was trimmed may have been in it.
            guard found != nil || log.first == 1 else { continue }
            self.history.resolve(index, found.flatMap { action in action.output.map { ($0, action.place) } })
        }
    }

    /// The store that a call is for.
    static func store(of call: RecordedHistory.Call) -> String {
        call.operation.input.key.hasPrefix("counter/") ? "counters" : Workbench.store
    }

    private static func name(of call: RecordedHistory.Call, at offset: UInt64 = 0) -> JournalLog.ActionName? {
        guard let session = call.session, let number = call.number else { return nil }
        return JournalLog.ActionName(session: session, number: number + offset)
    }

    /// All checks of calls and log.
    package func checks() -> [Check] {
        [answers(), order(), linearizability(), bounds(), lists(), totals(), searches()]
    }

    /// The calls that took effect or may have, but for reads and batches without an answer.
    private var considered: [RecordedHistory.Call] {
        history.calls.filter {
            $0.count == 1 && $0.outcome != .failed && ($0.isWrite || $0.operation.returned != nil)
        }
    }

    // MARK: - Checks

    /// Every answered write is in the log under its own number, at the place and with the output that was told.
    private func answers() -> Check {
        var checked = 0
        var findings: [String] = []
        for call in history.calls where call.outcome == .answered && call.isWrite {
            guard let log = logs[Self.store(of: call)] else { continue }
            for offset in 0..<UInt64(call.count) {
                guard let name = Self.name(of: call, at: offset) else { continue }
                guard let found = log.actions[name] else {
                    let isTrimmed = call.operation.place.map { $0.sequence < log.first } ?? false
                    if !isTrimmed { findings.append("acknowledged, and not in the log: \(call.operation)") }
                    continue
                }
                checked += 1
                if call.count == 1, found.place != call.operation.place || found.output != call.operation.output {
                    let output = found.output.map { "\($0)" } ?? "void"
                    findings.append("the log has \(output) at \(found.place): \(call.operation)")
                } else if found.output == nil {
                    findings.append("acknowledged, and void in the log: \(call.operation)")
                }
            }
        }
        return Check("answers", checked, findings)
    }

    /// The order of the log explains all outputs, and does not contradict real time.
    ///
    /// Each store has an order of its own.
    private func order() -> Check {
        var check = Check("order", 0)
        for store in logs.keys.sorted() {
            let calls = considered.filter { Self.store(of: $0) == store }
            let guarantees = calls.map(\.guarantee)
            // A place has room for which call it is: the checker hands back the operation, not its index.
            let operations = calls.enumerated().map { index, call in
                var operation = call.operation
                operation.number = call.isWrite ? nil : UInt64(index)
                return operation
            }
            let result = PositionOrder(ObjectModel()).check(operations, splitBy: { $0.key }) {
                $0.number.map { guarantees[Int($0)] } ?? .everythingReturned
            }
            check.checked += result.checked
            check.undecided += result.undecided
            check.findings += result.findings.map { finding in
                "\(finding)\n" + finding.operations.prefix(3).map { "    \(operations[$0])" }.joined(separator: "\n")
            }
        }
        return check
    }

    /// A second opinion that does not look at places: registers are linearizable.
    private func linearizability() -> Check {
        let calls = considered.filter { call in
            call.operation.input.key.hasPrefix("register/") && (call.isWrite || call.guarantee == .everythingReturned)
        }.map { call in
            var operation = call.operation
            operation.place = nil
            return operation
        }
        var check = Check("linearizability", calls.count)
        switch LinearizabilityChecker(ObjectModel(), stepLimit: 4_000_000).check(calls, splitBy: { $0.key }) {
        case .linearizable: break
        case .undecided(let steps): check.undecided = ["gave up after \(steps) steps"]
        case .notLinearizable(let evidence): check.findings = ["\(evidence)"]
        }
        return check
    }

    /// A third opinion that does not look at places either: counters lie within what the additions around them allow.
    private func bounds() -> Check {
        let calls = considered.compactMap { call -> CounterBounds.Call? in
            guard call.operation.input.key.hasPrefix("counter/"), call.guarantee == .everythingReturned || call.isWrite
            else { return nil }
            return Self.counterCall(call.operation)
        }
        let result = CounterBounds().check(calls, isResolved: true)
        return Check("counter bounds", result.checked, result.findings.map(\.description))
    }

    private static func counterCall(_ call: ObjectOperation) -> CounterBounds.Call? {
        let action: CounterCall.Action
        switch call.input.action {
        case .add(let amount): action = .add(amount)
        case .read: action = .read
        default: return nil
        }
        let output: CounterOutput? =
            switch call.output {
            case .value(let value)?: .value(value)
            case .absent?: .absent
            case .rejected?: .rejected
            case .list?, nil: nil
            }
        return Operation(
            client: call.client, invoked: call.invoked, returned: output == nil ? nil : call.returned,
            input: CounterCall(call.input.key, action), output: output, place: call.place)
    }

    /// Each read of a list is a beginning of the longest.
    private func lists() -> Check {
        var reads: [String: [[Int64]]] = [:]
        for call in history.calls where call.operation.input.key.hasPrefix("list/") && !call.isWrite {
            if case .list(let list)? = call.operation.output {
                reads[call.operation.input.key, default: []].append(list)
            }
        }
        let findings = reads.sorted { $0.key < $1.key }.flatMap { key, lists in
            CollectionChecks.prefixes(lists).map { "\(key): \($0)" }
        }
        return Check("lists", reads.reduce(0) { $0 + $1.value.count }, findings)
    }

    /// Each search found the text of its word, and no other.
    private func searches() -> Check {
        let answered = history.calls.filter {
            $0.operation.input.key.hasPrefix("search/") && $0.operation.output != nil
        }
        let findings = answered.filter { call in
            call.operation.output != .list([Int64(call.operation.input.key.dropFirst("search/".count)) ?? -1])
        }.map { "\($0.operation)" }
        return Check("searches", answered.count, findings)
    }

    /// The accounts have the same total in every read.
    private func totals() -> Check {
        let total = Workbench.balance * Int64(Workbench.accounts)
        var check = Check("totals", 0)
        for call in history.calls where call.operation.input.key == ObjectCall.accounts {
            guard case .list(let balances)? = call.operation.output else { continue }
            check.checked += 1
            if balances.reduce(0, +) != total || balances.contains(where: { $0 < 0 }) {
                check.findings.append("the accounts are \(balances): \(call.operation)")
            }
        }
        return check
    }
}

extension Judge {
    /// Compares the state that the log leads to with what was acknowledged and attempted.
    package func finalChecks(_ states: RebuiltStates) -> [Check] {
        let inserts = history.calls.filter { $0.operation.input.key.hasPrefix("element/") && $0.isWrite }
        let elements = { (calls: [RecordedHistory.Call]) -> [Int64] in
            calls.compactMap { Int64($0.operation.input.key.dropFirst("element/".count)) }
        }
        let found = states.workbench.elements.sorted().flatMap { Array(repeating: $0.key, count: Int($0.value)) }
        let set = CollectionChecks.elements(
            acknowledged: elements(inserts.filter { $0.outcome == .answered }),
            attempted: Set(elements(inserts.filter { $0.outcome != .failed })), found: found)
        let total = states.workbench.balances.reduce(0, +)
        let due = Workbench.balance * Int64(Workbench.accounts)
        return [
            Check("set", inserts.count, set.map(\.description)),
            Check("final total", 1, total == due ? [] : ["the accounts end with \(total) in all, not \(due)"]),
            finalCounters(states),
        ]
    }

    /// Each counter is the sum of the additions that took effect, those that were sent many at a time too.
    private func finalCounters(_ states: RebuiltStates) -> Check {
        guard let log = logs["counters"], log.first == 1 else { return Check("final counters", 0) }
        var added = 0
        if history.calls.contains(where: { $0.count > 1 }) {
            added = log.actions.values.count { $0.output != nil && $0.output != .rejected }
        } else {
            for call in history.calls where call.operation.place != nil {
                if case .add(let amount) = call.operation.input.action { added += Int(amount) }
            }
        }
        let sum = Int(states.counters.values.total { _, value in value })
        return Check(
            "final counters", states.counters.values.count,
            sum == added ? [] : ["the counters' sum is \(sum), and \(added) additions of 1 took effect"])
    }
}
