/// Why a node does not let its state be read (PROTOCOL, R-37, R-41, R-53).
///
/// The same words reach a caller in the node's own process, by its error, and one elsewhere, by READ_RESULT.
package enum ReadRefusal: UInt8, Hashable, Sendable, CaseIterable {
    /// A node that does not run yet, or takes up its journal.
    case opening = 1
    /// A replica that was never live holds nothing of the cluster.
    case neverLive = 2
    case quarantined = 3
    case halted = 4
    /// A primary whose audience knows more than it has.
    case behind = 5

    /// Whether it passes by itself, so that a caller with a time limit may wait.
    package var mayPass: Bool {
        switch self {
        case .opening, .neverLive: true
        case .quarantined, .halted, .behind: false
        }
    }

    /// One line for a person.
    package var text: String {
        switch self {
        case .opening: "this node is starting and has no state to show yet: try again later"
        case .neverLive:
            "this replica has not been live yet, so it has no state of the cluster: wait until it is live; "
                + "\"status\" says what it waits for"
        case .quarantined: "this replica's state differs from its primary's (DIVERGED) and is being replaced"
        case .halted: "this node has stopped; its alarms say why"
        case .behind:
            "this primary is behind its audience (PRIMARY_BEHIND) and answers no reads, since it may lack what was "
                + "acknowledged: recover it, or give that up, as its alarm says"
        }
    }
}
