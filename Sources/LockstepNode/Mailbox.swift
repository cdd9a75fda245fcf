internal import Synchronization

/// What other threads finished for a store: writes of its journal, and work on its snapshots.
///
/// Nobody can leave more than it was asked for, and the node asks for one write and a few snapshots at a time; hence
/// there is no further bound.
package final class Mailbox: Sendable {
    private let events = Mutex<[@Sendable (StoreHost) -> Void]>([])
    private let signaller: NodeEventLoop.Signaller

    package init(signaller: NodeEventLoop.Signaller) { self.signaller = signaller }

    /// Leaves what is to be done on the node's thread; from any thread.
    package func put(_ event: @escaping @Sendable (StoreHost) -> Void) {
        events.withLock { $0.append(event) }
        signaller.signal()
    }

    package var isEmpty: Bool { events.withLock { $0.isEmpty } }

    package func take() -> [@Sendable (StoreHost) -> Void] {
        events.withLock { events in
            guard !events.isEmpty else { return [] }
            defer { events = [] }
            return events
        }
    }
}
