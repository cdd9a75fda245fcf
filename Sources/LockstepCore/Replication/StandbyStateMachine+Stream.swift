// The stream of the primary's log: plans, batches, acknowledgements, confirmations (PROTOCOL, R-77, R-83 to R-88).

extension StandbyStateMachine {
    /// A frame of the node that is followed came, of this epoch.
    package mutating func received(
        _ reply: ReplicationReply, _ frame: RawSpan, epoch: Epoch, now: Tick, into directives: inout [StandbyDirective]
    ) {
        guard phase != .won, phase != .halted else { return }
        switch reply {
        case .plan(let plan): planned(plan, epoch: epoch, now: now, into: &directives)
        case .append(let append): appended(append, frame, epoch: epoch, now: now, into: &directives)
        case .confirmRequest(let confirmation):
            guard isStream(confirmation.nonce, epoch: epoch), election.isLoyal, !isDoubted else {
                return directives.append(.count(.staleFrames))
            }
            directives.append(.send(stamp(epoch).frame(.replicationRequest(.confirm(confirmation)))))
        case .takeOver(let takeOver):
            guard isStream(takeOver.nonce, epoch: epoch), takeOver.end == log.end, log.isDurable else {
                return directives.append(.count(.staleFrames))
            }
            election.takeOver(staysMember: takeOver.staysMember, now: now)
            elect(now: now, into: &directives) { election, directives in election.tick(now: now, into: &directives) }
        case .record(let report):
            guard let node = followed?.record.primary.member.node else { return }
            reported(report, from: node, now: now, into: &directives)
        // The node takes it apart, and tells each store of its own.
        case .heartbeat: directives.append(.count(.framesRefused))
        }
    }

    /// The stream's connection was told to begin again: the primary's window has gone on without it.
    package mutating func resyncReceived(now: Tick, into directives: inout [StandbyDirective]) {
        guard case .streaming = phase else { return }
        settle(now: now, into: &directives)
    }

    /// Whether a frame is of the stream that is followed: its number, and the epoch of the record.
    private func isStream(_ nonce: UInt64, epoch: Epoch) -> Bool {
        phase == .streaming(nonce: nonce) && epoch == followed?.record.epoch
    }

    private mutating func planned(
        _ plan: FetchPlan, epoch: Epoch, now: Tick, into directives: inout [StandbyDirective]
    ) {
        // Two boots may believe that they own an epoch, after an arbiter was set back: the record names one. The log
        // of who campaigns stays as it is.
        guard phase == .fetching(nonce: plan.nonce), election.isLoyal, let record = followed?.record,
            plan.decision == .refused(.notPrimary) || epoch == record.epoch && plan.boot == record.primary.boot
        else { return directives.append(.count(.staleFrames)) }
        (nextFetch, missedPlans) = (.never, 0)
        switch plan.decision {
        case .tail: streams(plan, now: now, into: &directives)
        case .truncate(let position):
            guard log.truncate(to: position) else {
                return halt(.committedIsLost(own: log.end, committed: log.committed), into: &directives)
            }
            isCutting = true
            directives.append(.truncate(to: position))
            streams(plan, now: now, into: &directives)
        case .snapshot:
            phase = .lacking
            directives.append(.wantsSnapshot)
        case .refused(.notPrimary):
            directives.append(.readRecord(request: election.askRecord()))
            settle(after: Self.retryMilliseconds, now: now, into: &directives)
        case .refused(.losesCommitted):
            halt(.committedIsLost(own: log.end, committed: log.committed), into: &directives)
        case .refused(.wasSetBack): halt(.wasSetBack, into: &directives)
        case .refused(.isOwn): halt(.isCopy, into: &directives)
        }
    }

    private mutating func streams(_ plan: FetchPlan, now: Tick, into directives: inout [StandbyDirective]) {
        phase = .streaming(nonce: plan.nonce)
        hasFollowed = true
        log.committed(through: plan.commit)
        heard(now: now, into: &directives)
        acknowledge(into: &directives)
    }

