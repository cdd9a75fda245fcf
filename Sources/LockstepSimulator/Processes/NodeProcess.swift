import LockstepCore

/// What a primary and a replica share: a journal, snapshots, a caller of their own, readers of their own state.
class NodeProcess: SimulatedProcess, CallerHost {
    let disk: SimulatedDisk
    private(set) var state: SimulatedState
    private(set) var caller: Caller?
    private var images: [SnapshotNumber: CapturedImage] = [:]
    private(set) var shelf: [SnapshotNumber: EncodedSnapshot] = [:]
    private var readers: [Reader] = []
    private var nextTicket: UInt64 = 1
    /// What became of writes that the journal was given and has not answered, by their tickets.
    private var writes: [UInt64: JournalLine.Write] = [:]
    var nextLook = Tick.zero
    private(set) var line = JournalLine(writtenThrough: .zero, retries: false)
    private var saved: EncodedSnapshot?

    struct CapturedImage {
        var image: any StateImage
        var log: LogState
        var digest: Digest
    }

    private struct Reader {
        var record: Int
        var query: [UInt8]
        var minimum: SequenceNumber
    }

    /// Its channel, as far as it knows it.
    var channel: Channel? { store.channel }

    override init(id: Int, host: Int? = nil, name: String, store: SimulatedStore, random: SplitMix64) {
        var random = random
        disk = SimulatedDisk(incarnation: Incarnation(rawValue: random.bits128()))
        state = SimulatedState(store.workload.makeState())
        super.init(id: id, host: host, name: name, store: store, random: random)
    }

    /// Where readers of this node stand: epoch, sequence number.
    var shown: (epoch: Epoch, sequence: SequenceNumber) { (.zero, .zero) }
    /// Whether the state may be read.
    var isReadable: Bool { true }

    /// Whether it answers what it is asked, if only to say that it cannot.
    var owesAnswers: Bool { true }

    // MARK: - Life

    func makeState() { state = SimulatedState(store.workload.makeState()) }

    func makeCaller(_ configuration: ClientConfiguration) {
        caller = Caller(id: simulation.nextCaller(), process: self, host: self, configuration: configuration)
        if let caller { simulation.add(caller) }
    }

    override func end() {
        simulation.silence.ended(self)
        caller?.end()
        caller = nil
        for reader in readers { store.history.forget(reader.record) }
        readers = []
        images = [:]
        shelf = [:]
        saved = nil
        crashDuringWrites()
    }

    /// A crash: of what the journal was writing, all is durable, or nothing, or a part.
    private func crashDuringWrites() {
        for (_, write) in writes.sorted(by: { $0.key < $1.key }) {
            let plan = simulation.plan
            if plan.isOn(.lostWrites), random.chance(plan[.lostWrites]) {
                simulation.fired(.lostWrites, 0)
                // What comes after a lost write is lost with it.
                break
            }
            guard case .batches(let batches) = write else { break }
            if plan.isOn(.tornWrite), random.chance(plan[.tornWrite]) {
                simulation.fired(.tornWrite, UInt64(batches.count))
                disk.append(Array(batches[..<Int(random.next(below: UInt64(batches.count)))]))
                break
            }
            guard random.chance(0.5) else { break }
            disk.append(batches)
        }
        writes = [:]
    }

    // MARK: - The journal

    /// The line of a life that begins now.
    func beginLine(retries: Bool) { line = JournalLine(writtenThrough: disk.end, retries: retries) }

    func append(_ batches: [SealedBatch]) {
        line.append(batches)
        advance()
    }

    /// The journal begins anew with this snapshot.
    func replace(with snapshot: [UInt8], at position: Position) {
        line.replace(with: snapshot, at: position)
        advance()
    }

    /// Gives the journal what comes next.
    func advance() {
        while let work = line.next(now: now) {
            switch work {
            case .write(let write): begin(write)
            case .save(let number):
                guard let held = shelf[number] else {
                    line.saved(isFailed: false, at: now)
                    continue
                }
                saved = held
                mail(.saved(number), after: random.between(1, 100) * Span.millisecond)
            }
        }
    }

    /// Gives a write to the journal; its outcome comes as mail.
    private func begin(_ write: JournalLine.Write) {
        let ticket = nextTicket
        nextTicket += 1
        writes[ticket] = write
        let plan = simulation.plan
        var delay = random.between(100, 500) * Span.microsecond
        if plan.isOn(.journalLatency), random.chance(0.3) {
            simulation.fired(.journalLatency, ticket)
            delay += Int64(random.fraction() * random.fraction() * plan[.journalLatency] * Double(Span.second))
            simulation.health.disturbed(id, until: simulation.now + delay)
        }
        var outcome = WriteOutcome.done
        if isDiskFull {
            outcome = .full
        } else if plan.isOn(.commitError), random.chance(0.002 * plan[.commitError]) {
            simulation.fired(.commitError, ticket)
            outcome = .failed
        }
        mail(.written(ticket: ticket, outcome), after: delay)
    }

    private(set) var diskFullUntil: Int64 = 0
    var isDiskFull: Bool { simulation.now < diskFullUntil }
    func fillDisk(for duration: Int64) {
        for process in [self] + simulation.others(onHostOf: self) {
            (process as? NodeProcess)?.hasNoRoom(for: duration)
        }
    }
    private func hasNoRoom(for duration: Int64) {
        diskFullUntil = simulation.now + duration
        simulation.health.disturbed(id, until: diskFullUntil)
    }
    func makeRoom() { diskFullUntil = 0 }

