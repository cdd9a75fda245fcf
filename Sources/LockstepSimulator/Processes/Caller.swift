import DequeModule
import LockstepCore

/// The process that a caller lives in: it carries what the caller's machine directs.
protocol CallerHost: AnyObject {
    func connect(to endpoint: String, for caller: Caller)
    func send(_ frame: [UInt8], for caller: Caller)
    func welcomed(_ welcome: Welcome, for caller: Caller)
    /// Answers a query from the host's own state, once that includes `minimum`; false if the host has no state.
    func answerLocally(_ record: Int, _ query: [UInt8], minimum: SequenceNumber) -> Bool
}

/// One user of the store: calls go through a client's machine, and what it learns is recorded.
final class Caller {
    let id: Int
    unowned let simulation: Simulation
    unowned let store: SimulatedStore
    unowned let host: any CallerHost
    unowned let process: SimulatedProcess
    var machine: ClientStateMachine
    private let client: ClientKey
    var directives: [ClientDirective] = []
    /// Recorded calls whose actions have no number yet.
    private var staged: Deque<Int> = []
    /// Numbers without an answer, in order, with their records.
    private var outstanding: Deque<(number: RequestNumber, record: Int)> = []
    private var reads: [UInt64: Int] = [:]
    private var nextRead: UInt64 = 1
    /// The highest place that this caller has seen in an answer: its next session read includes it.
    var seen = SequenceNumber.zero
    /// What it watches, by its number.
    var watches: [UInt64: WatchedQuery] = [:]
    var nextWatch: UInt64 = 1
    /// Its accepted actions that have not ended, with their records.
    var awaited: [RunID: Int] = [:]
    private(set) var askedAgain: [Query: Int] = [:]
    var frames = OperationFrames()
    private(set) var isClosed = false

    init(id: Int, process: SimulatedProcess, host: any CallerHost, configuration: ClientConfiguration) {
        self.id = id
        self.process = process
        self.host = host
        simulation = process.simulation
        store = process.store
        machine = ClientStateMachine(configuration: configuration)
        client = configuration.client
        store.oracle.ownership.began(client, named: process.simulation.options.hasKeys ? process.name : nil)
    }

    /// Everything asked has been answered, or never will be.
    var isIdle: Bool {
        staged.isEmpty && outstanding.isEmpty && reads.isEmpty && askedAgain.isEmpty && awaited.isEmpty
    }

