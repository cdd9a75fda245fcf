internal import CZeroMQ

/// Something that happened to a connection or a listener of a monitored socket.
public struct SocketEvent: Hashable, Sendable {
    /// What happened.
    public let kind: Kind

    /// The endpoint that it happened at: the remote one of a connection, the local one of a listener.
    public let endpoint: String

    /// The connection, of ``Kind/accepted`` and ``Kind/disconnected``; otherwise `nil`.
    public let connection: TCPConnection?

    /// What happened, with what libzmq tells about it.
    public enum Kind: Hashable, Sendable {
        /// The network connection stands; security and types are still to be agreed (`ZMQ_EVENT_CONNECTED`).
        case connected

        /// Connecting goes on in the background, as it usually does (`ZMQ_EVENT_CONNECT_DELAYED`).
        case connectDelayed

        /// Connecting failed and is tried again after this time (`ZMQ_EVENT_CONNECT_RETRIED`).
        case connectRetried(after: Duration)

        /// The socket listens (`ZMQ_EVENT_LISTENING`).
        case listening

        /// The socket could not listen (`ZMQ_EVENT_BIND_FAILED`).
        case bindFailed(ZMQError.Code)

        /// A peer's network connection was accepted (`ZMQ_EVENT_ACCEPTED`).
        case accepted

        /// A peer's network connection could not be accepted, often for want of descriptors
        /// (`ZMQ_EVENT_ACCEPT_FAILED`).
        case acceptFailed(ZMQError.Code)

        /// The network connection or listener was closed (`ZMQ_EVENT_CLOSED`).
        case closed

        /// The network connection or listener could not be closed (`ZMQ_EVENT_CLOSE_FAILED`).
        case closeFailed(ZMQError.Code)

        /// A connection that stood was lost (`ZMQ_EVENT_DISCONNECTED`).
        case disconnected

        /// Both sides agree, and messages flow (`ZMQ_EVENT_HANDSHAKE_SUCCEEDED`).
        case handshakeSucceeded

        /// The handshake failed for a reason of the operating system (`ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL`).
        case handshakeFailed(ZMQError.Code)

        /// The peer broke the protocol, or its security differs; a `ZMQ_PROTOCOL_ERROR_…` number
        /// (`ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL`).
        case handshakeBroken(protocolError: Int)

        /// The peer's ZAP handler refused this side, with a status such as 400
        /// (`ZMQ_EVENT_HANDSHAKE_FAILED_AUTH`).
        ///
        /// After 400 and 500 libzmq does not connect again: make a new socket.
        case authenticationFailed(status: Int)

        /// No more events follow (`ZMQ_EVENT_MONITOR_STOPPED`).
        case monitorStopped
    }

    /// The number in ``Kind/handshakeBroken(protocolError:)`` of sides that do not have the same mechanism of security
    /// (`ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH`).
    public static let mechanismMismatch = Int(ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)

    /// Reads an event as libzmq frames it, or `nil` if a later version of libzmq has made it.
    ///
    /// A number of 16 and a value of 32 bits, both in this machine's order, then the endpoint.
    init?(frames: [[UInt8]]) {
        guard frames.count == 2, frames[0].count == 6 else { return nil }
        let (number, value) = unsafe frames[0].withUnsafeBytes {
            (unsafe $0.loadUnaligned(as: UInt16.self), unsafe $0.loadUnaligned(fromByteOffset: 2, as: Int32.self))
        }
        guard let kind = Kind(number: Int32(number), value: value) else { return nil }
        self.kind = kind
        connection = kind == .accepted || kind == .disconnected ? TCPConnection(descriptor: value) : nil
        endpoint = String(decoding: frames[1], as: UTF8.self)
    }
}

extension SocketEvent.Kind {
    fileprivate init?(number: Int32, value: Int32) {
        let code = ZMQError.Code(rawValue: value)
        switch number {
        case ZMQ_EVENT_CONNECTED: self = .connected
        case ZMQ_EVENT_CONNECT_DELAYED: self = .connectDelayed
        case ZMQ_EVENT_CONNECT_RETRIED: self = .connectRetried(after: .milliseconds(value))
        case ZMQ_EVENT_LISTENING: self = .listening
        case ZMQ_EVENT_BIND_FAILED: self = .bindFailed(code)
        case ZMQ_EVENT_ACCEPTED: self = .accepted
        case ZMQ_EVENT_ACCEPT_FAILED: self = .acceptFailed(code)
        case ZMQ_EVENT_CLOSED: self = .closed
        case ZMQ_EVENT_CLOSE_FAILED: self = .closeFailed(code)
        case ZMQ_EVENT_DISCONNECTED: self = .disconnected
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: self = .handshakeSucceeded
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: self = .handshakeFailed(code)
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: self = .handshakeBroken(protocolError: Int(value))
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: self = .authenticationFailed(status: Int(value))
        case ZMQ_EVENT_MONITOR_STOPPED: self = .monitorStopped
        default: return nil
        }
    }
}
