/// What a primary's machine wants done.
///
/// Directives are executed in the order given, before the next event.
package enum PrimaryDirective: Hashable, Sendable {
    /// Send a frame on the ingress socket.
    case send([UInt8], to: Connection)
    /// Send a frame on the bulk socket.
    case sendBulk([UInt8], to: Connection)
    /// Send these chunks of an encoded snapshot on the bulk socket.
    case sendChunks(snapshot: SnapshotNumber, indices: Range<Int>, to: Connection)
    /// Broadcast a frame.
    case publish([UInt8])
    /// Write these batches in one transaction; answer with `persisted` or `persistFailed`.
    case persist([SealedBatch])
    /// These batches have committed: tell local observers and feeds. The published view is already in place.
    case committed([SealedBatch])
    /// Take the state's image now, before anything else changes it, and keep it with this log state and digest.
    case captureSnapshot(SnapshotNumber, log: LogState, digest: Digest)
    /// The position of the captured image has committed: encode it elsewhere, answer with `snapshotEncoded`.
    case encodeSnapshot(SnapshotNumber)
    /// Encode the state and the log that the machine began with, which have committed, and answer in the same way. The image
    /// is taken before the machine starts, and kept until the epoch is open; only a primary with standbys has it.
    case encodeCommitted(SnapshotNumber)
    /// Write the encoded snapshot to the journal; then older entries may go.
    case saveSnapshot(SnapshotNumber)
    /// No joiner needs this snapshot now; a save that is still under way has its own reference to the bytes.
    case dropSnapshot(SnapshotNumber)
    /// Run the effect of an accepted action.
    case beginRun(RunStart)
    /// Stop an effect that runs; what it still brings is dropped.
    case stopRun(RunID)
    /// What became of an emission, by its ticket.
    case emission(UInt64, EmissionOutcome)
    /// What became of a run's end.
    case runEnd(RunID, EmissionOutcome)
    /// The epoch is open, and nothing is admitted until these replicas were heard, or for a while.
    case awaiting([String])
    /// The store admits from now on, once in a boot; these replicas were not heard.
    ///
    /// Effects may run, unless those of a former boot are held for an operator.
    case opened(unheard: [String], isHoldingEffects: Bool)
    /// The replicas of this log are now these: keep their names durably, beside the work.
    case audienceChanged([String])
    /// Something that an operator must see, at most once for each cause.
    case alarm(Alarm)
    /// What standbys and the arbiter are told, and what became of the reign.
    case replication(ReplicationDirective)
    /// The node must stop at once; what is in flight has an unknown outcome.
    case halt(HaltReason)
    /// Count an event for the metrics.
    case count(ProtocolCounter)
}
