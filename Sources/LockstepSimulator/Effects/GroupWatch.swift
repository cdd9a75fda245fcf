import LockstepCore

/// Who runs in each group, as far as beginnings and committed ends tell: a second opinion on the policies.
struct GroupWatch {
    private var running: [String: [RunID]] = [:]
    private var groupsOf: [RunID: [String]] = [:]
    private var lastBegun: [String: SequenceNumber] = [:]

    /// Why the run must not begin now; nil if it may.
    mutating func begins(_ id: RunID, _ plan: RunPlan, at sequence: SequenceNumber) -> String? {
        // Those without a limit begin in one order, too.
        guard !plan.limits.isEmpty else { return breaksOrder(id, of: "", at: sequence) }
        groupsOf[id] = plan.limits.map(\.group)
        var problem: String?
        for limit in plan.limits {
            // One that waits for another group can be overtaken where everybody may run.
            if limit.policy != .merge(max: .max) || plan.limits.count == 1 {
                problem = problem ?? breaksOrder(id, of: limit.group, at: sequence)
            }
            let others = running[limit.group, default: []].count
            running[limit.group, default: []].append(id)
            let most: Int =
                switch limit.policy {
                case .merge(let max): max
                case .serial, .first, .latest: 1
                }
            if others >= most { problem = problem ?? "\(id) begins beside \(others) of its group \(limit.group)" }
        }
        return problem
    }

    private mutating func breaksOrder(_ id: RunID, of group: String, at sequence: SequenceNumber) -> String? {
        if let last = lastBegun[group], last >= sequence {
            return "\(id) of \(sequence) begins after \(last) of its group \(group)"
        }
        lastBegun[group] = sequence
        return nil
    }

    mutating func ended(_ id: RunID) {
        for group in groupsOf.removeValue(forKey: id) ?? [] { running[group]?.removeAll { $0 == id } }
    }
}
