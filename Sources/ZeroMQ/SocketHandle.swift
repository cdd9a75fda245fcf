internal import CZeroMQ

/// The one owner of a libzmq socket, and the only code that passes its pointer to C.
///
/// An object, so that a poller or monitor that outlives the socket finds it closed instead of holding a pointer into
/// freed memory. Not `Sendable`: libzmq sockets may move between threads but not be used by two.
@safe final class SocketHandle {
    /// Keeps the context from terminating, which would wait for this socket for ever.
    let context: Context

    // Safe: set once, passed only to functions that do not keep it, and `nil` from the moment it is closed.
    private(set) var pointer: UnsafeMutableRawPointer?

    /// Where libzmq reports this socket's events, if it does.
    private var monitorEndpoint: String?

    var isOpen: Bool { unsafe pointer != nil }

    init(_ type: SocketType, in context: Context) throws(ZMQError) {
        self.context = context
        unsafe pointer = try context.open(type)
    }

    deinit { close() }

    func close() {
        guard let pointer = unsafe pointer else { return }
        if let monitorEndpoint { stopMonitoring(at: monitorEndpoint) }
        unsafe self.pointer = nil
        // Returns at once; fails only for a pointer that is no socket.
        unsafe zmq_close(pointer)
    }

    /// Has libzmq report the socket's events to whoever connects a pair to `endpoint`, and to nobody else.
    func startMonitoring(at endpoint: String) throws(ZMQError) {
        if let monitorEndpoint { stopMonitoring(at: monitorEndpoint) }
        try complete("monitor") { unsafe zmq_socket_monitor(pointer, endpoint, Int32(ZMQ_EVENT_ALL)) }
        monitorEndpoint = endpoint
    }

    /// Ends the reports to `endpoint`, if they have not ended yet.
    ///
    /// Must come before the pair there closes, which libzmq's I/O threads would wait for. Once the context is shut down
    /// libzmq refuses it, and ends the reports itself.
    func stopMonitoring(at endpoint: String) {
        guard monitorEndpoint == endpoint else { return }
        monitorEndpoint = nil
        unsafe zmq_socket_monitor(pointer, nil, 0)
    }

    // MARK: - Settings

    func set<Number: BitwiseCopyable>(_ option: Int32, _ name: String, to value: Number) throws(ZMQError) {
        try complete("set \(name)") {
            unsafe withUnsafeBytes(of: value) { unsafe zmq_setsockopt(pointer, option, $0.baseAddress, $0.count) }
        }
    }

    func set(_ option: Int32, _ name: String, to bytes: [UInt8]) throws(ZMQError) {
        try complete("set \(name)") {
            unsafe bytes.withUnsafeBytes { unsafe zmq_setsockopt(pointer, option, $0.baseAddress, $0.count) }
        }
    }

    /// The endpoint that was bound or connected last, with wildcards resolved; empty if there is none.
    func lastEndpoint() throws(ZMQError) -> String {
        // libzmq knows no endpoint longer than a path (108 bytes) or a host name (255).
        var text = [CChar](repeating: 0, count: 1_024)
        var length = text.count
        try complete("get ZMQ_LAST_ENDPOINT") {
            unsafe zmq_getsockopt(pointer, ZMQ_LAST_ENDPOINT, &text, &length)
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    // MARK: - Endpoints

    func bind(to endpoint: String) throws(ZMQError) {
        try checkPort(of: endpoint, "bind")
        try complete("bind", endpoint: endpoint) { unsafe zmq_bind(pointer, endpoint) }
    }

    func unbind(from endpoint: String) throws(ZMQError) {
        try complete("unbind", endpoint: endpoint) { unsafe zmq_unbind(pointer, endpoint) }
    }

    func connect(to endpoint: String) throws(ZMQError) {
        try checkPort(of: endpoint, "connect")
        try complete("connect", endpoint: endpoint) { unsafe zmq_connect(pointer, endpoint) }
    }

    func disconnect(from endpoint: String) throws(ZMQError) {
        try complete("disconnect", endpoint: endpoint) { unsafe zmq_disconnect(pointer, endpoint) }
    }

    /// Refuses ports that libzmq would silently take for others: it reads 99999 as 34463, and 70x as 70.
    private func checkPort(of endpoint: String, _ operation: String) throws(ZMQError) {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else { return }
        let port = endpoint[endpoint.index(after: colon)...]
        guard port != "*", UInt16(port) == nil else { return }
        throw ZMQError(
            .invalidArgument, operation: operation, endpoint: endpoint,
            explanation: "the port is neither a number of 0 to 65535 nor *")
    }

    // MARK: - Messages

    /// Sends one frame without waiting; `false` if the message's queue is full or has no peer.
    func send(_ bytes: RawSpan, more: Bool = false) throws(ZMQError) -> Bool {
        try unsafe bytes.withUnsafeBytes { bytes throws(ZMQError) in
            try complete("send") {
                unsafe zmq_send(
                    pointer, bytes.baseAddress, bytes.count, more ? ZMQ_DONTWAIT | ZMQ_SNDMORE : ZMQ_DONTWAIT)
            } != nil
        }
    }

    /// Sends the last frame of a message without waiting, by a reference to the bytes in `storage`.
    func send(sharing storage: MessageStorage) throws(ZMQError) -> Bool {
        var copy = zmq_msg_t()
        return try unsafe withUnsafeMutablePointer(to: &copy) { copy throws(ZMQError) in
            _ = unsafe zmq_msg_init(copy)
            // Empty again once it is sent.
            defer { _ = unsafe zmq_msg_close(copy) }
            try complete("share") { unsafe storage.withFrame { unsafe zmq_msg_copy(copy, $0) } }
            return try complete("send") { unsafe zmq_msg_send(copy, pointer, ZMQ_DONTWAIT) } != nil
        }
    }

    /// Sends one message of several frames without waiting.
    ///
    /// If the peer goes in the middle, libzmq takes the beginning back and refuses the frame at hand; it has to be given
    /// the others, which it drops, or they would become the beginning of the next message.
    func send(frames: [[UInt8]]) throws(ZMQError) -> Bool {
        var isSent = true
        for (place, frame) in frames.enumerated() {
            let isTaken = try send(unsafe frame.span.bytes, more: place < frames.count - 1)
            if !isTaken && place == 0 { return false }
            isSent = isSent && isTaken
        }
        return isSent
    }

    /// Receives one frame without waiting; `false` if none is there.
    func receiveFrame(into storage: MessageStorage) throws(ZMQError) -> Bool {
        try complete("receive") {
            unsafe storage.withFrame { unsafe zmq_msg_recv($0, pointer, ZMQ_DONTWAIT) }
        } != nil
    }

    /// Receives one message without waiting, and returns of how many frames it was; 0 if none is there.
    ///
    /// Of one frame, it is in `storage`. Of several, all are taken from the socket and dropped; one that was announced
    /// and is not there counts as one.
    ///
    /// libzmq delivers messages whole or not at all, but an XPUB socket takes each frame of what a subscriber sends for
    /// a subscription if it begins like one, and keeps one that it knows (`xpub_t::xread_activated`): the frame before
    /// it then announces one that never comes.
    func receiveMessage(into storage: MessageStorage) throws(ZMQError) -> Int {
        guard try receiveFrame(into: storage) else { return 0 }
        guard storage.hasMore else { return 1 }
        var frames = 1
        while storage.hasMore {
            frames += 1
            guard try receiveFrame(into: storage) else { break }
        }
        storage.clear()
        return frames
    }
}
