import LockstepCore

/// A stop of a primary's node in good order, as SIGTERM asks for one.
struct NodeStop {
    /// Of the store.
    var stop: OrderlyStop
    /// The node stays at least as long, in virtual nanoseconds: it ends with the slowest of its stores.
    let staysUntil: Int64
    /// When the node is started again after its end; nil: whoever stopped it does that.
    var restartAfter: Int64?

    /// What a node has to do beside its stores may take so long.
    static let longestStay = 5 * Span.second
}

extension PrimaryProcess {
    /// Whether the node was told to stop.
    var isStopping: Bool { nodeStop != nil }

    /// Whether the machine was told to stop: executors then count for nothing (PROTOCOL R-62).
    var isMachineStopping: Bool { nodeStop?.stop.isMachineStopping ?? false }

    /// Tells the node to stop: its stores go on until they have written what they sequenced, then it goes down.
    ///
    /// Who asks while it stops already decides what comes after.
    func stopInOrder(restartAfter delay: Int64?) {
        guard isUp else { return }
        guard !isStopping else {
            nodeStop?.restartAfter = delay
            return
        }
        let stay = random.chance(0.5) ? random.between(0, NodeStop.longestStay) : 0
        for process in [self] + otherStores {
            process.nodeStop = NodeStop(
                stop: OrderlyStop(now: process.now), staysUntil: simulation.now + stay, restartAfter: delay)
            process.wake(at: simulation.now)
        }
    }

    private var otherStores: [PrimaryProcess] {
        simulation.others(onHostOf: self).compactMap { $0 as? PrimaryProcess }
    }

    /// Goes on with the stop; the last store of the node to be done ends it.
    func continueStop() {
        guard let nodeStop else { return }
        switch nodeStop.stop.stage {
        case .finishing: if nodeStop.stop.isFinished(isIdle: caller?.isIdle ?? true, now: now) { beginClosing() }
        case .closing: if caller?.machine.phase ?? .stopped == .stopped { beginDraining() }
        case .draining: self.nodeStop?.stop.advance(isDrained: machine?.isDrained ?? true, now: now)
        case .stopped:
            guard simulation.now >= nodeStop.staysUntil,
                otherStores.allSatisfy({ $0.nodeStop?.stop.stage == .stopped })
            else { return }
            stop()
            if let delay = nodeStop.restartAfter { simulation.restart(self, after: delay) }
        }
    }

    private func beginClosing() {
        let isWelcomed = caller?.machine.welcome != nil
        let hasUnanswered = caller?.nextUnanswered != nil
        guard nodeStop?.stop.callersEnded(isWelcomed: isWelcomed, hasUnanswered: hasUnanswered) ?? false else {
            return beginDraining()
        }
        caller?.close()
    }

    private func beginDraining() {
        step { machine, _ in machine.stop() }
        store.oracle.toldToStop(self)
        nodeStop?.stop.machineStopped(now: now)
    }
}
