// The way to the post: silence, the record, the promise, the transaction (PROTOCOL, R-80 to R-82).

extension StandbyStateMachine {
    /// Lets the election take an event, and passes on what it wants done.
    mutating func elect(
        now: Tick, into directives: inout [StandbyDirective],
        _ event: (inout ElectionStateMachine, inout [ElectionStateMachine.Directive]) -> Void
    ) {
        var wanted: [ElectionStateMachine.Directive] = []
        let before = election.phase
        event(&election, &wanted)
        if before == .following, election.phase == .asking { (reportedEpoch, reports) = (.zero, [:]) }
        for directive in wanted {
            switch directive {
            case .readRecord(let request): directives.append(.readRecord(request: request))
            case .promise(let epoch): directives.append(.promise(epoch))
            case .transact(let attempt, let request): directives.append(.transact(attempt, request: request))
            case .withdrawPromise(let stored): directives.append(.withdrawPromise(stored))
            case .follow(let stored): follow(stored, now: now, into: &directives)
            case .open(let stored):
                phase = .won
                followed = stored
                directives.append(.won(stored))
            case .regressed(let stored): directives.append(.arbiterWasSetBack(stored))
            }
        }
    }

    /// The arbiter has answered a reading.
    package mutating func recordRead(
        _ stored: StoredRecord, request: UInt64, now: Tick, into directives: inout [StandbyDirective]
    ) {
        guard phase != .won, phase != .halted else { return }
        let attempt = AttemptID(using: &random)
        // What is not durable here cannot be the end of a log that is taken over.
        let isWhole =
            log.isDurable && !isCutting && !isDoubted && phase != .lacking && !lacksCommitted(by: stored.record)
        let summary = log.summary
        let told = ElectionStateMachine.Told(
            shown: reports.mapValues(\.shown),
            further: Set(reports.filter { $0.value.log.goesFurther(than: summary) }.keys),
            empty: Set(reports.filter { $0.value.log.end.sequence == .zero }.keys))
        elect(now: now, into: &directives) {
            [known = reportedEpoch, end = log.end, hasFollowed] election, directives in
            election.read(
                stored, request: request, end: end, known: known, told: told, hasFollowed: hasFollowed,
                attemptID: attempt, mayCampaign: isWhole, now: now, into: &directives)
        }
    }

    /// Whether another node has told that it knows to be committed what this log lacks: the arbiter was set back.
    ///
    /// A log that ended in an earlier epoch than this one was given up by an operator. So was what this node lacks if the
    /// record says that something may be lost, or names the node without a process, as only an operator's does.
    private func lacksCommitted(by record: ConfigurationRecord) -> Bool {
        let isChosen = record.primary.member == configuration.election.candidate.member && record.primary.boot == .none
        guard !isChosen, !record.isUnclean else { return false }
        let own = log.summary
        return reports.values.contains { told in
            own.lacksCommitted(of: told.log) && told.log.end.epoch >= own.end.epoch
        }
    }

    package mutating func promiseStored(_ epoch: Epoch, now: Tick, into directives: inout [StandbyDirective]) {
        elect(now: now, into: &directives) { election, directives in
            election.promiseStored(epoch, now: now, into: &directives)
        }
    }

    /// The arbiter has applied a transaction.
    package mutating func applied(
        _ id: AttemptID, revision: Int64, now: Tick, into directives: inout [StandbyDirective]
    ) {
        elect(now: now, into: &directives) { election, directives in
            election.applied(id, revision: revision, now: now, into: &directives)
        }
    }

    /// The comparison failed, and the arbiter has shown this record.
    package mutating func refused(
        _ stored: StoredRecord, request: UInt64, now: Tick, into directives: inout [StandbyDirective]
    ) {
        elect(now: now, into: &directives) { election, directives in
            election.refused(stored, request: request, now: now, into: &directives)
        }
    }

    /// Another node has told what it knows; where the arbiter is away, a record that it knows is followed: by a node that
    /// follows nobody, and by one whose primary is silent, if the record is of a later reign.
    ///
    /// Following an old record does no harm: whoever it names refuses, or is silent. But another reign of an epoch that is
    /// known is of an arbiter that was set back, and has another history.
    package mutating func reported(
        _ report: RecordReport, from node: NodeID, now: Tick, into directives: inout [StandbyDirective]
    ) {
        reportedEpoch = max(reportedEpoch, report.highest, report.record?.record.epoch ?? .zero)
        var shown = report.shown
        defer { reports[node] = Knowledge(shown: shown, log: report.log) }
        guard let stored = report.record, stored.record.store == log.store else { return }
        shown.wrote(stored)
        let isLeft =
            phase != .halted && election.phase == .asking
            && stored.record.epoch > (followed?.record.epoch ?? .zero)
        guard phase == .seeking || isLeft, followed == nil || stored.record.number > (followed?.record.number ?? 0),
            stored.record.epoch >= election.promised, !election.memory.knowsOtherReign(than: stored.record)
        else { return }
        follow(stored, now: now, into: &directives)
    }

    /// Another node says that it knows a later reign, as who has won one does: the record is read at once.
    package mutating func laterReignTold(_ report: RecordReport, into directives: inout [StandbyDirective]) {
        let known = max(followed?.record.epoch ?? .zero, election.promised)
        guard phase != .won, phase != .halted, report.highest > known else { return }
        directives.append(.readRecord(request: election.askRecord()))
    }

    /// What this node, which is not the primary, answers to another one that asks it; nil if it owes nothing.
    package func answer(to request: ReplicationRequest) -> [UInt8]? {
        let highest = max(election.promised, log.end.epoch)
        switch request {
        case .fetch(let fetch):
            let plan = FetchPlan(
                nonce: fetch.nonce, boot: configuration.boot, commit: .zero, decision: .refused(.notPrimary))
            return stamp(highest).frame(.replicationReply(.plan(plan)))
        case .recordRequest(let nonce):
            let report = report(nonce: nonce, highest: highest)
            return stamp(highest).frame(.replicationReply(.record(report)))
        case .acknowledge, .confirm, .stepDown: return nil
        }
    }

    /// What this node knows of the record.
    func report(nonce: UInt64, highest: Epoch) -> RecordReport {
        RecordReport(
            nonce: nonce, highest: highest, log: log.summary, shown: election.memory.stored, leads: false,
            record: followed)
    }
}
