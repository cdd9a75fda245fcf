import LockstepCore

/// A fault that comes at a moment.
enum FaultEvent {
    /// The class's next strike.
    case strike(FaultClass)
    case unblock(Int, Int)
    case takeCopy
    /// Of a replica's folder, by its number among the replicas.
    case takeCopyOfReplica(Int)
}

/// Lets the faults of a plan happen: each class strikes again and again, the stronger the more often.
final class FaultInjector {
    unowned let simulation: Simulation
    private var random: SplitMix64
    private var isOver = false
    /// Classes whose next strike is in the queue.
    private var scheduled: Set<FaultClass> = []

    init(simulation: Simulation, random: SplitMix64) {
        self.simulation = simulation
        self.random = random
    }

    /// Classes that come at moments of their own; the others are drawn where they matter, frame by frame.
    private static let striking: [FaultClass] = [
        .cut, .oneWayCut, .reconnect, .primaryCrash, .replicaCrash, .pause, .diskFull, .bitFlip, .oldCopy,
        .wipedReplica,
        .clockRate, .clockJump, .clientCrash, .sessionChurn, .divergentReducer, .oldReplicaCopy, .mixedFolders,
        .wrongLoss, .switchOver, .orderlyStop,
    ]

    func begin() {
        for fault in Self.striking where simulation.plan.isOn(fault) { scheduleNext(fault) }
        if simulation.plan.isOn(.oldCopy) {
            simulation.add(.fault(.takeCopy), after: random.between(1, 30) * Span.second)
        }
        guard simulation.plan.isOn(.oldReplicaCopy) else { return }
        for number in simulation.store.replicas.indices { takeCopySoon(ofReplica: number) }
    }

    private func takeCopySoon(ofReplica number: Int) {
        simulation.add(.fault(.takeCopyOfReplica(number)), after: random.between(1, 30) * Span.second)
    }

    /// Seconds between two strikes of the weakest and of the strongest.
    private static func pace(_ fault: FaultClass) -> (slow: Int64, fast: Int64) {
        switch fault {
        case .reconnect, .sessionChurn: (10, 1)
        case .cut, .oneWayCut, .pause, .clockJump, .clockRate, .clientCrash, .orderlyStop: (40, 8)
        case .primaryCrash, .replicaCrash: (40, 5)
        case .diskFull, .wipedReplica, .oldReplicaCopy, .mixedFolders, .wrongLoss: (60, 20)
        default: (80, 30)
        }
    }

    private func scheduleNext(_ fault: FaultClass) {
        guard scheduled.insert(fault).inserted else { return }
        let (slow, fast) = Self.pace(fault)
        let strength = simulation.plan[fault]
        let mean = Double(slow) - Double(slow - fast) * strength
        let delay = Int64(mean * 2 * random.fraction() * Double(Span.second)) + Span.millisecond
        simulation.add(.fault(.strike(fault)), after: delay)
    }

    /// The faults are over: nothing more strikes, and what they did to the world ends.
    func end() { isOver = true }

    func happens(_ event: FaultEvent) {
        switch event {
        case .unblock(let from, let to): simulation.network.unblock(from, to)
        case .takeCopy: if !isOver { for store in simulation.stores { store.primary.disk.takeCopy() } }
        case .takeCopyOfReplica(let number):
            if !isOver { for store in simulation.stores { store.replicas[number].disk.takeCopy() } }
        case .strike(let fault):
            scheduled.remove(fault)
            guard !isOver, simulation.plan.isOn(fault) else { return }
            strike(fault)
            scheduleNext(fault)
        }
    }

    // MARK: - Strikes

    private func strike(_ fault: FaultClass) {
        switch fault {
        case .cut, .oneWayCut: cut(isOneWay: fault == .oneWayCut)
        case .reconnect:
            if let link = simulation.network.reconnectAny() { simulation.fired(.reconnect, UInt64(link)) }
        case .primaryCrash: kill(simulation.store.primary, fault)
        case .replicaCrash: kill(random.pick(simulation.store.replicas), fault)
        case .clientCrash: if let client = anyClient { kill(client, fault) }
        case .pause:
            let process = random.pick(simulation.processes)
            guard process.isUp else { return }
            simulation.fired(fault, UInt64(process.id))
            process.pause(for: Int64(random.fraction() * random.fraction() * 10 * Double(Span.second)))
        case .diskFull: fillDisk()
        case .bitFlip: flipBit()
        case .oldCopy: putOldCopyBack()
        case .wipedReplica: wipeReplica()
        case .clockRate, .clockJump: disturbClock(fault)
        case .sessionChurn: simulation.churn(&random)
        case .divergentReducer: diverge()
        case .oldReplicaCopy: putOldReplicaCopyBack()
        case .mixedFolders: anyStore.operatorDesk.mixFolders(&random)
        case .wrongLoss: anyStore.operatorDesk.acceptWrongLoss(&random)
        case .switchOver: anyStore.operatorDesk.switchOver(&random)
        case .orderlyStop: stopInOrder()
        case .loss, .duplication, .delay, .reorder, .corruption, .publisherDrops, .crashWhileStarting, .journalLatency,
            .lostWrites, .tornWrite, .commitError, .lateRetry, .rogueClient, .giveUp, .buggify:
            break
        }
    }

    private var anyStore: SimulatedStore {
        simulation.stores.count > 1 ? random.pick(simulation.stores) : simulation.store
    }

    private var replicasOfAllStores: [ReplicaProcess] { simulation.stores.flatMap(\.replicas) }

