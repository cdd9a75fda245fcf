/// What a ``StandbyStateMachine`` wants done, in this order.
package enum StandbyDirective: Hashable, Sendable {
    /// Connect to this primary's port for standbys, on a new socket, and close the one before.
    case connect(ConfigurationRecord.Primary)
    /// Send a frame to the primary that is followed.
    case send([UInt8])
    /// Tell a node that is not the primary any more, over the connection on which it was heard.
    case tell(NodeID, [UInt8])
    /// Write these batches with what is known to be committed; answer with `appended(through:)`.
    case append([SealedBatch], committed: SequenceNumber)
    /// Cut the journal after this end of a batch, keep aside what is cut; answer with `truncated()`.
    case truncate(to: Position)
    /// A snapshot is needed: take one of the state as soon as it is live, begin the journal anew with it, and say
    /// `replaced(at:epochEnds:)`.
    case wantsSnapshot
    /// Read the record linearizably, and ask all nodes that are known what they know.
    case readRecord(request: UInt64)
    case transact(RecordAttempt, request: UInt64)
    /// Store the promise durably; answer with `promiseStored`.
    case promise(Epoch)
    /// The promise is not needed any more.
    case withdrawPromise(StoredRecord)
    /// This node is the primary of the record's epoch.
    case won(StoredRecord)
    /// The arbiter shows less than it once did: an operator has to say that this holds.
    case arbiterWasSetBack(StoredRecord)
    case halt(StandbyFault)
    case count(ProtocolCounter)
}

/// Why a standby stops for good.
package enum StandbyFault: Error, Hashable, Sendable {
    /// What it knows to be committed is not in its primary's log.
    case committedIsLost(own: Position, committed: SequenceNumber)
    /// Its disk has less than its incarnation acknowledged: it needs another incarnation.
    case wasSetBack
    /// Its journal is a copy of the primary's.
    case isCopy
}
