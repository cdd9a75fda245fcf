internal import CZeroMQ
internal import Synchronization

/// Tells what happens to the connections of one socket.
///
/// For measurements, logs and the decision to make a new socket; whether a message has arrived it cannot tell. Belongs to
/// the thread that owns the socket. Its queue has no limit, because with one libzmq would stop the socket's I/O thread
/// when nobody reads; so take the events regularly. It ends when its owner lets go of it or when the socket closes.
///
/// While it is there, the socket's context has two sockets more.
public struct SocketMonitor: ~Copyable {
    /// The end of libzmq's inproc pair at which events arrive.
    let events: Socket<Pair>
    private let endpoint: String
    private let monitored: SocketHandle

    /// Makes names of inproc endpoints differ within the process.
    private static let lastNumber = Atomic<Int>(0)

    /// Begins to note what happens to the connections of a socket (`zmq_socket_monitor`).
    ///
    /// Call it before `bind` and `connect`, or the first events are missed. A socket has one monitor: this ends an
    /// earlier one.
    ///
    /// - Parameter socket: Owned by the calling thread.
    /// - Throws: ``ZMQError/Code/tooManySockets`` at the context's limit.
    public init<Kind>(_ socket: borrowing Socket<Kind>) throws(ZMQError) {
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://zeromq.monitor.\(number)"
        var events = try Socket<Pair>(in: socket.handle.context)
        try socket.handle.startMonitoring(at: endpoint)
        do throws(ZMQError) {
            try events.connect(to: endpoint)
        } catch {
            socket.handle.stopMonitoring(at: endpoint)
            throw error
        }
        self.events = events
        self.endpoint = endpoint
        monitored = socket.handle
    }

    /// The next event in the order in which they happened, or `nil` at once if there is none.
    ///
    /// - Returns: After ``SocketEvent/Kind/monitorStopped`` there will be none.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func next() throws(ZMQError) -> SocketEvent? {
        while let frames = try events.receiveFrames() {
            // An event that this module has no name for is passed over.
            if let event = SocketEvent(frames: frames) { return event }
        }
        return nil
    }

    /// Stops the monitor; the socket goes on.
    public consuming func stop() {}

    // Runs before `events` closes.
    deinit { monitored.stopMonitoring(at: endpoint) }
}
