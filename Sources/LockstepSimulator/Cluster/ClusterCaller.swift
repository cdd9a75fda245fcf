import DequeModule
import LockstepCore

/// A client of a user's workload: its machine is the one that ships, finds the primary among the data nodes (PROTOCOL
/// R-91), and brings what it learns to the checkers.
final class ClusterCaller {
    let index: Int
    unowned let simulation: ClusterSimulation
    let name: String
    private(set) var machine: ClientStateMachine?
    /// Counts the lives of the process.
    private(set) var life = 0
    private(set) var link: ClusterLink?
    var pausedUntil: Int64 = 0
    /// Counts connections: a refusal is of one of them.
    private var attempt = 0
    /// When its machine is to be ticked.
    private var tickAt = Int64.max
    /// Recorded actions that have no number yet.
    private var staged: Deque<Int> = []
    /// Numbers without an answer, in order, with their records.
    private var outstanding: Deque<(number: RequestNumber, record: Int)> = []
    private var reads: [UInt64: Int] = [:]
    private var nextRead: UInt64 = 1
    /// Its accepted actions that have not ended, with their records.
    private var awaited: [RunID: Int] = [:]
    /// The highest place that it has seen in an answer: its next session read includes it.
    private var seen = SequenceNumber.zero

    init(_ index: Int, _ simulation: ClusterSimulation) {
        (self.index, self.simulation, name) = (index, simulation, "client-\(index + 1)")
    }

    var isUp: Bool { machine != nil }
    var isIdle: Bool { staged.isEmpty && outstanding.isEmpty && reads.isEmpty && awaited.isEmpty }
    var phase: PrimaryLink.Phase { machine?.phase ?? .stopped }
    private var now: Tick { Tick(rawValue: ClusterSimulation.firstTick + simulation.now) }

    // MARK: - Life

    func start(timeToLive: Int64) {
        guard machine == nil else { return }
        var random = simulation.random.fork()
        var homes = simulation.nodes.map(\.name.name)
        let first = homes.remove(at: Int(random.next(below: UInt64(homes.count))))
        machine = ClientStateMachine(
            configuration: ClientConfiguration(
                store: "counters", node: name, role: .client, client: ClientKey(rawValue: random.bits128()),
                boot: BootID(rawValue: random.bits128()), incarnation: Incarnation(rawValue: random.bits128()),
                cluster: ClusterSimulation.cluster, endpoint: first, others: homes, timeToLive: timeToLive,
                seed: random.next(), wantsSession: false))
        happens { $0.start(now: $1, into: &$2) }
    }

    /// The process is gone: what waited has an unknown outcome.
    func end() {
        guard machine.take() != nil else { return }
        for record in staged { simulation.history.forget(record) }
        for (_, record) in outstanding { simulation.history.lost(record) }
        for record in reads.values.sorted() { simulation.history.forget(record) }
        for record in awaited.values { simulation.history[record].end = .lost }
        (staged, outstanding, reads, awaited) = ([], [], [:], [:])
        (tickAt, pausedUntil, seen) = (.max, 0, .zero)
        life += 1
        hangUp()
    }

    private func hangUp() {
        guard let old = link.take() else { return }
        simulation.close(old)
        old.down.isOver = true
    }

    /// A pause ends before its time.
    func goOn() {
        pausedUntil = 0
        happens { _, _, _ in }
    }

    // MARK: - Events

    /// Lets the machine take an event, and does what it wants.
    private func happens(
        _ frame: [UInt8] = [], _ event: (inout ClientStateMachine, Tick, inout [ClientDirective]) -> Void
    ) {
        step(frame, event)
        submitStaged()
        step { $0.turnEnded(now: $1, into: &$2) }
        schedule()
    }

    private func step(
        _ frame: [UInt8] = [], _ event: (inout ClientStateMachine, Tick, inout [ClientDirective]) -> Void
    ) {
        let now = now
        var directives: [ClientDirective] = []
        guard var machine = machine.take() else { return }
        event(&machine, now, &directives)
        self.machine = machine
        for directive in directives { execute(directive, frame) }
    }

    private func schedule() {
        guard let deadline = machine?.nextDeadline, deadline != .never else { return }
        let time = max(deadline.rawValue - ClusterSimulation.firstTick, simulation.now + 50 * Span.microsecond)
        guard time < tickAt else { return }
        wake(at: time)
    }

    private func wake(at time: Int64) {
        tickAt = time
        simulation.add(.caller(self, life: life), after: time - simulation.now)
    }

    /// Its time has come.
    func tick() {
        // An earlier one was scheduled since.
        guard simulation.now >= tickAt else { return }
        guard simulation.now >= pausedUntil else { return wake(at: pausedUntil) }
        tickAt = .max
        let isDue = machine.map { now >= $0.nextDeadline } ?? false
        happens { machine, now, directives in
            if isDue { machine.ticked(now: now, into: &directives) }
        }
    }

    func received(_ frame: [UInt8], on link: ClusterLink) {
        guard self.link === link else { return }
        let now = now
        var directives: [ClientDirective] = []
        // A span cannot be captured by a closure that escapes its scope, so this is done here.
        guard isUp else { return }
        withBytes(of: frame) { machine?.received($0, now: now, into: &directives) }
        happens(frame) { $2 += directives }
    }

    func broke(_ link: ClusterLink) {
        guard self.link === link else { return }
        self.link = nil
        happens { $0.connectionBroke(now: $1, into: &$2) }
    }

    /// Nobody listens where its connection leads.
    func refused(attempt: Int) {
        guard attempt == self.attempt, link == nil else { return }
        happens { $0.connectionBroke(now: $1, into: &$2) }
    }

