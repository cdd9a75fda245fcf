import DequeModule

/// Who runs now, and who waits for whom: what the log does not say, made anew by each primary (PROTOCOL, R-63).
///
///     accepted --committed--> (no bound) ----------------------------------> running --ended--> (end committed) gone
///         |                   (bounds) waiting --first in every line, room--'
///         `-- ended: gone        `-- ended: gone, and whoever stood after it may begin when the end has committed
///
/// A run stands in the line of each of its groups that has a bound, and takes its slots all at once. Lines are in the
/// order of acceptance. So of all that wait, the one that was accepted first stands first in all of its lines and waits
/// for runs only that hold all they need: no two can wait for each other, and nobody waits for ever.
///
/// Invariants: a slot is taken by who runs, and by who ran and whose end has not committed. Who waits stands in each of
/// its lines once, and nobody else stands there. Who could begin has begun, unless a line has changed since the last
/// commit.
package struct RunScheduler: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        var plan: RunPlan
        /// It may begin when this has committed.
        var sequence: SequenceNumber
        var stage: Stage
    }

    private enum Stage: Hashable, Sendable {
        case accepted, waiting, running
        /// It ran; its slots are free when its end has committed.
        case ended
    }

    private var runs: [RunID: Entry] = [:]
    /// Runs whose beginning or end waits for a commit, in the order of the sequence numbers.
    private var uncommitted: [(sequence: SequenceNumber, id: RunID)] = []
    /// Per group, in the order of acceptance; never empty.
    private var waiting: [String: Deque<RunID>] = [:]
    /// Groups whose line lost somebody who never ran, since the last commit.
    private var shortened: [String] = []
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

    /// The runs that can be cancelled under a name, in their order.
    package func runs(named name: String) -> [RunID] { (byName[name] ?? []).sorted() }

    /// Whether a further action of this plan is accepted, and which runs it supersedes.
    ///
    /// The runs in `cancelled` count as ended, and so do those that it supersedes: the action ends them before it is
    /// accepted. So the order of the limits does not matter.
    package func decide(_ plan: RunPlan, cancelling cancelled: [RunID] = []) -> Decision {
        var ended = Set(cancelled)
        var superseded: Set<RunID> = []
        for limit in plan.limits where limit.policy == .latest {
            superseded.formUnion((members[limit.group] ?? []).subtracting(cancelled))
        }
        ended.formUnion(superseded)
        for limit in plan.limits {
            guard let others = members[limit.group] else { continue }
            switch limit.policy {
            case .merge, .latest: continue
            case .first:
                guard others.isSubset(of: ended) else {
                    return .rejected(reason: "ignored: \(limit.group) is under way")
                }
            case .serial(let waiting):
                guard others.subtracting(ended).count <= max(0, waiting) else {
                    return .rejected(reason: "\(waiting) wait for \(limit.group) already; try again later")
                }
            }
        }
        return .accepted(superseding: superseded.sorted())
    }

    /// Takes note of a run that was accepted, or that a former primary left.
    package mutating func accepted(_ id: RunID, _ plan: RunPlan, at sequence: SequenceNumber) {
        precondition(runs[id] == nil, "run \(id) is accepted once")
        runs[id] = Entry(plan: plan, sequence: sequence, stage: .accepted)
        uncommitted.append((sequence, id))
        for name in plan.names { byName[name, default: []].insert(id) }
        for limit in plan.limits { members[limit.group, default: []].insert(id) }
    }

    /// A run's end was sequenced; returns whether its executor has to stop.
    package mutating func ended(_ id: RunID, at sequence: SequenceNumber) -> Bool {
        guard let entry = runs[id], entry.stage != .ended else { return false }
        for name in entry.plan.names {
            byName[name]?.remove(id)
            if byName[name]?.isEmpty == true { byName[name] = nil }
        }
        for limit in entry.plan.limits {
            members[limit.group]?.remove(id)
            if members[limit.group]?.isEmpty == true { members[limit.group] = nil }
        }
        switch entry.stage {
        case .running:
            runs[id]?.stage = .ended
            uncommitted.append((sequence, id))
            return true
        case .waiting:
            leaveLines(id, entry.plan)
            shortened += entry.plan.bounds.map(\.group)
            // For the sake of who stood after it.
            uncommitted.append((sequence, id))
        case .accepted, .ended: break
        }
        runs[id] = nil
        return false
    }

    private mutating func leaveLines(_ id: RunID, _ plan: RunPlan) {
        for (group, _) in plan.bounds {
            if waiting[group]?.first == id {
                waiting[group]?.removeFirst()
            } else {
                waiting[group]?.removeAll { $0 == id }
            }
            if waiting[group]?.isEmpty == true { waiting[group] = nil }
        }
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
        var changed = shortened
        shortened = []
        for (_, id) in due {
            guard let entry = runs[id] else { continue }
            let bounds = entry.plan.bounds
            switch entry.stage {
            case .accepted where bounds.isEmpty:
                runs[id]?.stage = .running
                ready.append(id)
            case .accepted:
                runs[id]?.stage = .waiting
                for (group, _) in bounds { waiting[group, default: []].append(id) }
                changed.append(bounds[0].group)
            case .ended:
                runs[id] = nil
                for (group, _) in bounds {
                    let count = running[group, default: 0]
                    running[group] = count > 1 ? count - 1 : nil
                    changed.append(group)
                }
            case .waiting, .running: break
            }
        }
        while let group = changed.popLast() { beginFirst(of: group, &changed, &ready) }
        return ready.sorted { order(of: $0) < order(of: $1) }
    }

    private func order(of id: RunID) -> SequenceNumber { runs[id]?.sequence ?? .zero }

    /// Begins the first of a line if all its groups let it; then its lines are to be looked at again.
    ///
    /// Whoever can begin stays able to, since nobody else can take a slot of its groups: in which order lines are looked
    /// at does not matter.
    private mutating func beginFirst(of group: String, _ changed: inout [String], _ ready: inout [RunID]) {
        guard let id = waiting[group]?.first, let plan = runs[id]?.plan, canBegin(id, plan) else { return }
        leaveLines(id, plan)
        for (group, _) in plan.bounds {
            running[group, default: 0] += 1
            changed.append(group)
        }
        runs[id]?.stage = .running
        ready.append(id)
    }

    private func canBegin(_ id: RunID, _ plan: RunPlan) -> Bool {
        plan.bounds.allSatisfy { waiting[$0.group]?.first == id && running[$0.group, default: 0] < $0.most }
    }

    /// Checks what must hold after every step; `log` is everything that was sequenced.
    package func checkInvariants(_ log: RunTable) {
        var slots: [String: Int] = [:]
        var places = 0
        for (id, entry) in runs {
            precondition(log.isUnfinished(id) == (entry.stage != .ended), "what is scheduled has not ended: \(id)")
            let bounds = entry.plan.bounds
            switch entry.stage {
            case .running, .ended: for (group, _) in bounds { slots[group, default: 0] += 1 }
            case .waiting:
                precondition(
                    bounds.allSatisfy { waiting[$0.group]?.contains(id) == true }, "who waits stands in all its lines")
                places += bounds.count
                precondition(!shortened.isEmpty || !canBegin(id, entry.plan), "who could begin has begun: \(id)")
            case .accepted: break
            }
        }
        precondition(slots == running, "slots are counted")
        precondition(waiting.values.reduce(0) { $0 + $1.count } == places, "nobody else stands in a line")
        precondition(!waiting.values.contains { $0.isEmpty }, "an empty line is none")
        precondition(
            waiting.values.allSatisfy { line in
                zip(line, line.dropFirst()).allSatisfy { order(of: $0) < order(of: $1) }
            }, "a line is in the order of acceptance")
        precondition(
            zip(uncommitted, uncommitted.dropFirst()).allSatisfy { $0.sequence <= $1.sequence },
            "what waits for a commit is in order")
    }
}
