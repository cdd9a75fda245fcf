import Lockstep
import LockstepCore
import LockstepSimulator
import Synchronization

/// What the lives of a cluster's primaries have in common: the clock of their tasks, a queue for each host, and what failed.
///
/// A task runs only on the queue of its host: what the effects of a process that is gone would still do is not done until
/// the host has a primary again.
final class ClusterEffects {
    let clock: VirtualClock
    let seed: UInt64
    /// What the clock shows when the cluster's time is zero.
    let origin: Duration
    let failed = FailureBox()
    private var queues: [Int: TestStoreExecutor] = [:]
    private var lives: [Int: Life] = [:]

    private struct Life { weak var executor: (any EffectExecutor)? }

    init(clock: VirtualClock, seed: UInt64) {
        self.clock = clock
        self.seed = seed
        origin = clock.elapsed
    }

    /// Where the tasks of a host run.
    func queue(of host: Int) -> TestStoreExecutor {
        if let queue = queues[host] { return queue }
        let queue = TestStoreExecutor()
        queues[host] = queue
        return queue
    }

    func began(_ executor: any EffectExecutor, on host: Int) { lives[host] = Life(executor: executor) }

    /// Ends all tasks.
    func close() {
        for host in lives.keys.sorted() { lives[host]?.executor?.end() }
        for host in queues.keys.sorted() { queues[host]?.close() }
    }
}

/// What effects bring waits here for the simulator's thread; what they wait for is told by the published state.
final class ClusterPort<State: Sendable>: Lockstep.EffectPort {
    let errands: TestStorePort
    private let published: PublishedState<State>
    private let committed = Mutex(SequenceNumber.zero)
    private let isStopping = Mutex(false)

    init(_ errands: TestStorePort, published: PublishedState<State>) {
        self.errands = errands
        self.published = published
    }

    var name: String { errands.name }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        errands.emit(cause, mutations: mutations, ticket: ticket)
    }

    func finishRun(_ id: RunID, item: [UInt8]) { errands.finishRun(id, item: item) }

    func committed(through sequence: SequenceNumber) { committed.withLock { $0 = sequence } }

    /// The node stops: nobody is told any more what is current.
    func stop() { isStopping.withLock { $0 = true } }

    func waitUntilShown(_ sequence: SequenceNumber) async throws {
        var (snapshot, version) = published.currentVersion()
        while snapshot.place.sequence < sequence {
            guard let next = await published.next(after: version) else { throw CancellationError() }
            (snapshot, version) = next
        }
    }

    func waitUntilCurrent() async throws {
        guard !isStopping.withLock({ $0 }) else { throw CancellationError() }
        try await waitUntilShown(committed.withLock { $0 })
    }
}

/// Runs the effects, the feedback and the sources of one life of a simulated primary: the tasks are real, and do
/// something only where this lets them, on the simulator's thread.
///
///     an event:  directives --> the runtime resumes tasks --.          (nothing runs yet)
///     a while later:             time, then all that is ready --> emissions and ends --> the machine
///
/// The while is drawn from the seed, as long as it takes a node to go from its thread to a task and back, so that a crash
/// can come between the two.
final class ClusterExecutor<R: Reactor>: EffectExecutor {
    private unowned let port: any LockstepSimulator.EffectPort
    private let runtime: EffectRuntime<R>
    private let effects: ClusterEffects
    private let queue: TestStoreExecutor
    private let brought: ClusterPort<R.State>
    private var random: SplitMix64
    private var task: Task<Void, Never>?
    private var isOpened = false
    /// When the earliest wake-up comes that is under way.
    private var nextWake = Int64.max

    init(
        _ runtime: EffectRuntime<R>, published: PublishedState<R.State>, port: any LockstepSimulator.EffectPort,
        effects: ClusterEffects, random: SplitMix64
    ) {
        self.runtime = runtime
        self.port = port
        self.effects = effects
        queue = effects.queue(of: port.host)
        self.random = random
        let errands = TestStorePort(name: "test") { [weak runtime] errand in
            switch errand {
            case .emission(_, _, let ticket): runtime?.emission(ticket, .dropped)
            case .end(let id, _): runtime?.runEnd(id, .dropped)
            }
        }
        brought = ClusterPort(errands, published: published)
        start()
    }

    private func start() {
        let (runtime, brought, failed) = (runtime, brought, effects.failed)
        let failures = runtime.failures.subscribe(bufferLimit: 65_536)
        task = queue.start {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await case .value(let failure) in failures { failed.add(failure) }
                }
                await runtime.run(on: brought)
                group.cancelAll()
            }
        }
    }

    // MARK: - Directives

    func begin(_ run: RunStart) {
        port.note(run.attempt > 1 ? .begunAgain : .begun, run.id.number)
        runtime.begin(run)
    }

    func stop(_ id: RunID) {
        port.note(.stopped, id.number)
        runtime.stop(id)
    }

    func emissionEnded(_ ticket: UInt64, _ outcome: EmissionOutcome) {
        switch outcome {
        case .committed(_, let sequence): port.note(.committedEmission, sequence.rawValue)
        case .busy: port.note(.busyEmission, ticket)
        case .dropped:
            port.note(.droppedEmission, ticket)
            // Otherwise a feedback's effect would be run again and again, until the process is gone.
            if port.isMachineStopping { brought.stop() }
        }
        runtime.emission(ticket, outcome)
    }

    func runEnded(_ id: RunID, _ outcome: EmissionOutcome) {
        if outcome == .busy { port.note(.busyEnd, id.number) }
        if outcome == .dropped { port.note(.droppedEnd, id.number) }
        runtime.runEnd(id, outcome)
    }

    func committed(through sequence: SequenceNumber) {
        brought.committed(through: sequence)
        guard !isOpened else { return }
        // The first that commits is the epoch's opening, and with it the primary admits.
        isOpened = true
        runtime.opened()
    }

    // MARK: - Time

    func turnEnded() {
        let now = port.virtualTime
        var next = Int64.max
        if !queue.isIdle { next = now + random.between(10, 200) * Span.microsecond }
        if let deadline = effects.clock.nextDeadline {
            // Rounded up: the clock must have reached it.
            let time =
                (deadline - effects.origin + .nanoseconds(1) - Duration(secondsComponent: 0, attosecondsComponent: 1))
                .wholeNanoseconds
            next = min(next, max(now, time))
        }
        guard next < nextWake else { return }
        nextWake = next
        port.wake(after: next - now, token: 0)
    }

    func due(_ token: UInt64) {
        let now = port.virtualTime
        if now >= nextWake { nextWake = .max }
        let elapsed = effects.origin + .nanoseconds(now)
        if elapsed > effects.clock.elapsed { effects.clock.advance(by: elapsed - effects.clock.elapsed) }
        drain()
        while let errand = brought.errands.next() {
            switch errand {
            case .emission(let cause, let mutations, let ticket):
                port.emit(cause, mutations: mutations, ticket: ticket)
            case .end(let id, let item): port.finish(id, item: item)
            }
        }
    }

    private func drain() {
        guard !queue.drain() else { return }
        port.fail(.effects, "the effects go on without end and without waiting: one of them never sleeps")
    }

    /// The tasks are cancelled and go to their ends, where they react to it; nothing that they bring counts.
    func end() {
        guard let task else { return }
        self.task = nil
        brought.errands.close()
        task.cancel()
        drain()
    }
}
