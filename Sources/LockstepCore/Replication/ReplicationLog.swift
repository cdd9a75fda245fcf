/// What a primary sends to its standbys: its whole log as far as it holds it, uncommitted batches included.
///
/// It is made for one call and thrown away, since a kept copy would make the next change of the pipeline dear.
package struct ReplicationLog: Sendable {
    package var stamp: FrameStamp
    package var store: StoreID
    /// The end of the last sealed batch.
    package var end: Position
    /// Of the epochs before the last one.
    private var earlierEnds: [EpochEnd]
    private var boot: BootID
    package var pipeline: CommitPipeline
    /// The own disk had no room for the last that it was given.
    package var lacksRoom: Bool

    /// Of the primary's log and of what is under way of it.
    package init(stamp: FrameStamp, log: LogState, pipeline: CommitPipeline, lacksRoom: Bool) {
        self.stamp = stamp
        self.pipeline = pipeline
        self.lacksRoom = lacksRoom
        store = log.store
        end = log.position
        (earlierEnds, boot) = (log.epochEnds, log.boot)
    }

    /// The ends of all epochs, of which the last is where the log ends now.
    package var epochEnds: [EpochEnd] {
        guard end.sequence > .zero else { return [] }
        return earlierEnds + [EpochEnd(epoch: end.epoch, boot: boot, sequence: end.sequence, hash: end.hash)]
    }

    /// What is said of it to who asks.
    package var summary: FollowerLog { FollowerLog(end: end, committed: committed, epochEnds: epochEnds) }

    package var committed: SequenceNumber { pipeline.committed.position.sequence }

    /// How a standby's log becomes the beginning of this one (PROTOCOL, R-83).
    package func plan(for follower: FollowerLog) -> ReconciliationPlan {
        let ends = epochEnds
        return ReconciliationPlan(follower, epochEnds: ends, oldest: pipeline.oldestEnd) { sequence in
            guard sequence > .zero else { return .start(of: store) }
            return pipeline.batchEnd(atOrBefore: sequence).map { found in
                // The ends are in order, so the first at or after a place is its epoch's own.
                let epoch = ends.first { $0.sequence >= found.sequence }?.epoch ?? end.epoch
                return Position(
                    epoch: found.sequence > .zero ? epoch : .zero, sequence: found.sequence, hash: found.hash)
            }
        }
    }
}
