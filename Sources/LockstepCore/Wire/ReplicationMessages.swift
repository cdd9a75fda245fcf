// The messages of the link between data nodes, L2 (PROTOCOL, section 4 and ).

/// FETCH: a standby opens a stream with its primary, or opens it anew.
package struct Fetch: Hashable, Sendable {
    /// Names the stream; whatever belongs to it repeats the number.
    package var nonce: UInt64
    package var store: StoreID
    package var member: Member
    package var boot: BootID
    /// The highest epoch that the standby has promised to; a primary of a lower one is not followed.
    package var promised: Epoch
    package var log: FollowerLog

    package init(
        nonce: UInt64, store: StoreID, member: Member, boot: BootID, promised: Epoch, log: FollowerLog
    ) {
        (self.nonce, self.store, self.member, self.boot) = (nonce, store, member, boot)
        (self.promised, self.log) = (promised, log)
    }
}

/// FETCH_PLAN: how the standby's log becomes the beginning of the primary's.
package struct FetchPlan: Hashable, Sendable {
    package var nonce: UInt64
    /// The primary's process; the frame's epoch is its epoch.
    package var boot: BootID
    package var commit: SequenceNumber
    package var decision: FetchDecision

    package init(nonce: UInt64, boot: BootID, commit: SequenceNumber, decision: FetchDecision) {
        (self.nonce, self.boot, self.commit, self.decision) = (nonce, boot, commit, decision)
    }
}

package enum FetchDecision: Hashable, Sendable {
    /// Batches follow from where the standby's log ends.
    case tail
    /// The standby cuts its log there, then batches follow.
    case truncate(to: Position)
    /// The standby fetches a snapshot on L3, and opens a stream after it.
    case snapshot
    case refused(FetchRefusal)
}

package enum FetchRefusal: UInt8, Hashable, Sendable {
    /// This node is not the primary of the store, or knows of an epoch above its own.
    case notPrimary = 1
    /// What the standby knows to be committed is not in the primary's log: it halts.
    case losesCommitted = 2
    /// The standby's disk has less than its incarnation acknowledged in this epoch: it needs another incarnation.
    case wasSetBack = 3
    /// The standby has the name and the incarnation of the primary: its disk is a copy.
    case isOwn = 4
}

/// APPEND: batches that follow each other, uncommitted ones among them.
package struct Append: Hashable, Sendable {
    package var nonce: UInt64
    package var commit: SequenceNumber
    /// Each a range of the frame.
    package var batches: [Range<Int>]

    package init(nonce: UInt64, commit: SequenceNumber, batches: [Range<Int>]) {
        (self.nonce, self.commit, self.batches) = (nonce, commit, batches)
    }
}

/// ACK: everything through the end of a batch is on the standby's disk.
package struct Acknowledge: Hashable, Sendable {
    package var nonce: UInt64
    package var member: Member
    package var boot: BootID
    package var primaryBoot: BootID
    package var end: SequenceNumber
    package var hash: BatchHash
    /// The newest mark that the standby has applied, with its own digest there; sequence 0: none.
    package var mark: LogState.Mark

    package init(
        nonce: UInt64, member: Member, boot: BootID, primaryBoot: BootID, end: SequenceNumber, hash: BatchHash,
        mark: LogState.Mark
    ) {
        (self.nonce, self.member, self.boot, self.primaryBoot) = (nonce, member, boot, primaryBoot)
        (self.end, self.hash, self.mark) = (end, hash, mark)
    }

    /// What counts of it; `epoch` is that of its frame.
    package func acknowledgement(epoch: Epoch) -> ReplicationAcknowledgement {
        ReplicationAcknowledgement(
            member: member, boot: boot, epoch: epoch, primaryBoot: primaryBoot, stream: nonce, end: end, hash: hash)
    }
}