    /// The oldest number without an answer, or 0 if only actions without a number wait; nil if none does.
    var nextUnanswered: UInt64? { outstanding.first?.number ?? (staged.isEmpty ? nil : 0) }
    /// Reads that a node is to answer, with their records.
    var waitingReads: [(id: UInt64, record: Int)] { reads.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    var waitingQueries: [Query] {
        askedAgain.keys.sorted { ($0.session, $0.number) < ($1.session, $1.number) }
    }

    /// Whether it waits for what comes of this.
    func isWaiting(for operation: OperationFrames.Operation) -> Bool {
        switch operation {
        case .action(let session, let number):
            session == machine.session?.id && number >= outstanding.first?.number ?? .max
        case .read(let id): reads[id] != nil
        case .query(let session, let number): askedAgain[Query(session: session, number: number)] != nil
        }
    }

    func start() {
        machine.start(now: process.now, into: &directives)
        execute()
    }

    /// The process is gone: what waited has an unknown outcome.
    func end() {
        for record in staged { store.history.forget(record) }
        for (_, record) in outstanding { store.history.lost(record) }
        for record in reads.values { store.history.forget(record) }
        for record in awaited.values { store.history[record].end = .lost }
        staged = []
        outstanding = []
        reads = [:]
        askedAgain = [:]
        awaited = [:]
        watches = [:]
    }

    // MARK: - Calls

    func call(_ call: Call) {
        let record = store.history.begin(call, caller: id)
        switch call {
        case .action:
            staged.append(record)
            submitStaged()
        case .read(let query, let level): read(query, level, record)
        }
    }

    private func read(_ query: [UInt8], _ level: ReadLevel, _ record: Int) {
        let minimum = level == .session ? seen : .zero
        store.history[record].minimum = minimum
        if level != .linearizable, host.answerLocally(record, query, minimum: minimum) { return }
        let id = nextRead
        nextRead += 1
        reads[id] = record
        let asksIndex = level == .linearizable && host is ReplicaProcess
        let isTaken = machine.read(
            id: id, level: level, minimum: minimum, query: asksIndex ? [] : query, isIndexOnly: asksIndex,
            now: process.now, into: &directives)
        if !isTaken {
            reads[id] = nil
            store.history.forget(record)
        }
        execute()
    }

    /// Where a history was given up, a read that is to include a place of it would wait for ever: callers have patience.
    private func losePatience() {
        guard store.mayHaveForked else { return }
        for id in reads.keys.sorted() {
            guard let record = reads[id], store.history[record].minimum > store.oracle.committed.sequence
            else {
                continue
            }
            reads[id] = nil
            machine.cancelRead(id)
            store.history.forget(record)
        }
        seen = min(seen, store.oracle.committed.sequence)
    }

    private func submitStaged() {
        guard machine.session != nil else {
            if !staged.isEmpty { machine.openSession(now: process.now, into: &directives) }
            return
        }
        while let first = staged.first {
            // A few callers' actions become one chunk, as they do at the node's desk.
            let count = min(staged.count, 1 + Int(process.random.next(below: 4)))
            var writer = ByteWriter()
            for record in staged.prefix(count) {
                guard case .action(let bytes) = store.history[record].call else { continue }
                writer.writeBytes(bytes)
            }
            guard
                let number = machine.submit(writer.bytes, count: count, now: process.now, into: &directives)
            else { return }
            let last = number + UInt64(count) - 1
            let session = machine.session?.id ?? .none
            let opening = machine.session?.openNonce ?? 0
            store.oracle.ownership.submitted(client, session, through: last)
            for place in 0..<count {
                let record = staged.removeFirst()
                outstanding.append((number + UInt64(place), record))
                store.history[record].session = session
                store.history[record].opening = opening
                store.history[record].number = number + UInt64(place)
                if case .action(let bytes) = store.history[record].call {
                    planCancellation(of: bytes, number + UInt64(place))
                }
            }
            simulation.trace(process.id, .submitted, UInt64(first), number)
            if simulation.plan.isOn(.giveUp), process.random.chance(0.1 * simulation.plan[.giveUp]) {
                simulation.fired(.giveUp, number)
                machine.giveUp(number...last)
                store.oracle.ownership.gaveUp(client, session, number...last)
            }
        }
    }

    /// The caller leaves: its session is closed.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        store.oracle.ownership.closed(client)
        machine.close(now: process.now, into: &directives)
        execute()
    }

    // MARK: - Events

    func received(_ frame: [UInt8]) {
        frames.received(frame)
        withBytes(of: frame) { machine.received($0, now: process.now, into: &directives) }
        execute(frame)
    }

    func sayHello() { machine.sayHello(now: process.now) }
    func setKnown(_ known: KnownPosition, mark: LogState.Mark?) {
        inPlace(&machine) { if $0.known != known || $0.knownMark != mark { $0.setKnown(known, mark: mark) } }
    }
    var nextDeadline: Tick { inPlace(&machine) { $0.nextDeadline } }
    func checkInvariants() { inPlace(&machine) { $0.checkInvariants() } }

    func finishTurn() {
        if process.now >= nextDeadline {
            machine.ticked(now: process.now, into: &directives)
            execute()
        }
        if !isClosed { submitStaged() }
        losePatience()
        machine.turnEnded(now: process.now, into: &directives)
        execute()
        checkInvariants()
    }

    private func execute(_ frame: [UInt8] = []) {
        while !directives.isEmpty {
            let batch = directives
            directives.removeAll(keepingCapacity: true)
            for directive in batch { execute(directive, frame) }
        }
    }

