internal import CZeroMQ

/// The I/O threads that carry the traffic of all its sockets.
///
/// A process needs one. It is safe to share between threads; the sockets made from it are not.
///
/// There is no call to terminate it. `zmq_ctx_term` waits until every socket is closed, so calling it on a thread that
/// still owns one never returns. Instead each socket holds its context, and the context terminates when the last
/// reference goes: every socket is closed by then and none lingers, so that takes milliseconds.
@safe public final class Context: @unchecked Sendable {
    // Safe and sendable: the pointer is set once, is released in `deinit` only, and the functions called with it
    // (`zmq_ctx_set`, `zmq_ctx_shutdown`, `zmq_socket`) may be called from any thread at once.
    private let pointer: UnsafeMutableRawPointer

    /// Makes a context; its threads start with the first socket.
    ///
    /// - Parameters:
    ///   - ioThreads: How many threads move bytes between sockets and network, at least 1. One carries about a
    ///     gigabyte a second (`ZMQ_IO_THREADS`).
    ///   - maxSockets: How many sockets may be open at once, each monitor counting as two
    ///     (`ZMQ_MAX_SOCKETS`).
    /// - Throws: ``ZMQError/Code/invalidArgument`` for a number out of range; ``ZMQError/Code/tooManySockets`` if the
    ///   process has no descriptors left.
    public init(ioThreads: Int = 1, maxSockets: Int = 1_023) throws(ZMQError) {
        guard let pointer = unsafe zmq_ctx_new() else { throw ZMQError.last(operation: "make context") }
        unsafe self.pointer = pointer
        try set(ZMQ_IO_THREADS, "ZMQ_IO_THREADS", to: ioThreads, within: 1...1_024)
        try set(ZMQ_MAX_SOCKETS, "ZMQ_MAX_SOCKETS", to: maxSockets, within: 1...65_535)
        // Sockets would linger for ever by default, and termination with them. They set their own linger too.
        try set(ZMQ_BLOCKY, "ZMQ_BLOCKY", to: 0, within: 0...0)
    }

    /// Makes every operation on every socket of this context fail with ``ZMQError/Code/contextTerminated``.
    ///
    /// Also ends a ``Poller/wait(timeout:)`` in progress. A socket in use may need a millisecond or two to notice, and
    /// may hand out messages until then. Returns at once, from any thread, any number of times. The sockets stay open
    /// until their owners let go of them (`zmq_ctx_shutdown`).
    public func shutdown() {
        // Fails only for a pointer that is no context.
        unsafe zmq_ctx_shutdown(pointer)
    }

    /// Opens a socket; the caller owns the pointer and closes it while it still holds this context.
    func open(_ type: SocketType) throws(ZMQError) -> UnsafeMutableRawPointer {
        guard let socket = unsafe zmq_socket(pointer, type.code) else {
            throw ZMQError.last(operation: "open \(type.name)")
        }
        return unsafe socket
    }

    private func set(
        _ option: Int32, _ name: String, to value: Int, within range: ClosedRange<Int>
    ) throws(ZMQError) {
        guard range.contains(value) else {
            throw ZMQError(.invalidArgument, operation: "set \(name)", explanation: "\(value) is not in \(range)")
        }
        try complete("set \(name)") { unsafe zmq_ctx_set(pointer, option, Int32(value)) }
    }

    deinit {
        // No socket is open, since each holds a reference to its context; so this waits for I/O threads only.
        while unsafe zmq_ctx_term(pointer) != 0, zmq_errno() == EINTR {}
    }
}
