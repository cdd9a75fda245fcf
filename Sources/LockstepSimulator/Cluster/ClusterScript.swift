import LockstepCore

/// A schedule that is written, not drawn: what drawn ones hardly ever meet.
///
/// One seed in ten has one. It strikes every nine seconds, for six; the seed draws only what is around it.
package enum ClusterScript: String, CaseIterable, Hashable, Sendable {
    /// The primary hears no data node, and they hear it: somebody else must get the post (R-79).
    case deafPrimary
    /// The primary and two of its members reach neither the others nor the arbiter; it must answer no stale read (R-88).
    case stalePrimary
    /// A member leaves the set while it is cut off; then the arbiter shows a record that has it, and the primary dies
    /// (R-81).
    case olderArbiter
    /// A member leaves the set while it is down; then the arbiter shows a record that has it, and it starts and does not
    /// hear its primary, but another standby, which was shown no newer record either (R-80).
    case forgottenRemoval
    /// All connections break five times a second: streams begin anew in the middle (R-83).
    case brokenConnections
    /// A data node becomes a member, which the primary never hears; the old members die, and the new one reigns (R-76).
    case growthUnanswered
    /// A member has left, which the primary does not hear; meanwhile it speaks again (R-76).
    case shrinkUnanswered
    /// The primary dies every half second and is there again after a tenth, before anybody misses it (R-82).
    case restartedPrimary
    /// A member comes back at once under its name with an empty disk, again and again (R-75).
    case wipedMember
    /// A candidate never hears that it has won (R-82).
    case campaignUnanswered
    /// What clients said to a primary comes when its post has gone to another and back (R-21).
    case lateSubmits
    /// The primary does nothing for four seconds, and goes on as if nothing had happened (R-88).
    case pausedPrimary
    /// The primary's disk writes nothing for six seconds: a standby, which it leaves in silence, gets the post (R-79, R-87).
    case stuckPrimary
    /// The primary does not reach the arbiter, and a member dies: commits wait, and nothing is lost (R-76).
    case primaryWithoutArbiter
    /// An older copy of a member's disk is put back: it must halt, and needs another incarnation (R-77).
    case olderDisk
    /// What a member acknowledged in an earlier epoch, and has lost since, comes late (R-77).
    case lateAcknowledgements
    /// A data node has what its new primary knows to be committed, and lacks what is: it is no member yet (R-79).
    case lateLearner

    /// What it is played with.
    package func options(seed: UInt64) -> ClusterOptions {
        var options = ClusterOptions(seed: seed)
        options.script = self
        options.clients = 3
        switch self {
        case .deafPrimary, .restartedPrimary, .campaignUnanswered, .pausedPrimary, .forgottenRemoval:
            (options.nodes, options.minimum) = (3, 2)
        case .stalePrimary: (options.nodes, options.minimum) = (5, 2)
        case .olderArbiter, .brokenConnections, .growthUnanswered, .shrinkUnanswered, .wipedMember, .lateSubmits,
            .stuckPrimary, .primaryWithoutArbiter, .olderDisk, .lateAcknowledgements, .lateLearner:
            (options.nodes, options.minimum) = (3, 1)
        }
        return options
    }
}

/// What a script has struck.
struct ScriptedStrike {
    /// Of the primary.
    var epoch: Epoch
    var primary: Int
    /// Some other node that it is about.
    var node: Int?
    /// How far it is.
    var step = 0
    /// An older copy of a disk.
    var disk: ClusterNode.Disk?
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
        guard let primary = nodes.first(where: { $0.epoch == arbiter.stored.record.epoch }) else { return }
        scripted = ScriptedStrike(epoch: arbiter.stored.record.epoch, primary: primary.index)
        begin(script, primary, nodes.filter { $0 !== primary })
    }

    private func begin(_ script: ClusterScript, _ primary: ClusterNode, _ others: [ClusterNode]) {
        let member = others.first { arbiter.stored.record.contains($0.member) }
        scripted?.node = member?.index
        switch script {
        case .deafPrimary: cuts = Set(others.map { [$0.index, primary.index] })
        case .stalePrimary:
            let side = [primary] + others.prefix(2)
            let far = others.dropFirst(2)
            cuts = Set(side.flatMap { one in far.flatMap { [[one.index, $0.index], [$0.index, one.index]] } })
            for node in side { arbiter.cutUntil[node.index] = now + 6 * Span.second }
        case .olderArbiter, .growthUnanswered, .shrinkUnanswered: if let member { cutOff(member) }
        case .brokenConnections, .restartedPrimary, .wipedMember, .lateSubmits: goOn(0)
        case .campaignUnanswered: kill(primary, isSilent: false)
        case .forgottenRemoval: if let member { remove(member) }
        case .pausedPrimary: primary.pause(until: now + 4 * Span.second)
        case .stuckPrimary: primary.stick(until: now + 6 * Span.second)
        case .primaryWithoutArbiter:
            arbiter.cutUntil[primary.index] = now + 6 * Span.second
            add(.scriptGoesOn(0), after: random.between(0, 1_000) * Span.millisecond)
        case .olderDisk:
            scripted?.disk = member?.disk
            add(.scriptGoesOn(0), after: random.between(200, 2_000) * Span.millisecond)
        case .lateAcknowledgements, .lateLearner: beginDirected(script, primary, others)
        }
    }

    private func endStrike(of script: ClusterScript) {
        cuts = []
        isQuiet = false
        for node in nodes where node.isGone {
            node.isGone = false
            add(.boot(node), after: random.between(0, 300) * Span.millisecond)
        }
        guard let ended = scripted.take() else { return }
        let away = ended.node.map { nodes[$0] }
        switch script {
        case .deafPrimary where arbiter.stored.record.epoch == ended.epoch:
            fail(.waiting, "a primary that hears nobody has kept its post for 6 s")
        case .pausedPrimary where arbiter.stored.record.epoch == ended.epoch:
            fail(.waiting, "a primary that does nothing has kept its post for 4 s")
        case .stuckPrimary where ended.node != nil && arbiter.stored.record.epoch == ended.epoch:
            fail(.waiting, "a primary whose disk writes nothing has kept its post for 6 s")
        case .olderDisk where away?.hasOlderDisk == true && arbiter.stored.record.epoch == ended.epoch:
            fail(.durability, "nobody noticed the older disk of \(away?.name.name ?? "-")")
        case .olderArbiter:
            guard let away, !arbiter.stored.record.contains(away.member),
                let older = arbiter.history.last(where: { $0.record.contains(away.member) }), setBack(to: older)
            else { return }
            for node in nodes where node.isPrimary { kill(node, isSilent: false) }
            add(.operate(.looks), after: random.between(500, 2_500) * Span.millisecond)
        default: break
        }
    }
}
