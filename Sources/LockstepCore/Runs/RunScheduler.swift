import DequeModule

/// Who runs now, and who waits for whom: what the log does not say, made anew by each primary (PROTOCOL, R-63).
package struct RunScheduler: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        var plan: RunPlan
        /// It may begin when this has committed.
        var sequence: SequenceNumber
        var stage: Stage
    }

    private enum Stage: Hashable, Sendable {
        case accepted, waiting, running
        /// Its place in its group is free when its end has committed.
        case ended
    }

    private var runs: [RunID: Entry] = [:]
    /// Runs whose beginning or end waits for a commit, in the order of the sequence numbers.
    private var uncommitted: [(sequence: SequenceNumber, id: RunID)] = []
    /// Per group, in the order of acceptance; never empty.
    private var waiting: [String: Deque<RunID>] = [:]
    /// Per group, those that count against its bound until their ends have committed; never zero.
    private var running: [String: Int] = [:]
    private var byName: [String: Set<RunID>] = [:]
    private var members: [String: Set<RunID>] = [:]
    /// What may begin waits on purpose, until the next tick or commit.
    package var isHeld = false

    package enum Decision: Hashable, Sendable {
        /// Accepted, in place of these.
        case accepted(superseding: [RunID])
        case rejected(reason: String)
    }

    package init() {}

    package static func == (left: RunScheduler, right: RunScheduler) -> Bool { left.runs == right.runs }
    package func hash(into hasher: inout Hasher) { hasher.combine(runs) }

    package func isRunning(_ id: RunID) -> Bool { runs[id]?.stage == .running }
    package func isKnown(_ id: RunID) -> Bool { runs[id].map { $0.stage != .ended } ?? false }
    package var runningCount: Int { runs.values.count { $0.stage == .running } }

    /// The runs that can be cancelled under a name, in their order.
    package func runs(named name: String) -> [RunID] { (byName[name] ?? []).sorted() }

    /// Whether a further action of this plan is accepted, and which runs it supersedes.
    ///
    /// The runs in `cancelled` count as ended: the action ends them before it is accepted.
    package func decide(_ plan: RunPlan, cancelling cancelled: [RunID] = []) -> Decision {
        guard !plan.group.isEmpty, let others = members[plan.group] else { return .accepted(superseding: []) }
        let left = others.count - Set(cancelled).count(where: { others.contains($0) })
        switch plan.policy {
        case .merge: return .accepted(superseding: [])
        case .latest: return .accepted(superseding: others.subtracting(cancelled).sorted())
        case .first:
            return left == 0
                ? .accepted(superseding: []) : .rejected(reason: "ignored: \(plan.group) is under way")
        case .serial(let waiting):
            return left <= max(0, waiting)
                ? .accepted(superseding: [])
                : .rejected(reason: "\(waiting) wait for \(plan.group) already; try again later")
        }
    }

    /// Takes note of a run that was accepted, or that a former primary left.
    package mutating func accepted(_ id: RunID, _ plan: RunPlan, at sequence: SequenceNumber) {
        precondition(runs[id] == nil, "run \(id) is accepted once")
        runs[id] = Entry(plan: plan, sequence: sequence, stage: .accepted)
        uncommitted.append((sequence, id))
        for name in plan.names { byName[name, default: []].insert(id) }
        if !plan.group.isEmpty { members[plan.group, default: []].insert(id) }
    }

    /// A run's end was sequenced; returns whether its executor has to stop.
    package mutating func ended(_ id: RunID, at sequence: SequenceNumber) -> Bool {
        guard let entry = runs[id], entry.stage != .ended else { return false }
        let wasRunning = entry.stage == .running
        runs[id]?.stage = .ended
        for name in entry.plan.names {
            byName[name]?.remove(id)
            if byName[name]?.isEmpty == true { byName[name] = nil }
        }
        let group = entry.plan.group
        members[group]?.remove(id)
        if members[group]?.isEmpty == true { members[group] = nil }
        if entry.stage == .waiting {
            waiting[group]?.removeAll { $0 == id }
            if waiting[group]?.isEmpty == true { waiting[group] = nil }
        }
        if wasRunning {
            uncommitted.append((sequence, id))
        } else {
            runs[id] = nil
        }
        return wasRunning
    }

    /// Whether ``committed(through:)`` has something to do.
    package func isDue(through sequence: SequenceNumber) -> Bool {
        uncommitted.first.map { $0.sequence <= sequence } ?? false
    }

    /// Everything up to `sequence` has committed: returns the runs that begin now, in the order of acceptance.
    package mutating func committed(through sequence: SequenceNumber) -> [RunID] {
        let due = uncommitted.prefix { $0.sequence <= sequence }
        uncommitted.removeFirst(due.count)
        var ready: [RunID] = []
        var freed: [String] = []
        for (_, id) in due {
            guard let entry = runs[id] else { continue }
            let group = entry.plan.group
            switch entry.stage {
            case .accepted:
                // Whoever waits already comes first, also when a slot is freed by this very commit.
                if let bound = entry.plan.bound, waiting[group] != nil || running[group, default: 0] >= bound {
                    runs[id]?.stage = .waiting
                    waiting[group, default: []].append(id)
                } else {
                    begin(id, entry.plan, &ready)
                }
            case .ended:
                runs[id] = nil
                guard entry.plan.bound != nil, let count = running[group] else { continue }
                running[group] = count > 1 ? count - 1 : nil
                freed.append(group)
            case .waiting, .running: break
            }
        }
        for group in freed { beginWaiting(of: group, &ready) }
        return ready.sorted { order(of: $0) < order(of: $1) }
    }

    private func order(of id: RunID) -> SequenceNumber { runs[id]?.sequence ?? .zero }

    private mutating func beginWaiting(of group: String, _ ready: inout [RunID]) {
        while let id = waiting[group]?.first, let plan = runs[id]?.plan,
            running[group, default: 0] < plan.bound ?? .max
        {
            waiting[group]?.removeFirst()
            if waiting[group]?.isEmpty == true { waiting[group] = nil }
            begin(id, plan, &ready)
        }
    }

    private mutating func begin(_ id: RunID, _ plan: RunPlan, _ ready: inout [RunID]) {
        runs[id]?.stage = .running
        if plan.bound != nil { running[plan.group, default: 0] += 1 }
        ready.append(id)
    }

    /// Checks what must hold after every step; `log` is everything that was sequenced.
    package func checkInvariants(_ log: RunTable) {
        var slots: [String: Int] = [:]
        for (id, entry) in runs {
            precondition(log.isUnfinished(id) == (entry.stage != .ended), "what is scheduled has not ended: \(id)")
            let isSlot = entry.plan.bound != nil && (entry.stage == .running || entry.stage == .ended)
            if isSlot { slots[entry.plan.group, default: 0] += 1 }
            if entry.stage == .waiting {
                precondition(waiting[entry.plan.group]?.contains(id) == true, "who waits stands in its group's line")
            }
        }
        precondition(slots == running, "slots are counted")
        let waitingCount = waiting.values.reduce(0) { $0 + $1.count }
        precondition(waitingCount == runs.values.count(where: { $0.stage == .waiting }), "nobody else stands in a line")
        precondition(!waiting.values.contains { $0.isEmpty }, "an empty line is none")
        precondition(waiting.keys.allSatisfy { running[$0] != nil }, "who waits, waits for a run")
        precondition(
            zip(uncommitted, uncommitted.dropFirst()).allSatisfy { $0.sequence <= $1.sequence },
            "what waits for a commit is in order")
    }
}

extension RunPlan {
    /// How many of the group run at a time; nil: as many as there are.
    fileprivate var bound: Int? {
        guard !group.isEmpty else { return nil }
        return switch policy {
        case .merge(let max): max == .max ? nil : Swift.max(1, max)
        case .serial: 1
        case .latest, .first: nil
        }
    }
}
