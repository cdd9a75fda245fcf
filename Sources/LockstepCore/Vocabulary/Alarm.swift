/// What an operator must see.
package enum Alarm: Hashable, Sendable {
    /// The primary is behind its audience and admits nothing (PROTOCOL, R-41).
    case primaryBehind(own: KnownPosition, reported: KnownPosition, by: String)
    /// The disk is full, or below its reserve: new actions get BUSY.
    case diskFull
    /// There is room again.
    case diskHasRoom
    /// Three quarters of the sessions that a store may have are open.
    case sessionsNearLimit(count: Int, limit: Int)
    /// Less than half of them are.
    case sessionsHaveRoom
    /// Two live replicas have one of these names; without names: no longer.
    case duplicateNodes([String])
    /// This replica's digest differs from the primary's.
    case diverged(at: SequenceNumber, epoch: Epoch, own: Digest, primary: Digest)
    /// This replica has a history that its primary does not have.
    case ahead(own: KnownPosition, primary: KnownPosition)
}

/// Why a node must stop.
package enum HaltReason: Error, Hashable, Sendable {
    /// The journal failed while committing: the outcome of what was in flight is unknown.
    case journalFailed(String)
    /// The log cannot be applied at this place.
    case logBroken(LogState.ApplyError)
    /// The digest differed twice within an hour.
    case divergedAgain(at: SequenceNumber, own: Digest, primary: Digest)
}
