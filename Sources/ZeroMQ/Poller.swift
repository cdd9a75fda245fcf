internal import CZeroMQ

/// Waits until one of several sockets is ready, a ``WakeUp`` rings, or a time has passed.
///
///     let poller = Poller<Link>(wakeUp: wakeUp)
///     poller.add(ingress, as: .ingress)
///     try poller.wait(timeout: .milliseconds(100))
///     for link in poller.ready {
///         switch link { … }
///     }
///
/// For use by the thread that owns the sockets. It does not own them: a socket that is closed leaves by itself at the
/// next wait. Built on `zmq_poll`, which costs a system call also when something is ready; a loop under load does better
/// to try the sockets first and to poll only when they have nothing.
@safe public final class Poller<Token: Hashable> {
    // Safe: an item's pointer is given to libzmq only while its member is open, which `wait` checks; a closed socket's
    // pointer is `nil` in its handle, and the wake-up's descriptor is held open by the reference to it.
    private var items: [zmq_pollitem_t] = unsafe []
    private var members: [Member] = []
    private let wakeUp: WakeUp?

    /// The tokens of the sockets that the last wait found ready, in the order in which they were added.
    ///
    /// Empty after a wait that ended by the time-out or by a ring. A socket stays ready until everything has been
    /// received from it, so handling part of it loses nothing. The array is reused: iterating costs no allocation.
    public private(set) var ready: [Token] = []

    /// Whether the wake-up had rung when the last wait ended; its rings are forgotten then.
    public private(set) var wasRung = false

    private struct Member {
        let token: Token
        let socket: SocketHandle
    }

    /// What a socket is to be ready for.
    public struct Interest: OptionSet, Sendable {
        /// The bits as `zmq_poll` has them.
        public let rawValue: Int16

        /// Takes the bits as `zmq_poll` has them.
        public init(rawValue: Int16) {
            self.rawValue = rawValue
        }

        /// A message is waiting to be received (`ZMQ_POLLIN`).
        public static var readable: Interest { Interest(rawValue: Int16(ZMQ_POLLIN)) }

        /// One message at least can be sent; of a router this says nothing about any one peer (`ZMQ_POLLOUT`).
        public static var writable: Interest { Interest(rawValue: Int16(ZMQ_POLLOUT)) }
    }

    /// Makes a poller without sockets.
    ///
    /// - Parameter wakeUp: Ends a wait when it rings; held by the poller. One wake-up serves one poller.
    public init(wakeUp: WakeUp? = nil) {
        self.wakeUp = wakeUp
        guard let wakeUp else { return }
        unsafe items.append(
            zmq_pollitem_t(socket: nil, fd: wakeUp.descriptor, events: Int16(ZMQ_POLLIN), revents: 0))
    }

    /// Waits for a socket too, under a token that no other open socket of this poller has.
    ///
    /// - Parameters:
    ///   - socket: Must be owned by the thread that waits.
    ///   - token: What ``ready`` calls it.
    ///   - interest: What to wait for.
    public func add<Kind>(
        _ socket: borrowing Socket<Kind>, as token: Token, for interest: Interest = .readable
    ) {
        add(socket.handle, as: token, for: interest)
    }

    /// Waits for events of a monitored socket too; see ``add(_:as:for:)``.
    ///
    /// - Parameters:
    ///   - monitor: Must be owned by the thread that waits.
    ///   - token: What ``ready`` calls it.
    public func add(_ monitor: borrowing SocketMonitor, as token: Token) {
        add(monitor.events.handle, as: token, for: .readable)
    }

    /// Changes what to wait for, for example to learn when a full queue has room again.
    ///
    /// - Parameters:
    ///   - interest: May be empty, to leave the socket out for a while.
    ///   - token: Of a socket that has been added; nothing happens if there is none.
    public func setInterest(_ interest: Interest, of token: Token) {
        guard let place = members.firstIndex(where: { $0.token == token }) else { return }
        unsafe items[firstItem + place].events = interest.rawValue
    }

    /// Waits for a socket no longer; nothing happens if there is none of this token.
    ///
    /// - Parameter token: As given when the socket was added.
    public func remove(_ token: Token) {
        guard let place = members.firstIndex(where: { $0.token == token }) else { return }
        remove(at: place)
    }

    /// Blocks the calling thread until a socket is ready, the wake-up rings, or the time has passed.
    ///
    /// A signal does not end it. Allocates nothing with up to 16 sockets. Then ``ready`` and ``wasRung`` tell why it
    /// ended.
    ///
    /// - Parameter timeout: Zero asks without waiting; `nil` waits without end. Counted in milliseconds, rounded up, on
    ///   the continuous clock.
    /// - Returns: How many sockets are ready.
    /// - Throws: ``ZMQError/Code/contextTerminated`` once the context of a socket is shut down.
    @discardableResult
    public func wait(timeout: Duration?) throws(ZMQError) -> Int {
        removeClosed()
        ready.removeAll(keepingCapacity: true)
        wasRung = false
        let start = ContinuousClock.now
        var remaining = timeout?.pollTimeout ?? -1
        try complete("poll") {
            let result = unsafe items.withUnsafeMutableBufferPointer {
                unsafe zmq_poll($0.baseAddress, Int32($0.count), remaining)
            }
            // Only for the repetition after a signal, which is to wait no longer than the first call would have.
            if result < 0, let timeout { remaining = (timeout - start.duration(to: .now)).pollTimeout }
            return result
        }
        if let wakeUp, unsafe items[0].revents != 0 {
            wakeUp.drain()
            wasRung = true
        }
        for place in members.indices where unsafe items[firstItem + place].revents != 0 {
            ready.append(members[place].token)
        }
        return ready.count
    }

    // MARK: - Members

    /// Where the sockets begin: after the wake-up.
    private var firstItem: Int { wakeUp == nil ? 0 : 1 }

    private func add(_ socket: SocketHandle, as token: Token, for interest: Interest) {
        removeClosed()
        precondition(!members.contains { $0.token == token }, "a socket of this poller has the token \(token)")
        unsafe items.append(zmq_pollitem_t(socket: socket.pointer, fd: 0, events: interest.rawValue, revents: 0))
        members.append(Member(token: token, socket: socket))
    }

    private func remove(at place: Int) {
        members.remove(at: place)
        unsafe items.remove(at: firstItem + place)
    }

    /// Lets go of sockets that were closed, and with them of their context; ``wait(timeout:)`` does so by itself.
    public func removeClosed() {
        for place in members.indices.reversed() where !members[place].socket.isOpen {
            remove(at: place)
        }
    }
}

extension Duration {
    /// The time-out as `zmq_poll` takes it: rounded up, or a wait of half a millisecond would spin.
    fileprivate var pollTimeout: Int {
        Int(max(0, min(millisecondsRoundedUp, Int64(Int32.max))))
    }
}
