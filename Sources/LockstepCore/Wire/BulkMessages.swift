// The messages of the bulk link and of the broadcast: joins, snapshots, repairs, beacons.

package struct Sync: Hashable, Sendable {
    package var nonce: UInt64
    package var store: StoreID
    package var node: String
    package var have: KnownPosition
    /// The first sequence number of the first frame that the joiner saw on the stream.
    package var firstFrame: SequenceNumber
    /// The joiner discards what it has: it was told to, or holds nothing.
    package var wantsSnapshot: Bool

    package init(
        nonce: UInt64, store: StoreID, node: String, have: KnownPosition, firstFrame: SequenceNumber,
        wantsSnapshot: Bool
    ) {
        self.nonce = nonce
        self.store = store
        self.node = node
        self.have = have
        self.firstFrame = firstFrame
        self.wantsSnapshot = wantsSnapshot
    }
}

package struct SnapshotInfo: Hashable, Sendable {
    package var id: UInt64
    package var position: Position
    /// The boot that owns ``Position/epoch``.
    package var boot: BootID
    package var digest: Digest
    package var byteCount: UInt64
    package var chunkSize: UInt32
    /// SHA-256 prefix over the chunks' hashes, end to end.
    package var root: UInt128

    package init(
        id: UInt64, position: Position, boot: BootID, digest: Digest, byteCount: UInt64, chunkSize: UInt32,
        root: UInt128
    ) {
        self.id = id
        self.position = position
        self.boot = boot
        self.digest = digest
        self.byteCount = byteCount
        self.chunkSize = chunkSize
        self.root = root
    }

    package var chunkCount: Int {
        guard chunkSize > 0 else { return 0 }
        return Int((byteCount + UInt64(chunkSize) - 1) / UInt64(chunkSize))
    }
}

/// The last batch of an epoch, kept for ever (PROTOCOL, R-8).
package struct EpochEnd: Hashable, Sendable {
    package var epoch: Epoch
    package var boot: BootID
    package var sequence: SequenceNumber
    package var hash: BatchHash

    package init(epoch: Epoch, boot: BootID, sequence: SequenceNumber, hash: BatchHash) {
        self.epoch = epoch
        self.boot = boot
        self.sequence = sequence
        self.hash = hash
    }
}

package enum SyncDecision: Hashable, Sendable {
    /// The log goes on from what the joiner has; ask for it by REPAIR_REQ.
    case tail
    case snapshot(SnapshotInfo)
    /// The joiner's hash is not this node's at that place; the ends of this node's epochs, oldest first.
    case diverged([EpochEnd])
    /// The joiner is ahead of this node.
    case ahead
    /// Microseconds to wait.
    case busy(retryAfter: UInt32)
}

package struct SyncPlan: Hashable, Sendable {
    package var nonce: UInt64
    package var commit: Position
    package var boot: BootID
    package var decision: SyncDecision

    package init(nonce: UInt64, commit: Position, boot: BootID, decision: SyncDecision) {
        self.nonce = nonce
        self.commit = commit
        self.boot = boot
        self.decision = decision
    }
}

package struct ChunkRequest: Hashable, Sendable {
    package var snapshot: UInt64
    package var index: UInt32
    /// How many chunks from ``index`` may be sent.
    package var window: UInt32

    package init(snapshot: UInt64, index: UInt32, window: UInt32) {
        self.snapshot = snapshot
        self.index = index
        self.window = window
    }
}

package struct Chunk: Hashable, Sendable {
    package var snapshot: UInt64
    package var index: UInt32
    package var hash: UInt128
    package var content: Range<Int>

    package init(snapshot: UInt64, index: UInt32, hash: UInt128, content: Range<Int>) {
        self.snapshot = snapshot
        self.index = index
        self.hash = hash
        self.content = content
    }
}

package struct RepairRequest: Hashable, Sendable {
    package var nonce: UInt64
    package var after: Position
    package var through: SequenceNumber
    package var largestReply: UInt32

    package init(nonce: UInt64, after: Position, through: SequenceNumber, largestReply: UInt32) {
        self.nonce = nonce
        self.after = after
        self.through = through
        self.largestReply = largestReply
    }
}

package enum RepairStatus: UInt8, Hashable, Sendable {
    case batches = 1
    /// The batches are no longer, or not yet, held here: SYNC again.
    case unavailable = 2
}

package struct Repair: Hashable, Sendable {
    package var nonce: UInt64
    package var status: RepairStatus
    /// The batches, in order, each a range of the frame.
    package var batches: [Range<Int>]

    package init(nonce: UInt64, status: RepairStatus, batches: [Range<Int>]) {
        self.nonce = nonce
        self.status = status
        self.batches = batches
    }
}

package struct Beacon: Hashable, Sendable {
    package var boot: BootID
    package var incarnation: Incarnation
    package var commit: Position
    package var time: LogTime
    package var markSequence: SequenceNumber
    package var markDigest: Digest

    package init(
        boot: BootID, incarnation: Incarnation, commit: Position, time: LogTime, markSequence: SequenceNumber,
        markDigest: Digest
    ) {
        self.boot = boot
        self.incarnation = incarnation
        self.commit = commit
        self.time = time
        self.markSequence = markSequence
        self.markDigest = markDigest
    }
}
