import LockstepCore

/// The operator of a store: reads alarms, starts what has stopped, and decides what a node must not decide by itself.
///
/// A node is started and stopped with all of its stores, and a folder has all of them; a recovery is of one store.
/// An alarm for which no fault gave a reason is a violation.
final class OperatorDesk {
    unowned let store: SimulatedStore
    unowned let simulation: Simulation
    private var random: SplitMix64
    /// What somebody reported that the primary does not have.
    private var reported: KnownPosition?
    /// Replicas that say that they are ahead.
    private var ahead: Set<Int> = []
    private var isLookScheduled = false
    /// The operator told the primary to stop, to decide about its journal then.
    private var isStopAwaited = false
    /// The primary is stopped, and its journal is being made anew.
    private(set) var isRecovering = false
    /// Its files cannot be read, so that it is made anew, without its notes.
    private var isMadeAnew = false
    /// What the primary's alarm of this boot named, as the operator read it.
    var lastAlarm: KnownPosition?
    /// Folders have just been mixed up.
    var areFoldersMixed = false
    /// Replicas that go on from an old copy and were not live since.
    var putBack: Set<Int> = []

    init(store: SimulatedStore, random: SplitMix64) {
        self.store = store
        simulation = store.simulation
        self.random = random
    }

    // MARK: - What nodes report

    func raised(_ alarm: Alarm, by process: NodeProcess) {
        simulation.trace(process.id, .alarm, 0, 0)
        switch alarm {
        case .primaryBehind(let own, let known, let node):
            guard store.mayHaveForked, !simulation.options.isVolatile else {
                simulation.fail(.falseAlarm, "PRIMARY_BEHIND: \(own.position), \(node) knows \(known.position)")
                return
            }
            reported = known
            lastAlarm = known
            process.disk.notes.reportedBehind = known
            // Of a client it hears that an answer is missing; of a replica that it must not go on.
            if store.replicas.contains(where: { $0.name == node }) {
                store.oracle.toldBehind(process)
            }
            lookSoon()
        case .diskFull, .diskHasRoom, .sessionsNearLimit, .sessionsHaveRoom: break
        case .duplicateNodes(let names):
            // Every replica has a name of its own here, and is one process at a time; but old frames of one that was
            // restarted may come again for 20 s, and then it seems to go on.
            guard names.allSatisfy(mayHaveOldFrames) else {
                simulation.fail(.falseAlarm, "DUPLICATE_NODE: \(names)")
                return
            }
        case .diverged(let sequence, _, let own, let primary):
            guard process.state.isTainted else {
                simulation.fail(.falseAlarm, "\(process.name) DIVERGED at \(sequence): \(own), \(primary)")
                return
            }
        case .ahead(let own, let primary):
            guard store.mayHaveForked, !simulation.options.isVolatile else {
                simulation.fail(.falseAlarm, "\(process.name) AHEAD: \(own.position), primary \(primary.position)")
                return
            }
            store.oracle.checkAhead(process, of: primary.position)
            ahead.insert(process.id)
            lookSoon()
        }
    }

    func halted(_ process: NodeProcess, _ reason: HaltReason) {
        simulation.trace(process.id, .halted, 0, 0)
        switch reason {
        case .journalFailed:
            guard simulation.plan.isOn(.commitError) || simulation.isHealed else {
                simulation.fail(.falseAlarm, "\(process.name) stopped without a reason: \(reason)")
                return
            }
        case .logBroken, .divergedAgain:
            simulation.fail(.falseAlarm, "\(process.name) stopped: \(reason)")
            return
        }
        process.stop()
        simulation.restart(process, after: random.between(10, 2_000) * Span.millisecond)
    }

    func cannotStart(_ process: NodeProcess, _ damage: SimulatedDisk.Damage) {
        // A replica may have saved a wrong state before a mark showed it, and ended before it had another.
        var isWrongState = false
        if case .digest = damage { isWrongState = simulation.coverage.wasDiverged(process.id) }
        guard isWrongState || simulation.coverage.fired[.bitFlip] != nil else {
            simulation.fail(.durability, "\(process.name) cannot start: \(damage)")
            return
        }
        simulation.coverage.operatorActs += 1
        simulation.trace(process.id, .operatorActed, 1, 0)
        if process === store.primary {
            restorePrimary(isMadeAnew: true)
        } else {
            process.disk.wipe(incarnation: Incarnation(rawValue: random.bits128()))
            simulation.restart(process, after: Span.second)
        }
    }

    func refused(_ refused: Refused, caller: Caller) {
        guard refused.reason == .primaryBehind, !store.mayHaveForked else { return }
        simulation.fail(.falseAlarm, "\(caller.process.name) was refused: \(refused.text)")
    }

