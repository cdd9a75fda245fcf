import LockstepCore

/// A primary's machine with a journal, a clock and peers that are only lists: what the machine says is decoded and kept.
final class PrimaryHarness {
    /// A message that left the machine, with its frame, into which its ranges point.
    struct Sent {
        var message: Message
        var frame: [UInt8]
        var connection: Connection
    }

    /// An answer as a client sees it.
    struct Answer: Equatable {
        var session: SessionID
        var number: RequestNumber
        var sequence: SequenceNumber
        var status: ActionStatus
        var reply: [UInt8]
    }

    static let cluster = ClusterID(rawValue: 0xC0FFEE << 64 | 7)
    static let storeName = "counters"
    static let store = StoreID(cluster: cluster, name: storeName)
    static let channel = Channel(rawValue: 3)
    static let begin = LogTime(rawValue: 1_800_000_000_000_000)

    var machine: PrimaryStateMachine
    let state: CountingState
    var now: Tick
    var wall: LogTime
    /// Everything that became durable, over all boots.
    var durable: [SealedBatch]
    /// What the machine last gave to the journal, until it is told the outcome.
    var atJournal: [SealedBatch] = []
    /// The log and the digest as they were when ``atJournal`` was handed over.
    var handedOver: (log: LogState, digest: Digest)?

    var sent: [Sent] = []
    var bulk: [Sent] = []
    var published: [Sent] = []
    var committed: [SealedBatch] = []
    var alarms: [Alarm] = []
    /// What was to be kept of the audience, each time.
    var audiences: [[String]] = []
    var awaited: [[String]] = []
    var openings: [Opening] = []
    var halts: [HaltReason] = []
    var counts: [ProtocolCounter: Int] = [:]
    /// What standbys and the arbiter were told.
    var replication: [ReplicationDirective] = []
    /// Captured images with what they were captured with, by number.
    var images: [SnapshotNumber: (state: [UInt8], log: LogState, digest: Digest)] = [:]
    /// What the machine began with.
    var began: (state: [UInt8], log: LogState, digest: Digest)?
    var encoding: [SnapshotNumber] = []
    var saved: [SnapshotNumber] = []
    var dropped: [SnapshotNumber] = []
    var chunks: [(snapshot: SnapshotNumber, indices: Range<Int>)] = []
    /// What executors were told, in order.
    var begun: [RunStart] = []
    var stopped: [RunID] = []
    var emissions: [UInt64: EmissionOutcome] = [:]
    var ends: [RunID: [EmissionOutcome]] = [:]
    /// Whose connections they are, as an access list says.
    var senders: [Connection: Sender] = [:]
    /// Everything that was done, by name, in the order of the directives.
    var order: [String] = []
    /// Whether the invariants are checked after each frame; with a flood that would take too long.
    var checksFrames = true
    /// Whether they are checked after each event of another kind.
    var checksEvents = true
    /// Whether the journal has at once what the arbiter has shown.
    var keepsMemory = true

    init(
        durable: [SealedBatch] = [], boot: UInt128 = 1, lossAccepted: KnownPosition? = nil,
        now: Tick = Tick(rawValue: 5_000_000_000), wall: LogTime = PrimaryHarness.begin, buggify: Buggify = .off,
        isVolatile: Bool = false, hasEffects: Bool = false, holdsEffects: Bool = false, audience: [String] = [],
        audienceMilliseconds: Int64 = 5_000, reign: Reign? = nil
    ) {
        self.durable = durable
        self.now = now
        self.wall = wall
        state = CountingState()
        state.hasEffects = hasEffects
        var log = LogState(store: Self.store)
        var window = ResendWindow()
        for batch in durable {
            do { _ = try log.apply(batch, to: state) } catch { preconditionFailure("recovery failed: \(error)") }
            window.append(batch)
        }
        var configuration = PrimaryConfiguration(
            cluster: Self.cluster, node: "p1", incarnation: Incarnation(rawValue: 11),
            boot: BootID(rawValue: boot), channel: Self.channel, storeName: Self.storeName, isVolatile: isVolatile,
            publishEndpoint: "tcp://h:2", bulkEndpoint: "tcp://h:3", lossAccepted: lossAccepted,
            buggify: buggify)
        configuration.holdsEffects = holdsEffects
        configuration.audience = audience
        configuration.audienceMilliseconds = audienceMilliseconds
        configuration.reign = reign
        machine = PrimaryStateMachine(
            configuration: configuration,
            recovered: log, window: window, wall: wall, now: now)
    }

    /// A primary whose `epochOpen` is durable.
    static func open(
        durable: [SealedBatch] = [], boot: UInt128 = 1, buggify: Buggify = .off, hasEffects: Bool = false
    ) -> PrimaryHarness {
        let harness = PrimaryHarness(durable: durable, boot: boot, buggify: buggify, hasEffects: hasEffects)
        harness.start()
        harness.persist()
        harness.forget()
        return harness
    }

    /// What the machine said when it began to admit.
    struct Opening: Equatable {
        var unheard: [String] = []
        var isHoldingEffects = false
    }

    // MARK: - Events

    func run(_ body: (inout PrimaryStateMachine, inout PrimaryStep) -> Void) {
        var directives: [PrimaryDirective] = []
        machine.step(now: now, wall: wall, state: state, into: &directives, body)
        for directive in directives { execute(directive) }
        if checksEvents { machine.checkInvariants() }
        if keepsMemory { keepMemory() }
    }

    /// The journal has what the arbiter has shown.
    func keepMemory() {
        guard let server = machine.replication, !server.isMemoryKept else { return }
        run { $0.remembered(server.memory.stored, &$1) }
    }

