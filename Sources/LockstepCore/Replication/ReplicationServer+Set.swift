// The in-sync set and the arbiter, heartbeats, and rounds of confirmation (PROTOCOL, R-76, R-79, R-87, R-88).

extension ReplicationServer {
    // MARK: - Time

    /// When ``ticked(now:log:into:)`` is due.
    package var nextDeadline: Tick {
        min(nextHeartbeat, inSync.isChanging ? nextAsk : .never, handover?.nextLook ?? .never)
    }

    /// Lets time pass: the set is looked at with every heartbeat; what is not answered is asked again.
    package mutating func ticked(now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        if now >= nextHeartbeat {
            nextHeartbeat = now.advanced(byMilliseconds: Self.heartbeatMilliseconds)
            // A primary that stood still takes nobody for stuck.
            tracker.noteProgress(now: now)
            askForConfirmation(log: log, into: &directives)
            // Who gives its post away changes the set no more.
            if handover == nil { propose(now: now, log: log, into: &directives) }
            // Only now: under load nobody has the present end, and who comes needs that of the heartbeat before.
            tracker.heartbeat(end: log.end.sequence, now: now)
        }
        handOver(now: now, log: log, into: &directives)
        if let attempt = inSync.attempt, now >= nextAsk { ask(attempt, now: now, into: &directives) }
    }

    /// What the node's heartbeat says of this store; nil while it should lose its post: its journal does not write, or it
    /// hears no member.
    mutating func pulse(channel: Channel, end: SequenceNumber, isWriting: Bool, now: Tick) -> Heartbeat.Pulse? {
        guard isWriting, !tracker.isDeaf(inSync, now: now) else {
            tracker.heartbeatLeftOut(now: now)
            return nil
        }
        return Heartbeat.Pulse(channel: channel, epoch: epoch, end: end)
    }

    // MARK: - The set

    /// The required members that were not heard for too long.
    package func silent(now: Tick) -> [Member] { tracker.silent(inSync, now: now) }

    /// The required members for which commits wait, silent or stuck; `head` is the end of the log.
    package func blocking(head: SequenceNumber, now: Tick) -> [Member] {
        tracker.blocking(inSync, head: head, now: now)
    }

    private mutating func propose(now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        guard !inSync.isChanging else { return }
        let isDeaf = tracker.isDeaf(inSync, now: now)
        var change: InSyncSet.Change?
        if !isDeaf { deafness = nil }
        if wantsRewrite {
            if !isDeaf || now >= nextAsk { change = .rewrites }
        } else if isDeaf {
            guard now >= nextAsk else { return }
            guard isAbandoned(log) else { return lookWhileDeaf(now: now, log: log, into: &directives) }
            change = tracker.removal(inSync)
        } else if now - lastAnswer <= Tick.milliseconds(Self.arbiterMilliseconds) || now >= nextAsk {
            change = tracker.proposal(inSync, committed: log.committed, head: log.end.sequence, now: now)
        }
        guard let change else {
            // Who is silent, and may not leave, may follow somebody else.
            guard now >= nextAsk, !silent(now: now).isEmpty else { return }
            nextAsk = now.advanced(byMilliseconds: Self.arbiterMilliseconds)
            return readRecord(into: &directives)
        }
        wantsRewrite = false
        ask(inSync.propose(change, attempt: AttemptID(using: &random)), now: now, into: &directives)
    }

    /// A deaf primary looks once a second whether somebody else reigns.
    private mutating func lookWhileDeaf(now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        nextAsk = now.advanced(byMilliseconds: Self.arbiterMilliseconds)
        let request = memory.ask()
        deafness = deafness ?? Deafness(end: log.end.sequence)
        deafness?.request = request
        directives.append(.readRecord(request: request))
    }

    /// Whether a deaf primary was let reign for so long that nobody is there who could: it goes on alone, if that is enough
    /// and if its disk has written what it had when it fell deaf.
    private func isAbandoned(_ log: ReplicationLog) -> Bool {
        guard let deafness, deafness.answers >= Self.answersUntilAlone, inSync.minimum == 1 else { return false }
        return log.pipeline.persistedEnd >= deafness.end && !log.lacksRoom
    }

    private mutating func ask(
        _ attempt: RecordAttempt, now: Tick, into directives: inout [ReplicationDirective]
    ) {
        nextAsk = now.advanced(byMilliseconds: Self.askMilliseconds)
        directives.append(.transact(attempt, request: memory.ask()))
    }

    /// The arbiter has applied `id`.
    package mutating func applied(
        _ id: AttemptID, revision: Int64, now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]
    ) {
        lastAnswer = now
        conclude(inSync.applied(id, revision: revision), nil, now: now, log: log, into: &directives)
    }

    /// The arbiter has shown this record: because the comparison failed, or because it was read.
    package mutating func found(
        _ stored: StoredRecord, request: UInt64, now: Tick, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        lastAnswer = now
        switch memory.judge(stored, request: request) {
        case .late: break
        // It shows less than before: it was set back, and nothing that it says can be relied on.
        case .regressed: directives.append(.over(nil))
        case .newest:
            conclude(inSync.found(stored), stored, now: now, log: log, into: &directives)
            guard request == deafness?.request, stored == inSync.confirmed else { return }
            deafness?.answers += 1
            deafness?.request = 0
        }
    }

    private mutating func conclude(
        _ outcome: InSyncSet.Outcome, _ stored: StoredRecord?, now: Tick, log: ReplicationLog,
        into directives: inout [ReplicationDirective]
    ) {
        switch outcome {
        case .changed(let change):
            memory.wrote(inSync.confirmed)
            if case .removes(let member) = change { tracker.removed(member, head: log.end.sequence, now: now) }
            nextAsk = now.advanced(byMilliseconds: change == .rewrites ? Self.arbiterMilliseconds : 0)
            directives.append(.changed(change))
        case .refused, .open: break
        case .over: directives.append(.over(stored))
        }
    }

    // MARK: - Reads

    /// Begins a round of confirmation, or joins the one that begins next; a read waits for the round that is returned.
    ///
    /// A round counts for reads that came before it was asked for. So a read that comes while one is under way waits
    /// for the next, which begins when that one ends, and answers all that came meanwhile.
    package mutating func confirm(log: ReplicationLog, into directives: inout [ReplicationDirective]) -> UInt64 {
        wantedRound = round + 1
        advanceRounds(log: log, into: &directives)
        return wantedRound
    }

    /// Begins the round that is waited for when the one before has ended.
    mutating func advanceRounds(log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        guard wantedRound > round, confirmedRound >= round else { return }
        round += 1
        askForConfirmation(log: log, into: &directives)
    }

    /// The last round that every required member has confirmed.
    package var confirmedRound: UInt64 {
        var confirmed = round
        for member in inSync.required where member != tracker.own {
            confirmed = min(confirmed, streams[member]?.confirmedRound ?? 0)
        }
        return confirmed
    }

    /// Asks those who have not answered; a frame that was lost is asked for again with the next heartbeat.
    private func askForConfirmation(log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        guard confirmedRound < round else { return }
        for member in inSync.required {
            guard let stream = streams[member], stream.confirmedRound < round else { continue }
            let request = Confirmation(nonce: stream.nonce, round: round)
            directives.append(
                .send(log.stamp.frame(.replicationReply(.confirmRequest(request))), to: stream.connection))
        }
    }
}
