internal import CZeroMQ

/// Answers for libzmq which peers may connect to the sockets of a context (ZeroMQ RFC 27, ZAP).
///
/// libzmq asks about each new connection of a socket with ``SocketOption/zapDomain``, once, before any message of it is
/// handed over. Make the handler before the first such socket listens, and with
/// ``SocketOption/zapEnforceDomain`` on all of them: then nobody gets in while there is no handler.
///
/// It has no thread: its owner polls it and calls ``serve(atMost:_:)``. A peer whose question is not answered in the
/// socket's ``SocketOption/handshakeTimeout`` has to connect anew. Only 200 and 400 are answered: with 300 a peer of
/// libzmq waits for ever, without an event.
public struct ZapHandler: ~Copyable {
    let socket: Socket<Router>

    /// Where libzmq looks for the handler of a context.
    public static let endpoint = "inproc://zeromq.zap.01"
    private static let version = Array("1.0".utf8)

    /// What is asked about one connection.
    public struct Request: Hashable, Sendable {
        /// The domain of the socket that the peer has connected to.
        public let domain: String
        /// The peer's network address, without port.
        public let address: String
        /// The mechanism of security: `NULL`, `PLAIN` or `CURVE`.
        public let mechanism: String
        /// With CURVE, the key whose secret the peer has proved to hold; otherwise `nil`.
        public let key: CurvePublicKey?

        /// Reads a request without its routing id; `nil` if it is none.
        init?(_ frames: ArraySlice<[UInt8]>) {
            // A delimiter, version, number, domain, address, the peer's routing id, mechanism, credentials.
            let frames = Array(frames)
            guard frames.count >= 7, frames[0].isEmpty, frames[1] == ZapHandler.version else { return nil }
            domain = String(decoding: frames[3], as: UTF8.self)
            address = String(decoding: frames[4], as: UTF8.self)
            mechanism = String(decoding: frames[6], as: UTF8.self)
            key = mechanism == "CURVE" && frames.count == 8 ? CurvePublicKey(bytes: frames[7]) : nil
        }
    }

    /// What is answered.
    public enum Verdict: Hashable, Sendable {
        /// The peer may connect: its messages have ``MessageProperty/userID``, and ``MessageProperty/peerKey`` if it
        /// has proved to hold a key.
        case accepted(userID: String)
        /// The peer may not connect; it is told that, and nothing else.
        case refused
    }

    /// Makes the handler of a context, which has one at most.
    ///
    /// - Throws: ``ZMQError/Code/addressInUse`` if the context has one.
    public init(in context: Context) throws(ZMQError) {
        var socket = try Socket<Router>(in: context)
        try socket.bind(to: Self.endpoint)
        self.socket = socket
    }

    /// Answers what was asked.
    ///
    /// - Parameters:
    ///   - limit: The most questions to answer in this call; the others wait.
    ///   - decide: Decides on one connection.
    /// - Returns: How many were taken.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func serve(atMost limit: Int, _ decide: (Request) -> Verdict) throws(ZMQError) -> Int {
        var count = 0
        while count < limit, let frames = try socket.receiveFrames() {
            count += 1
            // Only libzmq itself connects here, and what it asks can be read; what cannot be is not answered.
            guard frames.count > 3, let peer = RoutingID(frames[0]), let request = Request(frames[1...]) else {
                continue
            }
            let reply = Self.reply(to: request, number: frames[3], decide(request))
            // One that has gone needs no answer.
            _ = try socket.send(frames: reply, to: peer)
        }
        return count
    }

    private static func reply(to request: Request, number: [UInt8], _ verdict: Verdict) -> [[UInt8]] {
        switch verdict {
        case .accepted(let userID):
            let key = request.key.map { property(MessageProperty.peerKey.name, $0.z85) } ?? []
            return [[], version, number, Array("200".utf8), Array("OK".utf8), Array(userID.utf8), key]
        case .refused: return [[], version, number, Array("400".utf8), Array("refused".utf8), [], []]
        }
    }

    /// A property as ZMTP writes it: the name with its length, the value with its length in four bytes.
    private static func property(_ name: String, _ value: String) -> [UInt8] {
        var bytes = [UInt8(name.utf8.count)]
        bytes += name.utf8
        // A value here has at most some hundred bytes.
        bytes += [0, 0, UInt8(value.utf8.count >> 8), UInt8(value.utf8.count & 255)]
        bytes += value.utf8
        return bytes
    }
}

extension Poller {
    /// Waits for questions to a ZAP handler too; see ``add(_:as:for:)``.
    ///
    /// - Parameters:
    ///   - handler: Must be owned by the thread that waits.
    ///   - token: What ``ready`` calls it.
    public func add(_ handler: borrowing ZapHandler, as token: Token) {
        add(handler.socket, as: token)
    }
}
