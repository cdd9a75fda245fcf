import LockstepCore

/// A whole cluster with its callers in one thread: real machines, a simulated network, simulated journals and clocks.
///
/// One queue of events and one seed decide everything; two runs with the same options have the same trace. A run has
/// two phases: faults, while operations are issued, then a healed network in which everything must come to rest.
package final class Simulation {
    package let options: SimulationOptions
    let cluster: ClusterID
    /// One or two; a node has all of them.
    private(set) var stores: [SimulatedStore] = []
    package private(set) var now: Int64 = 0
    /// What is on now; it is empty in the second phase.
    var plan: FaultPlan
    package private(set) var violation: Violation?
    package internal(set) var coverage = Coverage()
    private(set) var processes: [SimulatedProcess] = []
    private(set) var callers: [Caller] = []
    private(set) var isHealed = false
    /// From when on what waits and storms is judged as without unusual ways; 0 where there are none.
    private(set) var usualSince: Int64
    var isUsual: Bool { now >= usualSince }
    /// The share of all frames that a script lets be lost.
    var scriptedLoss = 0.0

    private var queue = EventQueue<Event>()
    private var traced = Trace()
    var random: SplitMix64
    private let generators: (network: SplitMix64, injector: SplitMix64)
    private(set) lazy var network = Network(simulation: self, random: generators.network)
    private(set) lazy var waits = Waits(simulation: self)
    private(set) lazy var silence = Silence(simulation: self)
    /// What the checkers of waits measure from.
    lazy var health = Health(hosts: processes.map(\.host))
    lazy var frameRates = FrameRates(processes: processes.count)
    private(set) lazy var injector = FaultInjector(simulation: self, random: generators.injector)
    /// Draws what is watched, so that the numbers of everything else are what they were without it.
    var watchRandom: SplitMix64
    var issued = 0
    private var callerCount = 0
    private var stops: [(time: Int64, process: SimulatedProcess, boot: Int)] = []
    private(set) var steps = 0
    let snapshotDueBytes: Int
    /// Small enough that the stream fills it at times.
    let joinBufferBytes: Int

    /// Makes a cluster with a store for each workload.
    package init(_ options: SimulationOptions, workloads: [any Workload]) {
        self.options = options
        plan = options.plan
        usualSince = options.plan.isOn(.buggify) ? .max : 0
        random = SplitMix64(seed: options.seed)
        watchRandom = SplitMix64(seed: options.seed ^ 0x3A7C_4ED0_0B5E_77E5)
        cluster = ClusterID(rawValue: random.bits128())
        snapshotDueBytes = 1 << Int(random.between(10, 17))
        joinBufferBytes = 1 << Int(random.between(12, 18))
        let (ofNetwork, ofDesk) = (random.fork(), random.fork())
        generators = (ofNetwork, random.fork())
        for (index, workload) in workloads.enumerated() {
            stores.append(
                SimulatedStore(
                    simulation: self, name: index == 0 ? "simulated" : "simulated-\(index + 1)",
                    channel: Channel(rawValue: UInt16(index)), workload: workload,
                    ofDesk: index == 0 ? ofDesk : SplitMix64(seed: options.seed ^ 0x5EED_0F0F_7105_0023)))
        }
        makeProcesses()
        for store in stores.dropFirst() { makeProcesses(of: store) }
    }

    /// The first store, which scripts are about.
    var store: SimulatedStore { stores[0] }

    /// Whether an operator is making a journal of the primary's node anew, which is stopped meanwhile.
    var isRecovering: Bool { stores.contains { $0.operatorDesk.isRecovering || $0.recovery.isAtWork } }

    /// The other stores of a process's node.
    func others(onHostOf process: SimulatedProcess) -> [SimulatedProcess] {
        guard stores.count > 1 else { return [] }
        return processes.filter { $0.host == process.host && $0 !== process }
    }

    func add(_ process: SimulatedProcess) {
        // Of its own numbers, so that keys change nothing else of a run.
        var random = SplitMix64(seed: options.seed ^ 0x5EED_0F0F_7105_0019 &+ UInt64(process.id))
        if process is ClientProcess, random.chance(0.3) {
            process.quota.inFlight = Int(random.between(1, 60))
            if random.chance(0.5) { process.quota.bytesPerSecond = Int(random.between(500, 5_000)) }
        }
        processes.append(process)
        process.store.add(process)
    }

    package var names: [String] { processes.map(\.name) }
    package var traceHash: UInt64 { traced.hash }
    package var traceText: [String] { traced.text(names: names) }
    package var virtualTime: Int64 { now }
    package var stepCount: Int { steps }

    // MARK: - For the parts

    func add(_ event: Event, after delay: Int64) { queue.add(event, at: now + max(0, delay)) }
    func add(_ event: Event, at time: Int64) { queue.add(event, at: max(now, time)) }

    func trace(_ process: Int, _ kind: TraceKind, _ first: UInt64, _ second: UInt64) {
        traced.add(TraceLine(time: now, process: process, kind: kind, first: first, second: second))
    }

    func fired(_ fault: FaultClass, _ detail: UInt64) {
        coverage.fire(fault)
        if fault != .delay { trace(-1, .fault, UInt64(FaultClass.allCases.firstIndex(of: fault) ?? 0), detail) }
    }

    func fail(_ promise: Violation.Promise, _ text: String) {
        guard violation == nil else { return }
        violation = Violation(promise, "\(text), after \(Double(now / Span.millisecond) / 1_000) s")
    }

    /// Callers are numbered over all their lives.
    func nextCaller() -> Int {
        callerCount += 1
        return callerCount
    }

    func add(_ caller: Caller) {
        callers.removeAll { $0.process === caller.process }
        callers.append(caller)
        scheduleCall(caller)
    }

    func restart(_ process: SimulatedProcess, after delay: Int64) {
        add(.start(process, boot: process.boot), after: isHealed ? min(delay, Span.second) : delay)
    }

    /// A session's time to live, in microseconds.
    func timeToLive(_ random: inout SplitMix64) -> Int64 {
        options.script?.timeToLive ?? random.between(2, 40) * 1_000_000
    }

    // MARK: - The run

    /// Runs both phases and all checks; what was broken first is the result.
    package func run() -> Violation? {
        for process in processes where !(process is RecoveryProcess) {
            add(.start(process, boot: 0), after: random.between(0, 500) * Span.millisecond)
        }
        injector.begin()
        // A script may stop, cut and change whatever it likes.
        if options.script == nil { add(.look, after: Waits.period) }
        step(until: options.faultTime) { false }
        guard violation == nil else { return violation }
        heal()
        add(.calm, after: 5 * Span.second)
        // They only delay, but without a bound.
        add(.usualWays, after: options.healTime / 4)
        let isAtRest = step(until: now + options.healTime) { self.isAtRest() }
        if violation == nil, !isAtRest { fail(.convergence, openEnds) }
        finish()
        return violation
    }

    /// Takes events until `isDone`, or until the time; returns whether it was done.
    @discardableResult
    package func step(until end: Int64, lookEvery: Int64 = 50 * Span.millisecond, _ isDone: () -> Bool) -> Bool {
        var nextLook = now
        while violation == nil, let time = queue.nextTime, time <= end {
            if time >= nextLook {
                if isDone() { return true }
                nextLook = time + lookEvery
            }
            guard let (time, event) = queue.pop() else { break }
            now = time
            steps += 1
            happen(event)
        }
        now = max(now, end)
        return isDone()
    }

    private func happen(_ event: Event) {
        switch event {
        case .turn(let process, let boot): process.turn(boot: boot, at: now)
        case .arrival(let flight): network.arrived(flight)
        case .connectionAttempt(let link): network.attemptEnded(link)
        case .mail(let process, let boot, let mail):
            if process.boot == boot { process.arrived(.mail(mail)) }
        case .call(let caller, let boot):
            guard caller.process.boot == boot, caller.process.isUp else { return }
            issue(caller)
        case .fault(let event): injector.happens(event)
        case .start(let process, let boot): start(process, boot)
        case .operatorLooks(let desk): desk.look()
        case .stopsAreDue: stopDue()
        case .usualWays: takeUsualWays()
        case .calm: for store in stores { store.oracle.isCalm() }
        case .look: look()
        }
    }

    private func look() {
        waits.look()
        silence.look()
        for store in stores {
            for replica in store.replicas where replica.isReadable { store.oracle.checkServes("may be read", replica) }
        }
        // What the bounds are calibrated with: 1,000 operations in 90 s.
        let load = Double(options.operations) * 120 * Double(Span.second) / (1_000 * Double(options.faultTime))
        if let storm = frameRates.look(now: now, load: load, usualSince: usualSince) {
            fail(.storm, "\(processes[storm.process].name) sent \(storm.count) frames \(storm.kind) within a second")
        }
        add(.look, after: Waits.period)
    }

    private func start(_ process: SimulatedProcess, _ boot: Int) {
        guard process.boot == boot, !process.isUp else { return }
        process.start()
        // A second crash while the first is still being repaired.
        if plan.isOn(.crashWhileStarting), process is NodeProcess, process.isUp,
            random.chance(0.4 * plan[.crashWhileStarting])
        {
            fired(.crashWhileStarting, UInt64(process.id))
            let delay = random.between(0, 20) * Span.millisecond
            add(.start(process, boot: process.boot), after: delay + random.between(1, 500) * Span.millisecond)
            stop(process, after: delay)
        }
    }

    /// Stops a process a moment from now, whatever it does then.
    func stop(_ process: SimulatedProcess, after delay: Int64) {
        stops.append((now + delay, process, process.boot))
        add(.stopsAreDue, after: delay)
    }

    private func stopDue() {
        let due = stops.filter { $0.time <= now }
        stops.removeAll { $0.time <= now }
        for stop in due where stop.process.boot == stop.boot { stop.process.stop() }
    }
}

