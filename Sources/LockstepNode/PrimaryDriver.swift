internal import DequeModule
package import LockstepCore

/// Executes what a primary's machine directs; on the node's thread.
///
/// The node's own store reaches the machine by hand instead of over a socket: frames in both directions wait in two
/// lines until the directive that made them is done, so that no machine is entered while it runs.
package final class PrimaryDriver {
    private unowned let host: StoreHost
    private let journal: any Journal
    private let state: ObservedState
    private(set) var machine: PrimaryStateMachine
    private var directives: [PrimaryDirective] = []
    private var toMachine: Deque<[UInt8]> = []
    private var toClient: Deque<[UInt8]> = []
    private var shelf: SnapshotShelf
    private let executor: (any RunExecutor)?
    private var isOpened = false
    private var saving = SnapshotSaving()
    private var isRunning = false
    private var persistBegan = Tick.zero
    private var snapshotBegan = Tick.zero
    private var nextLook = Tick.zero
    /// The position of the newest alarm PRIMARY_BEHIND, until it is noted.
    private var unnotedReport: KnownPosition?
    private var isNoting = false

    /// Below this much free space actions get BUSY already.
    package static let reserveBytes: Int64 = 64 << 20

    package init(host: StoreHost, state: ObservedState, journal: any Journal, machine: PrimaryStateMachine) {
        self.host = host
        self.journal = journal
        self.state = state
        self.machine = machine
        executor = host.port.executor
        shelf = SnapshotShelf(queue: host.services.background)
    }

    package func start(now: Tick, wall: LogTime) {
        machine.start(now: now, wall: wall, state: state, into: &directives)
        run(now: now, wall: wall)
    }

    // MARK: - Events

    /// An effect, or a source, of this node has mutations.
    package func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        // The machine asks this for other causes; an action's effect may be tied to a part of the state as well.
        if case .action = cause, !state.isLive(cause, ticket: ticket) {
            executor?.emission(ticket, .dropped)
            return
        }
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        machine.emitted(
            cause, mutations: mutations, ticket: ticket, now: now, wall: wall, state: state, into: &directives)
        run(now: now, wall: wall)
    }

    /// An effect of this node has ended.
    package func finishRun(_ id: RunID, item: [UInt8]) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        machine.runFinished(id, item: item, now: now, wall: wall, state: state, into: &directives)
        run(now: now, wall: wall)
    }

    /// An operator ends an accepted action as failed; false if it has ended, or nothing is admitted.
    package func abandonRun(_ id: RunID, reason: String) -> Bool {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        let isEnded = machine.abandonRun(
            id, reason: reason, now: now, wall: wall, state: state, into: &directives)
        run(now: now, wall: wall)
        return isEnded
    }

    /// The node's own client says something.
    package func fromLocal(_ frame: [UInt8]) { toMachine.append(frame) }

    package func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        frame.withFrame {
            machine.received($0, from: connection, now: now, wall: wall, state: state, into: &directives)
        }
        run(now: now, wall: wall)
    }

    package func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall: LogTime) {
        frame.withFrame { machine.bulkReceived($0, from: connection, now: now, into: &directives) }
        run(now: now, wall: wall)
    }

    package func endTurn(now: Tick, wall: LogTime) {
        pump(now: now, wall: wall)
        machine.turnEnded(now: now, wall: wall, state: state, into: &directives)
        run(now: now, wall: wall)
        pump(now: now, wall: wall)
    }

    package var nextDeadline: Tick { min(machine.nextDeadline, nextLook) }

    package func tick(now: Tick, wall: LogTime) {
        if now >= machine.nextDeadline {
            machine.ticked(now: now, wall: wall, state: state, into: &directives)
            run(now: now, wall: wall)
        }
        guard now >= nextLook else { return }
        nextLook = now.advanced(byMilliseconds: 1_000)
        look(now: now, wall: wall)
    }

    /// Once a second: free space, the journal's growth, the metrics that are states.
    private func look(now: Tick, wall: LogTime) {
        if let free = journal.freeBytes() {
            machine.freeSpaceChanged(isLow: free < Self.reserveBytes, into: &directives)
        }
        noteReport()
        if saving.isReady(at: now), host.services.configuration.isSnapshotDue(journal) { machine.snapshotDue() }
        run(now: now, wall: wall)
        host.metrics.observe(
            sequence: machine.committed.position.sequence, lag: 0, sessions: machine.log.sessions.count,
            unanswered: host.unanswered)
    }

    /// How far this primary serves, for the log.
    package var service: StoreLife.Service {
        guard machine.phase == .admitting else { return .none }
        return .admitting(machine.epoch, machine.committed.position.sequence)
    }

    package func beginStop() { machine.stop() }
    package var isDrained: Bool { machine.isDrained }
    package func close() { journal.close() }

    // MARK: - Directives

    /// Hands frames to and fro until both lines are empty.
    private func pump(now: Tick, wall: LogTime) {
        while true {
            if let frame = toMachine.popFirst() {
                withBytes(of: frame) {
                    machine.received($0, from: .local, now: now, wall: wall, state: state, into: &directives)
                }
                run(now: now, wall: wall)
            } else if let frame = toClient.popFirst() {
                host.received(.copied(frame), now: now)
            } else {
                return
            }
        }
    }

    private func run(now: Tick, wall: LogTime) {
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
            case .send(let frame, let connection):
                drop(services.attempt { try services.server.send(frame, to: connection) })
            case .sendBulk(let frame, let connection):
                drop(services.attempt { try services.server.sendBulk(frame, to: connection) })
            case .sendChunks(let number, let indices, let connection):
                host.sendChunks(shelf[number], indices, to: connection, stamp: stamp)
            case .publish(let frame): _ = services.attempt { try services.server.publish(frame) }
            case .persist(let batches): persist(batches, now: now)
            case .committed(let batches): committed(batches)
            case .captureSnapshot(let number, let log, let digest):
                shelf.capture(number, image: state.image(), log: log, digest: digest)
            case .encodeSnapshot(let number):
                snapshotBegan = now
                shelf.encode(number, mailbox: host.mailbox) { $0.primary?.encoded(number, $1) }
            case .saveSnapshot(let number): save(number)
            case .dropSnapshot(let number): shelf.drop(number)
            case .beginRun(let start): executor?.begin(start)
            case .stopRun(let id): executor?.stop(id)
            case .emission(let ticket, let outcome): executor?.emission(ticket, outcome)
            case .runEnd(let id, let outcome): executor?.runEnd(id, outcome)
            case .alarm(let alarm):
                host.raise(alarm)
                if case .primaryBehind(_, let reported, _) = alarm {
                    unnotedReport = reported
                    noteReport()
                }
            case .halt(let reason): host.halt(reason)
            case .count(let counter): host.count(counter)
            }
        }
    }

    /// Keeps what the alarm named, since an operator may give up just that; one write at a time, the newest.
    private func noteReport() {
        guard !isNoting, let report = unnotedReport.take() else { return }
        isNoting = true
        let mailbox = host.mailbox
        journal.noteLater(.reportedBehind, report.noteText) { outcome in
            mailbox.put { $0.primary?.reportNoted(report, outcome) }
        }
    }

    private func reportNoted(_ report: KnownPosition, _ outcome: Result<Void, JournalFailure>) {
        isNoting = false
        switch outcome {
        case .success: noteReport()
        // Tried again when the node looks around.
        case .failure(.diskFull): unnotedReport = unnotedReport ?? report
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    private func drop(_ isSent: Bool?) {
        if isSent == false { host.metrics.dropped(.sent) }
    }

    private var stamp: FrameStamp {
        FrameStamp(
            channel: machine.configuration.channel, clusterHash: machine.configuration.cluster.hash,
            epoch: machine.epoch)
    }

    private func persist(_ batches: [SealedBatch], now: Tick) {
        persistBegan = now
        let mailbox = host.mailbox
        journal.append(batches) { outcome in mailbox.put { $0.primary?.persisted(outcome) } }
    }

    private func persisted(_ outcome: Result<Void, JournalFailure>) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        switch outcome {
        case .success:
            host.metrics.persisted(nanoseconds: now - persistBegan)
            machine.persisted(now: now, wall: wall, state: state, into: &directives)
            if !isOpened, machine.phase == .admitting {
                isOpened = true
                if !machine.configuration.holdsEffects { executor?.opened() }
            }
        case .failure(.diskFull):
            machine.persistFailed(isDiskFull: true, reason: "no room", now: now, into: &directives)
        case .failure(.failed(let reason)):
            machine.persistFailed(isDiskFull: false, reason: reason, now: now, into: &directives)
        }
        run(now: now, wall: wall)
        pump(now: now, wall: wall)
    }

    private func committed(_ batches: [SealedBatch]) {
        host.feed.append(batches)
        guard let first = batches.first, let last = batches.last else { return }
        host.metrics.committed(
            entries: Int(last.head.last.rawValue - first.head.first.rawValue) + 1, batches: batches.count)
    }

    // MARK: - Snapshots

    private func encoded(_ number: SnapshotNumber, _ outcome: Result<EncodedSnapshot, any Error>) {
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        switch outcome {
        case .success(let snapshot):
            host.metrics.snapshotMade(nanoseconds: now - snapshotBegan)
            shelf.put(snapshot)
            machine.snapshotEncoded(number, info: snapshot.info, now: now, into: &directives)
        case .failure(let error):
            host.snapshotFailed(error)
            saving.failed(at: now)
            machine.snapshotFailed(number, into: &directives)
        }
        run(now: now, wall: wall)
    }

    /// A snapshot that cannot be written loses nothing: the journal keeps what it has, and another is due behind a pause.
    private func save(_ number: SnapshotNumber) {
        guard let snapshot = shelf[number] else { return }
        saving.offer(number, at: snapshot.info.position.sequence)
        saveNext()
    }

    private func saveNext() {
        guard let number = saving.next(written: machine.committed.position.sequence) else { return }
        guard let snapshot = shelf[number] else { return saving.ended() }
        let mailbox = host.mailbox
        journal.save(snapshot: snapshot.bytes, at: snapshot.info.position) { outcome in
            mailbox.put { $0.primary?.saved(outcome) }
        }
    }

    private func saved(_ outcome: Result<Void, JournalFailure>) {
        saving.ended()
        if case .failure(let failure) = outcome {
            host.snapshotFailed(failure)
            saving.failed(at: MonotonicClock.now)
        }
        saveNext()
    }

    // MARK: - Status

    package func fill(_ status: inout StoreStatus) {
        let own = machine.status
        status.phase = "\(own.phase)"
        status.incarnation = "\(journal.identity.incarnation)"
        status.isVolatile = journal.isVolatile
        status.epoch = own.epoch.rawValue
        status.sequence = own.head.rawValue
        status.commit = own.committed.position.sequence.rawValue
        status.hash = "\(own.committed.position.hash)"
        status.time = own.time.rawValue
        // The working state may hold what has not committed, and nothing shows that.
        if own.head == own.committed.position.sequence {
            status.digest = "\(state.digest + machine.log.digest)"
        }
        status.mark = own.mark.map { StoreStatus.Mark(sequence: $0.sequence.rawValue, digest: "\($0.digest)") }
        status.setSessions(machine.log.sessions)
        status.peers = own.peers.filter { $0.node != host.services.node || $0.role == .replica }.map { peer in
            StoreStatus.Peer(
                node: peer.node, role: peer.role == .replica ? "replica" : "client", applied: peer.applied.rawValue,
                lag: status.commit - min(status.commit, peer.applied.rawValue))
        }
        status.setJournal(journal)
    }
}
