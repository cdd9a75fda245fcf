import LockstepCore

/// Who runs in each group, as far as beginnings and committed ends tell: a second opinion on the policies.
struct GroupWatch {
    private var running: [String: [RunID]] = [:]
    private var groupOf: [RunID: String] = [:]
    private var lastBegun: [String: SequenceNumber] = [:]

    /// Why the run must not begin now; nil if it may.
    mutating func begins(_ id: RunID, _ plan: RunPlan, at sequence: SequenceNumber) -> String? {
        let others = running[plan.group, default: []].count
        if let last = lastBegun[plan.group], last >= sequence {
            return "\(id) of \(sequence) begins after \(last) of its group \(plan.group)"
        }
        lastBegun[plan.group] = sequence
        guard !plan.group.isEmpty else { return nil }
        running[plan.group, default: []].append(id)
        groupOf[id] = plan.group
        let most: Int? =
            switch plan.policy {
            case .merge(let max): max
            case .serial, .first: 1
            case .latest: 1
            }
        if let most, others >= most { return "\(id) begins beside \(others) of its group \(plan.group)" }
        return nil
    }

    mutating func ended(_ id: RunID) {
        guard let group = groupOf.removeValue(forKey: id) else { return }
        running[group]?.removeAll { $0 == id }
    }
}
