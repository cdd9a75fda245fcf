/// Nodes and clients as a primary hears of them, for its operator.
package struct PrimaryPeers: Hashable, Sendable {
    package struct Peer: Hashable, Sendable {
        package var node: String
        package var role: PeerRole
        package var boot: BootID
        /// What it last said that it has applied.
        package var applied: SequenceNumber
        package var lastHeard: Tick
    }
    /// Those that are there, replicas first, each role in the order of the names.
    package var live: [Peer] = []
    /// Replicas that were there in this boot and say nothing now, in the order of their names.
    package var lost: [Peer] = []
    /// How many are there, listed or not.
    package var liveCount = 0
}

extension PrimaryStateMachine {
    /// Peers say something each second while nothing else is said: one that is silent for so long is not there.
    package static let livePatience: Int64 = 5_000
    /// A connection that is silent for so long is forgotten; its peer starts over with HELLO.
    static let peerPatience: Int64 = 30_000
    /// Replicas that are remembered when their connections are forgotten; of more, those that were heard last.
    static let lostReplicas = 64

    /// Who is there and which replica is not, apart from this node's own callers; at most `limit` in each list.
    ///
    /// Cost: a walk over the peers, and the order of those that are listed.
    package func listPeers(now: Tick, limit: Int) -> PrimaryPeers {
        func isLive(_ peer: Peer) -> Bool { now - peer.lastHeard < Tick.milliseconds(Self.livePatience) }
        var list = PrimaryPeers()
        var clients: [PrimaryPeers.Peer] = []
        var silent = lost
        for (connection, peer) in peers where connection != .local {
            switch (isLive(peer), peer.hello.role) {
            case (true, .replica):
                list.liveCount += 1
                list.live.append(Self.listed(peer))
            case (true, .client):
                list.liveCount += 1
                if clients.count < limit { clients.append(Self.listed(peer)) }
            case (false, .replica): silent.append(peer)
            case (false, .client): break
            }
        }
        let names = Set(list.live.map(\.node))
        // A node that came back on another connection, or was lost twice, is listed once.
        var newest: [String: Peer] = [:]
        for peer in silent where !names.contains(peer.hello.node) {
            if let other = newest[peer.hello.node], other.lastHeard >= peer.lastHeard { continue }
            newest[peer.hello.node] = peer
        }
        list.live.sort { ($0.node, $0.boot) < ($1.node, $1.boot) }
        clients.sort { ($0.node, $0.boot) < ($1.node, $1.boot) }
        list.live = Array((list.live + clients).prefix(limit))
        list.lost = Array(newest.values.map(Self.listed).sorted { $0.node < $1.node }.prefix(limit))
        return list
    }

    private static func listed(_ peer: Peer) -> PrimaryPeers.Peer {
        PrimaryPeers.Peer(
            node: peer.hello.node, role: peer.hello.role, boot: peer.hello.boot, applied: peer.applied,
            lastHeard: peer.lastHeard)
    }

    /// Forgets connections on which nothing was heard for long; replicas are remembered by their names.
    mutating func forgetSilentPeers(now: Tick) {
        let silent = peers.filter { now - $0.value.lastHeard >= Tick.milliseconds(Self.peerPatience) }
        guard !silent.isEmpty else { return }
        for connection in silent.keys { peers[connection] = nil }
        let replicas = silent.values.filter { $0.hello.role == .replica }
        for peer in replicas.sorted(by: { ($0.lastHeard, $0.hello.node) < ($1.lastHeard, $1.hello.node) }) {
            lost.removeAll { $0.hello.node == peer.hello.node }
            lost.append(peer)
        }
        lost.removeFirst(max(0, lost.count - Self.lostReplicas))
    }
}
