internal import LockstepCore
internal import Logging

// A primary with standbys: what data nodes and the arbiter say, and the end of its reign (PROTOCOL, R-76 to R-79, R-86 to
// R-89).
extension PrimaryDriver {
    /// Lets the machine take an event, gives the journal what the arbiter has shown, and does what the machine directs.
    private func event(_ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Void) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        step(now: now, wall: wall, event)
        remember()
        execute(now: now, wall: wall)
    }

    /// Another data node said this.
    func replicationReceived(_ request: ReplicationRequest, epoch: Epoch, from connection: Connection) {
        event { $0.replicationReceived(request, epoch: epoch, from: connection, &$1) }
    }

    /// A connection of another data node is gone.
    func replicationDisconnected(_ connection: Connection) {
        event { $0.replicationDisconnected(connection, &$1) }
    }

    /// An operator, or want of room, wants another node to be the primary; why not, if it cannot be done.
    func giveAwayPost(to node: NodeID?) -> HandoverRefusal? {
        var refusal: HandoverRefusal?
        event { machine, _ in refusal = machine.giveAwayPost(to: node) }
        return refusal
    }

    /// Looks at the room on the disk: with less than the reserve nothing is admitted (R-45), and the post goes to a member
    /// that has room; if none takes it, it is tried again every 10 s (R-90).
    func lookAtRoom(now: Tick, wall: LogTime) {
        guard let isLow = journal.isLowOnRoom else { return }
        step(now: now, wall: wall) { $0.freeSpaceChanged(isLow: isLow, &$1) }
        guard isLow, now >= nextLeaving, host.stop == nil else { return }
        nextLeaving = now.advanced(byMilliseconds: 10_000)
        guard giveAwayPost(to: nil) == nil else { return }
        host.logger.notice(
            "gives its post away",
            metadata: [LogKey.peer: "any member", LogKey.reason: "its disk is low on room"])
    }

    /// Has the record read, as soon as that can be.
    func readRecord() { event { $0.readRecord(&$1) } }

    /// What a standby of another node goes on with, if nothing of this log is uncommitted; nil: only the journal knows.
    var committedStore: RecoveredStore? {
        inPlace(&machine) { $0.committedLog }.map { RecoveredStore(log: $0.log, window: $0.window) }
    }

    func recordApplied(_ attempt: AttemptID, revision: Int64) {
        event { $0.recordApplied(attempt, revision: revision, &$1) }
    }

    func recordFound(_ stored: StoredRecord, request: UInt64) {
        event { $0.recordFound(stored, request: request, &$1) }
    }

    // MARK: - What the journal keeps beside the log

    /// What the arbiter was seen to say; a standby of the same journal goes on from there.
    var memory: ArbiterMemory? { inPlace(&machine) { $0.replication?.memory } }

    /// Through which this process knows everything to be committed: also what it knew as a standby, though the reign
    /// may end before that commits in it (R-83).
    var knownCommitted: SequenceNumber { max(position.sequence, kept.inherited) }

    /// What the arbiter has shown is in the journal before anything else is written, and before anything commits by it
    /// (R-84).
    func remember() {
        guard let memory = memory?.stored, memory != kept.memory, let journal = journal as? any ArbitratedJournal
        else { return }
        kept.memory = memory
        let mailbox = host.mailbox
        journal.remember(memory) { outcome in mailbox.put { $0.primary?.memoryWritten(memory, outcome) } }
    }

    private func memoryWritten(_ memory: ArbiterMemory, _ outcome: Result<Void, JournalFailure>) {
        factsKept(outcome)
        guard case .success = outcome else { return }
        event { $0.remembered(memory, &$1) }
    }

    /// Once a second: what found no room before, and what is committed, if nothing was written that says so (R-84).
    func keepFacts() {
        remember()
        guard let journal = journal as? any ArbitratedJournal, journal.arbitration != nil, !isDeposed else { return }
        let (committed, written) = (knownCommitted, desk.line.writtenThrough)
        defer { kept.written = written }
        guard desk.line.isDrained, written == kept.written, committed > kept.committed else { return }
        kept.committed = committed
        let mailbox = host.mailbox
        journal.store(commit: committed) { outcome in mailbox.put { $0.primary?.factsKept(outcome) } }
    }

    private func factsKept(_ outcome: Result<Void, JournalFailure>) {
        switch outcome {
        case .success: break
        // All of it is written again when the driver looks around.
        case .failure(.diskFull): (kept.memory, kept.committed) = (ArbiterMemory(), .zero)
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    /// What the node's heartbeat says of this store; nil if it is to lose its post: it hears nobody, or its journal has
    /// written nothing for a second (R-79, R-87).
    func pulse(now: Tick) -> Heartbeat.Pulse? {
        let began = desk.writeBegan
        return inPlace(&machine) { $0.pulse(writingSince: began, now: now) }
    }

    func replicate(_ directive: ReplicationDirective) {
        let services = host.services
        switch directive {
        case .send(let frame, let connection):
            host.count(isSent: services.attempt { try services.server.sendReplication(frame, to: connection) })
        case .transact(let attempt, let request):
            services.arbiter?.transact(attempt, request: request, for: host)
        case .readRecord(let request): services.arbiter?.readRecord(request: request, for: host)
        case .changed(let change):
            host.logger.debug("the in-sync set has changed", metadata: [LogKey.reason: "\(change)"])
        case .refused(let member, let refusal):
            host.logger.debug(
                "a standby is refused", metadata: [LogKey.peer: "\(member)", LogKey.reason: "\(refusal)"])
        case .postKept(let why): host.handoverEnded(because: why)
        case .over(let stored): deposed(by: stored)
        case .count(let counter): host.count(counter)
        }
    }

    /// Nothing more is said; when the journal is at rest, the store is opened anew as a standby's.
    private func deposed(by stored: StoredRecord?) {
        host.logger.debug(
            "another node is the primary",
            metadata: [LogKey.peer: "\(stored?.record.primary.member.node.name ?? "unknown")"])
        isDeposed = true
        host.handoverEnded(because: nil)
        executor?.closed()
        stepDownIfAtRest()
    }

    /// What is under way is waited for, since only the journal knows what became of it.
    func stepDownIfAtRest() {
        guard isDeposed, desk.line.isDrained else { return }
        let mailbox = host.mailbox
        // Not now: the machine's directives are still being done.
        mailbox.put { $0.steppedDown() }
    }
}

/// What the journal of a data node was given beside the log, in this reign.
struct KeptFacts {
    /// At the start of a reign it is given again, which costs nothing: the machine is to know that it is there.
    var memory = ArbiterMemory()
    var committed = SequenceNumber.zero
    /// Where the log ended when the driver looked around last.
    var written = SequenceNumber.zero
    /// Through which the standby before the reign knew everything to be committed.
    var inherited = SequenceNumber.zero

    init(_ journal: any Journal) {
        committed = (journal as? any ArbitratedJournal)?.arbitration?.committed ?? .zero
    }
}

extension Journal {
    /// Whether less than the reserve is free, so that a primary admits nothing (R-45); nil: nobody knows.
    var isLowOnRoom: Bool? { freeBytes().map { $0 < PrimaryDriver.reserveBytes } }
}
