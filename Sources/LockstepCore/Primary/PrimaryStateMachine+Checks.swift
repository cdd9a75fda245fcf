// What is seen of a primary from outside, and what must hold.

extension PrimaryStateMachine {
    package var status: PrimaryStatus {
        PrimaryStatus(
            phase: phase, epoch: epoch, head: head, committed: committed, time: committedTime, mark: committedMark,
            unpersistedBytes: pipeline.unpersistedBytes, isDiskFull: journalRoom.isMissing, behind: audience.ahead,
            awaited: phase == .awaiting ? audience.awaited : [])
    }

    /// Who is there and which replica is not, apart from this node's own callers; at most `limit` in each list.
    ///
    /// Cost: a walk over the peers, and the order of those that are listed.
    package func listPeers(now: Tick, limit: Int) -> PrimaryPeers { peers.list(now: now, limit: limit) }

    /// The replicas that are there and those that are not.
    ///
    /// Cost: a walk over the peers, and the order of the replicas.
    package func listReplicas(now: Tick) -> PrimaryPeers { peers.listReplicas(now: now) }

    /// What waits here, and what was refused.
    package var load: PrimaryLoad {
        PrimaryLoad(
            unpersistedBytes: pipeline.unpersistedBytes, waitingReads: readers.queue.count,
            rejectedActions: pipeline.rejectedActions)
    }

    /// Whether a complete batch waits for the journal to be free.
    package var isBatchWaiting: Bool { !pipeline.sealed.isEmpty }

    /// Relations that hold after every event; no walk, so ``step(now:wall:state:into:_:)`` checks them in production too.
    package func checkEvent() {
        pipeline.checkEvent()
        answers.checkEvent(committed: committed.position.sequence)
        journalRoom.checkEvent()
        bindings.checkEvent()
        precondition(phase != .admitting || audience.awaitEnds == .never, "who admits waits for nobody")
        precondition(view.sequence <= committed.position.sequence, "nobody sees what has not committed")
        precondition(view.sequence <= readers.captured.sequence, "what is shown was captured")
        precondition(committed.position.sequence <= log.position.sequence, "what commits was sequenced")
    }

    /// All relations, also those that take a walk over the tables.
    package func checkInvariants() {
        checkEvent()
        pipeline.checkInvariants(logEnd: log.position)
        answers.checkInvariants(committed: committed.position.sequence)
        audience.checkInvariants()
        peers.checkInvariants()
        bindings.checkInvariants()
        log.sessions.checkInvariants()
        log.runs.checkInvariants()
        scheduler.checkInvariants(log.runs)
        joins.checkInvariants()
        readers.watches.checkInvariants()
    }
}

/// A primary's load, for its metrics.
package struct PrimaryLoad: Hashable, Sendable {
    package var unpersistedBytes: Int
    /// Reads of other nodes.
    package var waitingReads: Int
    /// Actions that were rejected in this boot.
    package var rejectedActions: UInt64
}

/// A primary as it is seen from outside.
package struct PrimaryStatus: Hashable, Sendable {
    package var phase: PrimaryStateMachine.Phase
    package var epoch: Epoch
    /// The last sequence number given.
    package var head: SequenceNumber
    package var committed: KnownPosition
    package var time: LogTime
    package var mark: LogState.Mark?
    package var unpersistedBytes: Int
    /// Less than the reserve is free, or a write found no room.
    package var isDiskFull: Bool
    /// What a peer reported that this log does not have.
    package var behind: KnownPosition?
    /// The replicas for which it waits before it admits.
    package var awaited: [String]
}
