package import LockstepCore
package import LockstepNode
import Synchronization

/// Runs a store's effects on its primary; on a replica it waits and does nothing.
///
///     node's thread:  accepted --keep--> begin(run) --.                    emission, runEnd
///     tasks:                          run(port:) ------`--> body --emit--> (node's thread) --> goes on
///
/// Nothing here decides what is committed: the primary's machine drops what comes of a run that has ended, or that this
/// boot did not begin (PROTOCOL, R-62, R-63).
package final class EffectRuntime<R: Reactor>: RunExecutor, EffectEnvironment {
    let reactor: R
    let published: PublishedState<R.State>
    let clock: any Clock<Duration>
    /// What chance begins with; the same gives the same delays.
    let seed: UInt64
    package let failures = Broadcast<EffectFailure>()
    private let commands: AsyncStream<Command>
    private let orders: AsyncStream<Command>.Continuation
    private let contents = Mutex(Contents())

    private enum Command: Sendable {
        /// With the number of the reign that orders it.
        case begin(RunStart, reign: UInt64)
        case open, close
    }

    private struct Emission: Sendable {
        var lifetime: UInt64
        /// What it asks of the state besides.
        var isWanted: (@Sendable (R.State) -> Bool)?
        /// Nil: the effect's task was cancelled while it waited.
        var resume: CheckedContinuation<EmissionOutcome?, Never>
    }

    private struct Contents: Sendable {
        /// Accepted, and not begun or not ended.
        var bodies: [RunID: DeferredEffect<R>] = [:]
        var stops: [RunID: StopSignal] = [:]
        var emissions: [UInt64: Emission] = [:]
        var ends: [RunID: CheckedContinuation<EmissionOutcome, Never>] = [:]
        /// Lives of feedback that may emit, with the question whether the state still asks for them.
        var lives: [UInt64: Life] = [:]
        /// The life whose emission was let through, until it has been reduced.
        var reducing: Life?
        var lastNumber: UInt64 = 0
        /// How many reigns are over.
        var reign: UInt64 = 0
        var port: (any EffectPort)?
    }

    private struct Life: Sendable {
        /// Of a feedback's effect; a source has none.
        var name: String?
        var fulfilment: Fulfilment?
        var isWanted: @Sendable (R.State) -> Bool
    }

    package init(
        _ reactor: R, published: PublishedState<R.State>, clock: any Clock<Duration>,
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        self.reactor = reactor
        self.published = published
        self.clock = clock
        self.seed = seed
        // As many as there are accepted actions, which the log bounds.
        (commands, orders) = AsyncStream.makeStream(of: Command.self, bufferingPolicy: .unbounded)
    }

    var snapshot: Snapshot<R.State> { published.current() }

    // MARK: - The node's thread

    /// An action was accepted: its effect waits for ``begin(_:)``.
    func keep(_ id: RunID, _ effect: DeferredEffect<R>) { contents.withLock { $0.bodies[id] = effect } }

    func forget(_ id: RunID) { contents.withLock { $0.bodies[id] = nil } }

    package func opened() { orders.yield(.open) }

    /// Ends everything that was begun; what waits for an answer is cancelled, since nobody knows what became of it.
    package func closed() {
        contents.withLock { contents in
            contents.bodies = [:]
            contents.reign += 1
        }
        orders.yield(.close)
    }

    /// Nothing fails from here on; the tasks have ended, or were never begun.
    package func ended() { failures.finish() }

    package func begin(_ run: RunStart) {
        let reign = contents.withLock { $0.reign }
        orders.yield(.begin(run, reign: reign))
    }

    package func stop(_ id: RunID) {
        let signal = contents.withLock { contents in
            contents.bodies[id] = nil
            return contents.stops[id]
        }
        signal?.stop()
    }

    package func emission(_ ticket: UInt64, _ outcome: EmissionOutcome) { answer(ticket, outcome) }

    private func answer(_ ticket: UInt64, _ outcome: EmissionOutcome?) {
        contents.withLock { $0.emissions.removeValue(forKey: ticket) }?.resume.resume(returning: outcome)
    }

    package func runEnd(_ id: RunID, _ outcome: EmissionOutcome) {
        contents.withLock { $0.ends.removeValue(forKey: id) }?.resume(returning: outcome)
    }

    /// Whether what waits under this ticket may be committed after `state`.
    func isLive(_ cause: EffectCause, ticket: UInt64, in state: R.State) -> Bool {
        let questions = contents.withLock { contents in
            contents.emissions[ticket].map { (life: contents.lives[$0.lifetime], emission: $0.isWanted) }
        }
        // Its task was cancelled while it was on its way.
        guard let questions else { return false }
        if let isWanted = questions.emission, !isWanted(state) { return false }
        // The machine knows itself which actions run.
        if case .action = cause { return true }
        guard let life = questions.life, life.isWanted(state) else { return false }
        guard let fulfilment = life.fulfilment else { return true }
        // What the state asks for now is the work of the next life.
        guard !fulfilment.isNoted else { return false }
        contents.withLock { $0.reducing = life }
        return true
    }

    /// What ``isLive(_:ticket:in:)`` let through of a feedback was reduced, as the entry `sequence`, and gave `state`.
    ///
    /// The state is asked here, since one without the request may never be shown: the next entry can ask for it again.
    func wasReduced(to state: R.State, at sequence: SequenceNumber) {
        guard let life = contents.withLock({ $0.reducing.take() }), !life.isWanted(state) else { return }
        life.fulfilment?.note(sequence)
    }

    // MARK: - Tasks

    package func run(port: StorePort) async { await run(on: port) }

    /// Runs effects until the task is cancelled; called once.
    @concurrent
    package func run(on port: any EffectPort) async {
        contents.withLock { $0.port = port }
        let metrics = EffectMetrics(store: port.name)
        var commands = commands.makeAsyncIterator()
        // Each reign waits until what the one before has begun is over, so that nothing runs twice side by side.
        while await reign(&commands, port, metrics) {}
        // The port holds this object.
        contents.withLock { $0.port = nil }
        failures.finish()
    }

    /// Runs effects until the primary is deposed; false if the task was cancelled instead.
    private func reign(
        _ commands: inout AsyncStream<Command>.Iterator, _ port: any EffectPort, _ metrics: EffectMetrics
    ) async -> Bool {
        await withDiscardingTaskGroup { group in
            defer { group.cancelAll() }
            while let command = await commands.next() {
                switch command {
                case .begin(let start, reign: let number):
                    group.addTask { await self.perform(start, orderedIn: number, port, metrics) }
                case .open:
                    let store = port.name
                    for feedback in reactor.feedback { group.addTask { await self.perform(feedback, of: store) } }
                    for source in reactor.sources { group.addTask { await self.perform(source, of: store) } }
                case .close: return true
                }
            }
            return false
        }
    }

    private func perform(
        _ start: RunStart, orderedIn reign: UInt64, _ port: any EffectPort, _ metrics: EffectMetrics
    ) async {
        let signal = StopSignal()
        let effect: DeferredEffect<R>? = contents.withLock { contents in
            // An order may wait until its reign is over; the body of the next reign is for that one's own order.
            guard contents.reign == reign else { return nil }
            contents.stops[start.id] = signal
            return contents.bodies.removeValue(forKey: start.id)
        }
        // One of the same run in another reign begins after the end of this one.
        defer { contents.withLock { $0.stops[start.id] = nil } }
        // Without a body it was stopped before it began.
        guard let body = effect?.body else { return }
        let scope = EmitterScope<R>(
            self, cause: .action(start.id.session, start.id.number), start: start, lifetime: 0,
            idempotencyKey: "\(port.name)/\(start.id)")
        let began = MonotonicClock.now
        let attempt = { await signal.race { try await body(Emitter(scope)) } }
        let outcome = if let traces = port.traces { await traces.running(start.id, attempt) } else { await attempt() }
        let kept = scope.end()
        metrics.ended(Self.end(of: outcome), nanoseconds: MonotonicClock.now - began)
        guard let outcome else { return }
        await finish(start.id, outcome, kept, port)
    }

    private static func end(of outcome: Result<R.Reply, any Error>?) -> EffectMetrics.EffectEnd {
        switch outcome {
        case .success: .finished
        case .failure(let error): error is CancellationError ? .cancelled : .failed
        case nil: .stopped
        }
    }

    /// Brings the end to the log, however long the primary has no room for it.
    private func finish(
        _ id: RunID, _ outcome: Result<R.Reply, any Error>, _ mutations: [R.Mutation], _ port: any EffectPort
    ) async {
        let item: [UInt8]
        do {
            item = try EffectCoding<R>.item(try outcome.get(), mutations)
        } catch is CancellationError {
            // It gave up by itself, for example because its element has gone.
            item = EffectCoding<R>.cancelledItem
        } catch {
            failures.send(EffectFailure(origin: .action(id), error: error))
            item = EffectCoding<R>.failedItem(error)
        }
        _ = await untilTaken { await self.end(id, item, port) }
    }

    private func end(_ id: RunID, _ item: [UInt8], _ port: any EffectPort) async -> EmissionOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                contents.withLock { $0.ends[id] = continuation }
                guard !Task.isCancelled else { return runEnd(id, .dropped) }
                port.finishRun(id, item: item)
            }
        } onCancel: {
            runEnd(id, .dropped)
        }
    }

    func emit(_ mutations: [R.Mutation], _ scope: EmitterScope<R>) async throws -> Place {
        try await emit(mutations, scope, nil, isWanted: nil)
    }

    func emit(
        _ mutations: [R.Mutation], _ scope: EmitterScope<R>, _ condition: EmissionCondition?,
        while isWanted: @escaping @Sendable (R.State) -> Bool
    ) async throws -> Place {
        try await emit(mutations, scope, condition, isWanted: isWanted)
    }

    private func emit(
        _ mutations: [R.Mutation], _ scope: EmitterScope<R>, _ condition: EmissionCondition?,
        isWanted: (@Sendable (R.State) -> Bool)?
    ) async throws -> Place {
        guard let port = contents.withLock({ $0.port }) else { throw CancellationError() }
        let bytes = try EffectCoding<R>.emission(mutations)
        let outcome = await untilTaken { await self.emission(bytes, scope, isWanted, port) }
        guard case .committed(let epoch, let sequence)? = outcome else {
            // A cancellation of its task says nothing about what the state asks for.
            if outcome == .dropped, condition?.hasFailed != true { scope.wasDropped() }
            throw CancellationError()
        }
        try await unlessStopped { try await port.waitUntilShown(sequence) }
        return Place(epoch: epoch, sequence: sequence)
    }

    private func emission(
        _ bytes: [UInt8], _ scope: EmitterScope<R>, _ isWanted: (@Sendable (R.State) -> Bool)?,
        _ port: any EffectPort
    ) async -> EmissionOutcome? {
        let ticket = number()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<EmissionOutcome?, Never>) in
                contents.withLock {
                    $0.emissions[ticket] = Emission(
                        lifetime: scope.lifetime, isWanted: isWanted, resume: continuation)
                }
                // A cancellation before this line found nothing to resume.
                guard !Task.isCancelled else { return answer(ticket, nil) }
                port.emit(scope.cause, mutations: bytes, ticket: ticket)
            }
        } onCancel: {
            answer(ticket, nil)
        }
    }

    func wait(while isWanted: @escaping @Sendable (R.State) -> Bool) async throws {
        guard let port = contents.withLock({ $0.port }) else { throw CancellationError() }
        // What is shown may be older than the entry that began the effect.
        try await unlessStopped { try await port.waitUntilCurrent() }
        for await snapshot in States(published: published) where !isWanted(snapshot.state) { return }
        throw CancellationError()
    }

    /// Waits for the port; a node that stops cancels who waits, since the next primary does the work again.
    private func unlessStopped(_ wait: () async throws -> Void) async throws {
        do { try await wait() } catch let error as LockstepError where error.code == .stopped {
            throw CancellationError()
        }
    }

    /// Repeats while the primary is busy, which is a matter of milliseconds or of a full disk; nil if the task is
    /// cancelled.
    private func untilTaken(_ attempt: () async -> EmissionOutcome?) async -> EmissionOutcome? {
        var delay = Duration.milliseconds(2)
        while true {
            let outcome = await attempt()
            guard outcome == .busy else { return outcome }
            // Only cancellation ends the sleep early.
            guard (try? await clock.sleep(for: delay)) != nil else { return nil }
            delay = min(delay * 2, .milliseconds(200))
        }
    }

    // MARK: - Lives of feedback and sources

    func number() -> UInt64 {
        contents.withLock { contents in
            contents.lastNumber += 1
            return contents.lastNumber
        }
    }

    /// Lets a life emit as long as the state asks for it.
    ///
    /// A feedback's effect has a name, for ``liveFeedback``, and is told when it has fulfilled its request.
    func begin(
        life: UInt64, name: String? = nil, fulfilment: Fulfilment? = nil,
        while isWanted: @escaping @Sendable (R.State) -> Bool
    ) {
        contents.withLock { $0.lives[life] = Life(name: name, fulfilment: fulfilment, isWanted: isWanted) }
    }

    func end(life: UInt64) { contents.withLock { $0.lives[life] = nil } }

    /// The effects of feedback that run, by the order in which they began.
    package var liveFeedback: [String] {
        contents.withLock { contents in contents.lives.sorted { $0.key < $1.key }.compactMap(\.value.name) }
    }
}