    private func mayHaveOldFrames(of name: String) -> Bool {
        simulation.coverage.fired[.lateRetry] != nil
            && simulation.processes.contains { $0.name == name && $0.boot > 1 }
    }

    private func lookSoon() {
        guard !isLookScheduled else { return }
        isLookScheduled = true
        simulation.add(.operatorLooks(self), after: random.between(500, 4_000) * Span.millisecond)
    }

    // MARK: - What the operator does

    func look() {
        isLookScheduled = false
        let primary = store.primary
        guard !isRecovering else { return lookSoon() }
        if let reported {
            guard primary.isUp || isStopAwaited, !isStopping(primary) else {
                lookSoon()
                return
            }
            isStopAwaited = false
            self.reported = nil
            simulation.coverage.operatorActs += 1
            simulation.trace(primary.id, .operatorActed, 2, 0)
            primary.stop()
            if random.chance(0.6), hasMore(than: primary) {
                restorePrimary()
            } else {
                acceptLoss(of: reported)
                simulation.restart(primary, after: Span.second)
            }
            return
        }
        for id in ahead.sorted() {
            // One in quarantine stays there, and says AHEAD all the same.
            guard let replica = simulation.processes[id] as? ReplicaProcess,
                [.ahead, .quarantined].contains(replica.machine?.phase)
            else { continue }
            // The primary is no longer behind, so this is a history that was given up.
            simulation.coverage.operatorActs += 1
            simulation.trace(id, .operatorActed, 3, 0)
            replica.stop()
            replica.disk.wipe(incarnation: Incarnation(rawValue: random.bits128()))
            simulation.restart(replica, after: Span.second)
        }
        ahead = []
    }

    /// Stops a primary that is behind in good order, where that is a fault of this run; true until it is down.
    private func isStopping(_ primary: PrimaryProcess) -> Bool {
        guard primary.isUp else { return false }
        if !isStopAwaited, simulation.plan.isOn(.orderlyStop) {
            isStopAwaited = true
            simulation.fired(.orderlyStop, UInt64(primary.id))
            primary.stopInOrder(restartAfter: nil)
        }
        return primary.isStopping
    }

    /// Looks again at replicas that stand aside; called while a healed cluster is to come to rest.
    func lookAgain() {
        for replica in store.replicas where replica.machine?.phase == .ahead { ahead.insert(replica.id) }
        if !ahead.isEmpty || reported != nil { lookSoon() }
    }

    private func hasMore(than primary: PrimaryProcess) -> Bool {
        best.map { $0.machine?.log.position.sequence ?? .zero > primary.disk.sideMark } ?? false
    }

    /// The replica that has the most.
    private var best: ReplicaProcess? {
        store.replicas.filter { $0.isUp && $0.mayBeRecoveredFrom }.max { left, right in
            let (a, b) = (left.machine?.log.position, right.machine?.log.position)
            return (a?.epoch ?? .zero, a?.sequence ?? .zero) < (b?.epoch ?? .zero, b?.sequence ?? .zero)
        }
    }

    /// `lockstep recover --from`: the primary's journal is made anew from the replica that has the most.
    private func restorePrimary(isMadeAnew: Bool = false) {
        isRecovering = true
        self.isMadeAnew = isMadeAnew
        recoverFromSomebody()
    }

    /// Asks the replica that has the most now; without any, looks again, or begins the store anew when all is healed.
    func recoverFromSomebody() {
        let primary = store.primary
        if let best {
            simulation.coverage.note(.recoveryBegun)
            return store.recovery.recover(from: best)
        }
        store.recovery.stop()
        isRecovering = false
        // Nobody has anything: it may be that somebody starts yet; at the end the store begins anew.
        if simulation.isHealed {
            primary.disk.wipe(incarnation: Incarnation(rawValue: random.bits128()))
            store.oracle.chose(.start(of: store.oracle.reference.store))
            store.isForkExpected = true
        }
        simulation.restart(primary, after: Span.second)
    }

    /// The recovery has all that the replica had.
    func recovered(_ result: RecoveryProcess.Result) {
        let primary = store.primary
        isRecovering = false
        // The journal of a primary that runs is locked: the operator stops it, and begins again.
        if primary.isUp {
            primary.stop()
            return restorePrimary(isMadeAnew: isMadeAnew)
        }
        simulation.coverage.note(.recoveryDone)
        if store !== simulation.store { simulation.coverage.note(.secondStoreRecovered) }
        primary.disk.become(result.disk, of: result.source, isMadeAnew: isMadeAnew)
        store.oracle.chose(result.position)
        store.isForkExpected = true
        simulation.restart(primary, after: Span.second)
    }
}