/// HEARTBEAT: one frame between two nodes, for all stores whose primary the sender is and whose journal works.
package struct Heartbeat: Hashable, Sendable {
    package struct Pulse: Hashable, Sendable {
        package var channel: Channel
        package var epoch: Epoch
        /// The end of the log: a standby that lacks it, and gets nothing, has lost a frame.
        package var end: SequenceNumber

        package init(channel: Channel, epoch: Epoch, end: SequenceNumber) {
            (self.channel, self.epoch, self.end) = (channel, epoch, end)
        }
    }

    package var node: NodeID
    package var boot: BootID
    /// The sender's wall clock.
    package var time: LogTime
    package var stores: [Pulse]

    package init(node: NodeID, boot: BootID, time: LogTime, stores: [Pulse]) {
        (self.node, self.boot, self.time, self.stores) = (node, boot, time, stores)
    }
}

/// CONFIRM_REQ and CONFIRM: a member says that it still follows this primary, so that a read may be answered.
package struct Confirmation: Hashable, Sendable {
    /// Of the stream.
    package var nonce: UInt64
    package var round: UInt64

    package init(nonce: UInt64, round: UInt64) { (self.nonce, self.round) = (nonce, round) }
}

/// RECORD: the newest that a node knows of a store's record and epochs; a hint, which the arbiter alone can confirm.
package struct RecordReport: Hashable, Sendable {
    /// Of the question; 0: nobody asked.
    package var nonce: UInt64
    /// The highest epoch that the node has promised, or has in its log.
    package var highest: Epoch
    /// Its log, with what is not committed: who has the most is what an operator asks who has lost the record.
    package var log: FollowerLog
    /// What the arbiter has shown it.
    package var shown: ArbiterMemory
    /// It is the primary, and may acknowledge more at any time.
    package var leads: Bool
    /// Of the primary that it is or follows; nil: it knows none.
    package var record: StoredRecord?

    package init(
        nonce: UInt64, highest: Epoch, log: FollowerLog, shown: ArbiterMemory, leads: Bool, record: StoredRecord?
    ) {
        (self.nonce, self.highest, self.log, self.shown) = (nonce, highest, log, shown)
        (self.leads, self.record) = (leads, record)
    }
}

/// TAKE_OVER: the primary gives its post to the standby that gets this, if its log ends there.
package struct TakeOver: Hashable, Sendable {
    /// Of the stream.
    package var nonce: UInt64
    package var end: Position
    /// The primary goes on as a standby, and stays in the set.
    package var staysMember: Bool

    package init(nonce: UInt64, end: Position, staysMember: Bool) {
        (self.nonce, self.end, self.staysMember) = (nonce, end, staysMember)
    }
}

/// What a data node says to another that it has connected to; L2.
package enum ReplicationRequest: Hashable, Sendable {
    case fetch(Fetch)
    case acknowledge(Acknowledge)
    case confirm(Confirmation)
    case recordRequest(nonce: UInt64)
    /// The sender knows a newer record than the primary whose frames it gets.
    case stepDown(RecordReport)

    package init?(_ message: Message) {
        guard case .replicationRequest(let request) = message else { return nil }
        self = request
    }

    package var kind: MessageKind {
        switch self {
        case .fetch: .fetch
        case .acknowledge: .acknowledge
        case .confirm: .confirm
        case .recordRequest: .recordRequest
        case .stepDown: .stepDown
        }
    }
}

/// What a data node says to those that have connected to it; L2.
package enum ReplicationReply: Hashable, Sendable {
    case plan(FetchPlan)
    case append(Append)
    case heartbeat(Heartbeat)
    case confirmRequest(Confirmation)
    case record(RecordReport)
    case takeOver(TakeOver)

    package init?(_ message: Message) {
        guard case .replicationReply(let reply) = message else { return nil }
        self = reply
    }

    package var kind: MessageKind {
        switch self {
        case .plan: .fetchPlan
        case .append: .append
        case .heartbeat: .heartbeat
        case .confirmRequest: .confirmRequest
        case .record: .record
        case .takeOver: .takeOver
        }
    }
}