    private func execute(_ directive: ClientDirective, _ frame: [UInt8]) {
        switch directive {
        case .connect(let endpoint): host.connect(to: endpoint, for: self)
        case .send(let frame):
            frames.sent(frame, at: simulation.now)
            host.send(frame, for: self)
        case .welcomed(let welcome):
            host.welcomed(welcome, for: self)
        case .opened: submitStaged()
        case .answered(let answers): answered(answers, frame)
        case .lost(let session, _): lost(session)
        case .ended(let ended): self.ended(ended, frame)
        case .endLost(let id): endLost(id)
        case .readAnswered(let result): readAnswered(result, frame)
        case .watchAnswered(let result): watchAnswered(result, frame)
        case .queried(let result):
            if let record = askedAgain.removeValue(forKey: Query(session: result.session, number: result.number)) {
                // The session is over, here or for the primary; what it had unanswered stays unknown.
                store.history.lost(record)
            }
        case .queryAnswered(let session, let answers): queryAnswered(session, answers, frame)
        case .refused(let refused): store.operatorDesk.refused(refused, caller: self)
        case .closed: isClosed = true
        case .readDelayed, .noPrimary, .count: break
        }
    }

    private func answered(_ answers: ClientDirective.Answers, _ frame: [UInt8]) {
        let session = machine.session?.id ?? .none
        for (place, item) in answers.read(in: frame).enumerated() {
            let number = answers.first + UInt64(place)
            let sequence = answers.firstSequence.advanced(by: place)
            guard let next = outstanding.popFirst(), next.number == number else {
                simulation.fail(.sessionOrder, "\(process.name) got an answer to \(session) \(number) out of order")
                return
            }
            store.oracle.answered(session, number, epoch: answers.epoch, sequence, item.0, item.1, by: process)
            store.history.answer(
                next.record, .answered(item.0, item.1), epoch: answers.epoch, sequence: sequence)
            simulation.trace(process.id, .answered, UInt64(next.record), sequence.rawValue)
            seen = max(seen, sequence)
            if item.0 == .accepted { awaited[RunID(session: session, number: number)] = next.record }
        }
    }

    private func lost(_ session: SessionID) {
        for (number, record) in outstanding {
            simulation.trace(process.id, .outcomeUnknown, UInt64(record), 0)
            // Half of the callers ask what became of their actions.
            if !isClosed, simulation.options.script == nil, process.random.chance(0.5),
                machine.query(session, number, now: process.now, into: &directives)
            {
                askedAgain[Query(session: session, number: number)] = record
            } else {
                store.history.lost(record)
            }
        }
        outstanding = []
    }

    private func queryAnswered(_ session: SessionID, _ answers: ClientDirective.Answers, _ frame: [UInt8]) {
        for (place, item) in answers.read(in: frame).enumerated() {
            let number = answers.first + UInt64(place)
            let sequence = answers.firstSequence.advanced(by: place)
            store.oracle.answered(session, number, epoch: answers.epoch, sequence, item.0, item.1, by: process)
            guard let record = askedAgain.removeValue(forKey: Query(session: session, number: number)) else { continue }
            store.history.answer(
                record, .answered(item.0, item.1), epoch: answers.epoch, sequence: sequence)
        }
    }

    private func readAnswered(_ result: ReadResult, _ frame: [UInt8]) {
        guard let record = reads.removeValue(forKey: result.id) else { return }
        guard result.status == .answered else {
            store.history.forget(record)
            return
        }
        // A replica may answer wrongly until the next mark shows that it does (PROTOCOL R-53).
        if store.oracle.divergence.isDoubtful(frame) { return store.history.forget(record) }
        guard case .read(let query, let level) = store.history[record].call else { return }
        if host is ClientProcess, !store.primary.isUp {
            simulation.coverage.note(level == .local ? .localReadAlone : .sessionReadAlone)
        }
        let isIndex = result.answer.isEmpty && host is ReplicaProcess
        if isIndex, host.answerLocally(record, query, minimum: result.sequence) { return }
        readDone(record, Array(frame[result.answer]), epoch: result.epoch, sequence: result.sequence)
    }

    /// A read has its answer, from wherever.
    func readDone(_ record: Int, _ answer: [UInt8], epoch: Epoch, sequence: SequenceNumber) {
        let minimum = store.history[record].minimum
        if sequence < minimum {
            simulation.fail(.monotonic, "\(process.name) asked for \(minimum) and read at \(sequence)")
        }
        guard case .read(let query, _) = store.history[record].call else { return }
        store.oracle.wasRead(answer, to: query, epoch: epoch, sequence, by: process)
        seen = max(seen, sequence)
        if store.oracle.isAcrossFork(store.history[record], epoch, sequence) {
            return store.history.forget(record)
        }
        store.history.answer(record, .read(answer), epoch: epoch, sequence: sequence)
    }
}