    /// The primary that the record names was heard.
    private mutating func heard(now: Tick, into directives: inout [StandbyDirective]) {
        guard let epoch = followed?.record.epoch else { return }
        elect(now: now, into: &directives) { election, directives in
            _ = election.heard(epoch: epoch, now: now, into: &directives)
        }
    }

    private mutating func appended(
        _ append: Append, _ frame: RawSpan, epoch: Epoch, now: Tick, into directives: inout [StandbyDirective]
    ) {
        // Who campaigns lets its log not grow.
        guard isStream(append.nonce, epoch: epoch), election.isLoyal else {
            return directives.append(.count(.staleFrames))
        }
        heard(now: now, into: &directives)
        var batches: [SealedBatch] = []
        do {
            for range in append.batches {
                let batch = try SealedBatch(bytes: copyBytes(of: frame, range))
                guard batch.head.epoch <= epoch else { throw KeptLog.Fault.wrongEpoch }
                try log.append(batch)
                batches.append(batch)
            }
            // It gets something: what a heartbeat named beyond that is on its way.
            if !batches.isEmpty { nextFetch = .never }
        } catch {
            // A frame before this one was lost, or this one is damaged: what came in it so far is of the log.
            directives.append(.count(.gaps))
            settle(after: Self.retryMilliseconds, now: now, into: &directives)
        }
        let before = log.committed
        log.committed(through: append.commit)
        if !batches.isEmpty || log.committed > before {
            directives.append(.append(batches, committed: log.committed))
        }
    }

    /// A heartbeat of a node names this store.
    ///
    /// `boot` is the sender's process. Of another than the one that is followed it is a reason to read the record, or to
    /// tell the sender that its reign is over.
    package mutating func pulseReceived(
        _ pulse: Heartbeat.Pulse, from node: NodeID, boot: BootID, now: Tick, into directives: inout [StandbyDirective]
    ) {
        guard phase != .won, phase != .halted else { return }
        guard let record = followed?.record, pulse.epoch == record.epoch, boot == record.primary.boot else {
            let known = max(followed?.record.epoch ?? .zero, election.promised)
            if pulse.epoch >= known {
                directives.append(.readRecord(request: election.askRecord()))
            } else {
                let report = report(nonce: 0, highest: known)
                directives.append(.tell(node, stamp(known).frame(.replicationRequest(.stepDown(report)))))
            }
            return
        }
        heard(now: now, into: &directives)
        guard case .streaming = phase else { return }
        if pulse.end > log.end.sequence {
            if nextFetch == .never { nextFetch = now.advanced(byMilliseconds: Self.gapMilliseconds) }
        } else {
            nextFetch = .never
        }
        acknowledge(into: &directives)
    }

    // MARK: - The journal

    /// The journal has everything through this end of a batch.
    package mutating func appended(through end: SequenceNumber, now: Tick, into directives: inout [StandbyDirective]) {
        log.wrote(through: end)
        acknowledge(into: &directives)
        fetch(now: now, into: &directives)
    }

    /// What is of another history is cut off, durably.
    package mutating func truncated(now: Tick, into directives: inout [StandbyDirective]) {
        isCutting = false
        acknowledge(into: &directives)
        fetch(now: now, into: &directives)
    }

    /// The journal has begun anew with a snapshot; `ends` are those of all epochs up to there.
    package mutating func replaced(
        at known: KnownPosition, epochEnds ends: [EpochEnd], now: Tick, into directives: inout [StandbyDirective]
    ) {
        guard phase == .lacking else { return }
        log.replaced(at: known, epochEnds: ends)
        settle(now: now, into: &directives)
    }

    /// Says through where everything is on this disk; who has promised a higher epoch says nothing.
    private func acknowledge(into directives: inout [StandbyDirective]) {
        guard case .streaming(let nonce) = phase, let record = followed?.record, election.isLoyal, !isCutting,
            !isDoubted, let hash = log.hash(at: log.durable)
        else { return }
        let acknowledge = Acknowledge(
            nonce: nonce, member: configuration.member, boot: configuration.boot, primaryBoot: record.primary.boot,
            end: log.durable, hash: hash, mark: mark)
        directives.append(.send(stamp(record.epoch).frame(.replicationRequest(.acknowledge(acknowledge)))))
    }
}
