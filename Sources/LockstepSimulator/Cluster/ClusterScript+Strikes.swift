import LockstepCore

// What scripts do after they have begun: at times of their own, and when something happens that they wait for.
extension ClusterSimulation {
    /// A script's next step.
    func goOn(_ step: Int) {
        guard let script = options.script, let strike = scripted else { return }
        let primary = nodes[strike.primary]
        switch script {
        case .brokenConnections where step < 25:
            for link in nodes.flatMap({ allLinks(of: $0) }) where !link.isClosed { close(link) }
            add(.scriptGoesOn(step + 1), after: 200 * Span.millisecond)
        case .restartedPrimary where step < 10:
            if let primary = nodes.first(where: \.isPrimary) { restart(primary, after: 100) }
            add(.scriptGoesOn(step + 1), after: random.between(300, 700) * Span.millisecond)
        case .wipedMember where step < 10:
            if let node = strike.node.map({ nodes[$0] }), node.isUp, loseDisk(node) {
                add(.boot(node), after: 50 * Span.millisecond)
            }
            add(.scriptGoesOn(step + 1), after: random.between(100, 900) * Span.millisecond)
        case .lateSubmits where step == 0:
            for client in clients {
                if let link = client.link, link.target == primary.index { closeLate(link, after: 4 * Span.second) }
            }
            _ = giveAwayPost(of: primary, to: nil)
            add(.scriptGoesOn(1), after: 1_500 * Span.millisecond)
        case .lateSubmits where step == 1:
            guard let other = nodes.first(where: \.isPrimary), other !== primary else { return }
            _ = giveAwayPost(of: other, to: primary.name)
        case .primaryWithoutArbiter: if let index = strike.node { kill(nodes[index], isSilent: false) }
        case .olderDisk:
            guard let index = strike.node, let disk = strike.disk, nodes[index].isUp,
                disk.end.sequence < nodes[index].disk.end.sequence
            else { return }
            restart(nodes[index], after: 100)
            (nodes[index].disk, nodes[index].hasOlderDisk) = (disk, true)
            nodes[index].recover()
        case .forgottenRemoval: if let index = strike.node { startForgotten(nodes[index], primary) }
        case .lateAcknowledgements, .lateLearner: goOnDirected(script, step)
        default: break
        }
    }

    /// A member that is no longer one starts, and the arbiter says that it still is.
    private func startForgotten(_ node: ClusterNode, _ primary: ClusterNode) {
        guard !arbiter.wasSetBack, arbiter.attemptsUnderWay == 0, nodes.allSatisfy({ $0.isUp || $0 === node }),
            primary.isPrimary, let older = arbiter.history.last(where: { $0.record.contains(node.member) })
        else { return }
        arbiter.setBack(to: older)
        cuts = [[node.index, primary.index], [primary.index, node.index]]
        node.isGone = false
        add(.boot(node), after: 0)
        add(.operate(.looks), after: random.between(4_500, 6_500) * Span.millisecond)
    }

    /// The process ends, and is there again after so many milliseconds; what was not written is lost.
    func restart(_ node: ClusterNode, after milliseconds: Int64) {
        guard node.isUp else { return }
        node.isHostDead = false
        crash(node)
        add(.boot(node), after: milliseconds * Span.millisecond)
    }

    /// A host is gone until the strike ends.
    func remove(_ node: ClusterNode) {
        node.isGone = true
        kill(node, isSilent: false)
    }

    /// The arbiter has written a record.
    func scriptSees(_ stored: StoredRecord, after before: StoredRecord) {
        guard let script = options.script, let strike = scripted, !isHealed else { return }
        let (new, old) = (stored.record, before.record)
        let node = strike.node.map { nodes[$0] }
        switch script {
        case .growthUnanswered, .shrinkUnanswered:
            guard let node, new.epoch == strike.epoch else { return }
            if old.contains(node.member), !new.contains(node.member) {
                cuts = []
                guard script == .shrinkUnanswered else { return }
                arbiter.cutUntil[strike.primary] = now + random.between(100, 2_000) * Span.millisecond
            } else if !old.contains(node.member), new.contains(node.member), script == .growthUnanswered {
                // Nobody tells the primary, which goes on for some time.
                arbiter.cutUntil[strike.primary] = now + 4 * Span.second
                add(.operate(.endsOthers(node.index)), after: random.between(0, 400) * Span.millisecond)
            }
        case .forgottenRemoval:
            guard let node, new.epoch == strike.epoch, old.contains(node.member), !new.contains(node.member) else {
                return
            }
            add(.scriptGoesOn(1), after: random.between(200, 600) * Span.millisecond)
        case .campaignUnanswered:
            guard new.epoch > old.epoch, let winner = nodes.first(where: { $0.member == new.primary.member }) else {
                return
            }
            arbiter.cutUntil[winner.index] = now + random.between(500, 2_500) * Span.millisecond
        case .lateAcknowledgements, .lateLearner: directedSees(script, new)
        default: break
        }
    }
}
