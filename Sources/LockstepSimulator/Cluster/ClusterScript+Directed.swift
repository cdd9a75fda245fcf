import LockstepCore

// The two longest schedules: each step waits for what the one before has led to.
extension ClusterSimulation {
    func beginDirected(_ script: ClusterScript, _ primary: ClusterNode, _ others: [ClusterNode]) {
        let record = arbiter.stored.record
        guard others.count == 2, others.allSatisfy({ record.contains($0.member) }) else { return scripted = nil }
        switch script {
        // Nothing commits: one member's words do not come, and the other one gets nothing, and campaigns.
        case .lateAcknowledgements:
            cuts = [[others[0].index, primary.index], [primary.index, others[1].index]]
        case .lateLearner:
            scripted?.node = others[1].index
            isQuiet = true
            cutOff(others[1])
        default: break
        }
    }

    /// A record was written while such a script strikes.
    func directedSees(_ script: ClusterScript, _ record: ConfigurationRecord) {
        guard let strike = scripted, let node = strike.node.map({ nodes[$0] }) else { return }
        let isOther = record.primary.member != nodes[strike.primary].member && record.primary.member != node.member
        switch (script, strike.step) {
        // What the member has said comes when the primary has lost its post, and got it back.
        case (.lateAcknowledgements, 0) where record.epoch > strike.epoch && isOther:
            (cuts, isQuiet) = ([], true)
            if let link = links[node.index][strike.primary] {
                closeLate(link, after: random.between(1_300, 2_600) * Span.millisecond)
            }
            takeStep(after: 600)
        case (.lateAcknowledgements, 1) where record.primary.member == nodes[strike.primary].member:
            takeStep(after: 150)
        // It is no member any more, and all that has committed is known.
        case (.lateLearner, 0) where !record.contains(node.member): takeStep(after: 300)
        // The new primary has more than it knows to be committed, and its disk and the learner's are slow.
        case (.lateLearner, 2) where record.epoch > strike.epoch && isOther:
            for other in nodes where other.index != strike.primary {
                other.stick(until: now + random.between(500, 1_500) * Span.millisecond)
            }
            scripted?.step = 3
        default: break
        }
    }

    private func takeStep(after milliseconds: Int64) {
        scripted?.step += 1
        add(.scriptGoesOn(scripted?.step ?? 0), after: milliseconds * Span.millisecond)
    }

    func goOnDirected(_ script: ClusterScript, _ step: Int) {
        guard let strike = scripted, strike.step == step else { return }
        let first = nodes[strike.primary]
        switch (script, step) {
        case (.lateAcknowledgements, 1):
            let record = arbiter.stored.record
            let holder = nodes.first { $0.epoch == record.epoch }
            guard let holder, holder !== first else { return }
            // Until it follows and is a member.
            if giveAwayPost(of: holder, to: first.name) != nil {
                add(.scriptGoesOn(1), after: 50 * Span.millisecond)
            }
        case (.lateAcknowledgements, 2):
            if let node = strike.node { nodes[node].stick(until: now + 1_800 * Span.millisecond) }
            isQuiet = false
        case (.lateLearner, 1): isQuiet = false
        case (.lateLearner, 2):
            (cuts, isQuiet) = ([], true)
            remove(first)
        default: break
        }
    }

    /// A primary has committed something.
    func scriptSees(committed batches: [SealedBatch], by node: ClusterNode) {
        guard options.script == .lateLearner, let strike = scripted, strike.step == 1, !isQuiet, !batches.isEmpty,
            strike.primary == node.index
        else { return }
        // It dies before anybody hears of that.
        takeStep(after: 0)
    }
}
