internal import Dispatch
package import LockstepCore
internal import Logging

/// Executes what a replica's machine directs; on the node's thread.
///
/// The journal, if there is one, follows the state: what is applied waits in a line for the journal to be free. While
/// the line is full nothing more is taken from the stream, whose ring then drops its oldest; that is repaired later.
package final class ReplicaDriver: StoreDriver {
    unowned let host: StoreHost
    let journal: (any Journal)?
    private let state: ObservedState
    private(set) var machine: ReplicaStateMachine
    private var directives: [ReplicaDirective] = []
    package let desk: JournalDesk
    package let snapshots: SnapshotDesk
    private var nextLook = Tick.zero

    /// A WELCOME that is followed when the journal belongs to its cluster.
    private var held: (welcome: Welcome, endpoint: String)?
    private var isAdopting = false
    /// A standby on this node keeps the log; only snapshots go to its journal (PROTOCOL, R-86).
    private let isBesideStandby: Bool
    private var retryAdoption = Tick.never

    /// `journalOfStandby` leads to the journal of a standby on this node, which keeps the log; then there is no other.
    package init(
        host: StoreHost, state: ObservedState, journal: (any Journal)?, machine: ReplicaStateMachine,
        journalOfStandby: JournalDesk? = nil
    ) {
        self.host = host
        self.journal = journal
        self.state = state
        self.machine = machine
        isBesideStandby = journalOfStandby != nil
        snapshots = SnapshotDesk(host: host, state: state)
        desk =
            journalOfStandby
            ?? JournalDesk(
                host: host, journal: journal,
                line: JournalLine(writtenThrough: machine.log.position.sequence, retries: true))
    }

    package func start(now: Tick, wall _: LogTime) {
        machine.start(now: now, state: state)
        host.setKnown(machine.told, mark: machine.log.mark)
    }

    // MARK: - Events

    package func welcomed(_ welcome: Welcome, endpoint: String, now: Tick) {
        guard !mustAdopt(welcome) else {
            held = (welcome, endpoint)
            return adopt()
        }
        var welcome = welcome
        if let connected = try? TCPEndpoint(endpoint, use: "the primary's address") {
            welcome.publishEndpoint = TCPEndpoint.reachable(welcome.publishEndpoint, through: connected)
            welcome.bulkEndpoint = TCPEndpoint.reachable(welcome.bulkEndpoint, through: connected)
        }
        machine.welcomed(welcome, endpoint: endpoint, now: now, state: state, into: &directives)
        execute(now: now)
    }

    /// Clients that come here are sent on to this primary.
    func sendsOn(to endpoint: String) { machine.sendsOn(to: endpoint) }

    package func linkLost(now: Tick) {
        held = nil
        machine.linkLost(now: now, into: &directives)
        execute(now: now)
    }

    /// Handles frames of the stream and of the bulk link for at most 2 ms, unless the journal is behind.
    package func handleStream(now: Tick) {
        let end = MonotonicClock.now.advanced(byMilliseconds: 2)
        var handled = 0
        while !isHeldUp {
            let isLarge: Bool
            if let (frame, _) = host.links.bulkRing.popFirst() {
                isLarge = frame.isLarge
                frame.withFrame { machine.bulkReceived($0, now: now, state: state, into: &directives) }
            } else if let (frame, _) = host.links.broadcastRing.popFirst() {
                isLarge = frame.isLarge
                frame.withFrame { machine.broadcastReceived($0, now: now, state: state, into: &directives) }
            } else {
                break
            }
            execute(now: now)
            handled += 1
            if isLarge || handled % 4 == 0, MonotonicClock.now >= end { break }
        }
    }

    /// Whether frames wait although there is time: the journal holds them up.
    package var isHeldUp: Bool { desk.line.batchByteCount >= Limits.unpersistedBytes }

    package func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall _: LogTime) {
        frame.withFrame {
            machine.ingressReceived($0, from: connection, now: now, state: state, into: &directives)
        }
        execute(now: now)
    }

    package func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick, wall _: LogTime) {
        frame.withFrame { machine.joinReceived($0, from: connection, now: now, state: state, into: &directives) }
        execute(now: now)
    }

    package func endTurn(now: Tick, wall _: LogTime) {
        let (told, mark) = inPlace(&machine) { ($0.told, $0.log.mark) }
        let isNew = inPlace(&host.client) { $0.known != told || $0.knownMark != mark }
        if isNew { host.setKnown(told, mark: mark) }
    }

    package var nextDeadline: Tick {
        min(
            inPlace(&machine) { $0.nextDeadline }, nextLook, desk.line.nextDeadline,
            min(retryAdoption, host.links.nextRenewal))
    }

    package func tick(now: Tick, wall _: LogTime) {
        if isHeldUp, !host.links.broadcastRing.isEmpty { machine.streamWaits(now: now) }
        if inPlace(&machine, { $0.isTickDue(now: now, state: state) }) {
            machine.ticked(now: now, state: state, into: &directives)
            execute(now: now)
        }
        if now >= host.links.nextRenewal { _ = host.services.attempt { try host.links.renewSubscription(now: now) } }
        if now >= desk.line.nextDeadline { desk.advance(now: now) }
        if now >= retryAdoption {
            retryAdoption = .never
            isAdopting = false
            adopt()
        }
        guard now >= nextLook else { return }
        nextLook = now.advanced(byMilliseconds: 1_000)
        if desk.isSnapshotDue(at: now) { snapshotDue() }
    }

    /// A snapshot is to be taken for the journal.
    package func snapshotDue() { machine.snapshotDue() }

    /// A snapshot is to be taken now, if it can be: the journal begins anew with it.
    func takeSnapshot(now: Tick) {
        machine.takeSnapshot(state: state, into: &directives)
        execute(now: now)
    }

    package var service: StoreLife.Service {
        guard machine.phase == .live else { return .none }
        let position = machine.log.position
        return .live(position.epoch, position.sequence)
    }

    /// What is applied goes on to the journal by itself.
    package func beginStop() {}
    package var isDrained: Bool { desk.line.isDrained }
    package func close() { journal?.close() }

    // MARK: - The journal's cluster

    /// Whether the journal is empty and belongs to another cluster than this primary, or has another channel.
    private func mustAdopt(_ welcome: Welcome) -> Bool {
        guard let journal, desk.line.writtenThrough == .zero, machine.log.position.sequence == .zero,
            machine.accepts(welcome)
        else { return false }
        let identity = journal.identity
        return identity.cluster != welcome.cluster || identity.channel != welcome.channel
    }

    private func adopt() {
        guard let journal, let held, !isAdopting else { return }
        isAdopting = true
        let mailbox = host.mailbox
        journal.adopt(cluster: held.welcome.cluster, channel: held.welcome.channel) { outcome in
            mailbox.put { $0.replica?.adopted(outcome) }
        }
    }

    /// The journal belongs to the cluster: what it was asked for goes on.
    private func adopted(_ outcome: Result<Void, JournalFailure>) {
        switch outcome {
        case .success:
            isAdopting = false
            host.clear(.diskFull)
            guard let held else { return }
            self.held = nil
            welcomed(held.welcome, endpoint: held.endpoint, now: MonotonicClock.now)
        case .failure(.diskFull):
            retryAdoption = MonotonicClock.now.advanced(byMilliseconds: 250)
            if host.alarms[.diskFull] == nil { host.raise(.diskFull) }
        case .failure(.failed(let reason)):
            host.halt(.journalFailed(reason))
        }
    }

    // MARK: - Directives

    private func execute(now: Tick) {
        inPlace(&machine) { $0.checkEvent() }
        guard !directives.isEmpty else { return }
        let batch = directives
        directives.removeAll(keepingCapacity: true)
        let services = host.services
        let links = host.links
        for directive in batch {
            switch directive {
            case .subscribe(let endpoint, let channel):
                _ = services.attempt {
                    try links.subscribe(to: endpoint, channel: channel, now: now, poller: services.loop.poller)
                }
            case .connectBulk(let endpoint):
                _ = services.attempt { try links.connectBulk(to: endpoint, poller: services.loop.poller) }
            case .sendBulk(let frame): host.count(isSent: services.attempt { try links.sendBulk(frame) })
            case .sayHello: host.sayHello(now: now)
            case .applied(let batches):
                host.committed(batches)
                if !isBesideStandby { desk.append(batches, now: now) }
            case .prepare(let ticket, let content): prepare(ticket, content)
            case .installed(let log, _, let encoded): installed(log, encoded, now: now)
            case .discarded: discarded()
            case .phaseChanged(let phase): phaseChanged(phase)
            case .send(let frame, let connection): host.send(frame, to: connection)
            case .sendBulkReply(let frame, let connection): host.sendBulk(frame, to: connection)
            case .sendChunks(let number, let indices, let connection):
                snapshots.sendChunks(of: number, indices, to: connection, stamp: inPlace(&machine) { $0.stamp })
            case .captureSnapshot(let number, let log, let digest):
                host.standby?.captured(number, log)
                snapshots.capture(number, log: log, digest: digest)
            case .encodeSnapshot(let number):
                snapshots.encode(number, chunkBytes: inPlace(&machine) { $0.snapshotChunkBytes }, now: now)
            case .saveSnapshot(let number):
                if host.standby?.takes(number, now: now) != true { snapshots.save(number, now: now) }
            case .dropSnapshot(let number):
                snapshots.drop(number)
                host.standby?.dropped(number)
            case .alarm(let alarm): host.raise(alarm)
            case .halt(let reason): host.halt(reason)
            case .count(let counter): host.count(counter)
            }
        }
    }

    private func discarded() {
        host.feed.restart(at: KnownPosition.none.position)
        host.logger.notice("all was discarded, and is fetched anew")
    }

    private func phaseChanged(_ phase: ReplicaPhase) {
        // A divergence stays in sight for the life of the process, although the state was fed again: a reducer that is
        // not deterministic, or memory that fails, will do it again.
        if phase == .live { host.clear(.ahead) }
        host.logger.debug("replica changed", metadata: [LogKey.phase: "\(StoreStatus.Phase(phase))"])
    }

    // MARK: - Snapshots

    private func prepare(_ ticket: PrepareTicket, _ content: SnapshotContent.StateBytes) {
        // `prepare` is the one member of a state that may be called on any thread.
        nonisolated(unsafe) let base = state.base
        let (mailbox, id) = (host.mailbox, ObjectIdentifier(self))
        host.services.background.async {
            let outcome = Result { try base.prepare(content.bytes) }
            mailbox.put { host in
                // Of a role that the store no longer has, nobody wants it.
                guard let replica = host.replica, ObjectIdentifier(replica) == id else { return }
                replica.prepared(ticket, outcome)
            }
        }
    }

    private func prepared(_ ticket: PrepareTicket, _ outcome: Result<any PreparedState, any Error>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success(let prepared):
            machine.snapshotPrepared(ticket, prepared, now: now, state: state, into: &directives)
        case .failure(let error):
            host.snapshotFailed(error)
            machine.snapshotRefused(ticket, now: now, into: &directives)
        }
        execute(now: now)
    }

    private func installed(_ log: LogState, _ encoded: [UInt8], now: Tick) {
        host.feed.restart(at: log.position)
        if !encoded.isEmpty, !isBesideStandby { desk.replace(with: encoded, at: log.position, now: now) }
    }

    // MARK: - Status

    package var phase: StoreStatus.Phase { .init(machine.phase) }

    /// How many entries the primary is known to have that this replica has not.
    package var lag: UInt64 { lag(machine.status) }

    private func lag(_ status: ReplicaStatus) -> UInt64 {
        let own = status.known.position.sequence.rawValue
        return max(status.target.rawValue, own) - own
    }

    /// It keeps what it had while the primary is away.
    package var channel: Channel? {
        FrameDispatch.channel(
            ofReplica: inPlace(&machine) { $0.channel }, welcome: inPlace(&host.client) { $0.welcome?.channel })
    }
    package var position: Position { machine.log.position }
    package var senders: [SessionID: String] { inPlace(&machine) { $0.log.sessions.senders } }
    package var readRefusal: ReadRefusal? { inPlace(&machine) { $0.readRefusal } }
    package var digest: Digest? { state.digest + machine.log.digest }

    package func fill(_ status: inout StoreStatus, limit: Int) {
        let own = machine.status
        status.incarnation = journal.map { "\($0.identity.incarnation)" }
        status.isVolatile = journal?.isVolatile ?? true
        status.epoch = own.known.position.epoch.rawValue
        status.sequence = own.known.position.sequence.rawValue
        status.commit = status.sequence
        status.hash = "\(own.known.position.hash)"
        status.time = own.time.rawValue
        status.setMark(own.mark)
        // A state that differs from the log's must not borrow the log's digest.
        if own.phase == .quarantined || own.phase == .halted { status.digest = nil }
        status.lag = hasPrimary ? lag(own) : nil
        status.primarySilentSeconds = host.primarySilence(now: MonotonicClock.now).map { Double($0) / 1e9 }
        status.setSessions(machine.log.sessions, limit: limit)
        if let journal { status.setJournal(journal) }
    }
}

// What the desks tell.
extension ReplicaDriver {
    package func written(_ outcome: Result<Void, JournalFailure>, now: Tick) {
        switch outcome {
        case .success: host.clear(.diskFull)
        // The state goes on, and the write comes again.
        case .failure(.diskFull): host.raise(.diskFull)
        case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
        }
    }

    package func encoded(_ number: SnapshotNumber, _ info: SnapshotInfo?, now: Tick) {
        if let info {
            machine.snapshotEncoded(number, info: info, now: now, into: &directives)
        } else {
            machine.snapshotFailed(number, into: &directives)
        }
        execute(now: now)
    }
}
