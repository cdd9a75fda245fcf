internal import LockstepCore
internal import Logging

// What a standby's machine wants done.
extension StandbyDriver {
    func execute() {
        guard !directives.isEmpty else { return }
        let batch = directives
        directives.removeAll(keepingCapacity: true)
        for directive in batch { execute(directive) }
        execute()
    }

    private func execute(_ directive: StandbyDirective) {
        let now = MonotonicClock.now
        let mailbox = host.mailbox
        switch directive {
        case .connect(let primary): follow(primary, now: now)
        case .send(let frame):
            if let node = followed?.member.node { host.sendReplication(frame, to: node) }
        case .tell(let node, let frame): host.sendReplication(frame, to: node)
        case .append(let batches, _):
            // The desk writes what is committed with it; without batches it is written once a second.
            if cut != nil { cut?.waiting += batches } else if !batches.isEmpty { desk.append(batches, now: now) }
        case .truncate(let position):
            desk.truncated(to: position.sequence)
            cut = Cut(end: position)
            truncate()
        case .wantsSnapshot:
            renewal = .waiting
            // Whatever is taken from now on is for the journal.
            replica.snapshotDue()
            renew(now: now)
        case .readRecord(let request):
            host.services.arbiter?.readRecord(request: request, for: host)
            host.askPeers(request, promised: machine.election.promised)
        case .transact(let attempt, let request):
            host.services.arbiter?.transact(attempt, request: request, for: host)
        case .promise(let epoch):
            journal.promise(epoch) { outcome in mailbox.put { $0.standby?.promised(epoch, outcome) } }
        case .withdrawPromise: journal.promise(nil) { outcome in mailbox.put { $0.standby?.failed(outcome) } }
        case .won(let stored):
            host.won(stored)
            // The record was asked for before the store stopped: the post is given away again.
            if isStopping { host.driver?.beginStop() }
        case .arbiterWasSetBack(let stored): host.arbiterWasSetBack(stored, machine.election.memory)
        case .halt(let fault): host.halt(fault)
        case .count(let counter): host.count(counter)
        }
    }

    private func follow(_ primary: ConfigurationRecord.Primary, now: Tick) {
        let isSame = followed == primary
        followed = primary
        host.connectReplication(to: primary, anew: isSame, now: now)
        guard !isSame, let endpoint = primary.endpoints.first else { return }
        host.relocate(to: endpoint, now: now)
        replica.sendsOn(to: endpoint)
    }

    /// Cuts the journal off; without room again when the driver looks around.
    func truncate() {
        guard let end = cut?.end, cut?.isUnderWay == false else { return }
        cut?.isUnderWay = true
        let mailbox = host.mailbox
        journal.truncate(after: end, reason: "epoch \(machine.election.promised) has another history") { outcome in
            mailbox.put { $0.standby?.truncated(outcome, to: end) }
        }
    }

    private func truncated(_ outcome: Result<CutBatches, TruncationFailure>, to position: Position) {
        switch outcome {
        case .success(let done):
            if done.batches > 0 {
                host.logger.debug(
                    "what was not committed is set aside",
                    metadata: [LogKey.count: "\(done.batches)", LogKey.sequence: "\(position.sequence)"])
            }
            host.clear(.diskFull)
            let waiting = cut.take()?.waiting ?? []
            if !waiting.isEmpty { desk.append(waiting, now: MonotonicClock.now) }
            step { $0.truncated(now: MonotonicClock.now, into: &$1) }
        case .failure(.committed(let end)):
            host.halt(.committedIsLost(own: machine.log.end, committed: end))
        case .failure(.noEnd(let end)): host.halt(.journalFailed("no batch ends at \(end.sequence)"))
        case .failure(.write(.diskFull)):
            host.raise(.diskFull)
            cut?.isUnderWay = false
        case .failure(.write(.failed(let reason))): host.halt(.journalFailed(reason))
        }
    }

    private func promised(_ epoch: Epoch, _ outcome: Result<Void, JournalFailure>) {
        // Without room for it, or for the record that led to it, it is made again when the election asks the next time.
        failed(outcome)
        guard case .success = outcome, isMemoryKept else { return }
        step { $0.promiseStored(epoch, now: MonotonicClock.now, into: &$1) }
    }

    // MARK: - A journal that begins anew

    /// Takes a snapshot of the replica's state as soon as that is live; asked again each second until it is there.
    func renew(now: Tick) {
        guard case .waiting = renewal, replica.machine.phase == .live else { return }
        replica.takeSnapshot(now: now)
    }

    /// The replica captures a snapshot, of this log, for its journal.
    func captured(_ number: SnapshotNumber, _ log: LogState) {
        if case .waiting = renewal { renewal = .taking(number, log) }
    }

    /// The replica's snapshot is of no use any more: another one is taken.
    func dropped(_ number: SnapshotNumber) {
        if case .taking(number, _) = renewal { renewal = .waiting }
    }

    /// The replica's snapshot is to be saved; false if the journal may keep it beside its log.
    ///
    /// True if the journal begins anew with it, or if it is not to be kept: it shows what this log is not known to have,
    /// so the log may be of another history there, which is still to be cut off.
    func takes(_ number: SnapshotNumber, now: Tick) -> Bool {
        guard let snapshot = snapshots[number] else { return false }
        let position = snapshot.info.position
        if case .taking(number, let log) = renewal {
            // What is known to be committed stays.
            let isUseful = machine.phase == .lacking && position.sequence >= machine.log.committed
            renewal = isUseful ? .writing(log) : .waiting
            if isUseful { desk.replace(with: snapshot.bytes, at: position, now: now) }
            return true
        }
        guard position.sequence > machine.log.committed else { return false }
        desk.snapshotFailed(at: now)
        return true
    }

    func renewed(now: Tick) {
        guard case .writing(let log) = renewal else { return }
        renewal = .none
        step { $0.replaced(at: log.known, epochEnds: log.allEpochEnds, now: now, into: &$1) }
    }
}

extension LogState {
    /// The ends of all epochs, of which the last is where the log ends.
    var allEpochEnds: [EpochEnd] {
        guard position.sequence > .zero else { return [] }
        return epochEnds
            + [EpochEnd(epoch: position.epoch, boot: boot, sequence: position.sequence, hash: position.hash)]
    }
}
