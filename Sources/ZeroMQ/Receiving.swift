internal import CZeroMQ

/// What was received.
public enum Received: Hashable, Sendable {
    /// A message of one frame, now in the variable that was given.
    case message

    /// A message of several frames, dropped whole; the variable that was given is empty.
    ///
    /// Of what a subscriber sends to an XPUB socket, a frame that was announced and is not there counts, too.
    case malformed(frames: Int)
}

/// What a router received, and from whom.
public enum Routed: Hashable, Sendable {
    /// A message of one frame, now in the variable that was given.
    case message(from: RoutingID)

    /// A message of several frames, dropped whole; the variable that was given is empty.
    case malformed(from: RoutingID, frames: Int)
}

extension Socket where Kind: CanReceive {
    /// Receives one message of one frame, whole and of any size, without copying its bytes.
    ///
    ///     var message = Message()
    ///     while let received = try socket.receive(into: &message) {
    ///         switch received {
    ///         case .message: queue.append(message)
    ///         case .malformed: refused += 1
    ///         }
    ///     }
    ///
    /// Allocates nothing unless a copy of the message was kept, as the queue does above.
    ///
    /// - Parameter message: Is replaced; it is empty if nothing was waiting.
    /// - Returns: `nil` at once if nothing is waiting.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func receive(into message: inout Message) throws(ZMQError) -> Received? {
        switch try handle.receiveMessage(into: message.prepareForReceiving()) {
        case 0: nil
        case 1: .message
        case let frames: .malformed(frames: frames)
        }
    }

    /// Receives one message of any number of frames, copying its bytes.
    ///
    /// - Returns: At least one frame; `nil` at once if nothing is waiting. Of what a subscriber sends to an
    ///   XPUB socket, frames that begin like a subscription may be missing.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func receiveFrames() throws(ZMQError) -> [[UInt8]]? {
        try handle.receiveFrames()
    }
}

extension Socket where Kind: CanRoute {
    /// Receives one message of one frame and the id of its sender, whole and of any size, without copying its bytes.
    ///
    /// Allocates nothing unless a copy of the message was kept, or the peer has given itself an id of more than 8 bytes.
    ///
    /// - Parameter message: Is replaced; it is empty if nothing was waiting.
    /// - Returns: `nil` at once if nothing is waiting.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func receive(into message: inout Message) throws(ZMQError) -> Routed? {
        let storage = message.prepareForReceiving()
        guard try handle.receiveFrame(into: storage) else { return nil }
        let peer = unsafe storage.withContents { RoutingID(received: unsafe $0.bytes) }
        // A router puts the id before a message it already has, so there is a second frame.
        switch try handle.receiveMessage(into: storage) {
        case 1: return .message(from: peer)
        case let frames: return .malformed(from: peer, frames: frames)
        }
    }

    /// Receives one message of any number of frames, the first of which is the id of its sender, copying its bytes.
    ///
    /// - Returns: At least two frames; `nil` at once if nothing is waiting.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func receiveFrames() throws(ZMQError) -> [[UInt8]]? {
        try handle.receiveFrames()
    }
}

extension Socket where Kind: CanSubscribe {
    /// Asks for all messages that begin with `prefix`; no bytes at all means every message (`ZMQ_SUBSCRIBE`).
    ///
    /// Takes effect once the publisher's thread has next used its socket, so what is published meanwhile is missed.
    /// Keep to a few dozen prefixes. Asking twice takes as many calls to ``unsubscribe(from:)`` to undo.
    ///
    /// - Parameter prefix: At most 245 bytes: libzmq garbles subscriptions of 246 to 255 (zeromq/libzmq#4564), and what
    ///   publishers do with longer ones depends on their version.
    /// - Throws: ``ZMQError/Code/invalidArgument`` for a longer prefix.
    public borrowing func subscribe(to prefix: [UInt8]) throws(ZMQError) {
        guard prefix.count <= 245 else {
            throw ZMQError(
                .invalidArgument, operation: "set ZMQ_SUBSCRIBE",
                explanation: "a prefix of \(prefix.count) bytes is longer than 245")
        }
        try handle.set(ZMQ_SUBSCRIBE, "ZMQ_SUBSCRIBE", to: prefix)
    }

    /// Takes back one ``subscribe(to:)`` of the same prefix (`ZMQ_UNSUBSCRIBE`).
    ///
    /// - Parameter prefix: One that has been asked for; another changes nothing.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func unsubscribe(from prefix: [UInt8]) throws(ZMQError) {
        try handle.set(ZMQ_UNSUBSCRIBE, "ZMQ_UNSUBSCRIBE", to: prefix)
    }
}

extension SocketHandle {
    /// Receives all frames of one message without waiting, copying them; `nil` if none is there.
    func receiveFrames() throws(ZMQError) -> [[UInt8]]? {
        let storage = MessageStorage.make()
        guard try receiveFrame(into: storage) else { return nil }
        var frames = [unsafe storage.withContents { unsafe [UInt8]($0) }]
        while storage.hasMore {
            guard try receiveFrame(into: storage) else { break }
            frames.append(unsafe storage.withContents { unsafe [UInt8]($0) })
        }
        return frames
    }
}
