internal import DequeModule
internal import Dispatch
package import LockstepCore
internal import Logging

/// Executes what a replica's machine directs; on the node's thread.
///
/// The journal, if there is one, follows the state: what is applied waits in a line for the journal to be free. While
/// the line is full nothing more is taken from the stream, whose ring then drops its oldest; that is repaired later.
package final class ReplicaDriver {
    private unowned let host: StoreHost
    private let journal: (any Journal)?
    private let state: ObservedState
    private(set) var machine: ReplicaStateMachine
    private var directives: [ReplicaDirective] = []
    private var shelf: SnapshotShelf
    private var snapshotBegan = Tick.zero
    private var nextLook = Tick.zero

    // The journal's line
    private var unwritten: Deque<Write> = []
    private var unwrittenBytes = 0
    private var isWriting = false
    private var retryWrite = Tick.never
    /// How far the journal has come.
    private var writtenThrough: SequenceNumber
    private var saving = SnapshotSaving()
    /// A WELCOME that is followed when the journal belongs to its cluster.
    private var held: (welcome: Welcome, endpoint: String)?
    private var isAdopting = false
    private var retryAdoption = Tick.never

    private enum Write {
        case batches([SealedBatch])
        case replacement([UInt8], at: Position)

        var byteCount: Int {
            switch self {
            case .batches(let batches): batches.reduce(0) { $0 + $1.bytes.count }
            case .replacement(let bytes, _): bytes.count
            }
        }

        /// Where the journal stands behind it.
        var end: SequenceNumber? {
            switch self {
            case .batches(let batches): batches.last?.head.last
            case .replacement(_, let position): position.sequence
            }
        }
    }

    package init(host: StoreHost, state: ObservedState, journal: (any Journal)?, machine: ReplicaStateMachine) {
        self.host = host
        self.journal = journal
        self.state = state
        self.machine = machine
        writtenThrough = machine.log.position.sequence
        shelf = SnapshotShelf(queue: host.services.background)
    }

    package func start() {
        guard machine.log.position.sequence > .zero else { return }
        let position = machine.log.position
        state.capture(at: position.sequence, epoch: position.epoch, time: machine.log.time)
        state.publish(through: position.sequence)
        host.setKnown(machine.known)
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
        run(now: now)
    }

    package func linkLost(now: Tick) {
        held = nil
        machine.linkLost(now: now, into: &directives)
        run(now: now)
    }

    /// Handles frames of the stream and of the bulk link for at most 2 ms, unless the journal is behind.
    package func handleStream(now: Tick) {
        let end = now.advanced(byMilliseconds: 2)
        var handled = 0
        while unwrittenBytes < Limits.unpersistedBytes {
            if let (frame, _) = host.links.bulkRing.popFirst() {
                frame.withFrame { machine.bulkReceived($0, now: now, state: state, into: &directives) }
            } else if let (frame, _) = host.links.broadcastRing.popFirst() {
                frame.withFrame { machine.broadcastReceived($0, now: now, state: state, into: &directives) }
            } else {
                break
            }
            run(now: now)
            handled += 1
            // The clock is asked once in a few frames, since a beacon takes less time than the clock.
            if handled % 4 == 0, MonotonicClock.now >= end { break }
        }
    }

    /// Whether frames wait although there is time: the journal holds them up.
    package var isHeldUp: Bool { unwrittenBytes >= Limits.unpersistedBytes }

    package func ingressReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick) {
        frame.withFrame {
            machine.ingressReceived($0, from: connection, now: now, state: state, into: &directives)
        }
        run(now: now)
    }

    package func bulkReceived(_ frame: WaitingFrame, from connection: Connection, now: Tick) {
        frame.withFrame { machine.joinReceived($0, from: connection, now: now, state: state, into: &directives) }
        run(now: now)
    }

    package func endTurn(now: Tick) {
        if host.client.known != machine.known { host.setKnown(machine.known) }
    }

    package var nextDeadline: Tick { min(machine.nextDeadline, nextLook, retryWrite, retryAdoption) }

    package func tick(now: Tick) {
        if now >= machine.nextDeadline || state.isViewWanted {
            machine.ticked(now: now, state: state, into: &directives)
            run(now: now)
        }
        if now >= retryWrite {
            retryWrite = .never
            isWriting = false
            writeNext()
        }
        if now >= retryAdoption {
            retryAdoption = .never
            isAdopting = false
            adopt()
        }
        guard now >= nextLook else { return }
        nextLook = now.advanced(byMilliseconds: 1_000)
        if let journal, saving.isReady(at: now), host.services.configuration.isSnapshotDue(journal) {
            machine.snapshotDue()
        }
        let status = machine.status
        host.metrics.observe(
            sequence: status.known.position.sequence, lag: lag(status), sessions: machine.log.sessions.count,
            unanswered: host.unanswered)
    }

    /// How far this replica serves, for the log.
    package var service: StoreLife.Service {
        guard machine.phase == .live else { return .none }
        let position = machine.log.position
        return .live(position.epoch, position.sequence)
    }

    package var isDrained: Bool { unwritten.isEmpty && !isWriting }
    package func close() { journal?.close() }

    // MARK: - The journal's cluster

    /// Whether the journal is empty and belongs to another cluster than this primary, or has another channel.
    private func mustAdopt(_ welcome: Welcome) -> Bool {
        guard let journal, writtenThrough == .zero, machine.log.position.sequence == .zero, machine.accepts(welcome)
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
            host.raise(.diskFull)
        case .failure(.failed(let reason)):
            host.halt(.journalFailed(reason))
        }
    }

    /// Where the journal is and where it ends, for an operator; nil without one.
    package var journalPlace: String? {
        guard journal != nil, case .replica(_, _, let source?) = host.services.configuration.given.role else {
            return nil
        }
        let position = machine.log.position
        guard position.sequence > .zero else { return "\(source), empty" }
        return "\(source), which ends at \(position.epoch):\(position.sequence)"
    }

    // MARK: - Directives

    private func run(now: Tick) {
        guard !directives.isEmpty else { return }
        let batch = directives
        directives.removeAll(keepingCapacity: true)
        let services = host.services
        let links = host.links
        for directive in batch {
            switch directive {
            case .subscribe(let endpoint, let prefix):
                _ = services.attempt {
                    try links.subscribe(to: endpoint, prefix: prefix, poller: services.loop.poller)
                }
            case .connectBulk(let endpoint):
                _ = services.attempt { try links.connectBulk(to: endpoint, poller: services.loop.poller) }
            case .sendBulk(let frame): drop(services.attempt { try links.sendBulk(frame) })
            case .applied(let batches): applied(batches)
            case .prepare(let ticket, let content): prepare(ticket, content)
            case .installed(let log, _, let encoded): installed(log, encoded)
            case .discarded: host.feed.restart(at: .zero)
            case .phaseChanged(let phase): phaseChanged(phase)
            case .send(let frame, let connection):
                drop(services.attempt { try services.server.send(frame, to: connection) })
            case .sendBulkReply(let frame, let connection):
                drop(services.attempt { try services.server.sendBulk(frame, to: connection) })
            case .sendChunks(let number, let indices, let connection):
                host.sendChunks(shelf[number], indices, to: connection, stamp: machine.stamp)
            case .captureSnapshot(let number, let log, let digest):
                shelf.capture(number, image: state.image(), log: log, digest: digest)
            case .encodeSnapshot(let number):
                snapshotBegan = now
                shelf.encode(number, mailbox: host.mailbox) { $0.replica?.encoded(number, $1) }
            case .saveSnapshot(let number): save(number)
            case .dropSnapshot(let number): shelf.drop(number)
            case .alarm(let alarm): host.raise(alarm)
            case .halt(let reason): host.halt(reason)
            case .count(let counter): host.count(counter)
            }
        }
    }

    private func drop(_ isSent: Bool?) {
        if isSent == false { host.metrics.dropped(.sent) }
    }

    private func applied(_ batches: [SealedBatch]) {
        host.feed.append(batches)
        if let first = batches.first, let last = batches.last {
            host.metrics.committed(
                entries: Int(last.head.last.rawValue - first.head.first.rawValue) + 1, batches: batches.count)
        }
        write(.batches(batches))
    }

    private func phaseChanged(_ phase: ReplicaPhase) {
        // A divergence stays in sight for the life of the process, although the state was fed again: a reducer that is
        // not deterministic, or memory that fails, will do it again.
        if phase == .live { host.clear(.ahead) }
        host.logger.debug("replica changed", metadata: [LogKey.phase: "\(phase.name)"])
    }

    // MARK: - Snapshots

    private func prepare(_ ticket: PrepareTicket, _ content: SnapshotContent.StateBytes) {
        // `prepare` is the one member of a state that may be called on any thread.
        nonisolated(unsafe) let base = state.base
        let mailbox = host.mailbox
        host.services.background.async {
            let outcome = Result { try base.prepare(content.bytes) }
            mailbox.put { $0.replica?.prepared(ticket, outcome) }
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
        run(now: now)
    }

    private func installed(_ log: LogState, _ encoded: [UInt8]) {
        host.feed.restart(at: log.position.sequence)
        guard !encoded.isEmpty else { return }
        // What waited belongs to what was replaced.
        saving.forget()
        let kept = isWriting ? unwritten.first : nil
        unwritten.removeAll()
        if let kept { unwritten.append(kept) }
        unwrittenBytes = kept?.byteCount ?? 0
        write(.replacement(encoded, at: log.position))
    }

    private func encoded(_ number: SnapshotNumber, _ outcome: Result<EncodedSnapshot, any Error>) {
        let now = MonotonicClock.now
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
        run(now: now)
    }

    private func save(_ number: SnapshotNumber) {
        guard let snapshot = shelf[number] else { return }
        saving.offer(number, at: snapshot.info.position.sequence)
        saveNext()
    }

    /// Saves what waits if the journal has reached its place and is not being begun anew.
    private func saveNext() {
        guard let journal, !isReplacing, let number = saving.next(written: writtenThrough) else { return }
        guard let snapshot = shelf[number] else { return saving.ended() }
        let mailbox = host.mailbox
        journal.save(snapshot: snapshot.bytes, at: snapshot.info.position) { outcome in
            mailbox.put { $0.replica?.saved(outcome) }
        }
    }

    private func saved(_ outcome: Result<Void, JournalFailure>) {
        saving.ended()
        if case .failure(let failure) = outcome {
            host.snapshotFailed(failure)
            saving.failed(at: MonotonicClock.now)
        }
        // A replacement waits for the end of a save.
        if !isWriting { writeNext() }
        saveNext()
    }

    // MARK: - The journal

    private func write(_ write: Write) {
        guard journal != nil else { return }
        unwritten.append(write)
        unwrittenBytes += write.byteCount
        if !isWriting { writeNext() }
    }

    private var isReplacing: Bool {
        guard isWriting, case .replacement = unwritten.first else { return false }
        return true
    }

    /// Writes the first of the line; all batches behind it that can go along do.
    private func writeNext() {
        guard let journal, let first = unwritten.first else { return }
        if case .replacement = first, saving.isSaving { return }
        isWriting = true
        let mailbox = host.mailbox
        switch first {
        case .batches(var batches):
            unwritten.removeFirst()
            while case .batches(let more) = unwritten.first {
                batches += more
                unwritten.removeFirst()
            }
            unwritten.prepend(.batches(batches))
            journal.append(batches) { outcome in mailbox.put { $0.replica?.written(outcome) } }
        case .replacement(let bytes, let position):
            journal.replace(withSnapshot: bytes, at: position) { outcome in
                mailbox.put { $0.replica?.written(outcome) }
            }
        }
    }

    private func written(_ outcome: Result<Void, JournalFailure>) {
        switch outcome {
        case .success:
            isWriting = false
            if let done = unwritten.popFirst() {
                unwrittenBytes -= done.byteCount
                writtenThrough = done.end ?? writtenThrough
            }
            host.clear(.diskFull)
            writeNext()
            saveNext()
        case .failure(.diskFull):
            // The same write is tried again, unchanged; the state goes on.
            retryWrite = MonotonicClock.now.advanced(byMilliseconds: 250)
            host.raise(.diskFull)
        case .failure(.failed(let reason)):
            host.halt(.journalFailed(reason))
        }
    }

    // MARK: - Status

    private func lag(_ status: ReplicaStatus) -> UInt64 {
        let own = status.known.position.sequence.rawValue
        return max(status.target.rawValue, own) - own
    }

    package func fill(_ status: inout StoreStatus) {
        let own = machine.status
        status.phase = own.phase.name
        status.incarnation = journal.map { "\($0.identity.incarnation)" }
        status.isVolatile = journal?.isVolatile ?? true
        status.epoch = own.known.position.epoch.rawValue
        status.sequence = own.known.position.sequence.rawValue
        status.commit = status.sequence
        status.hash = "\(own.known.position.hash)"
        status.time = own.time.rawValue
        status.digest = "\(state.digest + machine.log.digest)"
        status.mark = own.mark.map { StoreStatus.Mark(sequence: $0.sequence.rawValue, digest: "\($0.digest)") }
        status.lag = lag(own)
        status.setSessions(machine.log.sessions)
        if let journal { status.setJournal(journal) }
    }
}