    /// `tail` is what the journal has after what is known to be committed.
    func start(inheriting tail: [SealedBatch] = []) {
        do { began = (try state.image().encoded(), machine.log, state.image().digest + machine.log.digest) } catch {
            preconditionFailure("the image cannot be encoded: \(error)")
        }
        run { $0.start(inheriting: tail, &$1) }
    }

    func turn() { run { $0.turnEnded(&$1) } }

    /// What is at the journal becomes durable.
    func persist() {
        durable += atJournal
        atJournal = []
        run { $0.persisted(&$1) }
    }

    /// Ends the turn, and everything that was sequenced becomes durable.
    func commit() {
        repeat {
            turn()
            // What is held back on purpose goes on a little later.
            if machine.isPersisting { persist() } else if !machine.isDrained { advance(milliseconds: 2) }
        } while !machine.isDrained
        turn()
    }

    func fail(isDiskFull: Bool) {
        if !isDiskFull { atJournal = [] }
        run { $0.persistFailed(isDiskFull: isDiskFull, reason: "input/output error", &$1) }
    }

    func advance(milliseconds: Int64) {
        now = now.advanced(byMilliseconds: milliseconds)
        wall = LogTime(rawValue: wall.rawValue + milliseconds * 1_000)
    }

    func tick() { run { $0.ticked(&$1) } }

    /// Lets time pass, with a tick whenever the machine asked for one.
    func pass(milliseconds: Int64) {
        let end = now.advanced(byMilliseconds: milliseconds)
        while machine.nextDeadline <= end {
            let step = max(0, machine.nextDeadline - now)
            now = Tick(rawValue: now.rawValue + step)
            wall = LogTime(rawValue: wall.rawValue + step / 1_000)
            tick()
        }
        wall = LogTime(rawValue: wall.rawValue + (end - now) / 1_000)
        now = end
    }

    func receive(_ frame: [UInt8], from connection: Connection) {
        let sender = senders[connection]
        withBytes(of: frame) { span in
            var directives: [PrimaryDirective] = []
            machine.step(now: now, wall: wall, state: state, into: &directives) {
                $0.received(span, from: connection, of: sender, &$1)
            }
            for directive in directives { execute(directive) }
        }
        if checksFrames { machine.checkInvariants() }
    }

    func receiveBulk(_ frame: [UInt8], from connection: Connection) {
        withBytes(of: frame) { span in
            var directives: [PrimaryDirective] = []
            machine.step(now: now, wall: wall, state: state, into: &directives) {
                $0.bulkReceived(span, from: connection, &$1)
            }
            for directive in directives { execute(directive) }
        }
        machine.checkInvariants()
    }

    // MARK: - Directives

    private func decode(_ frame: [UInt8], _ connection: Connection) -> Sent {
        let message: Message
        do {
            message = try withBytes(of: frame) { (span) throws(WireError) in
                let decoded = try Message.decode(span, rule: .member(Self.cluster.hash))
                precondition(decoded.header.epoch == machine.stamp.epoch, "a frame carries the epoch")
                return decoded.message
            }
        } catch {
            preconditionFailure("the machine made a frame that cannot be read: \(error)")
        }
        return Sent(message: message, frame: frame, connection: connection)
    }

    private func execute(_ directive: PrimaryDirective) {
        switch directive {
        case .send(let frame, let connection):
            sent.append(decode(frame, connection))
            order.append("send \(sent[sent.count - 1].message.kind)")
        case .sendBulk(let frame, let connection): bulk.append(decode(frame, connection))
        case .sendChunks(let snapshot, let indices, _): chunks.append((snapshot, indices))
        case .publish(let frame):
            published.append(decode(frame, .local))
            order.append("publish \(published[published.count - 1].message.kind)")
        case .persist(let batches):
            if atJournal.isEmpty {
                handedOver = (machine.log, state.digest)
            } else {
                precondition(atJournal == batches, "a full disk's batches are tried again unchanged")
            }
            precondition(!batches.isEmpty, "nothing to write")
            atJournal = batches
            order.append("persist")
        case .committed(let batches):
            committed += batches
            order.append("committed")
        case .captureSnapshot(let number, let log, let digest):
            do { images[number] = (try state.image().encoded(), log, digest) } catch {
                preconditionFailure("the image cannot be encoded: \(error)")
            }
        case .encodeSnapshot(let number): encoding.append(number)
        case .encodeCommitted(let number):
            images[number] = began
            encoding.append(number)
        case .saveSnapshot(let number): saved.append(number)
        case .dropSnapshot(let number): dropped.append(number)
        case .beginRun(let start):
            begun.append(start)
            order.append("begin \(start.id.number)")
        case .stopRun(let id):
            stopped.append(id)
            order.append("stop \(id.number)")
        case .emission(let ticket, let outcome):
            precondition(emissions[ticket] == nil || emissions[ticket] == .busy, "an emission is answered once")
            emissions[ticket] = outcome
        case .runEnd(let id, let outcome): ends[id, default: []].append(outcome)
        case .awaiting(let names): awaited.append(names)
        case .opened(let unheard, let isHoldingEffects):
            openings.append(Opening(unheard: unheard, isHoldingEffects: isHoldingEffects))
        case .audienceChanged(let names): audiences.append(names)
        case .alarm(let alarm): alarms.append(alarm)
        case .halt(let reason): halts.append(reason)
        case .replication(let wanted): replication.append(wanted)
        case .count(let counter): counts[counter, default: 0] += 1
        }
    }

    /// Forgets what was sent and done so far.
    func forget() {
        (sent, bulk, published, committed, alarms, order, counts) = ([], [], [], [], [], [], [:])
        (begun, stopped, emissions, ends) = ([], [], [:], [:])
    }
}
