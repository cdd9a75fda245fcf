/// What became of a message for one peer.
public enum SendOutcome: Sendable {
    /// It is in the peer's queue; whether it arrives depends on the connection.
    case sent

    /// The peer's queue is full; nothing was sent.
    case wouldBlock

    /// No such peer is connected; nothing was sent.
    case unroutable
}

extension Socket where Kind: CanSend {
    /// Sends a message of one frame, copying the bytes.
    ///
    /// - Parameter bytes: Any number, also none.
    /// - Returns: `false` if it would have had to wait, because the queue is full (``SocketOption/sendHighWaterMark``)
    ///   or no peer is there; nothing was sent then.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func send(_ bytes: RawSpan) throws(ZMQError) -> Bool {
        try handle.send(bytes)
    }

    /// Sends a message of one frame, copying the bytes; see ``send(_:)-(RawSpan)``.
    public borrowing func send(_ bytes: [UInt8]) throws(ZMQError) -> Bool {
        try handle.send(unsafe bytes.span.bytes)
    }

    /// Sends a message of one frame, copying the bytes; see ``send(_:)-(RawSpan)``.
    public borrowing func send(_ bytes: ArraySlice<UInt8>) throws(ZMQError) -> Bool {
        try handle.send(unsafe bytes.span.bytes)
    }

    /// Sends a message of several frames, copying the bytes; they arrive together or not at all.
    ///
    /// - Parameter frames: At least one.
    /// - Returns: `false` if it would have had to wait, or the peer went meanwhile; nothing was sent then.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func send(frames: [[UInt8]]) throws(ZMQError) -> Bool {
        precondition(!frames.isEmpty, "a message has at least one frame")
        return try handle.send(frames: frames)
    }
}

extension Socket where Kind: CanPublish {
    /// Sends a message of one frame to every subscriber who asked for its beginning, copying the bytes.
    ///
    /// Never waits. A subscriber whose queue is full (``SocketOption/sendHighWaterMark``) misses the message, and
    /// neither side is told; then it misses all others until its queue is half empty.
    ///
    /// - Parameter bytes: Any number, also none.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func publish(_ bytes: RawSpan) throws(ZMQError) {
        // A publisher's send never would block: it drops instead.
        _ = try handle.send(bytes)
    }

    /// Sends a message of one frame to every subscriber, copying the bytes; see ``publish(_:)-(RawSpan)``.
    public borrowing func publish(_ bytes: [UInt8]) throws(ZMQError) {
        _ = try handle.send(unsafe bytes.span.bytes)
    }

    /// Sends a message of one frame to every subscriber, copying the bytes; see ``publish(_:)-(RawSpan)``.
    public borrowing func publish(_ bytes: ArraySlice<UInt8>) throws(ZMQError) {
        _ = try handle.send(unsafe bytes.span.bytes)
    }
}

extension Socket where Kind: CanRoute {
    /// Sends a message of one frame to one peer, copying the bytes.
    ///
    /// - Parameters:
    ///   - bytes: Any number, also none.
    ///   - peer: Who it is for, from a message that came from it.
    /// - Returns: What became of it: a full queue and a peer that has gone are answers, not errors.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func send(_ bytes: RawSpan, to peer: RoutingID) throws(ZMQError) -> SendOutcome {
        let outcome = try address(peer)
        guard outcome == .sent else { return outcome }
        // A peer that goes between the two frames takes this one with it: libzmq drops it and says that it was sent.
        return try handle.send(bytes) ? .sent : .wouldBlock
    }

    /// Sends a message of one frame to one peer, copying the bytes; see ``send(_:to:)-(RawSpan,_)``.
    public borrowing func send(_ bytes: [UInt8], to peer: RoutingID) throws(ZMQError) -> SendOutcome {
        try send(unsafe bytes.span.bytes, to: peer)
    }

    /// Sends a message of one frame to one peer, copying the bytes; see ``send(_:to:)-(RawSpan,_)``.
    public borrowing func send(_ bytes: ArraySlice<UInt8>, to peer: RoutingID) throws(ZMQError) -> SendOutcome {
        try send(unsafe bytes.span.bytes, to: peer)
    }

    /// Sends a message of one frame to one peer, sharing the bytes; see ``send(_:to:)-(RawSpan,_)``.
    public borrowing func send(
        _ message: borrowing SharedMessage, to peer: RoutingID
    ) throws(ZMQError) -> SendOutcome {
        let outcome = try address(peer)
        guard outcome == .sent else { return outcome }
        return try handle.send(sharing: message.storage) ? .sent : .wouldBlock
    }

    /// Sends a message of several frames to one peer, copying the bytes; they arrive together or not at all.
    ///
    /// - Parameters:
    ///   - frames: At least one.
    ///   - peer: Who it is for.
    /// - Returns: What became of it.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context is shut down.
    public borrowing func send(frames: [[UInt8]], to peer: RoutingID) throws(ZMQError) -> SendOutcome {
        precondition(!frames.isEmpty, "a message has at least one frame")
        let outcome = try address(peer)
        guard outcome == .sent else { return outcome }
        return try handle.send(frames: frames) ? .sent : .wouldBlock
    }

    /// Sends the first frame of a message, by which libzmq finds the peer and learns that its queue has room.
    private borrowing func address(_ peer: RoutingID) throws(ZMQError) -> SendOutcome {
        do throws(ZMQError) {
            let isTaken = try peer.withBytes { bytes throws(ZMQError) in try handle.send(bytes, more: true) }
            return isTaken ? .sent : .wouldBlock
        } catch {
            guard error.code == .hostUnreachable else { throw error }
            return .unroutable
        }
    }
}
