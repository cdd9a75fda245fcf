/// The driver's handle of one peer's connection to one socket of the node.
package struct Connection: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// The store of the node itself: frames go to its client machine without a socket.
    package static let local = Connection(rawValue: 0)
    package static func < (left: Connection, right: Connection) -> Bool { left.rawValue < right.rawValue }
}

/// Names a snapshot for the life of its node.
package typealias SnapshotNumber = UInt64

/// What a primary's machine wants done.
///
/// Directives run in the order given, before the next event.
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
    /// Write the encoded snapshot to the journal; then older entries may go.
    case saveSnapshot(SnapshotNumber)
    /// No joiner needs this snapshot any more; a save that is still under way has its own reference to the bytes.
    case dropSnapshot(SnapshotNumber)
    /// Run the effect of an accepted action.
    case beginRun(RunStart)
    /// Stop an effect that runs; what it still brings is dropped.
    case stopRun(RunID)
    /// What became of an emission, by its ticket.
    case emission(UInt64, EmissionOutcome)
    /// What became of a run's end.
    case runEnd(RunID, EmissionOutcome)
    /// The replicas of this log are now these: keep their names durably, beside the work.
    case audienceChanged([String])
    /// Something that an operator must see, at most once for each cause.
    case alarm(Alarm)
    /// The node must stop at once; what is in flight has an unknown outcome.
    case halt(HaltReason)
    /// Count an event for the metrics.
    case count(ProtocolCounter)
}

/// What became of an emission or an end that an executor brought.
package enum EmissionOutcome: Hashable, Sendable {
    case committed(Epoch, SequenceNumber)
    /// Its run was cancelled, was superseded, or has ended: it is certainly not in the log.
    case dropped
    /// The primary has no room now: it is not in the log, and may be brought again.
    case busy
}

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

/// Events that are counted by name.
package enum ProtocolCounter: String, Hashable, Sendable, CaseIterable {
    case framesRefused = "frames_refused"
    case staleFrames = "stale_frames"
    case duplicateActions = "duplicate_actions"
    case duplicateBatches = "duplicate_batches"
    case outOfOrder = "out_of_order"
    case busyAnswers = "busy"
    case joins = "joins"
    case snapshotsServed = "snapshots_served"
    case gaps = "gaps"
    case repairs = "repairs"
    case repairsServed = "repairs_served"
    case digestChecks = "digest_checks"
    case divergences = "divergences"
    case sessionsOpened = "sessions_opened"
    case sessionsExpired = "sessions_expired"
    case reconnects = "reconnects"
    case joinBufferDrops = "join_buffer_drops"
    case emissionsDropped = "emissions_dropped"
}
