/// Nodes and clients as a primary hears of them, for its operator.
package struct PrimaryPeers: Hashable, Sendable {
    package struct Peer: Hashable, Sendable {
        package var node: String
        package var role: PeerRole
        package var boot: BootID
        /// What it last said that it has applied.
        package var applied: SequenceNumber
        /// The newest mark that it said it has applied.
        package var mark: LogState.Mark?
        package var lastHeard: Tick
    }
    /// Those that are there, replicas first, each role in the order of the names.
    package var live: [Peer] = []
    /// Replicas that were there in this boot, did not stop on purpose and say nothing now, in the order of their names.
    package var lost: [Peer] = []
    /// How many are there, listed or not.
    package var liveCount = 0
}

/// Who said HELLO on which connection, and which replicas said it and are silent now.
///
/// Bounds: ``Limits/connections`` connections, ``lostReplicas`` replicas without one.
package struct PeerTable: Hashable, Sendable {
    /// A node or client that said HELLO on a connection.
    struct Peer: Hashable, Sendable {
        var hello: Hello
        /// Whose connection it is; nil of a node without keys.
        var sender: Sender?
        /// The first HELLO of its process on this connection.
        var firstHeard: Tick
        var lastHeard: Tick
        /// What it last said that it has applied.
        var applied: SequenceNumber
        /// A replica that closed its session and said no HELLO since: it stopped on purpose.
        var hasLeft = false
    }

    /// Peers say something each second while nothing else is said: one that is silent for so long is not there.
    static let livePatienceMilliseconds: Int64 = 5_000
    /// A connection that is silent for so long is forgotten; its peer starts over with HELLO.
    static let patienceMilliseconds: Int64 = 30_000
    /// Replicas that are remembered when their connections are forgotten; of more, those that were heard last.
    static let lostReplicas = 64

    private(set) var peers: [Connection: Peer] = [:]
    /// Replicas whose connections were forgotten, each once, in the order in which they were last heard.
    private var lost: [Peer] = []
    /// The names for which the alarm stands.
    private var alarmedDuplicates: [String] = []
    /// How many looks in a row found two processes of a name.
    private var suspectedNames: [String: Int] = [:]

    subscript(_ connection: Connection) -> Peer? { peers[connection] }

    func isThere(_ connection: Connection) -> Bool { peers[connection] != nil }
    /// Whether one more connection has room.
    func hasRoom(for connection: Connection) -> Bool { isThere(connection) || peers.count < Limits.connections }

    // MARK: - What is heard

    /// A HELLO came, with what its sender is taken to have applied.
    mutating func came(
        _ hello: Hello, on connection: Connection, of sender: Sender?, applied: SequenceNumber, now: Tick
    ) {
        let before = peers[connection]
        peers[connection] = Peer(
            hello: hello, sender: sender,
            firstHeard: before?.hello.boot == hello.boot ? before?.firstHeard ?? now : now, lastHeard: now,
            applied: applied)
    }

    mutating func heard(_ connection: Connection, now: Tick) { peers[connection]?.lastHeard = now }
    mutating func applied(_ sequence: SequenceNumber, by connection: Connection) {
        peers[connection]?.applied = sequence
    }
    mutating func forget(_ connection: Connection) { peers[connection] = nil }

    /// The replica of this name stops on purpose: whatever its process used before is no lost replica.
    mutating func left(_ name: String) {
        for (connection, peer) in peers where peer.hello.role == .replica && peer.hello.node == name {
            peers[connection]?.hasLeft = true
        }
        lost.removeAll { $0.hello.node == name }
    }

    /// Forgets connections on which nothing was heard for long; replicas are remembered by their names.
    mutating func forgetSilent(now: Tick) {
        let silent = peers.filter { now - $0.value.lastHeard >= Tick.milliseconds(Self.patienceMilliseconds) }
        guard !silent.isEmpty else { return }
        for connection in silent.keys { peers[connection] = nil }
        let replicas = silent.values.filter { $0.hello.role == .replica && !$0.hasLeft }
        for peer in replicas.sorted(by: { ($0.lastHeard, $0.hello.node) < ($1.lastHeard, $1.hello.node) }) {
            lost.removeAll { $0.hello.node == peer.hello.node }
            lost.append(peer)
        }
        lost.removeFirst(max(0, lost.count - Self.lostReplicas))
    }

    // MARK: - What an operator sees

    /// Who is there and which replica is not, apart from this node's own callers; at most `limit` in each list.
    ///
    /// Cost: a walk over the peers, and the order of those that are listed.
    func list(now: Tick, limit: Int) -> PrimaryPeers {
        var list = listReplicas(now: now)
        var clients: [PrimaryPeers.Peer] = []
        for (connection, peer) in peers where connection != .local {
            guard peer.hello.role == .client, isLive(peer, now: now) else { continue }
            list.liveCount += 1
            if clients.count < limit { clients.append(Self.listed(peer)) }
        }
        clients.sort { ($0.node, $0.boot) < ($1.node, $1.boot) }
        list.live = Array((list.live + clients).prefix(limit))
        list.lost = Array(list.lost.prefix(limit))
        return list
    }

    /// The replicas among the peers, all but those that stopped on purpose.
    func listReplicas(now: Tick) -> PrimaryPeers {
        var list = PrimaryPeers()
        var silent = lost
        for (connection, peer) in peers where connection != .local && peer.hello.role == .replica && !peer.hasLeft {
            if isLive(peer, now: now) { list.live.append(Self.listed(peer)) } else { silent.append(peer) }
        }
        list.liveCount = list.live.count
        let names = Set(list.live.map(\.node))
        // A node that came back on another connection, or was lost twice, is listed once.
        var newest: [String: Peer] = [:]
        for peer in silent where !names.contains(peer.hello.node) {
            if let other = newest[peer.hello.node], other.lastHeard >= peer.lastHeard { continue }
            newest[peer.hello.node] = peer
        }
        list.live.sort { ($0.node, $0.boot) < ($1.node, $1.boot) }
        list.lost = newest.values.map(Self.listed).sorted { $0.node < $1.node }
        return list
    }

    private func isLive(_ peer: Peer, now: Tick) -> Bool {
        now - peer.lastHeard < Tick.milliseconds(Self.livePatienceMilliseconds)
    }

    private static func listed(_ peer: Peer) -> PrimaryPeers.Peer {
        PrimaryPeers.Peer(
            node: peer.hello.node, role: peer.hello.role, boot: peer.hello.boot, applied: peer.applied,
            mark: peer.hello.mark, lastHeard: peer.lastHeard)
    }

    // MARK: - Two processes of one name

    /// Looks for two processes that are heard under one name, a replica's and another replica's or `own`; returns the
    /// names if they are others than before.
    ///
    /// A restart is no reason: the process before it is silent then. What that sent before its end may be read late, in a
    /// burst when a network heals; so only frames count that came 2 s after the other's first HELLO, and both must have
    /// been heard within 2 s at five looks in a row, a second apart. A live replica says HELLO more often.
    mutating func lookForDuplicates(own: (name: String, boot: BootID), now: Tick) -> [String]? {
        var lives: [String: [BootID: (first: Tick, last: Tick)]] = [:]
        for peer in peers.values where peer.hello.role == .replica {
            let known = lives[peer.hello.node]?[peer.hello.boot]
            lives[peer.hello.node, default: [:]][peer.hello.boot] = (
                min(known?.first ?? .never, peer.firstHeard), max(known?.last ?? .zero, peer.lastHeard)
            )
        }
        lives[own.name]?[own.boot] = (.zero, now)
        var suspected: [String: Int] = [:]
        var duplicates: [String] = []
        for (name, processes) in lives.sorted(by: { $0.key < $1.key }) {
            let both = Array(processes.values)
            if isDuplicated(both, within: 2_000, now: now) { suspected[name] = suspectedNames[name, default: 0] + 1 }
            let stays = alarmedDuplicates.contains(name) && isDuplicated(both, within: 5_000, now: now)
            if stays || suspected[name, default: 0] >= 5 { duplicates.append(name) }
        }
        suspectedNames = suspected
        guard duplicates != alarmedDuplicates else { return nil }
        alarmedDuplicates = duplicates
        return duplicates
    }

    /// Whether two of these lives go on beside each other, both heard within so many milliseconds.
    private func isDuplicated(_ lives: [(first: Tick, last: Tick)], within milliseconds: Int64, now: Tick) -> Bool {
        guard let youngest = lives.map(\.first).max() else { return false }
        return lives.filter { life in
            now - life.last < Tick.milliseconds(milliseconds) && life.last - youngest >= Tick.milliseconds(2_000)
        }.count > 1
    }

    func checkInvariants() {
        precondition(peers.count <= Limits.connections, "connections have their bound")
        precondition(lost.count <= Self.lostReplicas, "lost replicas have their bound")
        precondition(Set(lost.map(\.hello.node)).count == lost.count, "a lost replica is remembered once")
    }
}
