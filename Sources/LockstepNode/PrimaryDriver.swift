internal import DequeModule
package import LockstepCore
internal import Logging
internal import Tracing

/// Executes what a primary's machine directs; on the node's thread.
///
/// The node's own store reaches the machine by hand instead of over a socket: frames in both directions wait in two
/// lines until the directive that made them is done, so that no machine is entered while it runs.
package final class PrimaryDriver: StoreDriver {
    unowned let host: StoreHost
    let journal: any Journal
    let state: ObservedState
    package internal(set) var machine: PrimaryStateMachine
    private var directives: [PrimaryDirective] = []
    private var toMachine: Deque<[UInt8]> = []
    private var toClient: Deque<[UInt8]> = []
    package let desk: JournalDesk
    package let snapshots: SnapshotDesk
    let executor: (any RunExecutor)?
    private var isRunning = false
    /// When the oldest complete batch was found that the journal does not have yet; nil if there is none.
    private var sealed: Tick?
    /// The same of what the journal writes now.
    private var commitBegan = Tick.zero
    private var commitSpan: (any Span)?
    private var nextLook = Tick.zero
    /// What is to be kept with the journal, beside the work: the newest of each kind.
    private var unnoted: [JournalNote: String] = [:]
    private var isNoting = false
    /// The end of the log before this reign that is not known to be committed; it is taken over at the start.
    private var inherited: [SealedBatch]
    /// Another node reigns; the store is opened anew as soon as the journal is at rest.
    var isDeposed = false
    /// What the journal of a data node has beside the log.
    var kept: KeptFacts
    /// When so many members were last heard as must have an action, or the reign began.
    var lastEnoughMembers = MonotonicClock.now
    /// When a post that is to go to a disk with room is given away next.
    var nextLeaving = Tick.zero

    /// Below this much free space actions get BUSY already (R-45).
    package static let reserveBytes: Int64 = 64 << 20

    /// A standby that won leaves the way to its journal, and what the journal has after `machine` (PROTOCOL, R-86).
    package init(
        host: StoreHost, state: ObservedState, journal: any Journal, machine: PrimaryStateMachine,
        desk: JournalDesk? = nil, inheriting tail: [SealedBatch] = []
    ) {
        self.host = host
        inherited = tail
        self.journal = journal
        self.state = state
        self.machine = machine
        executor = host.port.executor
        kept = KeptFacts(journal)
        snapshots = SnapshotDesk(host: host, state: state)
        self.desk =
            desk
            ?? JournalDesk(
                host: host, journal: journal,
                line: JournalLine(writtenThrough: machine.committed.position.sequence, retries: false))
    }

    package func start(now: Tick, wall: LogTime) {
        let tail = inherited
        inherited = []
        if machine.configuration.reign != nil { snapshots.keep(machine.log) }
        step(now: now, wall: wall) { $0.start(inheriting: tail, &$1) }
        remember()
        execute(now: now, wall: wall)
    }

    // MARK: - Events

    /// An effect, or a source, of this node has mutations.
    package func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        step(now: now, wall: wall) { $0.emitted(cause, mutations: mutations, ticket: ticket, &$1) }
        execute(now: now, wall: wall)
    }

    /// An effect of this node has ended.
    package func finishRun(_ id: RunID, item: [UInt8]) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        step(now: now, wall: wall) { $0.runFinished(id, item: item, &$1) }
        execute(now: now, wall: wall)
    }

    /// An operator ends an accepted action as failed; false if it has ended, or nothing is admitted.
    package func abandonRun(_ id: RunID, reason: String) -> Bool {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        let isEnded = step(now: now, wall: wall) { $0.abandonRun(id, reason: reason, &$1) }
        execute(now: now, wall: wall)
        return isEnded
    }

    /// An operator ends sessions; nil if nothing can be logged now.
    package func closeSessions(_ filter: PrimaryStateMachine.SessionFilter) -> Int? {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        let count = step(now: now, wall: wall) { $0.closeSessions(filter, &$1) }
        execute(now: now, wall: wall)
        return count
    }

    /// The node's own client says something.
    package func fromLocal(_ frame: [UInt8]) { toMachine.append(frame) }

    package func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        let sender = host.sender(on: connection)
        frame.withFrame { bytes in
            step(now: now, wall: wall) { $0.received(bytes, from: connection, of: sender, &$1) }
        }
        execute(now: now, wall: wall)
    }

    package func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        frame.withFrame { bytes in step(now: now, wall: wall) { $0.bulkReceived(bytes, from: connection, &$1) } }
        execute(now: now, wall: wall)
    }

    package func endTurn(now: Tick, wall: LogTime) {
        takeFromClient(now: now, wall: wall)
        step(now: now, wall: wall) { $0.turnEnded(&$1) }
        execute(now: now, wall: wall)
        giveToClient(now: now)
    }

    package var nextDeadline: Tick {
        toMachine.isEmpty && toClient.isEmpty ? min(inPlace(&machine) { $0.nextDeadline }, nextLook) : .zero
    }

    package func tick(now: Tick, wall: LogTime) {
        if now >= inPlace(&machine, { $0.nextDeadline }) {
            step(now: now, wall: wall) { $0.ticked(&$1) }
            execute(now: now, wall: wall)
        }
        guard now >= nextLook else { return }
        nextLook = now.advanced(byMilliseconds: 1_000)
        look(now: now, wall: wall)
    }

    /// Once a second: free space, the journal's growth.
    private func look(now: Tick, wall: LogTime) {
        lookAtRoom(now: now, wall: wall)
        writeNotes()
        keepFacts()
        if desk.isSnapshotDue(at: now) { machine.snapshotDue() }
        execute(now: now, wall: wall)
    }

    package var service: StoreLife.Service {
        guard machine.phase == .admitting else { return .none }
        return inPlace(&machine) { .admitting($0.epoch, $0.committed.position.sequence) }
    }

    package func beginStop() { machine.stop() }
    package var isDrained: Bool { inPlace(&machine) { $0.isDrained } }
    package func close() { journal.close() }

    // MARK: - Directives

    func step<Result>(
        now: Tick, wall: LogTime, _ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Result
    ) -> Result {
        machine.step(now: now, wall: wall, state: state, into: &directives, event)
    }

    /// Hands what this node's client says to the machine, for 2 ms, and the answers to the client.
    ///
    /// What is left waits for the next turn, since heartbeats leave between turns (R-79).
    private func takeFromClient(now: Tick, wall: LogTime) {
        let end = MonotonicClock.now.advanced(byMilliseconds: StoreHost.callersMilliseconds)
        repeat {
            giveToClient(now: now)
            guard let frame = toMachine.popFirst() else { return }
            let sender = host.sender(on: .local)
            withBytes(of: frame) { bytes in
                step(now: now, wall: wall) { $0.received(bytes, from: .local, of: sender, &$1) }
            }
            execute(now: now, wall: wall)
        } while MonotonicClock.now < end
    }

    private func giveToClient(now: Tick) {
        while let frame = toClient.popFirst() { host.received(.copied(frame), now: now) }
    }

    func execute(now: Tick, wall: LogTime) {
        if sealed == nil, inPlace(&machine, { $0.isBatchWaiting }) { sealed = now }
        guard !directives.isEmpty else { return }
        precondition(!isRunning, "directives run one list at a time")
        isRunning = true
        defer { isRunning = false }
        let batch = directives
        directives.removeAll(keepingCapacity: true)
        let services = host.services
        for directive in batch {
            switch directive {
            case .send(let frame, .local): toClient.append(frame)
            case .send(let frame, let connection): host.send(frame, to: connection)
            case .sendBulk(let frame, let connection): host.sendBulk(frame, to: connection)
            case .sendChunks(let number, let indices, let connection):
                snapshots.sendChunks(of: number, indices, to: connection, stamp: stamp)
            case .publish(let frame):
                let dropped = services.attempt { try services.server.publish(frame) } ?? 0
                if dropped > 0 { host.metrics.dropped(.sent, dropped) }
            case .persist(let batches):
                commitBegan = sealed.take() ?? now
                commitSpan = host.port.traces?.committing(batches: batches.count)
                desk.append(batches, now: now)
            case .committed(let batches):
                host.metrics.commitEnded(nanoseconds: now - commitBegan)
                commitSpan.take()?.end()
                snapshots.forgetKept()
                host.committed(batches)
            case .captureSnapshot(let number, let log, let digest): snapshots.capture(number, log: log, digest: digest)
            case .encodeSnapshot(let number):
                snapshots.encode(number, chunkBytes: inPlace(&machine) { $0.snapshotChunkBytes }, now: now)
            case .encodeCommitted(let number):
                snapshots.encodeKept(number, chunkBytes: inPlace(&machine) { $0.snapshotChunkBytes }, now: now)
            case .saveSnapshot(let number): snapshots.save(number, now: now)
            case .dropSnapshot(let number): snapshots.drop(number)
            case .beginRun(let start): executor?.begin(start)
            case .stopRun(let id): executor?.stop(id)
            case .emission(let ticket, let outcome): executor?.emission(ticket, outcome)
            case .runEnd(let id, let outcome): executor?.runEnd(id, outcome)
            case .alarm(let alarm):
                host.raise(alarm)
                // An operator may give up just that, so it is kept (R-41).
                if case .primaryBehind(_, let reported, _) = alarm { note(.reportedBehind, reported.noteText) }
            case .awaiting(let names):
                host.services.logger.info("waits for its replicas", metadata: metadata(of: names))
            case .opened(let unheard, let isHoldingEffects):
                opened(unheard: unheard, isHoldingEffects: isHoldingEffects)
            case .audienceChanged(let names): note(.audience, names.joined(separator: ","))
            case .halt(let reason): host.halt(reason)
            case .replication(let directive): replicate(directive)
            case .count(let counter): host.count(counter)
            }
        }
    }

    // MARK: - Notes

    private func note(_ note: JournalNote, _ value: String) {
        guard !journal.isVolatile else { return }
        unnoted[note] = value
        writeNotes()
    }

    /// One write at a time, so that a peer that brings ever more makes no line of them.
    private func writeNotes() {
        guard !isNoting, let (note, value) = unnoted.min(by: { $0.key.rawValue < $1.key.rawValue }) else { return }
        isNoting = true
        unnoted[note] = nil
        let mailbox = host.mailbox
        journal.noteLater(note, value) { outcome in
            mailbox.put { $0.primary?.noted(note, value, outcome) }
        }
    }

    private func noted(_ note: JournalNote, _ value: String, _ outcome: Result<Void, JournalFailure>) {
        isNoting = false
        switch outcome {
        case .success: writeNotes()
        // Tried again when the node looks around.
        case .failure(.diskFull): unnoted[note] = unnoted[note] ?? value
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    /// The store admits: effects may run.
    private func opened(unheard: [String], isHoldingEffects: Bool) {
        if !unheard.isEmpty {
            host.services.logger.info(
                "admits without having heard of all replicas", metadata: metadata(of: unheard))
        }
        if !isHoldingEffects { executor?.opened() }
    }

    private func metadata(of replicas: [String]) -> Logger.Metadata {
        [LogKey.store: "\(host.name)", LogKey.peer: "\(replicas.joined(separator: ", "))"]
    }

    private var stamp: FrameStamp { inPlace(&machine) { $0.stamp } }
}

// What the desks tell.
extension PrimaryDriver {
    package func written(_ outcome: Result<Void, JournalFailure>, now: Tick) {
        let wall = MonotonicClock.wall
        switch outcome {
        case .success:
            step(now: now, wall: wall) { $0.persisted(&$1) }
        case .failure(.diskFull):
            step(now: now, wall: wall) { $0.persistFailed(isDiskFull: true, reason: "no room", &$1) }
        case .failure(.failed(let reason)):
            step(now: now, wall: wall) { $0.persistFailed(isDiskFull: false, reason: reason, &$1) }
        }
        execute(now: now, wall: wall)
        giveToClient(now: now)
        // The desk has counted this write already.
        stepDownIfAtRest()
    }

    package func encoded(_ number: SnapshotNumber, _ info: SnapshotInfo?, now: Tick) {
        let wall = MonotonicClock.wall
        if let info {
            step(now: now, wall: wall) { $0.snapshotEncoded(number, info: info, &$1) }
        } else {
            step(now: now, wall: wall) { $0.snapshotFailed(number, &$1) }
        }
        execute(now: now, wall: wall)
    }
}