    // MARK: - Calls

    func call(_ call: Call) -> Int {
        let record = simulation.history.begin(call, caller: index)
        switch call {
        case .action: staged.append(record)
        case .read(let query, let level): read(query, level, record)
        }
        if simulation.now < pausedUntil { wake(at: min(tickAt, pausedUntil)) } else { happens { _, _, _ in } }
        return record
    }

    private func read(_ query: [UInt8], _ level: ReadLevel, _ record: Int) {
        let minimum = level == .session ? seen : .zero
        simulation.history[record].minimum = level == .linearizable ? simulation.answers.toldThrough : minimum
        let id = nextRead
        nextRead += 1
        reads[id] = record
        var isTaken = false
        step {
            isTaken = $0.read(
                id: id, level: level, minimum: minimum, query: query, isIndexOnly: false, now: $1, into: &$2)
        }
        guard !isTaken else { return }
        reads[id] = nil
        simulation.history.forget(record)
    }

    func cancelRun(_ id: RunID) { happens { machine, now, _ in machine.cancelRun(id, now: now) } }

    private func submitStaged() {
        while let record = staged.first, case .action(let bytes) = simulation.history[record].call {
            guard machine?.session != nil else { return step { $0.openSession(now: $1, into: &$2) } }
            var writer = ByteWriter()
            writer.writeBytes(bytes)
            var number: RequestNumber?
            step { number = $0.submit(writer.bytes, count: 1, now: $1, into: &$2) }
            guard let number else { return }
            staged.removeFirst()
            outstanding.append((number, record))
            simulation.history[record].session = machine?.session?.id ?? .none
            simulation.history[record].number = number
            simulation.trace(self, .submitted, UInt64(record), number)
        }
    }

    // MARK: - Directives

    private func execute(_ directive: ClientDirective, _ frame: [UInt8]) {
        switch directive {
        case .connect(let endpoint): connect(to: endpoint)
        case .send(let frame): if let link { simulation.send(frame, link, .up) }
        case .answered(let answers): answered(answers, frame)
        case .lost:
            for (_, record) in outstanding { simulation.history.lost(record) }
            outstanding = []
        case .ended(let ended): self.ended(ended, frame)
        case .endLost(let id):
            if let record = awaited.removeValue(forKey: id) { simulation.history[record].end = .lost }
        case .readAnswered(let result): readAnswered(result, frame)
        case .opened, .welcomed, .refused, .readDelayed, .noPrimary, .count, .closed, .queried, .queryAnswered,
            .watchAnswered:
            break
        }
    }

    private func connect(to endpoint: String) {
        hangUp()
        attempt += 1
        guard let target = simulation.nodes.firstIndex(where: { $0.name.name == endpoint }) else { return }
        let node = simulation.nodes[target]
        // Into a cut, or to a host that is gone, nothing comes, and nobody says so.
        guard simulation.isReachable(simulation.nodes.count + index, target), node.isUp || !node.isHostDead else {
            return
        }
        guard node.isUp else {
            return simulation.add(.callerRefused(self, attempt: attempt), after: 200 * Span.microsecond)
        }
        link = simulation.connect(self, to: target)
    }

    private func answered(_ answers: ClientDirective.Answers, _ frame: [UInt8]) {
        let session = machine?.session?.id ?? .none
        for (place, item) in answers.read(in: frame).enumerated() {
            let number = answers.first + UInt64(place)
            let sequence = answers.firstSequence.advanced(by: place)
            guard let next = outstanding.popFirst(), next.number == number else {
                return simulation.fail(.sessionOrder, "\(name) got an answer to \(session) \(number) out of order")
            }
            simulation.answers.answered(
                LogReply.Key(session: session, number: number), epoch: answers.epoch, sequence, item.0, item.1, by: name
            )
            simulation.history.answer(next.record, .answered(item.0, item.1), epoch: answers.epoch, sequence: sequence)
            simulation.trace(self, .answered, UInt64(next.record), sequence.rawValue)
            seen = max(seen, sequence)
            if item.0 == .accepted { awaited[RunID(session: session, number: number)] = next.record }
        }
    }

    private func ended(_ ended: RunEnded, _ frame: [UInt8]) {
        guard let item = ended.read(in: frame), let record = awaited.removeValue(forKey: ended.id) else {
            return simulation.fail(.runEnd, "\(name) is told the end of \(ended.id), which it does not await")
        }
        simulation.answers.ended(ended, item.status, item.reply, by: name)
        simulation.history[record].end = .told(item.status, item.reply)
        simulation.trace(self, .runEnded, ended.id.session.sequence.rawValue, ended.id.number)
        seen = max(seen, ended.sequence)
    }

    private func readAnswered(_ result: ReadResult, _ frame: [UInt8]) {
        guard let record = reads.removeValue(forKey: result.id) else { return }
        guard result.status == .answered, case .read(let query, let level) = simulation.history[record].call else {
            return simulation.history.forget(record)
        }
        let answer = Array(frame[result.answer])
        if result.sequence < simulation.history[record].minimum {
            let promise: Violation.Promise = level == .linearizable ? .linearizability : .monotonic
            simulation.fail(
                promise, "\(name) read at \(result.sequence), after \(simulation.history[record].minimum) was told")
        }
        if let known = simulation.answers.ending(at: result.sequence),
            !simulation.workload.isRight(answer, to: query, at: known.remembered)
        {
            simulation.fail(.committedOnly, "\(name) read at \(result.sequence) what the log does not give there")
        }
        seen = max(seen, result.sequence)
        simulation.history.answer(record, .read(answer), epoch: result.epoch, sequence: result.sequence)
    }
}
