import LockstepCore

// The disks: writes in their order, which a process learns of when it is awake; snapshots in the place of a log.
extension ClusterSimulation {
    func write(_ write: ClusterNode.Write, at node: ClusterNode) {
        node.writes.append(write)
        begin(node)
    }

    private func begin(_ node: ClusterNode) {
        guard !node.isWriting, !node.writes.isEmpty else { return }
        node.isWriting = true
        node.writeBegan = tick(of: node)
        let delay =
            strikes(.slowDisk, 0.1)
            ? random.between(0, 300 * Span.millisecond)
            : random.between(100 * Span.microsecond, 3 * Span.millisecond)
        add(.wrote(node, life: node.life), after: delay)
    }

    /// The disk has done the first write.
    func wrote(_ node: ClusterNode) {
        guard node.isWriting else { return }
        guard now >= node.stuckUntil else { return add(.wrote(node, life: node.life), after: node.stuckUntil - now) }
        guard let write = perform(node) else { return }
        node.isWriting = false
        node.writeBegan = .never
        node.told.append(write)
        add(.told(node, life: node.life), after: 0)
        begin(node)
    }

    @discardableResult
    private func perform(_ node: ClusterNode) -> ClusterNode.Write? {
        guard !node.writes.isEmpty else { return nil }
        let write = node.writes.removeFirst()
        node.write(write)
        return write
    }

    /// Everything that the disk was asked for is done.
    func flush(_ node: ClusterNode) {
        while perform(node) != nil {}
        (node.isWriting, node.writeBegan, node.told) = (false, .never, [])
    }

    /// A process ends; what its disk was at may have been done, though nobody was told.
    func losePending(_ node: ClusterNode) {
        if node.isWriting, random.chance(0.5) { perform(node) }
    }

    /// The process learns of a write.
    func tell(_ node: ClusterNode) {
        guard !node.told.isEmpty else { return }
        switch node.told.removeFirst() {
        case .batches(let batches, _):
            guard let end = batches.last?.head.last else { return }
            if node.isPrimary {
                withPrimary(node) { $0.persisted(&$1) }
            } else {
                withStandby(node) { $0.appended(through: end, now: $1, into: &$2) }
            }
        case .truncate: withStandby(node) { $0.truncated(now: $1, into: &$2) }
        case .promise(let epoch): withStandby(node) { $0.promiseStored(epoch, now: $1, into: &$2) }
        case .replace(let snapshot):
            recover(node)
            withStandby(node) {
                $0.replaced(
                    at: snapshot.log.known, epochEnds: snapshot.log.allEpochEnds, now: $1, into: &$2)
            }
        }
    }

    /// What the arbiter has shown is on a disk at once; a primary commits by it when it is told that.
    func tellOfMemory(_ node: ClusterNode) {
        let shown = inPlace(&node.primary) { machine in
            machine?.replication?.isMemoryKept == false ? machine?.replication?.memory.stored : nil
        }
        guard let memory = shown else { return }
        withPrimary(node) { $0.remembered(memory, &$1) }
    }

    /// A standby whose log is too old takes the state of its primary, as soon as it reaches that.
    func fetchSnapshot(_ node: ClusterNode) {
        guard let standby = node.standby, standby.phase == .lacking, let target = node.dials else { return }
        let primary = nodes[target]
        let shown = primary.shown
        let isThere =
            primary.epoch == standby.followed?.record.epoch && now >= primary.pausedUntil
            && links[node.index][target] != nil && !cuts.contains([target, node.index])
        guard isThere, shown.log.position.sequence > node.shown.log.position.sequence else {
            return add(.snapshot(node, life: node.life), after: random.between(50, 500) * Span.millisecond)
        }
        // Its SYNC names a place that the primary does not have, and gets no snapshot: it stops as one that is ahead.
        if checker.isGivenUp(node.disk.committed, hash: node.disk.hash(at: node.disk.committed)) {
            return isReplaced(node, after: Span.second)
        }
        guard let snapshot = primary.snapshot() else { return fail(.digest, primary.unreadable ?? "") }
        counts.snapshots += 1
        trace(node, .snapshot, 0, shown.log.position.sequence.rawValue)
        write(.replace(snapshot), at: node)
    }

    // MARK: - Adoption

    /// Gives a node what a primary that was alone had, all of it committed: some epochs, which nobody saved a snapshot of.
    static func keepLog(of node: ClusterNode, _ checker: inout ClusterChecker) {
        for epoch in [4, 5, 9] as [UInt64] {
            var builder = BatchBuilder(
                store: store, epoch: Epoch(rawValue: epoch), after: node.disk.end,
                time: LogTime(rawValue: begin - 60_000_000 + Int64(epoch)))
            builder.append(
                .epochOpen(
                    node: node.name.name, incarnation: node.incarnation, boot: BootID(rawValue: UInt128(epoch))))
            let batch = builder.sealed()
            node.write(.batches([batch], committed: batch.head.last))
            if let problem = checker.history.append(batch) { checker.fail(problem.promise, problem.text) }
        }
        node.recover()
    }
}
