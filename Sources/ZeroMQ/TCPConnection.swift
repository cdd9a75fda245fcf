internal import CZeroMQ

/// A peer's TCP connection, by the descriptor that libzmq reads it from.
///
/// libzmq cannot be told to end one connection of many, nor what it holds of one, so this asks the operating system. The
/// descriptor is libzmq's: when the connection has ended the process may have given its number to another one, until
/// ``SocketEvent/Kind/disconnected`` has been read. So what is done by it must be bearable for a peer that did
/// nothing wrong: it connects anew.
public struct TCPConnection: Hashable, Sendable {
    let descriptor: Int32

    init?(descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    /// How many bytes libzmq has read from it so far; `nil` if the system does not tell (only Linux does), and for
    /// what is no TCP connection.
    public var bytesRead: Int64? {
        let count = czeromq_bytes_read(descriptor)
        return count < 0 ? nil : count
    }

    /// The peer's address, without its port; `nil` if the connection is gone or is none of TCP.
    public var peerAddress: String? {
        var text = [CChar](repeating: 0, count: 46)
        guard unsafe czeromq_peer_address(descriptor, &text) == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Ends it in both directions; libzmq takes that for the peer's leaving, and drops the message that it has not whole.
    ///
    /// Messages that came whole can still be received.
    public func end() { czeromq_end_connection(descriptor) }
}