// MARK: - The second phase

extension Simulation {
    /// Ends all faults: everything runs, nothing is cut, disks have room.
    private func heal() {
        isHealed = true
        injector.end()
        plan = FaultPlan()
        trace(-1, .healed, 0, 0)
        health.healed(at: now)
        network.unblockAll()
        for process in processes {
            process.resume()
            (process as? NodeProcess)?.makeRoom()
            if process is RogueProcess { process.stop() }
            let isRecovered = process is PrimaryProcess && isRecovering
            if !process.isUp, !(process is RogueProcess || process is RecoveryProcess || isRecovered) {
                add(.start(process, boot: process.boot), after: random.between(0, 500) * Span.millisecond)
            }
        }
    }

    private func takeUsualWays() {
        for process in processes { process.takeUsualWays() }
        // What they have begun goes on for a while.
        usualSince = min(usualSince, now + 5 * Span.second)
    }

    /// The checks over the whole run.
    private func finish() {
        noteCoverage()
        for store in stores where violation == nil { finish(store) }
    }

    private func finish(_ store: SimulatedStore) {
        store.oracle.checkLearned()
        store.oracle.checkRuns()
        guard let machine = store.primary.machine else { return }
        for replica in store.replicas where replica.machine?.log != machine.log {
            fail(.joinIntegrity, "\(replica.name) is live at the primary's place with other tables")
        }
        if machine.log != store.oracle.reference { fail(.agreement, "the primary's tables are not those of its log") }
        guard violation == nil else { return }
        store.history.resolve { store.oracle.replies[Oracle.ReplyKey(session: $0, number: $1)] }
        guard let final = store.oracle.remembered else { return }
        if let found = store.workload.findings(in: store.oracle.kept(store.history.records), final: final).first {
            violation = found
        }
    }

    private func noteCoverage() {
        for process in processes {
            if let machine = (process as? PrimaryProcess)?.machine { coverage.noteFired(machine.buggify.fired) }
            if let replica = process as? ReplicaProcess, let machine = replica.machine {
                coverage.noteFired(machine.buggify.fired)
                if let caller = replica.caller { coverage.noteFired(caller.machine.buggify.fired) }
            }
            if let caller = (process as? ClientProcess)?.caller { coverage.noteFired(caller.machine.buggify.fired) }
        }
        if coverage.buggifySites != 0 { coverage.fire(.buggify) }
        for store in stores { coverage.effects.merge(store.oracle.runs.fired) { $0 + $1 } }
    }
}
