// Who follows this log: what the primary waits for when it starts, and what stops it (PROTOCOL, R-41, R-48).

extension PrimaryStateMachine {
    /// The epoch is open: with an audience the primary listens before it admits.
    ///
    /// Only now can anybody be heard: each session has its whole time to live from here on.
    mutating func opened(_ step: inout PrimaryStep) {
        for session in log.sessions.sorted { bindings.recovered(session.id, lastHeard: step.now) }
        guard !configuration.isVolatile, configuration.audienceMilliseconds > 0, !audience.isComplete else {
            audience.giveUp()
            admit(&step)
            return
        }
        phase = .awaiting
        audience.wait(until: step.now.advanced(byMilliseconds: configuration.audienceMilliseconds))
        step.directives.append(.awaiting(audience.awaited))
    }

    private mutating func admit(_ step: inout PrimaryStep) {
        phase = .admitting
        step.directives.append(.opened(unheard: audience.awaited, isHoldingEffects: configuration.holdsEffects))
    }

    /// Admits when everybody who is awaited has spoken, or the time for that is over.
    mutating func admitIfHeard(_ step: inout PrimaryStep) {
        guard phase == .awaiting, audience.isHeard(now: step.now) else { return }
        audience.awaitEnded()
        admit(&step)
        resumeRuns(&step)
    }

    /// A replica of this log said HELLO.
    mutating func replicaCame(_ node: String, _ step: inout PrimaryStep) {
        guard !configuration.isVolatile, audience.came(node, now: step.now) else { return }
        step.directives.append(.audienceChanged(audience.names))
    }

    /// A replica closed its session: it stops on purpose, and the next boot does not wait for it.
    mutating func replicaLeft(_ connection: Connection, _ step: inout PrimaryStep) {
        guard let hello = peers[connection]?.hello, hello.role == .replica else { return }
        peers.left(hello.node)
        guard audience.left(hello.node) else { return }
        step.directives.append(.audienceChanged(audience.names))
    }

    /// Once a second: who spoke since, and who has been silent too long.
    mutating func lookAtAudience(_ step: inout PrimaryStep) {
        for peer in peers.peers.values where peer.hello.role == .replica {
            audience.spoke(peer.hello.node, at: peer.lastHeard)
        }
        guard audience.forgetSilent(now: step.now) else { return }
        step.directives.append(.audienceChanged(audience.names))
    }

    // MARK: - Who knows more

    /// Whether a peer knows of a history that this log does not have.
    ///
    /// A volatile log began with this process; who knows of an earlier one learns that from WELCOME, and discards.
    func isAhead(_ known: KnownPosition) -> Bool {
        guard !configuration.isVolatile, !isAccepted(known) else { return false }
        if known.position.epoch == epoch, known.boot != .none, known.boot != configuration.boot { return true }
        switch joinLog.verdict(on: known) {
        case .known, .tooOld: return false
        case .ahead, .diverged: return true
        }
    }

    /// Whether the epoch is one that no clock can have led to: more than a year above this log's and the time.
    static func isImpossible(_ reported: Epoch, own: Epoch, wall: LogTime) -> Bool {
        let milliseconds = UInt64(max(0, wall.rawValue / 1_000))
        return reported.rawValue > max(own.rawValue, milliseconds) &+ 366 * 86_400_000
    }

    /// Whether an operator accepted the loss of what this position had.
    ///
    /// What was written since has a higher epoch than what was accepted, so that no later loss is covered.
    private func isAccepted(_ known: KnownPosition) -> Bool {
        // The record that made it the primary says that something may be lost: whoever knows more is greeted, and learns it.
        if let record = configuration.reign?.won.record, record.isUnclean { return known.position.epoch < record.epoch }
        guard let accepted = configuration.lossAccepted else { return false }
        let (lost, limit) = (known.position, accepted.position)
        guard lost.epoch == limit.epoch else { return lost.epoch < limit.epoch }
        // An epoch belongs to one boot, which wrote one history.
        if known.boot != .none, accepted.boot != .none, known.boot != accepted.boot { return false }
        guard lost.sequence == limit.sequence else { return lost.sequence < limit.sequence }
        return lost.hash == .none || limit.hash == .none || lost.hash == limit.hash
    }

    /// Raises the alarm for a position higher than those reported before; a replica's report also ends admission,
    /// unless an operator accepted that loss.
    mutating func audienceIsAhead(
        _ known: KnownPosition, by node: String, stopsAdmitting: Bool, _ step: inout PrimaryStep
    ) {
        // A volatile log never had what its audience remembers of an earlier one; WELCOME tells them.
        guard !configuration.isVolatile, !isAccepted(known) else { return }
        let stops = stopsAdmitting && (phase == .admitting || phase == .awaiting || phase == .stopping)
        if stops {
            phase = .behind
            refuseReads(&step)
        }
        guard audience.reported(known, counts: stops) else { return }
        step.directives.append(.alarm(.primaryBehind(own: committed, reported: known, by: node)))
    }
}
