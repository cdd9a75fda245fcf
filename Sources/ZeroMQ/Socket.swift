internal import CZeroMQ

/// One end of ZeroMQ conversations, of one kind, with one owner.
///
/// Cannot be copied, so nobody else can use it at the same time or after it was closed; it may be handed to another
/// thread as a whole. It closes when its owner lets go of it. It holds its context alive.
///
/// Nothing waits: an operation that libzmq could not complete at once says so. To wait, use a ``Poller``. Once the
/// context is shut down, every operation throws ``ZMQError/Code/contextTerminated``.
///
/// `ZMQ_LINGER` is 0: what has not left the process when the socket closes is dropped, so closing never waits.
/// `ZMQ_RCVHWM` is 0, for the reason given at ``SocketOption``: messages queue without limit until they are received, so
/// receive promptly and bound memory in your own queues.
public struct Socket<Kind: SocketKind>: ~Copyable {
    let handle: SocketHandle

    /// The endpoint this socket is connected to, as it was given to ``connect(to:)``; `nil` if there is none.
    public private(set) var connectedEndpoint: String?

    /// Opens a socket that is neither bound nor connected.
    ///
    /// - Parameters:
    ///   - context: Carries the traffic; held until the socket is closed.
    ///   - options: Applied now, since most have no effect later.
    /// - Throws: ``ZMQError/Code/tooManySockets`` at the context's limit, ``ZMQError/Code/invalidArgument`` for an
    ///   option out of range, ``ZMQError/Code/notSupported`` for one that this build of libzmq lacks.
    public init(in context: Context, options: SocketOptions = SocketOptions()) throws(ZMQError) {
        let handle = try SocketHandle(Kind.type, in: context)
        try handle.set(ZMQ_LINGER, "ZMQ_LINGER", to: Int32(0))
        try handle.set(ZMQ_RCVHWM, "ZMQ_RCVHWM", to: Int32(0))
        if Kind.type == Router.type {
            try handle.set(ZMQ_ROUTER_MANDATORY, "ZMQ_ROUTER_MANDATORY", to: Int32(1))
        }
        if Kind.type == Subscriber.type {
            try handle.set(ZMQ_SNDHWM, "ZMQ_SNDHWM", to: Int32(0))
        }
        try options.apply(to: handle)
        self.handle = handle
    }

    /// Closes the socket.
    ///
    /// Returns at once; connections end soon after, and what has not been sent is dropped (`zmq_close`).
    public consuming func close() {}

    deinit { handle.close() }

    // MARK: - Endpoints

    /// Listens at an endpoint, beside those already bound.
    ///
    /// `tcp://*:0` and `ipc://*` choose a free port or path; ``lastEndpoint`` tells which (`zmq_bind`).
    ///
    /// - Parameter endpoint: Such as `tcp://127.0.0.1:7400`, `ipc:///run/lockstep.ipc` or `inproc://name`.
    /// - Throws: ``ZMQError/Code/addressInUse``, ``ZMQError/Code/addressNotAvailable``,
    ///   ``ZMQError/Code/invalidArgument`` and others, naming the endpoint.
    public mutating func bind(to endpoint: String) throws(ZMQError) {
        try handle.bind(to: endpoint)
    }

    /// Stops listening at an endpoint; connections that were accepted there end (`zmq_unbind`).
    ///
    /// - Parameter endpoint: With wildcards resolved, as ``lastEndpoint`` gave it after the bind.
    /// - Throws: ``ZMQError/Code/noSuchEndpoint`` if the socket is not bound there.
    public mutating func unbind(from endpoint: String) throws(ZMQError) {
        try handle.unbind(from: endpoint)
    }

    /// Connects to an endpoint, and again whenever the connection is lost, until the socket is disconnected or closed.
    ///
    /// Returns before anybody has answered, or exists; a ``SocketMonitor`` tells when (`zmq_connect`). A socket connects
    /// to one endpoint only: a second connection would split the messages between the two, double them, or, to the same
    /// endpoint, be ignored without a word.
    ///
    /// - Parameter endpoint: Such as `tcp://10.0.0.1:7400`.
    /// - Throws: ``ZMQError/Code/invalidArgument`` if the socket is already connected or the endpoint is not well formed.
    public mutating func connect(to endpoint: String) throws(ZMQError) {
        if let connectedEndpoint {
            throw ZMQError(
                .invalidArgument, operation: "connect", endpoint: endpoint,
                explanation: "this socket is connected to \(connectedEndpoint), and one endpoint is all it may have")
        }
        try handle.connect(to: endpoint)
        connectedEndpoint = endpoint
    }

    /// Ends the connection, if there is one, and drops what has not been sent (`zmq_disconnect`).
    ///
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public mutating func disconnect() throws(ZMQError) {
        guard let endpoint = connectedEndpoint else { return }
        try handle.disconnect(from: endpoint)
        connectedEndpoint = nil
    }

    /// The endpoint that was bound or connected last, with wildcards resolved (`ZMQ_LAST_ENDPOINT`).
    ///
    /// Empty if there has been none.
    public var lastEndpoint: String {
        get throws(ZMQError) { try handle.lastEndpoint() }
    }
}

@available(*, unavailable)
extension Socket: Sendable {}
