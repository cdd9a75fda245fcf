import LockstepCore

/// A schedule that is written, not drawn: what drawn ones hardly ever meet.
///
/// One seed in ten has one. It strikes every nine seconds, for six; the seed draws only what is around it.
package enum ClusterScript: String, CaseIterable, Hashable, Sendable {
    /// The primary hears no data node, and they hear it: somebody else must get the post.
    case deafPrimary
    /// The primary and two of its members reach neither the others nor the arbiter; it must answer no stale read.
    case stalePrimary
    /// A member leaves the set while it is cut off; then the arbiter shows a record that has it, and the primary dies
    ///
    case olderArbiter

    /// What it is played with.
    func options(seed: UInt64) -> ClusterOptions {
        var options = ClusterOptions(seed: seed)
        options.script = self
        options.clients = 3
        switch self {
        case .deafPrimary: (options.nodes, options.minimum) = (3, 2)
        case .stalePrimary: (options.nodes, options.minimum) = (5, 2)
        case .olderArbiter: (options.nodes, options.minimum) = (3, 1)
        }
        return options
    }
}

extension ClusterSimulation {
    /// Plans the strikes; even numbers begin one, odd ones end it.
    func planScript() {
        guard options.script != nil else { return }
        for round in 0..<3 {
            let start = Int64(3 + 9 * round) * Span.second + random.between(0, 500) * Span.millisecond
            add(.script(2 * round), after: start)
            add(.script(2 * round + 1), after: start + 6 * Span.second)
        }
    }

    func playScript(_ number: Int) {
        guard let script = options.script, !isHealed else { return }
        guard number.isMultiple(of: 2) else { return endStrike(of: script) }
        guard let primary = nodes.first(where: { $0.primary?.epoch == arbiter.stored.record.epoch }) else { return }
        scriptedEpoch = arbiter.stored.record.epoch
        let others = nodes.filter { $0 !== primary }
        switch script {
        case .deafPrimary: cuts = Set(others.map { [$0.index, primary.index] })
        case .stalePrimary:
            let side = [primary] + others.prefix(2)
            let far = others.dropFirst(2)
            cuts = Set(side.flatMap { one in far.flatMap { [[one.index, $0.index], [$0.index, one.index]] } })
            for node in side { arbiter.cutUntil[node.index] = now + 6 * Span.second }
        case .olderArbiter:
            guard let away = others.first(where: { arbiter.stored.record.contains($0.member) }) else { return }
            scriptedMember = away.member
            cuts = Set(nodes.filter { $0 !== away }.flatMap { [[$0.index, away.index], [away.index, $0.index]] })
        }
    }

    private func endStrike(of script: ClusterScript) {
        cuts = []
        guard let epoch = scriptedEpoch.take() else { return }
        if script == .deafPrimary, arbiter.stored.record.epoch == epoch {
            fail(.waiting, "a primary that hears nobody has kept its post for 6 s")
        }
        guard let away = scriptedMember.take(), !arbiter.stored.record.contains(away),
            let older = arbiter.history.last(where: { $0.record.contains(away) }), setBack(to: older)
        else { return }
        for node in nodes where node.primary != nil { kill(node, isSilent: false) }
    }
}
