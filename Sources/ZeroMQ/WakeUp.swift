internal import CZeroMQ
internal import Synchronization

/// Wakes a thread that waits in a ``Poller``.
///
/// Rings before the next wake-up count as one. A ring is never lost: the next ``Poller/wait(timeout:)`` returns at once
/// if it came too early. It costs a system call (an eventfd on Linux, a pipe elsewhere) only if it is the first since
/// the last wake-up, otherwise a few nanoseconds.
public final class WakeUp: Sendable {
    private let descriptors: czeromq_wakeup
    private let isRung = Atomic(false)

    /// Opens one descriptor, or two where there is no eventfd.
    ///
    /// - Throws: ``ZMQError/Code/tooManySockets`` if the process has no descriptors left.
    public init() throws(ZMQError) {
        descriptors = czeromq_wakeup_open()
        guard descriptors.wait_fd >= 0 else { throw ZMQError.last(operation: "open wake-up") }
    }

    deinit { czeromq_wakeup_close(descriptors) }

    /// Wakes the waiting thread, now or when it next waits; from any thread.
    public func ring() {
        guard !isRung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        czeromq_wakeup_ring(descriptors)
    }

    /// Forgets all rings so far; ``Poller/wait(timeout:)`` does it by itself.
    ///
    /// What was written before a forgotten ring is visible after this. So take the work that rings announce after this
    /// call, not before: in that order a ring in between costs one needless wake-up and no work is overlooked.
    public func drain() {
        // The flag falls last. Were it to fall first, a ring between the two would be read away while the flag says
        // that it is on its way, and all later ones would stay silent.
        czeromq_wakeup_drain(descriptors)
        _ = isRung.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Readable while there are rings.
    var descriptor: Int32 { descriptors.wait_fd }
}
