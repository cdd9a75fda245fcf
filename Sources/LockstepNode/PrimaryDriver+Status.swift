package import LockstepCore

// What an operator sees of a primary.
extension PrimaryDriver {
    package var phase: StoreStatus.Phase { .init(machine.phase) }
    package var channel: Channel? { machine.configuration.channel }
    package var position: Position { inPlace(&machine) { $0.committed.position } }
    package var senders: [SessionID: String] { inPlace(&machine) { $0.log.sessions.senders } }
    package var readRefusal: ReadRefusal? { inPlace(&machine) { $0.readRefusal } }

    /// Nil while entries are on their way to the journal: the working state holds them, and nothing shows that.
    package var digest: Digest? {
        let own = machine.status
        return own.head == own.committed.position.sequence ? state.digest + machine.log.digest : nil
    }

    package func fill(_ status: inout StoreStatus, limit: Int) {
        let own = machine.status
        status.incarnation = "\(journal.identity.incarnation)"
        status.isVolatile = journal.isVolatile
        status.epoch = own.epoch.rawValue
        status.sequence = own.head.rawValue
        status.commit = own.committed.position.sequence.rawValue
        status.hash = "\(own.committed.position.hash)"
        status.time = own.time.rawValue
        status.setMark(own.mark)
        status.setSessions(machine.log.sessions, limit: limit)
        let (now, commit) = (MonotonicClock.now, status.commit)
        let peers = machine.listPeers(now: now, limit: limit)
        func listed(_ peer: PrimaryPeers.Peer) -> StoreStatus.Peer {
            StoreStatus.Peer(
                node: peer.node, role: peer.role == .replica ? .replica : .client, applied: peer.applied.rawValue,
                lag: commit - min(commit, peer.applied.rawValue), mark: peer.mark.map(StoreStatus.Mark.init),
                silentSeconds: Double(now - peer.lastHeard) / 1e9)
        }
        status.peers = peers.live.map(listed)
        status.peerCount = peers.liveCount
        status.lostReplicas = peers.lost.map(listed)
        status.setJournal(journal)
        status.dataNode = dataNode
    }
}
