package import LockstepCore

// For tests that lead a cluster step by step, with no faults but their own.
extension ClusterSimulation {
    package var stored: StoredRecord { arbiter.stored }
    /// How many actions were answered to all clients.
    package var answered: Int { clients.reduce(0) { $0 + Int($1.answeredInAll) } }
    /// Whom the record names, if it reigns and admits.
    package var reigning: Int? {
        nodes.firstIndex { $0.member == arbiter.stored.record.primary.member && $0.primary?.phase == .admitting }
    }
    /// Whether every node has seen a record of an epoch above this one.
    package func haveAllSeenMore(than epoch: Epoch) -> Bool { nodes.allSatisfy { $0.disk.memory.epoch > epoch } }
    package func name(of index: Int) -> NodeID { nodes[index].name }
    /// Where a node's log ends, with what is not committed.
    package func end(of index: Int) -> Position { nodes[index].primary?.log.position ?? nodes[index].disk.end }

    /// Whether it is a primary, and nothing of its log is uncommitted.
    package func hasCommittedAll(_ index: Int) -> Bool { nodes[index].primary?.committedLog != nil }

    /// Lets time pass until `condition` holds; false if it does not within 20 s, or if a promise is broken.
    package func run(until condition: (ClusterSimulation) -> Bool) -> Bool {
        let end = now + 20 * Span.second
        while !condition(self) { guard violation == nil, now < end, step() else { return false } }
        return violation == nil
    }

    /// Lets so many milliseconds pass; false if a promise is broken.
    package func run(milliseconds: Int64) -> Bool {
        let end = now + milliseconds * Span.millisecond
        return run { $0.now >= end }
    }

    /// An operator has a primary give its post away; why not, if it cannot be done.
    package func handOver(_ index: Int, to name: NodeID?) -> HandoverRefusal? {
        giveAwayPost(of: nodes[index], to: name)
    }

    package func pause(_ index: Int, milliseconds: Int64) {
        nodes[index].pause(until: now + milliseconds * Span.millisecond)
    }

    /// The process ends, and begins anew at once.
    package func beginAnew(_ index: Int) { restart(nodes[index], after: 1) }

    /// The arbiter shows an older copy; false if not every node is known to know that it is older.
    package func restoreArbiter(_ older: StoredRecord) -> Bool { setBack(to: older) }

    /// The operator binds the store to it.
    package func bind() { add(.operate(.looks), after: 0) }
}
