/// What a recovery's machine wants done.
///
/// Directives are executed in the order given, before the next event.
package enum RecoveryDirective: Hashable, Sendable {
    /// Close the sockets of both links if there are any, and open a new one to the node's ingress.
    case connectIngress
    /// Close the bulk socket if there is one, and open a new one to this endpoint, as the node's WELCOME names it.
    case connectBulk(endpoint: String)
    /// Send a frame on this link.
    case send([UInt8], on: RecoveryLinkName)
    /// The log goes on from this place, which both know: keep aside what the journal has after it, then report it by
    /// ``RecoveryStateMachine/continued(at:now:into:)``.
    case continueFrom(Position)
    /// Keep aside what the journal has after the place that both know, and begin it anew with this snapshot; then report
    /// it in the same way. However long that takes, the node is waited for only from then on.
    case replace(RecoverySnapshot)
    /// These batches go on from the journal's end, and all their entries can be applied: append them.
    case append([SealedBatch])
    case progressed(RecoveryProgress)
    /// The journal has all that the node had when it was asked.
    case finished(Position)
    /// Nothing follows; what was written stays.
    case failed(RecoveryFailure)
}

/// The two connections of a recovery.
package enum RecoveryLinkName: Hashable, Sendable {
    case ingress
    case bulk
}

/// A snapshot that is whole and is the one that was offered.
package struct RecoverySnapshot: Hashable, Sendable {
    /// The last place that the journal and the node both know.
    package var common: Position
    package var position: Position
    /// A whole ``SnapshotContent``.
    package var encoded: [UInt8]

    package init(common: Position, position: Position, encoded: [UInt8]) {
        self.common = common
        self.position = position
        self.encoded = encoded
    }
}

/// How far a recovery is.
package enum RecoveryProgress: Hashable, Sendable {
    case snapshot(bytes: UInt64, of: UInt64)
    case log(through: SequenceNumber, of: SequenceNumber)
}

/// What a recovery waits for.
package enum RecoveryWait: Hashable, Sendable {
    case welcome
    case plan
    /// The node makes one.
    case snapshot
    case chunk(after: Int, of: Int)
    case rest(after: SequenceNumber)
}

/// Why a recovery came to nothing.
package enum RecoveryFailure: Hashable, Sendable {
    /// No WELCOME ever came.
    case noNode
    /// No answer to HELLO could be read: it is of another version, or of another program.
    case welcomeUnreadable(WireError)
    /// The node does not talk to this cluster or store; its own words.
    case refused(String)
    /// The node has no bulk socket.
    case servesNoSnapshots
    /// It answered before, and no longer does.
    case noAnswer
    /// It says BUSY for too long.
    case preparesTooLong
    /// It says RESYNC for too long.
    case asksToBeginAgain
    /// Neither the journal's end nor the end of any of its epochs is in the node's history.
    case noCommonPlace
    /// The node no longer has what comes after this place.
    case noLongerHeld(after: Position)
    case snapshotTooLarge(bytes: UInt64)
    /// Each chunk is what its hash says, and their hashes are not those of the plan.
    case chunksDoNotBelongTogether
    case snapshotUnreadable(WireError)
    /// It is another store's, or of another position than the plan says.
    case otherSnapshot
    /// What the node sent as the log's continuation has a batch that cannot be read.
    case batchUnreadable(WireError)
    /// What the node sent does not go on from the journal's end.
    case batchUnfit(LogState.ApplyError)
}
