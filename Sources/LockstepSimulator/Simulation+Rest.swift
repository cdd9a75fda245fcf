import LockstepCore

// Whether a cluster has come to rest, and what keeps it from that.
extension Simulation {
    /// Whether nothing is left open: all calls answered, all nodes live and at one place.
    func isAtRest() -> Bool {
        for store in stores { store.operatorDesk.lookAgain() }
        return callers.allSatisfy { $0.isIdle && ($0.isClosed || $0.outdatedWatches.isEmpty) }
            && processes.allSatisfy { $0.isUp || $0 is RogueProcess || $0 is RecoveryProcess }
            && stores.allSatisfy(isAtRest)
    }

    private func isAtRest(_ store: SimulatedStore) -> Bool {
        guard let machine = store.primary.machine, machine.phase == .admitting, machine.isDrained else { return false }
        let head = machine.committed.position
        return store.replicas.allSatisfy { $0.machine?.phase == .live && $0.machine?.log.position == head }
            && areRunsOver(machine, of: store)
    }

    /// Whether no effect runs, senders that live have acknowledged their ends, and the state waits for nothing.
    private func areRunsOver(_ machine: PrimaryStateMachine, of store: SimulatedStore) -> Bool {
        guard machine.log.runs.unfinishedCount == 0, store.workload.isAtRest(store.primary.state.base) else {
            return false
        }
        guard machine.log.runs.count > 0 else { return true }
        let own = callers.filter { $0.process.store === store }
        let open = Set(own.compactMap { $0.machine.session?.id })
        return !machine.log.runs.sorted.contains { run in
            GivenUp.mustBeAcknowledged(
                acceptedAt: store.oracle.runs.runs[run.id]?.sequence, isSessionOpen: open.contains(run.id.session),
                forkedAt: store.oracle.forkedAt)
        }
    }

    /// What was still open when the time was over.
    var openEnds: String {
        var parts = stores.flatMap(openEnds(of:))
        for caller in callers where !caller.isIdle {
            parts.append("\(caller.process.name) waits, its machine is \(caller.machine.phase)")
        }
        for caller in callers where !caller.isClosed {
            guard let first = caller.outdatedWatches.first else { continue }
            parts.append("\(caller.process.name) was not told what its watch \(first) answers now")
        }
        return parts.joined(separator: "; ")
    }

    private func openEnds(of store: SimulatedStore) -> [String] {
        var parts: [String] = []
        if let machine = store.primary.machine {
            if machine.phase != .admitting { parts.append("\(store.primary.name) is \(machine.phase)") }
            parts.append("\(store.primary.name) is at \(machine.committed.position.sequence)")
            let runs = machine.log.runs.sorted
            if !runs.isEmpty {
                let count = machine.log.runs.unfinishedCount
                parts.append("\(count) runs go on, \(runs.count - count) ends are kept, the first is \(runs[0].id)")
            }
            if !store.workload.isAtRest(store.primary.state.base) { parts.append("the state waits for something") }
        } else {
            parts.append("\(store.primary.name) is down")
        }
        for replica in store.replicas
        where replica.machine?.phase != .live
            || replica.machine?.log.position != store.primary.machine?.committed.position
        {
            let place = replica.machine.map { "\($0.phase.name) at \($0.log.position.sequence)" } ?? "down"
            parts.append("\(replica.name) is \(place)")
        }
        return parts
    }
}
