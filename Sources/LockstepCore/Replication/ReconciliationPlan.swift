/// What a data node says of its log: when it opens a stream, and when another one asks.
package struct FollowerLog: Hashable, Sendable {
    /// The end of what is durable, uncommitted batches included.
    package var end: Position
    /// Through which it knows everything to be committed; it never gives that up.
    package var committed: SequenceNumber
    /// Of its log, in order, the uncommitted end included: the last is that of ``end``.
    package var epochEnds: [EpochEnd]

    package init(end: Position, committed: SequenceNumber, epochEnds: [EpochEnd]) {
        self.end = end
        self.committed = committed
        self.epochEnds = epochEnds
    }

    /// Of a store that has nothing.
    package static func empty(of store: StoreID) -> FollowerLog {
        FollowerLog(end: .start(of: store), committed: .zero, epochEnds: [])
    }

    /// Whether `other` knows something to be committed that this log does not have.
    package func lacksCommitted(of other: FollowerLog) -> Bool {
        EpochEnd.lastCommon(epochEnds, other.epochEnds) < other.committed
    }

    /// Whether this log ends in a later epoch than `other`, or further on in the same.
    package func goesFurther(than other: FollowerLog) -> Bool {
        (end.epoch, end.sequence) > (other.end.epoch, other.end.sequence)
    }
}

extension EpochEnd {
    /// The last place that two logs have from the same primary, by the ends of their epochs.
    static func lastCommon(_ left: [EpochEnd], _ right: [EpochEnd]) -> SequenceNumber {
        for end in left.reversed() {
            if let other = right.last(where: { ($0.epoch, $0.boot) == (end.epoch, end.boot) }) {
                return min(end.sequence, other.sequence)
            }
        }
        return .zero
    }
}

/// How a standby's log becomes the beginning of its primary's (PROTOCOL, R-83).
package enum ReconciliationPlan: Hashable, Sendable {
    /// It is one: what comes after it is sent.
    case tail
    /// What comes after this end of a batch is cut off and kept aside; then the tail is sent.
    case truncate(to: Position)
    /// The primary no longer has what comes next, or no longer knows where both logs part: a snapshot is fetched.
    case snapshot
    /// What the standby knows to be committed is not in the primary's log: it halts.
    case losesCommitted

    /// Compares both logs by the ends of their epochs, which one primary each has written.
    ///
    /// `epochEnds` is the primary's own table, in order, as `follower` has one. `batchEnd` finds the last end of a
    /// batch at or before a place; nil if the primary has forgotten it. `oldest` is the first batch's end after which
    /// it can still send everything.
    package init(
        _ follower: FollowerLog, epochEnds: [EpochEnd], oldest: SequenceNumber,
        batchEnd: (SequenceNumber) -> Position?
    ) {
        let common = EpochEnd.lastCommon(follower.epochEnds, epochEnds)
        guard common >= follower.committed else {
            self = .losesCommitted
            return
        }
        guard common >= oldest, let end = batchEnd(common) else {
            self = .snapshot
            return
        }
        guard end.sequence >= follower.committed else {
            self = .losesCommitted
            return
        }
        if end.sequence == follower.end.sequence {
            // One primary wrote the epoch, so the same place has the same hash; else a disk has changed.
            self = end.hash == follower.end.hash ? .tail : .losesCommitted
        } else {
            self = .truncate(to: end)
        }
    }
}
