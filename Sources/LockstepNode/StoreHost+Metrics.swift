package import LockstepCore
internal import Metrics

/// The metrics that are states and not events: once a second, on the node's thread.
extension StoreHost {
    func observe(now: Tick) {
        guard now >= nextObservation else { return }
        nextObservation = now.advanced(byMilliseconds: 1_000)
        let gauges = metrics.states
        gauges.serving.record(readiness == .live ? 1 : 0)
        gauges.sequence.record(Double((driver?.position ?? client.known.position).sequence.rawValue))
        gauges.unanswered.record(unanswered)
        let inbox = port.inbox.load
        gauges.inboxActions.record(inbox.actions, of: Inbox.actionBound)
        gauges.inboxLine.record(inbox.submissions, of: Inbox.lineBound)
        gauges.inboxWork.record(inbox.errands, of: Inbox.errandBound)
        gauges.readers.record(readers.count, of: Limits.waitingReads)
        gauges.link.record(links.linkRing.byteCount, of: links.linkRing.capacity)
        gauges.stream.record(links.broadcastRing.byteCount, of: links.broadcastRing.capacity)
        metrics.refused(.inbox, total: inbox.refused)
        metrics.refused(.readers, total: readers.refused)
        metrics.ringsDropped(total: links.dropped)
        driver?.observe(metrics, now: now)
    }
}

extension NodeMetrics {
    fileprivate func observe(_ journal: (any Journal)?) {
        guard let journal else { return }
        let (batches, snapshot) = journal.sizes
        states.journalBatches.record(batches)
        states.journalSnapshot.record(snapshot)
        if let free = journal.freeBytes() { states.journalFree.record(free) }
    }

    fileprivate func observe(_ log: LogState) {
        states.sessions.record(log.sessions.count, of: Limits.sessions)
        states.keptReplies.record(log.sessions.keptBytes, of: Limits.keptBytes)
        states.runs.record(log.runs.count, of: Limits.runs)
    }
}

extension PrimaryDriver {
    package func observe(_ metrics: NodeMetrics, now: Tick) {
        let load = machine.load
        metrics.rejected(total: load.rejectedActions)
        metrics.states.unpersisted.record(load.unpersistedBytes, of: Limits.unpersistedBytes)
        metrics.states.askedReads.record(load.waitingReads, of: Limits.waitingReads)
        metrics.observe(machine.log)
        metrics.observe(desk.journal)
        let replicas = machine.listReplicas(now: now)
        metrics.states.replicasConnected.record(replicas.live.count)
        metrics.states.replicasLost.record(replicas.lost.count)
        let commit = position.sequence.rawValue
        let lags = (replicas.live + replicas.lost).map { ($0.node, commit - min(commit, $0.applied.rawValue)) }
        metrics.observe(lags: lags.sorted { ($1.1, $0.0) < ($0.1, $1.0) })
        observeMembers(metrics, now: now)
    }
}

extension ReplicaDriver {
    package func observe(_ metrics: NodeMetrics, now _: Tick) {
        metrics.states.lag.record(Double(lag))
        metrics.states.unpersisted.record(desk.line.byteCount, of: Limits.unpersistedBytes)
        metrics.states.askedReads.record(machine.waitingReads, of: Limits.waitingReads)
        metrics.observe(machine.log)
        metrics.observe(desk.journal)
    }
}
