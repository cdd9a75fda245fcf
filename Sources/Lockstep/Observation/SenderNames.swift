package import LockstepCore

/// Who opened the sessions that one reader of the log has come to: the names that its entries are shown with.
///
/// Bound: the sessions that are open at that place of the log.
package struct SenderNames: Hashable, Sendable {
    private var names: [SessionID: String]

    /// Begins at a place where these sessions are open.
    package init(_ names: [SessionID: String] = [:]) { self.names = names }

    /// Begins with a log's own sessions.
    package init(of log: LogState) { self.init(log.sessions.senders) }

    package subscript(_ session: SessionID) -> String? { names.isEmpty ? nil : names[session] }

    /// Takes note of an entry at a place.
    package mutating func note(_ entry: Entry, at place: Place) {
        switch entry {
        case .sessionOpen(_, let sender?):
            names[SessionID(epoch: place.epoch, sequence: place.sequence)] = sender
        case .sessionClose(let session): names[session] = nil
        case .sessionExpire(let sessions): for session in sessions { names[session] = nil }
        case .actions, .epochOpen, .sessionOpen, .sessionAck, .digestMark, .clockJump, .accepted, .emitted, .finished,
            .runAck:
            break
        }
    }
}
