// Holes of the stream, filled over the bulk link (PROTOCOL, R-33, R-36).
extension ReplicaStateMachine {
    /// What one REPAIR may hold: it is applied within one event.
    private static let replyBytes: UInt32 = 256 << 10

    /// A frame came in on the bulk socket that this replica opened.
    package mutating func bulkReceived(
        _ frame: RawSpan, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        guard phase != .halted, stage != .idle, let publisher = upstream.publisher else { return }
        do throws(WireError) {
            let (header, message) = try Message.decode(frame, rule: upstream.clusterRule)
            guard header.channel == upstream.channel else { throw WireError(.wrongCluster, at: 2) }
            // Another boot answers at the same address: what it says is of no use before its WELCOME.
            guard header.epoch == publisher.epoch else {
                directives.append(.count(.staleFrames))
                return
            }
            guard let reply = BulkReply(message) else { throw WireError(.unknownKind, at: 5) }
            switch reply {
            case .syncPlan(let plan): planReceived(plan, now: now, state: state, into: &directives)
            case .chunk(let chunk): chunkReceived(chunk, frame, now: now, into: &directives)
            case .repair(let repair): try repairReceived(repair, frame, now: now, state: state, into: &directives)
            case .resync:
                // The server does not know this connection's reservation, or the snapshot is gone.
                if stage == .fetching { sync(now: now, into: &directives) }
            }
        } catch {
            directives.append(.count(.framesRefused))
        }
        finish(now: now, state: state, into: &directives)
    }

    /// Through where batches are known to exist that neither the log nor the buffer has; nil if there is no hole.
    var wanted: SequenceNumber? { stream.missing(after: log.position.sequence) }

    /// Begins a repair after its delay if there is a hole and none is under way.
    mutating func scheduleRepair(now: Tick, into directives: inout [ReplicaDirective]) {
        guard stage == .following else { return }
        guard wanted != nil else {
            repairs.unschedule()
            return
        }
        guard repairs.progress == .none else { return }
        directives.append(.count(.gaps))
        repairs.begin(now: now)
        if buggify(.pullsEarly) { repairs.pull() }
        if repairs.isPulling || buggify(.repairAtOnce) {
            ask(now: now, into: &directives)
        } else if stream.buffer.isEmpty {
            repairs.schedule(at: now.advanced(byMilliseconds: ReplicaTiming.repairSilence))
        } else {
            let longest = buggify(.repairLate) ? ReplicaTiming.lateRepairJitter : ReplicaTiming.repairJitter
            repairs.schedule(at: now.advanced(byMilliseconds: jitter(longest)))
        }
    }

    /// The delay is over; if only a beacon showed the hole, the stream must have been silent that long.
    mutating func repairDue(now: Tick, into directives: inout [ReplicaDirective]) {
        guard wanted != nil else {
            repairs.end()
            return
        }
        if stream.buffer.isEmpty, now < stream.holeIsCertain {
            repairs.schedule(at: stream.holeIsCertain)
        } else {
            ask(now: now, into: &directives)
        }
    }

    /// Asks for what is wanted; the request before, if there is one, is void.
    mutating func ask(now: Tick, into directives: inout [ReplicaDirective]) {
        guard let wanted else { preconditionFailure("nothing is wanted") }
        let nonce = generator.next()
        repairs.ask(nonce: nonce, now: now, jitter: jitter(50))
        let through = repairs.isPulling ? SequenceNumber(rawValue: UInt64(Int64.max)) : wanted
        let request = RepairRequest(
            nonce: nonce, after: log.position, through: through, largestReply: Self.replyBytes)
        directives.append(.count(.repairs))
        directives.append(.sendBulk(stamp.frame(.repairRequest(request))))
    }

    /// The answer did not come; after some tries both the socket and the place of this log are doubted.
    mutating func repairOverdue(now: Tick, into directives: inout [ReplicaDirective]) {
        guard wanted != nil else {
            repairs.end()
            return
        }
        guard !repairs.isHopeless else {
            syncOnNewSocket(now: now, into: &directives)
            return
        }
        ask(now: now, into: &directives)
    }

    private mutating func repairReceived(
        _ answer: Repair, _ frame: RawSpan, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) throws(WireError) {
        guard repairs.isAsked(answer.nonce), stage == .following, let publisher = upstream.publisher else {
            directives.append(.count(.staleFrames))
            return
        }
        guard answer.status == .batches else {
            // No longer held, or this log's place is not on the server's chain: the plan tells.
            wait(ReplicaTiming.unavailable, now: now)
            setPhase(.joining, into: &directives)
            return
        }
        let before = log.position.sequence
        for range in answer.batches {
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let head = try BatchHead(from: frame, &reader)
            // The stream may have brought it meanwhile.
            if head.last <= log.position.sequence { continue }
            guard head.store == log.store, head.first == log.position.sequence.next,
                head.previous == log.position.hash, head.epoch >= log.position.epoch, head.epoch <= publisher.epoch
            else { throw WireError(.outOfRange, at: range.lowerBound) }
            let bytes = copyBytes(of: frame, range)
            repairs.received(byteCount: bytes.count)
            apply(
                SealedBatch(head: head, hash: BatchHash(rawValue: sha256Prefix(bytes)), bytes: bytes), now: now,
                state: state, into: &directives)
            guard stage == .following else { return }
        }
        // Without progress the request counts as unanswered, so that its patience grows.
        guard log.position.sequence > before || wanted == nil else { return }
        repairs.advanced()
        advance(now: now, state: state, into: &directives)
        guard stage == .following else { return }
        // The rest of the hole follows at once, unless the buffer has to be applied first.
        if stream.hasMore || wanted == nil { repairs.end() } else { ask(now: now, into: &directives) }
    }
}
