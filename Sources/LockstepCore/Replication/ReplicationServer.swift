/// What a ``ReplicationServer`` wants done, in this order.
package enum ReplicationDirective: Hashable, Sendable {
    /// Send a frame on the node's socket for standbys.
    case send([UInt8], to: Connection)
    /// Compare and set; each time it is a new asking of the same.
    case transact(RecordAttempt, request: UInt64)
    /// Read the record linearizably.
    case readRecord(request: UInt64)
    /// The set is another one.
    case changed(InSyncSet.Change)
    /// A standby cannot be taken: what it has is not this primary's to give.
    case refused(Member, FetchRefusal)
    /// The post was to be given away, and nobody took it: the primary goes on.
    case postKept(PostKept)
    /// The reign is over; the record, if it is known, says who is to be followed.
    case over(StoredRecord?)
    case count(ProtocolCounter)
}

/// What the primary of a store does for its standbys: streams, acknowledgements, the in-sync set, rounds of
/// confirmation (PROTOCOL, R-76 to ).
///
///     FETCH ---- of another store, of a higher epoch, refused by R-83 --> FETCH_PLAN refused
///       |------- the window no longer leads there ----------------------> FETCH_PLAN snapshot
///       `------- a stream: APPEND, one after the other, at most ``Limits/streamBytes`` without an ACK
///
/// A batch is sent when it is sealed, beside the write of the own disk. A stream that lost a frame is noticed by the
/// standby, which opens another one. What was sent is sent again in no other way.
///
/// Invariants, checked by ``checkInvariants()``: at most ``Limits/streams`` streams; none is of the primary itself.
package struct ReplicationServer: Hashable, Sendable {
    /// A standby's stream.
    struct Stream: Hashable, Sendable {
        var connection: Connection
        var nonce: UInt64
        /// The end of what was sent.
        var sent: SequenceNumber
        /// What was sent and is not acknowledged: the end of each frame, and its bytes; oldest first.
        var unacknowledged: [Frame] = []
        var unacknowledgedBytes = 0
        /// The commit number that it was told last.
        var toldCommit: SequenceNumber
        /// The last round that it has confirmed.
        var confirmedRound: UInt64 = 0

        struct Frame: Hashable, Sendable {
            var end: SequenceNumber
            var byteCount: Int
        }
    }

    /// What a primary that hears no data node has learnt since.
    struct Deafness: Hashable, Sendable {
        /// Where its log ended when it looked first.
        var end: SequenceNumber
        /// Its question to the arbiter that is not answered; 0: there is none.
        var request: UInt64 = 0
        /// How many of these were answered with its own record.
        var answers = 0
    }

    package internal(set) var inSync: InSyncSet
    package internal(set) var tracker: ReplicationTracker
    /// What the arbiter was seen to say; it goes on where the election's left off.
    package internal(set) var memory: ArbiterMemory
    /// How much of that the journal has; while it has less, nothing commits.
    var kept = ArbiterMemory()
    var streams: [Member: Stream] = [:]
    /// The newest round of confirmation that was begun.
    var round: UInt64 = 0
    /// The newest that a read waits for: `round`, or the next.
    var wantedRound: UInt64 = 0
    /// A standby has promised a higher epoch to nobody who won it: the record is written anew, which settles it.
    var wantsRewrite = false
    /// What is known since no data node is heard; nil: one is.
    var deafness: Deafness?
    /// The post is being given away; nil: it is not.
    var handover: Handover?
    /// When the open attempt is asked again, or a silent primary looks at the record.
    var nextAsk: Tick = .zero
    var nextHeartbeat: Tick
    var lastAnswer: Tick
    var random: SplitMix64

    /// Every so many milliseconds a heartbeat leaves.
    package static let heartbeatMilliseconds: Int64 = 100
    /// An attempt is asked again after so long without an answer.
    static let askMilliseconds: Int64 = 200
    /// A journal that has written nothing for so long costs the post.
    static let stuckMilliseconds: Int64 = 1_000
    /// No change is begun while the arbiter has not answered for so long.
    static let arbiterMilliseconds: Int64 = 1_000
    /// After so many answers a primary that hears nobody goes on alone.
    static let answersUntilAlone = 4
    /// APPEND holds at most this much, or one batch.
    static let appendBytes = 1 << 20

    /// Begins with the record that the node has won, and the end of the batch that opens its epoch.
    package init(
        _ won: StoredRecord, own: Member, opening: SequenceNumber, memory: ArbiterMemory, seed: UInt64, now: Tick
    ) {
        inSync = InSyncSet(won)
        tracker = ReplicationTracker(
            epoch: won.record.epoch, boot: won.record.primary.boot, own: own, opening: opening, now: now)
        self.memory = memory
        nextHeartbeat = now
        lastAnswer = now
        random = SplitMix64(seed: seed)
    }

    package var epoch: Epoch { tracker.epoch }
    package var isMemoryKept: Bool { memory.stored == kept }
    package var isSole: Bool { !inSync.required.contains { $0 != tracker.own } }

    /// Through which batch everything is committed.
    package func commitEnd(ownDurable: SequenceNumber, committed: SequenceNumber) -> SequenceNumber {
        tracker.commitEnd(inSync, ownDurable: ownDurable, committed: committed)
    }

    // MARK: - What standbys say

    /// A data node said this on `connection`.
    package mutating func received(
        _ request: ReplicationRequest, epoch sender: Epoch, from connection: Connection, now: Tick, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        switch request {
        case .fetch(let fetch): fetched(fetch, from: connection, now: now, log: log, into: &directives)
        case .acknowledge(let acknowledge):
            acknowledged(acknowledge, epoch: sender, from: connection, now: now, log: log, into: &directives)
        case .confirm(let confirmation):
            guard let member = member(of: confirmation.nonce, connection), confirmation.round <= round else {
                return directives.append(.count(.staleFrames))
            }
            tracker.heardAnybody(now: now)
            let before = streams[member]?.confirmedRound ?? 0
            streams[member]?.confirmedRound = max(before, confirmation.round)
        case .recordRequest(let nonce):
            tracker.heardAnybody(now: now)
            directives.append(.send(log.stamp.frame(.replicationReply(.record(report(nonce, log)))), to: connection))
        case .stepDown(let report):
            // Only the record deposes: whoever says that there is a newer one is a reason to read it.
            let newest = max(report.highest, report.record?.record.epoch ?? .zero)
            guard newest > epoch || (report.record?.record.number ?? 0) > inSync.confirmed.record.number else { return }
            readRecord(into: &directives)
        }
    }

    /// Has the record read: somebody knows of a later reign.
    package mutating func readRecord(into directives: inout [ReplicationDirective]) {
        directives.append(.readRecord(request: memory.ask()))
    }

    /// What this node knows of the record.
    private func report(_ nonce: UInt64, _ log: ReplicationLog) -> RecordReport {
        RecordReport(
            nonce: nonce, highest: epoch, log: log.summary, shown: memory.stored, leads: true, record: inSync.confirmed)
    }

    private mutating func fetched(
        _ fetch: Fetch, from connection: Connection, now: Tick, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        guard fetch.store == log.store else { return directives.append(.count(.framesRefused)) }
        var decision: FetchDecision
        // Who has promised more, or has more, follows nobody below; the record says who is right.
        if max(fetch.promised, fetch.log.end.epoch) > epoch {
            wantsRewrite = true
            decision = .refused(.notPrimary)
        } else {
            switch log.plan(for: fetch.log) {
            case .tail: decision = .tail
            case .truncate(let position): decision = .truncate(to: position)
            case .snapshot: decision = .snapshot
            case .losesCommitted: decision = .refused(.losesCommitted)
            }
        }
        if let start = start(of: decision, fetch.log) {
            switch tracker.opened(fetch.member, boot: fetch.boot, stream: fetch.nonce, durable: start, now: now) {
            case .opened:
                streams[fetch.member] = Stream(
                    connection: connection, nonce: fetch.nonce, sent: start, toldCommit: log.committed)
                endStreams(beyond: fetch.member)
            case .isOwn: decision = .refused(.isOwn)
            case .wasSetBack: decision = .refused(.wasSetBack)
            }
        } else {
            tracker.heardAnybody(now: now)
        }
        if case .refused(let refusal) = decision { directives.append(.refused(fetch.member, refusal)) }
        let plan = FetchPlan(
            nonce: fetch.nonce, boot: tracker.boot, commit: log.committed, decision: decision)
        directives.append(.send(log.stamp.frame(.replicationReply(.plan(plan))), to: connection))
        pump(log: log, into: &directives)
    }

    /// What a stream begins after; nil if there is none.
    private func start(of decision: FetchDecision, _ follower: FollowerLog) -> SequenceNumber? {
        switch decision {
        case .tail: follower.end.sequence
        case .truncate(let position): position.sequence
        case .snapshot, .refused: nil
        }
    }

    /// A node that comes back under many incarnations takes no more than its share.
    private mutating func endStreams(beyond newest: Member) {
        while streams.count > Limits.streams {
            let rest = streams.keys.filter { $0 != newest && !inSync.required.contains($0) }
            guard let oldest = rest.min(by: { heard($0) < heard($1) }) else { return }
            closed(oldest)
        }
    }

    private func heard(_ member: Member) -> Tick { tracker[member]?.lastHeard ?? .zero }

    private mutating func closed(_ member: Member) {
        guard let stream = streams.removeValue(forKey: member) else { return }
        tracker.closed(member, stream: stream.nonce)
    }

    /// The connection is gone: what was acknowledged on it counts no more until it is said again.
    package mutating func disconnected(_ connection: Connection) {
        for (member, stream) in streams where stream.connection == connection { closed(member) }
    }

    private func member(of nonce: UInt64, _ connection: Connection) -> Member? {
        streams.first { $0.value.nonce == nonce && $0.value.connection == connection }?.key
    }

    private mutating func acknowledged(
        _ acknowledge: Acknowledge, epoch sender: Epoch, from connection: Connection, now: Tick, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        let member = acknowledge.member
        guard let stream = streams[member], stream.connection == connection, stream.nonce == acknowledge.nonce,
            tracker.acknowledged(
                acknowledge.acknowledgement(epoch: sender), hash: log.pipeline.hash(at: acknowledge.end),
                head: log.end.sequence, now: now)
        else {
            directives.append(.count(.staleFrames))
            return answerIfLost(acknowledge, epoch: sender, from: connection, log: log, into: &directives)
        }
        streams[member]?.acknowledged(through: acknowledge.end)
        pump(log: log, into: &directives)
    }

    /// A standby of this reign that acknowledges in a stream which is not there believes that it follows, and at rest
    /// nothing would tell it: it is to say FETCH again.
    ///
    /// 1. Its FETCH opens a stream on one connection.
    /// 2. A FETCH that another connection has held back for long comes after it, and takes the stream's place.
    /// 3. That connection ends, and its stream with it.
    ///
    /// On one connection frames keep their order: all that is said so to acknowledgements which were under way comes
    /// before the plan of the next FETCH, when the standby does not heed it.
    private func answerIfLost(
        _ acknowledge: Acknowledge, epoch sender: Epoch, from connection: Connection, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        guard sender == epoch, acknowledge.primaryBoot == tracker.boot,
            member(of: acknowledge.nonce, connection) == nil
        else { return }
        directives.append(.send(log.stamp.frame(.resync), to: connection))
    }

    // MARK: - What standbys get

    /// Sends what is new: batches as far as there is credit, and the commit number to those who have all batches.
    package mutating func pump(log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        for member in streams.keys.sorted() {
            guard var stream = streams[member] else { continue }
            guard pump(&stream, log: log, into: &directives) else {
                // The window has gone on without it: it opens a stream, and gets a snapshot.
                directives.append(.send(log.stamp.frame(.resync), to: stream.connection))
                closed(member)
                continue
            }
            streams[member] = stream
        }
    }

    private func pump(
        _ stream: inout Stream, log: ReplicationLog, into directives: inout [ReplicationDirective]
    ) -> Bool {
        while stream.sent < log.end.sequence, stream.unacknowledgedBytes < Limits.streamBytes {
            guard let batches = log.pipeline.batches(after: stream.sent, bytes: Self.appendBytes),
                let last = batches.last
            else { return false }
            stream.sent = last.head.last
            stream.toldCommit = log.committed
            let frame = log.stamp.appendFrame(nonce: stream.nonce, commit: log.committed, batches: batches)
            stream.unacknowledged.append(.init(end: last.head.last, byteCount: frame.count))
            stream.unacknowledgedBytes += frame.count
            directives.append(.send(frame, to: stream.connection))
        }
        if stream.toldCommit < log.committed {
            stream.toldCommit = log.committed
            let frame = log.stamp.appendFrame(nonce: stream.nonce, commit: log.committed, batches: [])
            directives.append(.send(frame, to: stream.connection))
        }
        return true
    }

    package func checkInvariants() {
        inSync.checkInvariants()
        precondition(streams[tracker.own] == nil, "a primary has no stream to itself")
        precondition(inSync.epoch == tracker.epoch, "the set and the streams are of one reign")
        for stream in streams.values {
            let bytes = stream.unacknowledged.reduce(0) { $0 + $1.byteCount }
            precondition(bytes == stream.unacknowledgedBytes, "a stream knows what is under way")
            precondition(stream.confirmedRound <= round, "nobody confirms what was not asked")
        }
    }
}

extension ReplicationServer.Stream {
    fileprivate mutating func acknowledged(through end: SequenceNumber) {
        while let first = unacknowledged.first, first.end <= end {
            unacknowledgedBytes -= first.byteCount
            unacknowledged.removeFirst()
        }
    }
}