    /// The journal answers: what was written is durable now, and not before.
    func settle(_ ticket: UInt64, _ outcome: WriteOutcome) -> JournalLine.Write? {
        guard let write = writes.removeValue(forKey: ticket) else { return nil }
        switch outcome {
        case .done:
            keep(write)
            line.written()
        case .full: line.foundNoRoom(at: now)
        case .failed:
            // Whether it is durable only the next start will tell.
            if random.chance(0.5) { keep(write) }
        }
        return write
    }

    private func keep(_ write: JournalLine.Write) {
        switch write {
        case .batches(let batches): disk.append(batches)
        case .replacement(let bytes, let position): disk.replace(with: bytes, at: position.sequence)
        }
        disk.mark()
    }

    // MARK: - Snapshots

    func capture(_ number: SnapshotNumber, log: LogState, digest: Digest) {
        images[number] = CapturedImage(image: state.image(), log: log, digest: digest)
        simulation.trace(id, .snapshot, number, log.position.sequence.rawValue)
    }

    func encode(_ number: SnapshotNumber) { mail(.encoded(number), after: random.between(1, 50) * Span.millisecond) }

    /// Encodes what was captured.
    func encoded(_ number: SnapshotNumber, chunkBytes: Int) -> SnapshotInfo? {
        guard let captured = images.removeValue(forKey: number), let bytes = try? captured.image.encoded() else {
            return nil
        }
        let content = SnapshotContent(log: captured.log, digest: captured.digest, state: bytes).encoded()
        let snapshot = EncodedSnapshot(
            number: number, bytes: content, log: captured.log, digest: captured.digest, chunkBytes: chunkBytes)
        shelf[number] = snapshot
        return snapshot.info
    }

    func save(_ number: SnapshotNumber) {
        guard let held = shelf[number] else { return }
        line.offer(number, at: held.info.position.sequence)
        advance()
    }

    /// A save has ended.
    func saveEnded() {
        line.saved(isFailed: isDiskFull, at: now)
        if let saved, !isDiskFull {
            if saved.info.position.sequence > disk.end {
                simulation.fail(.invariant, "\(name) saves a snapshot of a place that its journal has not reached")
            }
            disk.save(saved.bytes, at: saved.info.position.sequence)
        }
        saved = nil
        advance()
    }

    /// Whether a snapshot is due and may be taken now.
    var isSnapshotDue: Bool {
        line.isSnapshotDue(
            batchBytes: disk.batchBytes, snapshotBytes: disk.snapshotBytes, atLeast: simulation.snapshotDueBytes,
            now: now)
    }

    func drop(_ number: SnapshotNumber) {
        images[number] = nil
        shelf[number] = nil
    }

    func sendChunks(_ number: SnapshotNumber, _ indices: Range<Int>, to connection: Connection, stamp: FrameStamp) {
        guard let held = shelf[number] else { return }
        for index in indices {
            guard let frame = held.frame(of: index, stamp: stamp) else { return }
            send(frame, to: connection)
        }
    }

    /// Sends a frame of one of the node's own sockets, after the checkers have looked at it.
    func send(_ frame: [UInt8], to connection: Connection) {
        store.oracle.wasSent(frame, by: self)
        store.oracle.wasSent(frame, to: connection, by: self)
        simulation.silence.sent(frame, to: connection, by: self)
        simulation.trace(id, .sent, UInt64(frame.count > 5 ? frame[5] : 0), connection.rawValue)
        simulation.network.reply(frame, to: connection, by: self)
    }

    func checkBounds() {
        if images.count + shelf.count > 4 {
            simulation.fail(.boundedMemory, "\(name) keeps \(images.count + shelf.count) snapshots")
        }
        line.checkInvariants()
        caller?.checkInvariants()
    }

    // MARK: - Reading here

    func answerLocally(_ record: Int, _ query: [UInt8], minimum: SequenceNumber) -> Bool {
        readers.append(Reader(record: record, query: query, minimum: minimum))
        answerReaders()
        return true
    }

    /// Answers the readers whose place the shown state has reached.
    func answerReaders() {
        guard !readers.isEmpty, isReadable else { return }
        let place = shown
        let ready = readers.filter { $0.minimum <= place.sequence }
        guard !ready.isEmpty else { return }
        readers.removeAll { $0.minimum <= place.sequence }
        for reader in ready {
            let answer = withBytes(of: reader.query) { try? state.answer($0, 0..<$0.byteCount) }
            guard let answer, let caller else {
                store.history.forget(reader.record)
                continue
            }
            store.oracle.checkServes("lets a reader of its own see its state", self)
            if state.isTainted {
                store.history.forget(reader.record)
            } else {
                caller.readDone(reader.record, answer, epoch: place.epoch, sequence: place.sequence)
            }
        }
    }

    var isWaitingToRead: Bool { !readers.isEmpty }
    /// Calls whose readers wait here, for no place beyond one.
    func waitingRecords(through sequence: SequenceNumber) -> [Int] {
        readers.filter { $0.minimum <= sequence }.map(\.record)
    }

    // MARK: - CallerHost, for the kinds

    func connect(to endpoint: String, for caller: Caller) {}
    func send(_ frame: [UInt8], for caller: Caller) {}
    func welcomed(_ welcome: Welcome, for caller: Caller) {}
}
