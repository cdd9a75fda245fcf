import LockstepCore

// What operators do with the folders of nodes, rightly and wrongly: roles, losses, a change of roles (PROTOCOL ).

extension OperatorDesk {
    // MARK: - Roles

    /// Asks, as a node does at its start, whether it may serve its folder in this role.
    func mayServe(_ process: NodeProcess, as role: JournalRole) -> Bool {
        let disk = process.disk
        guard role.mayServe(noted: disk.notes.role, changesRole: false) else {
            if areFoldersMixed {
                simulation.coverage.note(role == .primary ? .replicasFolderRefused : .primarysFolderRefused)
            } else {
                simulation.fail(.falseAlarm, "\(process.name) refuses its own folder")
            }
            return false
        }
        if let served = disk.served, served != role {
            simulation.fail(.refusal, "\(process.name) serves a \(served)'s folder as a \(role)'s (R-49)")
            return false
        }
        return true
    }

    /// The primary serves its folder: the alarm was of the boot before.
    func serves(_ primary: PrimaryProcess) {
        primary.disk.give(.primary)
        primary.disk.notes.reportedBehind = nil
        lastAlarm = nil
    }

    func isLive(_ replica: ReplicaProcess) {
        if putBack.remove(replica.id) != nil { simulation.coverage.note(.oldReplicaCaughtUp) }
    }

    /// Serves the primary's folder as a replica's and the other way round; both nodes refuse, and the operator sees why.
    func mixFolders(_ random: inout SplitMix64) {
        guard let replica = partner(&random) else { return }
        simulation.fired(.mixedFolders, UInt64(replica.id))
        store.primary.stop()
        replica.stop()
        serveMixed(replica)
        restartBoth(replica, &random)
    }

    /// A replica with a journal that may change its folder with the primary now.
    private func partner(_ random: inout SplitMix64) -> ReplicaProcess? {
        guard store.primary.isUp, !simulation.isRecovering else { return nil }
        let replicas = store.replicas.filter { $0.isUp && $0.hasJournal }
        return replicas.isEmpty ? nil : random.pick(replicas)
    }

    /// Starts both with the other's folder, which they must refuse, and puts the folders back.
    private func serveMixed(_ replica: ReplicaProcess) {
        swapFolders(with: replica, areMixed: true)
        store.primary.start()
        replica.start()
        swapFolders(with: replica, areMixed: false)
    }

    /// The folder of the primary's node and of this replica's change their places, with all their stores.
    private func swapFolders(with replica: ReplicaProcess, areMixed: Bool) {
        for store in simulation.stores {
            store.primary.disk.swap(with: store.replica(besides: replica).disk)
            store.operatorDesk.areFoldersMixed = areMixed
        }
    }

    private func restartBoth(_ replica: ReplicaProcess, _ random: inout SplitMix64) {
        simulation.restart(store.primary, after: random.between(1, 3_000) * Span.millisecond)
        simulation.restart(replica, after: random.between(1, 3_000) * Span.millisecond)
    }

    // MARK: - A change of roles

    /// `lockstep promote` of a replica's folder and `lockstep demote` of the primary's, both stopped, with all stores.
    ///
    /// Where nothing may be lost, it is done only if the replica has all that the primary wrote; else both start again as
    /// they were. A folder whose state was reduced wrongly is left alone: as a primary's it would be the state of all.
    func switchOver(_ random: inout SplitMix64) {
        let primary = store.primary
        guard let replica = partner(&random),
            simulation.stores.map({ $0.replica(besides: replica).state }).allSatisfy({
                !$0.isTainted && !$0.skipsNextItem
            })
        else { return }
        primary.stop()
        replica.stop()
        if random.chance(0.5) {
            // It is started once more, and stopped before anybody has come.
            primary.start()
            primary.stop()
        }
        if random.chance(0.3) { serveMixed(replica) }
        promoteAll(replica)
        restartBoth(replica, &random)
    }

    private func promoteAll(_ replica: ReplicaProcess) {
        let promotions = simulation.stores.compactMap { $0.operatorDesk.promotion(of: $0.replica(besides: replica)) }
        guard simulation.violation == nil, !simulation.isRecovering, promotions.count == simulation.stores.count else {
            return
        }
        simulation.fired(.switchOver, UInt64(replica.id))
        for promotion in promotions { promotion.replica.store.operatorDesk.promote(promotion) }
    }

    /// A replica's folder that becomes the primary's, in one store.
    private struct Promotion {
        let replica: ReplicaProcess
        let promoted: Position
        /// Of the primary, which becomes a replica.
        let demoted: Position
        let isLossless: Bool
    }

