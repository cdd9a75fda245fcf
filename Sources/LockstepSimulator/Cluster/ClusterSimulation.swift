import LockstepCore

/// A cluster of data nodes in one thread: shipped machines, a simulated network, disks, clocks and arbiter.
///
/// Any node may become the primary. One queue of events and one seed decide everything. First faults strike while
/// clients act; then everything is healed, and must work again with all nodes equal.
package final class ClusterSimulation {
    static let cluster = ClusterID(rawValue: 0xC0FFEE << 64 | 9)
    static let store = StoreID(cluster: cluster, name: "counters")
    static let channel = Channel(rawValue: 3)
    /// The wall clock at the beginning, in microseconds.
    static let begin: Int64 = 1_800_000_000_000_000
    /// Of the nodes' clocks.
    static let firstTick: Int64 = 5 * Span.second

    var options: ClusterOptions
    /// Whose state the nodes hold.
    let workload: any Workload
    /// Somebody else makes the calls and the faults; else everything comes from the seed.
    let isSteered: Bool
    let nodes: [ClusterNode]
    let clients: [ClusterClient]
    /// The clients of a steered run.
    var callers: [ClusterCaller] = []
    var history = CallHistory()
    var answers = ClusterAnswers()
    /// By who dialled, and whom.
    var links: [[ClusterLink?]]
    var clientLinks: [Connection: ClusterLink] = [:]
    var nodeLinks: [Connection: ClusterLink] = [:]
    var arbiter: ArbiterModel
    var random: SplitMix64
    var checker: ClusterChecker
    var waits = ClusterWaits()
    var frameRates: FrameRates
    package private(set) var now: Int64 = 0
    var isHealed = false
    /// Faults are drawn.
    var isStriking = false
    /// Frames from the first to the second do not come.
    var cuts: Set<[Int]> = []
    var connections: UInt64 = 0
    /// What a script has struck.
    var scripted: ScriptedStrike?
    /// Clients say nothing new.
    var isQuiet = false
    /// An operator is at work on a promotion.
    var isPromoting = false
    private var queue = EventQueue<ClusterEvent>()
    private var traced = Trace()
    private(set) var steps = 0
    private(set) var fired: [ClusterFault: Int] = [:]
    package private(set) var violation: Violation?
    package internal(set) var counts = Counts()
    /// How many answers each client had when everything was healed.
    private var answeredAtHealing: [RequestNumber] = []

    /// How often things happened.
    package struct Counts: Hashable, Sendable {
        package var elections = 0
        package var depositions = 0
        package var truncations = 0
        package var snapshots = 0
        package var additions = 0
        package var removals = 0
        package var lostDisks = 0
        package var handovers = 0
        package var keptPosts = 0
        package var bindings = 0
        package var promotions = 0
        package var losses = 0
        package var halts = 0

        /// By their names.
        var named: [String: Int] {
            [
                "elections": elections, "depositions": depositions, "truncations": truncations,
                "snapshots": snapshots, "additions": additions, "removals": removals, "lost disks": lostDisks,
                "handovers": handovers, "kept posts": keptPosts, "bindings": bindings, "promotions": promotions,
                "histories given up": losses, "halts": halts,
            ]
        }

        static var names: [String] { Counts().named.keys.sorted() }
    }

    /// A run that comes from its seed alone.
    package convenience init(_ options: ClusterOptions) {
        self.init(options, TicketsWorkload(), isSteered: false)
        for client in clients { add(.client(client), after: random.between(0, 50 * Span.millisecond)) }
        if options.script == nil { beginStrikes(after: Span.second) }
        add(.look, after: 100 * Span.millisecond)
        planScript()
    }

    init(_ options: ClusterOptions, _ workload: any Workload, isSteered: Bool) {
        (self.options, self.workload, self.isSteered) = (options, workload, isSteered)
        random = SplitMix64(seed: options.seed)
        nodes = (0..<options.nodes).map { index in
            let name = "node-\(isSteered ? index + 1 : index)"
            return ClusterNode(index, name: name, store: Self.store) {
                let state = SimulatedState(workload.makeState())
                state.misplacesSeries = options.defect == .seriesIsMisplaced
                return state
            }
        }
        clients =
            isSteered
            ? []
            : (0..<options.clients).map { ClusterClient($0, isReader: false) }
                + [ClusterClient(options.clients, isReader: true)]
        frameRates = FrameRates(processes: options.nodes + clients.count, of: .dataNodes)
        links = Array(repeating: Array(repeating: nil, count: options.nodes), count: options.nodes)
        var checker = ClusterChecker(store: Self.store) {
            SimulatedState(workload.makeState(), isItemByItem: true)
        }
        if options.adopts { Self.keepLog(of: nodes[0], &checker) }
        self.checker = checker
        let end = nodes[0].disk.end
        let first = ConfigurationRecord(
            cluster: Self.cluster, store: Self.store, channel: Self.channel,
            epoch: max(end.epoch, Epoch(rawValue: 1)), primary: nodes[0].place, openedAfter: end,
            minimum: options.minimum, attempt: AttemptID(rawValue: 7))
        arbiter = ArbiterModel(StoredRecord(first, revision: 1))
        for node in nodes {
            let drift = options.strength(.clockRate) * 0.1
            node.rate = 1 + drift * (2 * random.fraction() - 1)
            start(node)
        }
    }

    // MARK: - For the parts

    func add(_ event: ClusterEvent, after delay: Int64) { queue.add(event, at: now + delay) }

    /// All pauses end, and all disks work; what waited for that happens now, and not when it was expected.
    func letAllGoOn() {
        let ends = nodes.flatMap { [$0.pausedUntil, $0.stuckUntil] } + callers.map(\.pausedUntil)
        for node in nodes { node.goOn() }
        for caller in callers where caller.pausedUntil > now { caller.goOn() }
        queue.bring(from: Set(ends.filter { $0 > now }), to: now)
    }

    func fail(_ promise: Violation.Promise, _ text: String) {
        guard violation == nil else { return }
        violation = Violation(promise, "\(text), after \(Double(now / Span.millisecond) / 1_000) s")
    }

    func trace(_ node: ClusterNode, _ kind: TraceKind, _ first: UInt64, _ second: UInt64) {
        traced.add(TraceLine(time: now, process: node.index, kind: kind, first: first, second: second))
    }

    func trace(_ caller: ClusterCaller, _ kind: TraceKind, _ first: UInt64, _ second: UInt64) {
        traced.add(
            TraceLine(time: now, process: nodes.count + caller.index, kind: kind, first: first, second: second))
    }

    func trace(order record: ConfigurationRecord) {
        traced.add(
            TraceLine(time: now, process: -1, kind: .record, first: record.epoch.rawValue, second: record.number))
    }

    func fire(_ fault: ClusterFault, _ detail: Int) {
        fired[fault, default: 0] += 1
        waits.disturbed(until: now + fault.aftermath)
        let number = ClusterFault.allCases.firstIndex(of: fault) ?? 0
        traced.add(
            TraceLine(time: now, process: -1, kind: .clusterFault, first: UInt64(number), second: UInt64(detail)))
    }

    /// Whether a fault that has no moment of its own strikes here; `share` is how often at full strength.
    func strikes(_ fault: ClusterFault, _ share: Double) -> Bool {
        let strength = options.strength(fault)
        guard !isHealed, strength > 0, random.chance(strength * share) else { return false }
        fired[fault, default: 0] += 1
        waits.disturbed(until: now + fault.aftermath)
        return true
    }

    package var traceText: [String] { traced.text(names: nodes.map(\.name.name) + callers.map(\.name)) }
    package var traceHash: UInt64 { traced.hash }

    // MARK: - A run

    /// Runs to the end, or to the first promise that is broken.
    package func run() {
        while violation == nil, now < options.faultTime, step() {}
        guard violation == nil else { return }
        heal()
        let end = now + options.healTime
        while violation == nil, !isAtRest, step() {
            if now >= end { fail(.convergence, "healed, and not at work: \(summary)") }
        }
        guard violation == nil else { return }
        for client in clients { checker.holds(client) }
        if let found = checker.violation { fail(found.promise, found.text) }
    }

    @discardableResult
    func step() -> Bool {
        guard let (time, event) = queue.pop() else { return false }
        now = time
        steps += 1
        take(event)
        if let found = checker.violation ?? answers.violation { fail(found.promise, found.text) }
        return true
    }

    /// Takes events until `isDone`, which is asked before each, or until the time; returns whether it was done.
    func pass(until end: Int64, _ isDone: () -> Bool) -> Bool {
        while violation == nil, let time = queue.nextTime, time <= end {
            if isDone() { return true }
            step()
        }
        now = max(now, end)
        return isDone()
    }

    private func heal() {
        isHealed = true
        waits.disturbed(until: now)
        (cuts, isQuiet, scripted) = ([], false, nil)
        arbiter.awayUntil = 0
        arbiter.cutUntil = [:]
        letAllGoOn()
        for node in nodes {
            node.isGone = false
            if !node.isUp { add(.boot(node), after: random.between(0, Span.second)) }
        }
        answeredAtHealing = clients.map(\.answeredInAll)
    }

    /// Everybody has new answers, and everything that was asked has one; all nodes are equal.
    private var isAtRest: Bool {
        for (client, before) in zip(clients, answeredAtHealing) where !client.isReader {
            guard client.answeredInAll >= before + 5 else { return false }
        }
        guard clients.allSatisfy({ $0.answered == $0.submitted }) else { return false }
        return nodes.allSatisfy { $0.shown.log.position.sequence >= checker.committed }
    }

    /// Whether clients still begin something: enough is done when everybody has new answers.
    func wantsMore(_ client: ClusterClient) -> Bool {
        guard !isQuiet else { return false }
        guard isHealed, answeredAtHealing.indices.contains(client.index) else { return true }
        return client.answeredInAll < answeredAtHealing[client.index] + 5
    }

    // MARK: - Events

    private func take(_ event: ClusterEvent) {
        switch event {
        case .tick(let node): ifAwake(node, event) { tick(node) }
        case .turn(let node, let life) where node.life == life: ifAwake(node, event) { turn(node) }
        case .heartbeat(let node, let life) where node.life == life: ifAwake(node, event) { beat(node) }
        case .wrote(let node, let life) where node.life == life: wrote(node)
        case .told(let node, let life) where node.life == life: ifAwake(node, event) { tell(node) }
        case .snapshot(let node, let life) where node.life == life: ifAwake(node, event) { fetchSnapshot(node) }
        case .effect(let node, let life, let token) where node.life == life:
            ifAwake(node, event) { wakeEffects(of: node, token: token) }
        case .turn, .heartbeat, .wrote, .told, .snapshot, .effect: break
        case .boot(let node): if !node.isUp, !node.staysDown, !node.isGone { start(node) }
        case .operate(let step): operate(step)
        case .dial(let from, let to): dial(from, to)
        case .pump(let link, let way): pump(link, way)
        case .refusal(let link): refused(link)
        case .order(let order): serve(order)
        case .answer(let answer, let index, let life):
            let node = nodes[index]
            if node.life == life { ifAwake(node, event) { answered(answer, node: node) } }
        case .client(let client): act(client)
        case .redirect(let client, let link, let hint):
            if client.link === link {
                client.hint = hint
                leave(client)
            }
        case .caller(let caller, let life): if caller.life == life { caller.tick() }
        case .callerRefused(let caller, let attempt): caller.refused(attempt: attempt)
        case .cutLasts(let link): if isCut(link, .up) || isCut(link, .down) { close(link) }
        case .fault: strike()
        case .look:
            look()
            add(.look, after: 100 * Span.millisecond)
        case .script(let number): playScript(number)
        case .scriptGoesOn(let step): if !isHealed { goOn(step) }
        }
    }

    /// What comes to a process that is paused waits.
    private func ifAwake(_ node: ClusterNode, _ event: ClusterEvent, _ body: () -> Void) {
        if now >= node.pausedUntil { body() } else { queue.add(event, at: node.pausedUntil) }
    }

    /// Ten times a second: what costs more than an event may.
    private func look() {
        for node in nodes { checker.keeps(node) }
        for node in nodes where node.isUp {
            inPlace(&node.standby) { $0?.checkInvariants() }
            inPlace(&node.primary) { $0?.checkInvariants() }
            inPlace(&node.primary) { $0?.replication?.checkInvariants() }
            checker.shows(node.shown, node)
        }
        lookAtWaits()
        lookAtFrames()
    }

    /// Where each node is, in one line.
    var summary: String {
        let roles = nodes.map { node in
            if let primary = node.primary {
                return "\(node.name) primary \(primary.phase) of \(primary.epoch), "
                    + "\(primary.committed.position.sequence)/\(primary.log.position.sequence), required "
                    + "\(primary.replication?.inSync.required.map(\.description) ?? [])"
            }
            guard let standby = node.standby else { return "\(node.name) down" }
            return "\(node.name) \(standby.phase) \(standby.election.phase), has \(standby.log.durable) of "
                + "\(standby.log.end.sequence), promised \(standby.election.promised), \(node.writes.count) writes"
        }
        let record = arbiter.stored.record
        let waiting = clients.filter { $0.answered != $0.submitted }
        return roles.joined(separator: "; ")
            + "; record \(record.number) of epoch \(record.epoch): \(record.primary.member), in sync "
            + "\(record.inSync.map(\.description)); committed \(checker.committed); clients that wait: "
            + "\(waiting.map { "\($0.index) \($0.stage) \($0.answered)/\($0.submitted)" })"
    }
}
