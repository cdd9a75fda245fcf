import LockstepCore

/// How far a store of a primary's node is with a stop in good order, as SIGTERM asks for one.
///
/// The stages and their times are those of `StoreHost.continueStop`.
struct OrderlyStop {
    var stage: Stage
    /// The node stays at least as long, in virtual nanoseconds: it ends with the slowest of its stores.
    let staysUntil: Int64
    /// When the node is started again after its end; nil: whoever stopped it does that.
    var restartAfter: Int64?

    enum Stage: Hashable {
        /// The node's own callers make no new calls, and get what they wait for if it comes in time.
        case finishing(until: Tick)
        /// Their session is being closed.
        case closing
        /// The machine admits nothing more, and its journal is being written.
        case draining(until: Tick)
        case stopped
    }

    static let finishMilliseconds: Int64 = 2_000
    static let drainMilliseconds: Int64 = 5_000
    /// What a node has to do beside its stores may take so long.
    static let longestStay = 5 * Span.second
}

extension PrimaryProcess {
    /// Whether the node was told to stop.
    var isStopping: Bool { orderlyStop != nil }

    /// Whether the machine was told to stop: executors then count for nothing (PROTOCOL R-62).
    var isMachineStopping: Bool {
        switch orderlyStop?.stage {
        case .draining, .stopped: true
        case nil, .finishing, .closing: false
        }
    }

    /// Tells the node to stop: its stores go on until they have written what they sequenced, then it goes down.
    ///
    /// Who asks while it stops already decides what comes after.
    func stopInOrder(restartAfter delay: Int64?) {
        guard isUp else { return }
        guard !isStopping else {
            orderlyStop?.restartAfter = delay
            return
        }
        let stay = random.chance(0.5) ? random.between(0, OrderlyStop.longestStay) : 0
        for process in [self] + otherStores {
            process.orderlyStop = OrderlyStop(
                stage: .finishing(until: process.now.advanced(byMilliseconds: OrderlyStop.finishMilliseconds)),
                staysUntil: simulation.now + stay, restartAfter: delay)
            process.wake(at: simulation.now)
        }
    }

    private var otherStores: [PrimaryProcess] {
        simulation.others(onHostOf: self).compactMap { $0 as? PrimaryProcess }
    }

    /// Goes on with the stop; the last store of the node to be done ends it.
    func continueStop() {
        guard let stop = orderlyStop else { return }
        switch stop.stage {
        case .finishing(let end):
            guard let caller, !caller.isIdle, now < end else { return beginClosing() }
        case .closing:
            guard let caller, caller.machine.phase != .stopped else { return beginDraining() }
        case .draining(let end):
            guard machine?.isDrained ?? true || now >= end else { return }
            orderlyStop?.stage = .stopped
        case .stopped:
            guard simulation.now >= stop.staysUntil, otherStores.allSatisfy({ $0.orderlyStop?.stage == .stopped })
            else { return }
            self.stop()
            if let delay = stop.restartAfter { simulation.restart(self, after: delay) }
        }
    }

    /// A session in which something is unanswered stays, so that somebody may still ask what became of it.
    private func beginClosing() {
        guard let caller, caller.machine.welcome != nil, caller.nextUnanswered == nil else { return beginDraining() }
        orderlyStop?.stage = .closing
        caller.close()
    }

    private func beginDraining() {
        step { machine, _ in machine.stop() }
        store.oracle.toldToStop(self)
        orderlyStop?.stage = .draining(until: now.advanced(byMilliseconds: OrderlyStop.drainMilliseconds))
    }
}
