package import LockstepCore
package import ZeroMQ

/// The connections of one port, and who is at the other end of each (PROTOCOL, R-67).
///
/// A connection is looked up in the access list by the key that it proved to have, with its first message, and again
/// whenever the list changes. One whose rights have changed is given up: its peer connects anew, and nothing that it was
/// allowed before goes on.
package struct AccessPeers {
    private var peers: [Connection: Known] = [:]
    /// Connections that have ended, and since when: frames of them may still wait for their turn.
    private var gone: [(connection: Connection, since: Tick)] = []
    private let bound: Int

    private struct Known {
        var key: CurvePublicKey
        var peer: AccessPeer
    }

    /// Connections of one port that are remembered; beyond that all are looked up anew.
    package static let usualBound = 65_536
    /// So long frames of a connection that has ended are still taken, in milliseconds.
    private static let memory: Int64 = 1_000

    package init(bound: Int = Self.usualBound) { self.bound = bound }

    package var count: Int { peers.count }

    /// Who is at the other end; nil if no message came, or the list has its key no longer.
    package subscript(connection: Connection) -> AccessPeer? { peers[connection]?.peer }

    /// Whether a connection may go on.
    package enum Meeting: Hashable, Sendable {
        case known(AccessPeer)
        /// The key is not in the list.
        case stranger
        /// The name has as many connections of this port as its quota allows.
        case tooMany(AccessPeer, most: Int)
    }

    /// Takes notice of a connection, if it may go on.
    package mutating func met(
        _ connection: Connection, key: CurvePublicKey, address: String, list: AccessList
    ) -> Meeting {
        guard let principal = list.principal(of: key) else { return .stranger }
        let peer = AccessPeer(principal: principal, address: address)
        if let most = principal.quota.connections, count(of: principal.name) >= most {
            return .tooMany(peer, most: most)
        }
        if peers.count >= bound { peers = [:] }
        peers[connection] = Known(key: key, peer: peer)
        return .known(peer)
    }

    /// How many connections a name has; those that have ended do not count.
    ///
    /// Cost: a walk, for names with a quota.
    private func count(of name: String) -> Int {
        let ended = Set(gone.map(\.connection))
        return peers.count { $0.value.peer.principal.name == name && !ended.contains($0.key) }
    }

    /// A HELLO was let through.
    package mutating func greeted(_ connection: Connection, store: String, nonce: UInt64) {
        peers[connection]?.peer.nonces[store] = nonce
    }

    /// A connection has ended by itself.
    package mutating func left(_ connection: Connection, now: Tick) {
        if peers[connection] != nil { gone.append((connection, now)) }
    }

    /// Forgets those that ended a while ago.
    package mutating func forget(now: Tick) {
        let kept = gone.firstIndex { now - $0.since < Tick.milliseconds(Self.memory) } ?? gone.count
        for (connection, _) in gone.prefix(kept) { peers[connection] = nil }
        gone.removeFirst(kept)
    }

    /// The list has changed: forgets, and returns, those whose rights have.
    package mutating func reviewed(by list: AccessList) -> [Connection] {
        let changed = peers.filter { list.principal(of: $0.value.key) != $0.value.peer.principal }.keys.sorted()
        for connection in changed { peers[connection] = nil }
        return changed
    }
}
