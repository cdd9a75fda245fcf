package import LockstepCore
internal import Synchronization

/// Whether the state that readers of a node see may be read; written by the node's thread, read by any other.
///
/// It is closed until the state is the cluster's (PROTOCOL, R-37), while it must not be trusted, and when
/// the node has ended.
package final class ReadGate: Sendable {
    /// 0: it is open; ``ended``; else the raw value of what it is closed for.
    private let standing = Atomic<UInt8>(ReadRefusal.opening.rawValue)
    private static let ended = UInt8.max

    package init() {}

    package var isOpen: Bool { standing.load(ordering: .acquiring) == 0 }

    /// Why the state must not be read; nil if it may, and when the node has ended.
    package var closedFor: ReadRefusal? { ReadRefusal(rawValue: standing.load(ordering: .acquiring)) }

    package func set(_ refusal: ReadRefusal?) { standing.store(refusal?.rawValue ?? 0, ordering: .releasing) }

    /// The node has ended, and no turn follows that could open it again.
    func end() { standing.store(Self.ended, ordering: .releasing) }

    /// Whether a reader may pass; false when the node has ended.
    ///
    /// - Throws: ``LockstepError`` of code `unavailable`, with the reason, while it is closed.
    func admits() throws -> Bool {
        let standing = standing.load(ordering: .acquiring)
        if let refusal = ReadRefusal(rawValue: standing) { throw LockstepError(refusal) }
        return standing == 0
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
