package import ZeroMQ

/// A connection to a node, whose first frame leaves as soon as it stands.
///
/// libzmq queues nothing for a connection that does not stand yet, and what is said meanwhile is said again only after
/// some 100 ms or more, of which the connection itself takes one or two. So the first frame waits here. Of several it is
/// the newest: the others were to say the same. Later frames never wait; whoever says them says them again.
///
/// For the thread that owns the socket and its poller.
package final class DialedSocket<Token: Hashable> {
    private let socket: Socket<Dealer>
    private let poller: Poller<Token>
    private let token: Token
    /// What waits for the connection.
    private var opening: [UInt8]?
    /// Whether nothing has left yet.
    private var isFresh = true

    /// Takes a socket that does not queue for a connection that is not there, and has the poller wait for it.
    ///
    /// - Parameters:
    ///   - socket: As ``Endpoints`` makes them; it is closed with this object.
    ///   - token: No open socket of the poller has it.
    ///   - poller: Its next wait ends also when the first frame can leave.
    package init(_ socket: consuming Socket<Dealer>, as token: Token, in poller: Poller<Token>) {
        poller.add(socket, as: token)
        self.socket = socket
        self.poller = poller
        self.token = token
    }

    /// False if nobody is connected any more or the queue is full; the first frame then waits, and this is true.
    package func send(_ frame: [UInt8]) throws(ZMQError) -> Bool {
        let isSent = try socket.send(frame)
        guard isFresh else { return isSent }
        let waited = opening != nil
        opening = isSent ? nil : frame
        isFresh = !isSent
        if waited == isSent { poller.setInterest(isSent ? .readable : [.readable, .writable], of: token) }
        return true
    }

    /// Receives what is there, as the socket does; the first frame leaves before that, if it can now.
    package func receive(into message: inout ZeroMQ.Message) throws(ZMQError) -> Received? {
        if let opening { _ = try send(opening) }
        return try socket.receive(into: &message)
    }
}