    /// What the promotion would do to this store; nil if it must not be.
    private func promotion(of replica: ReplicaProcess) -> Promotion? {
        guard let promoted = replica.disk.position, let demoted = store.primary.disk.position else { return nil }
        let isLossless = promoted == store.oracle.committed && !store.primary.disk.tells(after: promoted.sequence)
        guard isLossless || store.mayHaveForked else { return nil }
        return Promotion(replica: replica, promoted: promoted, demoted: demoted, isLossless: isLossless)
    }

    private func promote(_ promotion: Promotion) {
        let (primary, oracle) = (store.primary, store.oracle)
        let (replica, promoted, isLossless) = (promotion.replica, promotion.promoted, promotion.isLossless)
        simulation.trace(replica.id, .operatorActed, 4, promoted.sequence.rawValue)
        simulation.coverage.operatorActs += 1
        simulation.coverage.note(isLossless ? .switchedOver : .switchedOverWithLoss)
        if store !== simulation.store { simulation.coverage.note(.secondStoreSwitchedOver) }
        if primary.disk.cutEmptyEnd(of: store.id) { simulation.coverage.note(.emptyEndCut) }
        if !isLossless {
            // What a crash left durable without a word is shown by the demoted node, as a part of what was given up.
            let end = primary.disk.batches(after: oracle.committed.sequence)
            if end.first?.head.previous == oracle.committed.hash { oracle.committed(end, by: primary) }
            oracle.chose(promoted)
            store.isForkExpected = true
        }
        simulation.trace(primary.id, .operatorActed, 5, promotion.demoted.sequence.rawValue)
        primary.disk.swap(with: replica.disk)
        primary.disk.give(.primary)
        replica.disk.give(.replica)
        // Another folder, which may end before the one that it had.
        oracle.forgot(replica)
    }

    // MARK: - Losses

    /// `lockstep recover --accept-loss` of what an alarm named; refused if the primary was started since.
    func acceptLoss(of known: KnownPosition) {
        if accept(known.position.epoch, known.position.sequence) { store.isForkExpected = true }
    }

    /// Gives up positions that the alarm did not name: all are refused.
    func acceptWrongLoss(_ random: inout SplitMix64) {
        let primary = store.primary
        guard primary.isUp, !simulation.isRecovering else { return }
        simulation.fired(.wrongLoss, 0)
        let end = lastAlarm?.position ?? store.oracle.committed
        primary.stop()
        let further = random.between(1, 1_000)
        let wrong = [
            (end.epoch, end.sequence.advanced(by: Int(further))),
            (Epoch(rawValue: end.epoch.rawValue + UInt64(further)), end.sequence),
            (Epoch(rawValue: max(end.epoch.rawValue, 1) - 1), end.sequence),
        ]
        for (epoch, sequence) in wrong { _ = accept(epoch, sequence) }
        if lastAlarm == nil { _ = accept(end.epoch, end.sequence) }
        simulation.restart(primary, after: random.between(1, 3_000) * Span.millisecond)
    }

    /// The command, on the stopped primary's folder; false if it refuses.
    private func accept(_ epoch: Epoch, _ sequence: SequenceNumber) -> Bool {
        let primary = store.primary
        let reported = primary.disk.notes.reportedBehind
        switch LossVerdict(epoch, sequence, reported: reported, wall: primary.wall) {
        case .accepted(let accepted):
            guard let lastAlarm, lastAlarm == accepted,
                (epoch, sequence) == (accepted.position.epoch, accepted.position.sequence)
            else {
                simulation.fail(
                    .refusal, "an operator gave \(accepted.position) up; the alarm named something else (R-41)")
                return false
            }
            primary.disk.notes.lossAccepted = accepted
            primary.disk.notes.reportedBehind = nil
            self.lastAlarm = nil
            simulation.coverage.note(.lossAccepted)
            return true
        case .noAlarm: simulation.coverage.note(.lossWithoutAlarmRefused)
        case .other: simulation.coverage.note(.otherLossRefused)
        case .impossible: simulation.fail(.falseAlarm, "an operator must not give \(epoch):\(sequence) up: its epoch")
        }
        return false
    }
}

extension SimulatedDisk {
    fileprivate func batches(after sequence: SequenceNumber) -> [SealedBatch] {
        rows.filter { $0.last > sequence }.compactMap { try? SealedBatch(bytes: $0.bytes) }
    }

    /// Whether it has something after a place that anybody may have been told; only ends of whole epochs tell nothing.
    fileprivate func tells(after sequence: SequenceNumber) -> Bool {
        var isOpened = false
        for batch in batches(after: sequence) {
            guard !batch.tellsSomething else { return true }
            isOpened = isOpened || batch.opensEpoch
            if !isOpened { return true }
        }
        return false
    }
}
