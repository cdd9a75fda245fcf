internal import DequeModule
package import LockstepCore
package import ZeroMQ

/// Ends the connections of peers that cost more than they may (PROTOCOL, R-54).
///
/// libzmq takes whatever a peer sends, without limit, and hands over whole messages only. So what it holds of a
/// connection is what the system says that it has read, less what was taken from the socket; and who holds too much is
/// disconnected, since nothing else makes libzmq let go of it. Each of these peers may connect anew.
///
/// One for each socket that peers connect to; on the node's thread. The counts begin with the first message that is
/// taken while the connection is known.
package struct PeerWatch {
    /// How much a peer may have.
    package struct Bounds: Hashable, Sendable {
        /// What libzmq may hold of one connection, in bytes, with ``PeerWatch/messageCost`` for each message.
        package var heldBytes: Int64 = 16 << 20
        /// A connection that brought no message by then ends.
        package var firstMessage = Tick.milliseconds(10_000)
        /// Connections of all peers.
        package var connections: Int

        package init(connections: Int) { self.connections = connections }

        /// Connections of one address: half of all.
        package var ofAddress: Int { max(1, connections / 2) }
    }

    private struct Account {
        let address: String
        let accepted: Tick
        /// What libzmq may still hold is `read` by the system, less this.
        var taken: Int64 = 0
        /// The size of its messages, a mean in which the newest count most.
        var messageBytes = 32.0
        var peer: RoutingID?

        mutating func add(_ count: Int) {
            taken += Int64(count)
            messageBytes += (Double(count) - messageBytes) / 64
        }

        /// What libzmq holds of it, in memory.
        ///
        /// Nobody can count messages that were not taken; so they are as large as those before, and 64 bytes at most,
        /// since one who floods may begin with large ones.
        func held(read: Int64) -> Int64 {
            Int64(Double(read - taken) * (1 + PeerWatch.messageCost / min(max(messageBytes, 2), 64)))
        }
    }

    private var accounts: [TCPConnection: Account] = [:]
    private var connections: [RoutingID: TCPConnection] = [:]
    private var counts: [String: Int] = [:]
    /// Those that were ended last: what they left in libzmq is still to be taken, and nobody's.
    private var banned: Set<RoutingID> = []
    private var bannedInOrder: Deque<RoutingID> = []
    /// Peers whose connection has ended since they were last asked for.
    private var gone: [RoutingID] = []
    /// Those that the next looks look at.
    private var line: [TCPConnection] = []
    private let bounds: Bounds
    /// How many connections were ended, by any rule.
    package private(set) var ended: UInt64 = 0

    /// What a message costs in libzmq beside its bytes: its record, and its part of a block of them.
    private static let messageCost = 96.0

    /// How many of those that were ended are remembered.
    private static let remembered = 4_096

    /// Connections that one look asks the system about.
    private static let looksAtOnce = 1_024

    package init(bounds: Bounds) {
        self.bounds = bounds
    }

    package var count: Int { accounts.count }

    // MARK: - What happens

    /// A connection was accepted, or has ended.
    package mutating func happened(_ event: SocketEvent, now: Tick) {
        guard let connection = event.connection else { return }
        // A number that is given anew belongs to the new connection.
        forget(connection)
        guard event.kind == .accepted else { return }
        let address = connection.peerAddress ?? ""
        guard accounts.count < bounds.connections, counts[address, default: 0] < bounds.ofAddress else {
            end(connection)
            return
        }
        accounts[connection] = Account(address: address, accepted: now)
        counts[address, default: 0] += 1
    }

    /// A whole message was taken from the socket; returns false if its peer was disconnected, and the message is nobody's.
    package mutating func taken(_ message: ZeroMQ.Message, from peer: RoutingID) -> Bool {
        let count = message.count
        if let connection = connections[peer] {
            // A frame of ZMTP begins with its flags and its length.
            let size = count + (count > 255 ? 9 : 2)
            accounts[connection]?.add(size)
            return true
        }
        guard !banned.contains(peer) else { return false }
        guard let connection = message.connection, var account = accounts[connection], account.peer == nil else {
            return true
        }
        account.peer = peer
        account.taken = connection.bytesRead ?? 0
        accounts[connection] = account
        connections[peer] = connection
        return true
    }

    /// Looks at one peer, in the middle of what may be its flood.
    package mutating func look(at peer: RoutingID) {
        guard let connection = connections[peer], let account = accounts[connection],
            let read = connection.bytesRead, account.held(read: read) > bounds.heldBytes
        else { return }
        end(connection)
    }

    /// The peer has sent what it must not, or may no longer be here: it is disconnected, and what it left is nobody's.
    package mutating func end(_ peer: RoutingID) {
        if let connection = connections[peer] { end(connection) }
    }

    /// Peers whose connection has ended since the last call.
    package mutating func takeGone() -> [RoutingID] {
        defer { gone = [] }
        return gone
    }

    /// Looks at some of the connections; best when the socket has just been drained.
    package mutating func look(now: Tick) {
        if line.isEmpty { line = Array(accounts.keys) }
        for connection in line.suffix(Self.looksAtOnce) {
            guard let account = accounts[connection] else { continue }
            if account.peer == nil, now - account.accepted > bounds.firstMessage {
                end(connection)
            } else if let read = connection.bytesRead, account.held(read: read) > bounds.heldBytes {
                end(connection)
            }
        }
        line.removeLast(min(line.count, Self.looksAtOnce))
    }

    private mutating func end(_ connection: TCPConnection) {
        ended += 1
        connection.end()
        if let peer = accounts[connection]?.peer { ban(peer) }
        // libzmq closes the descriptor now; whatever has its number next is another's.
        forget(connection)
    }

    private mutating func ban(_ peer: RoutingID) {
        guard banned.insert(peer).inserted else { return }
        bannedInOrder.append(peer)
        if bannedInOrder.count > Self.remembered, let oldest = bannedInOrder.popFirst() { banned.remove(oldest) }
    }

    private mutating func forget(_ connection: TCPConnection) {
        guard let account = accounts.removeValue(forKey: connection) else { return }
        if let peer = account.peer {
            connections[peer] = nil
            gone.append(peer)
        }
        let left = counts[account.address, default: 1] - 1
        counts[account.address] = left > 0 ? left : nil
    }
}
