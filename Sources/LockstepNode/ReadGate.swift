package import LockstepCore
internal import Synchronization

/// Whether the state that readers of a node see may be read; written by the node's thread, read by any other.
///
/// It is closed until the state is the cluster's (PROTOCOL, R-37), and while it must not be trusted.
package final class ReadGate: Sendable {
    /// The raw value of what it is closed for; 0: it is open.
    private let refusal = Atomic<UInt8>(ReadRefusal.opening.rawValue)

    package init() {}

    /// Why the state must not be read; nil if it may.
    package var closedFor: ReadRefusal? { ReadRefusal(rawValue: refusal.load(ordering: .acquiring)) }

    package func set(_ refusal: ReadRefusal?) {
        self.refusal.store(refusal?.rawValue ?? 0, ordering: .releasing)
    }

    /// Throws `unavailable`, with the reason, while it is closed.
    package func pass() throws {
        if let refusal = closedFor { throw LockstepError(refusal) }
    }
}

extension LockstepError {
    /// What a reader gets whom a node refuses.
    package init(_ refusal: ReadRefusal, fileID: String = #fileID, line: Int = #line) {
        self.init(.unavailable, refusal.text, fileID: fileID, line: line)
    }
}

extension StoreHost {
    /// Why this node's state must not be read; nil if it may, and on a node that has none.
    var readRefusal: ReadRefusal? { driver?.readRefusal }

    /// Lets readers of other threads in or keeps them out, as the machines are now.
    ///
    /// Who waits for a place is told at once of what does not pass by itself.
    func setGate() {
        guard state != nil else { return }
        let refusal = readRefusal
        guard port.gate.closedFor != refusal else { return }
        port.gate.set(refusal)
        if let refusal, !refusal.mayPass { readers.refuse(LockstepError(refusal)) }
    }
}
