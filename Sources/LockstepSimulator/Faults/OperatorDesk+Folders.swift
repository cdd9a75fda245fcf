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
        simulation.store.primary.stop()
        replica.stop()
        serveMixed(replica)
        restartBoth(replica, &random)
    }

    /// A replica with a journal that may change its folder with the primary now.
    private func partner(_ random: inout SplitMix64) -> ReplicaProcess? {
        guard simulation.store.primary.isUp, !isRecovering, !simulation.recovery.isAtWork else { return nil }
        let replicas = simulation.store.replicas.filter { $0.isUp && $0.hasJournal }
        return replicas.isEmpty ? nil : random.pick(replicas)
    }

    /// Starts both with the other's folder, which they must refuse, and puts the folders back.
    private func serveMixed(_ replica: ReplicaProcess) {
        let primary = simulation.store.primary
        areFoldersMixed = true
        primary.disk.swap(with: replica.disk)
        primary.start()
        replica.start()
        primary.disk.swap(with: replica.disk)
        areFoldersMixed = false
    }

    private func restartBoth(_ replica: ReplicaProcess, _ random: inout SplitMix64) {
        simulation.restart(simulation.store.primary, after: random.between(1, 3_000) * Span.millisecond)
        simulation.restart(replica, after: random.between(1, 3_000) * Span.millisecond)
    }

    // MARK: - A change of roles

    /// `lockstep promote` of a replica's folder and `lockstep demote` of the primary's, both stopped.
    ///
    /// Where nothing may be lost, it is done only if the replica has all that the primary wrote; else both start again as
    /// they were. A folder whose state was reduced wrongly is left alone: as a primary's it would be the state of all.
    func switchOver(_ random: inout SplitMix64) {
        let primary = simulation.store.primary
        guard let replica = partner(&random), !replica.state.isTainted, !replica.state.skipsNextItem else { return }
        primary.stop()
        replica.stop()
        if random.chance(0.5) {
            // It is started once more, and stopped before anybody has come.
            primary.start()
            primary.stop()
        }
        if random.chance(0.3) { serveMixed(replica) }
        promote(replica)
        restartBoth(replica, &random)
    }

    private func promote(_ replica: ReplicaProcess) {
        let (primary, oracle) = (simulation.store.primary, simulation.store.oracle)
        guard simulation.violation == nil, !isRecovering, let promoted = replica.disk.position,
            let own = primary.disk.position
        else {
            return
        }
        let isLossless = promoted == oracle.committed && !primary.disk.tells(after: promoted.sequence)
        guard isLossless || simulation.mayHaveForked else { return }
        simulation.fired(.switchOver, UInt64(replica.id))
        simulation.trace(replica.id, .operatorActed, 4, promoted.sequence.rawValue)
        simulation.coverage.operatorActs += 1
        simulation.coverage.note(isLossless ? .switchedOver : .switchedOverWithLoss)
        if primary.disk.cutEmptyEnd(of: simulation.store.id) { simulation.coverage.note(.emptyEndCut) }
        if !isLossless {
            // What a crash left durable without a word is shown by the demoted node, as a part of what was given up.
            let end = primary.disk.batches(after: oracle.committed.sequence)
            if end.first?.head.previous == oracle.committed.hash { oracle.committed(end, by: primary) }
            oracle.chose(promoted)
            simulation.isForkExpected = true
        }
        simulation.trace(primary.id, .operatorActed, 5, own.sequence.rawValue)
        primary.disk.swap(with: replica.disk)
        primary.disk.give(.primary)
        replica.disk.give(.replica)
        // Another folder, which may end before the one that it had.
        oracle.forgot(replica)
    }

    // MARK: - Losses

    /// `lockstep recover --accept-loss` of what an alarm named; refused if the primary was started since.
    func acceptLoss(of known: KnownPosition) {
        if accept(known.position.epoch, known.position.sequence) { simulation.isForkExpected = true }
    }

    /// Gives up positions that the alarm did not name: all are refused.
    func acceptWrongLoss(_ random: inout SplitMix64) {
        let primary = simulation.store.primary
        guard primary.isUp, !isRecovering else { return }
        simulation.fired(.wrongLoss, 0)
        let end = lastAlarm?.position ?? simulation.store.oracle.committed
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
        let primary = simulation.store.primary
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