    private var anyClient: SimulatedProcess? {
        let clients = simulation.processes.filter { $0 is ClientProcess && $0.isUp }
        return clients.isEmpty ? nil : random.pick(clients)
    }

    private func cut(isOneWay: Bool) {
        let duration = Int64(random.fraction() * 10 * Double(Span.second))
        // Between hosts: the stores of a node share its links, and nothing is between them.
        let hosts = simulation.processes.filter { $0.host == $0.id }.map(\.host)
        let victim = random.pick(hosts)
        // One from one, or one from all.
        let others = random.chance(0.4) ? hosts : [random.pick(hosts)]
        let direction = random.chance(0.5)
        simulation.fired(isOneWay ? .oneWayCut : .cut, UInt64(victim))
        for other in others where other != victim {
            let pairs = isOneWay ? [direction ? (victim, other) : (other, victim)] : [(victim, other), (other, victim)]
            for (from, to) in pairs where !simulation.network.isBlocked(from, to) {
                simulation.network.block(from, to)
                simulation.add(.fault(.unblock(from, to)), after: duration)
            }
        }
    }

    private func kill(_ process: SimulatedProcess, _ fault: FaultClass) {
        guard process.isUp else { return }
        simulation.fired(fault, UInt64(process.id))
        process.stop()
        simulation.restart(process, after: soon)
    }

    /// When somebody starts a process again: within 8 s, and mostly at once.
    private var soon: Int64 { Int64(random.fraction() * random.fraction() * 8 * Double(Span.second)) }

    /// Stops the primary as SIGTERM does, unless it stops already.
    private func stopInOrder() {
        let primary = simulation.store.primary
        guard primary.isUp, !primary.isStopping else { return }
        simulation.fired(.orderlyStop, UInt64(primary.id))
        primary.stopInOrder(restartAfter: soon)
    }

    private func fillDisk() {
        let nodes: [NodeProcess] = [simulation.store.primary] + simulation.store.replicas
        let node = random.pick(nodes)
        simulation.fired(.diskFull, UInt64(node.id))
        node.fillDisk(for: Int64(random.fraction() * 10 * Double(Span.second)))
    }

    private func flipBit() {
        let store = anyStore
        let nodes: [NodeProcess] = [store.primary] + store.replicas
        let node = random.pick(nodes)
        // Without anybody who has more, what the primary loses is lost.
        if node === store.primary, !store.hasEqualReplica { return }
        guard node.isUp, node.disk.flipBit(&random) else { return }
        simulation.fired(.bitFlip, UInt64(node.id))
        node.stop()
        simulation.restart(node, after: random.between(1, 3_000) * Span.millisecond)
    }

    private func putOldCopyBack() {
        let primary = simulation.store.primary
        guard primary.isUp else { return }
        primary.stop()
        for store in simulation.stores where store.primary.disk.putCopyBack() { simulation.fired(.oldCopy, 0) }
        simulation.restart(primary, after: random.between(1, 3_000) * Span.millisecond)
        simulation.add(.fault(.takeCopy), after: random.between(1, 30) * Span.second)
    }

    /// Its stores catch up as those of one that was away for long do; nothing else may come of it.
    private func putOldReplicaCopyBack() {
        let number = Int(random.next(below: UInt64(simulation.store.replicas.count)))
        let replica = simulation.store.replicas[number]
        guard replica.isUp, replica.hasJournal else { return }
        replica.stop()
        for store in simulation.stores where store.replicas[number].disk.putCopyBack() {
            let replica = store.replicas[number]
            simulation.fired(.oldReplicaCopy, UInt64(replica.id))
            store.oracle.forgot(replica)
            store.operatorDesk.putBack.insert(replica.id)
        }
        simulation.restart(replica, after: random.between(1, 3_000) * Span.millisecond)
        takeCopySoon(ofReplica: number)
    }

    private func wipeReplica() {
        let replica = random.pick(replicasOfAllStores)
        guard replica.isUp else { return }
        simulation.fired(.wipedReplica, UInt64(replica.id))
        replica.stop()
        replica.disk.wipe(incarnation: Incarnation(rawValue: random.bits128()))
        simulation.restart(replica, after: random.between(1, 3_000) * Span.millisecond)
    }

    private func disturbClock(_ fault: FaultClass) {
        let process = random.pick(simulation.processes)
        simulation.fired(fault, UInt64(process.id))
        simulation.health.disturbed(process.id, until: simulation.now)
        if fault == .clockRate {
            let span = simulation.plan[.clockRate]
            let low = 1_000 - Int64(500 * span)
            let rate = random.between(low, 1_000 + Int64(1_000 * span))
            for process in [process] + simulation.others(onHostOf: process) {
                process.clock.setRate(rate, at: simulation.now)
                process.wake(at: simulation.now)
            }
        } else {
            let reach = Int64(simulation.plan[.clockJump] * 50 * 60 * Double(Span.second))
            let error = random.between(-reach, reach)
            for process in [process] + simulation.others(onHostOf: process) { process.clock.jump(to: error) }
        }
    }

    private func diverge() {
        let replica = random.pick(replicasOfAllStores)
        // A second time within an hour would stop it for good, as it should.
        guard replica.isUp, !simulation.coverage.wasDiverged(replica.id) else { return }
        simulation.coverage.noteDiverged(replica.id)
        simulation.fired(.divergentReducer, UInt64(replica.id))
        replica.diverge()
    }
}

extension SplitMix64 {
    /// 128 bits, never zero.
    mutating func bits128() -> UInt128 { UInt128(next()) << 64 | UInt128(next()) | 1 }
}
