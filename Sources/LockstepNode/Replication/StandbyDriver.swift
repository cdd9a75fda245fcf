package import LockstepCore
internal import Logging

/// Executes what a standby's machine directs, and what the machine of the replica beside it does (PROTOCOL, R-86); on
/// the node's thread.
///
/// The standby has the journal: what its primary sends is written before it is committed. The replica follows the
/// broadcast and has the state; it saves its snapshots in the same journal, and appends nothing to it.
package final class StandbyDriver: StoreDriver {
    unowned let host: StoreHost
    let journal: any ArbitratedJournal
    let state: ObservedState
    let replica: ReplicaDriver
    var machine: StandbyStateMachine
    var directives: [StandbyDirective] = []
    package let desk: JournalDesk
    /// Whom the machine follows; nil before the first connection.
    var followed: ConfigurationRecord.Primary?
    var renewal = JournalRenewal.none
    /// The journal cuts off the end of its log; nil if it does not.
    var cut: Cut?
    /// What the arbiter was seen to say, as the journal was given it, and as it has it.
    private var remembered: ArbiterMemory
    private var kept: ArbiterMemory
    private var storedCommit: SequenceNumber
    private var nextLook = Tick.zero

    /// How far the journal is with beginning anew with a snapshot, since its log is too old to go on from.
    enum JournalRenewal {
        /// It goes on.
        case none
        /// The replica is to take the snapshot as soon as it is live.
        case waiting
        /// It is being encoded.
        case taking(SnapshotNumber, LogState)
        /// The journal writes it; the log is the one that goes with it.
        case writing(LogState)
    }

    /// A cut that is not durable yet.
    ///
    /// What is to be appended waits for it, since the journal may find no room for it.
    struct Cut {
        let end: Position
        var isUnderWay = false
        var waiting: [SealedBatch] = []
    }

    package init(
        host: StoreHost, state: ObservedState, journal: any ArbitratedJournal, machine: StandbyStateMachine,
        replica: ReplicaStateMachine, desk: JournalDesk?
    ) {
        (self.host, self.state, self.journal, self.machine) = (host, state, journal, machine)
        let desk =
            desk
            ?? JournalDesk(
                host: host, journal: journal,
                line: JournalLine(writtenThrough: machine.log.end.sequence, retries: true))
        self.desk = desk
        self.replica = ReplicaDriver(
            host: host, state: state, journal: nil, machine: replica, journalOfStandby: desk)
        let memory = journal.arbitration?.arbiter ?? ArbiterMemory()
        (remembered, kept) = (memory, memory)
        storedCommit = journal.arbitration?.committed ?? .zero
    }

    package func start(now: Tick, wall: LogTime) {
        replica.start(now: now, wall: wall)
        step { $0.start(into: &$1) }
    }

    // MARK: - Events

    /// Lets the machine take an event, gives the journal what the arbiter has shown, and does what the machine directs.
    func step(_ event: (inout StandbyStateMachine, inout [StandbyDirective]) -> Void) {
        event(&machine, &directives)
        remember()
        execute()
    }

    /// What the arbiter has shown is in the journal before anything that follows from it, since that writes in the
    /// order of asking.
    private func remember() {
        let memory = machine.election.memory.stored
        guard memory != remembered else { return }
        remembered = memory
        let mailbox = host.mailbox
        journal.remember(memory) { outcome in mailbox.put { $0.standby?.memoryWritten(memory, outcome) } }
    }

    private func memoryWritten(_ memory: ArbiterMemory, _ outcome: Result<Void, JournalFailure>) {
        if case .success = outcome { kept = memory }
        failed(outcome)
    }

    /// Whether the journal has all that the arbiter has shown.
    var isMemoryKept: Bool { kept == machine.election.memory.stored }

    /// A write beside the log is done; one that failed ends the node, and one without room is tried again later.
    func failed(_ outcome: Result<Void, JournalFailure>) {
        switch outcome {
        case .success: host.clear(.diskFull)
        case .failure(.diskFull):
            host.raise(.diskFull)
            (remembered, storedCommit) = (ArbiterMemory(), .zero)
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    /// Has the record read, as soon as that can be.
    func readRecord() { step { $0.start(into: &$1) } }

    func recordRead(_ stored: StoredRecord, request: UInt64, now: Tick) {
        // What this node was shown tells; it is read each second while the alarm lasts.
        if !inPlace(&machine, { $0.election.memory.isBeyond(stored) }) { host.clear(.arbiterSetBack) }
        guard !isStopping else { return }
        step { $0.recordRead(stored, request: request, now: now, into: &$1) }
    }

    func attemptApplied(_ attempt: AttemptID, revision: Int64, now: Tick) {
        step { $0.applied(attempt, revision: revision, now: now, into: &$1) }
    }

    func attemptRefused(_ stored: StoredRecord, request: UInt64, now: Tick) {
        step { $0.refused(stored, request: request, now: now, into: &$1) }
    }

    /// A frame came of the node that is followed, or that was asked what it knows.
    func received(_ frame: WaitingFrame, from node: NodeID, now: Tick) {
        frame.withFrame { bytes in
            let rule = FrameHeader.ClusterRule.member(journal.identity.cluster.hash)
            guard let (header, message) = try? Message.decode(bytes, rule: rule) else {
                return host.count(.framesRefused)
            }
            if case .resync = message {
                // That of another node is of an earlier stream.
                guard node == followed?.member.node else { return host.count(.staleFrames) }
                return step { $0.resyncReceived(now: now, into: &$1) }
            }
            guard let reply = ReplicationReply(message) else { return host.count(.framesRefused) }
            if case .record(let report) = reply {
                host.reports[node] = report
                return step { $0.reported(report, from: node, now: now, into: &$1) }
            }
            guard node == followed?.member.node else { return host.count(.staleFrames) }
            // As primary it would end, or could admit nothing; whoever asks goes on to the next.
            if case .takeOver = reply, host.stop != nil || journal.isLowOnRoom == true { return }
            step { $0.received(reply, bytes, epoch: header.epoch, now: now, into: &$1) }
        }
    }

    /// A heartbeat of a node names this store.
    func pulseReceived(_ pulse: Heartbeat.Pulse, from node: NodeID, boot: BootID, now: Tick) {
        step { $0.pulseReceived(pulse, from: node, boot: boot, now: now, into: &$1) }
    }

    /// Something happened to the connection to a node.
    func happened(_ event: PeerLinks.Event, to node: NodeID, now: Tick) {
        guard node == followed?.member.node else { return }
        step { $0.disconnected(isRefused: event == .refused, now: now, into: &$1) }
    }

    /// Another data node says something to this one, as if it were the primary.
    func answer(to request: ReplicationRequest) -> [UInt8]? { machine.answer(to: request) }

    // MARK: - The store's driver

    package var snapshots: SnapshotDesk { replica.snapshots }
    package var channel: Channel? { journal.identity.channel }
    package var position: Position { replica.position }
    package var digest: Digest? { replica.digest }
    package var senders: [SessionID: String] { replica.senders }
    package var readRefusal: ReadRefusal? { replica.readRefusal }
    package var phase: StoreStatus.Phase { replica.phase }
    package var readiness: StoreReadiness { replica.readiness }
    package var service: StoreLife.Service { replica.service }
    package var isDrained: Bool { desk.line.isDrained }

    package var nextDeadline: Tick {
        min(replica.nextDeadline, isStopping ? Tick.never : inPlace(&machine) { $0.nextDeadline }, nextLook)
    }

    /// The store has stopped, though other stores of the node may not have: it begins no campaign, since the post would
    /// end with the node, without being given away.
    ///
    /// What it has it goes on acknowledging.
    var isStopping: Bool { host.stop?.isMachineStopping ?? false }

    package func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        replica.ingressReceived(frame, from: connection, now: now, wall: wall)
    }

    package func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        replica.bulkReceived(frame, from: connection, now: now, wall: wall)
    }

    package func endTurn(now: Tick, wall: LogTime) {
        let (mark, isDoubted) = (replica.machine.log.mark, replica.machine.phase == .quarantined)
        if let mark, machine.mark != mark { machine.mark = mark }
        machine.isDoubted = isDoubted
        replica.endTurn(now: now, wall: wall)
    }

    package func tick(now: Tick, wall: LogTime) {
        if !isStopping, now >= inPlace(&machine, { $0.nextDeadline }) { step { $0.ticked(now: now, into: &$1) } }
        // It may have won, and this is not the store's driver any more.
        guard host.standby === self else { return }
        replica.tick(now: now, wall: wall)
        guard now >= nextLook else { return }
        nextLook = now.advanced(byMilliseconds: 1_000)
        renew(now: now)
        truncate()
        storeCommit()
    }

    /// Once a second: what is committed, if nothing was written that says so.
    private func storeCommit() {
        let committed = machine.log.committed
        guard committed > storedCommit, committed <= desk.line.writtenThrough else { return }
        storedCommit = committed
        let mailbox = host.mailbox
        journal.store(commit: committed) { outcome in mailbox.put { $0.standby?.failed(outcome) } }
    }

    package func written(_ outcome: Result<Void, JournalFailure>, now: Tick) {
        switch outcome {
        case .success:
            host.clear(.diskFull)
            if case .writing = renewal { return renewed(now: now) }
            step { $0.appended(through: desk.line.writtenThrough, now: now, into: &$1) }
        case .failure(.diskFull): host.raise(.diskFull)
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    package func encoded(_ number: SnapshotNumber, _ info: SnapshotInfo?, now: Tick) {
        replica.encoded(number, info, now: now)
    }

    package func observe(_ metrics: NodeMetrics, now: Tick) {
        replica.observe(metrics, now: now)
        observeMembers(metrics)
    }

    package func fill(_ status: inout StoreStatus, limit: Int) {
        replica.fill(&status, limit: limit)
        status.incarnation = "\(journal.identity.incarnation)"
        status.isVolatile = journal.isVolatile
        status.setJournal(journal)
        status.dataNode = dataNode
    }

    package func beginStop() {}
    package func close() { journal.close() }
}
