import Lockstep
import LockstepCore
import Synchronization

/// What effects of a test store's primary bring; it waits here for the store's thread.
final class TestStorePort: EffectPort {
    enum Errand: Sendable {
        case emission(EffectCause, [UInt8], ticket: UInt64)
        case end(RunID, [UInt8])
    }

    let name: String
    /// Answers what comes when the primary is gone.
    private let drop: @Sendable (Errand) -> Void
    private let contents = Mutex(Contents())

    private struct Contents {
        var errands: [Errand] = []
        var isClosed = false
    }

    init(name: String, drop: @escaping @Sendable (Errand) -> Void) {
        self.name = name
        self.drop = drop
    }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        put(.emission(cause, mutations, ticket: ticket))
    }

    func finishRun(_ id: RunID, item: [UInt8]) { put(.end(id, item)) }

    private func put(_ errand: Errand) {
        let isClosed = contents.withLock { contents in
            if !contents.isClosed { contents.errands.append(errand) }
            return contents.isClosed
        }
        if isClosed { drop(errand) }
    }

    /// Each step of the machine ends with a view of what has committed, so nobody has to wait.
    func waitUntilShown(_ sequence: SequenceNumber) async throws {}

    func next() -> Errand? {
        contents.withLock { $0.errands.isEmpty ? nil : $0.errands.removeFirst() }
    }

    func close() {
        let errands = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.errands = [] }
            return contents.errands
        }
        for errand in errands { drop(errand) }
    }
}

/// One life of a test store's primary: the real machine, the real state and the real runtime of effects, driven on the
/// test's thread with a journal that commits at once.
final class TestPrimary<R: Reactor> {
    let state: ReactorState<R>
    let runtime: EffectRuntime<R>
    private(set) var machine: PrimaryStateMachine
    private let published: PublishedState<R.State>
    private let log: TestLog<R>
    private let clock: TestStoreClock
    private let executor: TestStoreExecutor
    private let port: TestStorePort
    private var task: Task<Void, Never>?
    private var directives: [PrimaryDirective] = []
    private var written: [SealedBatch] = []
    /// What has happened and was not taken yet.
    private var happenings: [TestHappening<R>] = []
    /// What failed beside the log.
    private let failed = FailureBox()
    /// Why an action was not taken.
    private(set) var busy: BusyReason?
    /// What a replica cannot apply; the log ends there.
    private(set) var broken: LogState.ApplyError?

    private static var cluster: ClusterID { ClusterID(rawValue: 1) }
    private static var client: ClientKey { ClientKey(rawValue: 1) }
    static var storeID: StoreID { StoreID(cluster: cluster, name: storeName) }
    private static var storeName: String { "test" }

    /// Recovers from the log; `boot` counts the lives, from 1.
    ///
    /// - Throws: What stands in the log and cannot be applied.
    init(
        _ reactor: R, log: TestLog<R>, clock: TestStoreClock, executor: TestStoreExecutor, boot: Int
    ) throws(LogState.ApplyError) {
        self.log = log
        self.clock = clock
        self.executor = executor
        published = PublishedState(Snapshot(state: reactor.initialState, place: .start, time: .zero))
        let runtime = EffectRuntime(reactor, published: published, clock: clock.virtual, seed: UInt64(boot))
        self.runtime = runtime
        state = ReactorState(reactor, published: published, runtime: runtime)
        port = TestStorePort(name: Self.storeName) { [weak runtime] errand in
            switch errand {
            case .emission(_, _, let ticket): runtime?.emission(ticket, .dropped)
            case .end(let id, _): runtime?.runEnd(id, .dropped)
            }
        }
        let (recovered, window) = try log.recover(into: state)
        let configuration = PrimaryConfiguration(
            cluster: Self.cluster, node: "test", incarnation: Incarnation(rawValue: 1),
            boot: BootID(rawValue: UInt128(boot)), channel: Channel(rawValue: 0), storeName: Self.storeName,
            isVolatile: false, publishEndpoint: "", bulkEndpoint: "")
        machine = PrimaryStateMachine(
            configuration: configuration, recovered: recovered, window: window,
            wall: clock.wall, now: clock.now)
    }

    /// Starts the machine and the tasks of the runtime, and takes up the test's session.
    func start() {
        let (runtime, port, failed) = (runtime, port, failed)
        let failures = runtime.failures.subscribe(bufferLimit: 65_536)
        task = executor.start {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await case .value(let failure) in failures { failed.add(failure) }
                }
                await runtime.run(on: port)
                group.cancelAll()
            }
        }
        step { $0.start(&$1) }
        execute()
        hello()
        if log.session == .none {
            receive(
                .open(
                    Open(
                        client: Self.client, nonce: 1, timeToLive: .max, windowNumbers: .max, windowBytes: .max)))
        } else {
            receive(.resume(Resume(session: log.session, openNonce: 1, connectionNonce: 1, ackedThrough: 0)))
        }
        turn()
    }

    // MARK: - The test's session

    /// Hands over an action; ``busy`` says why it was not taken, if it was not.
    func submit(_ action: [UInt8], number: RequestNumber) {
        busy = nil
        greet()
        var writer = ByteWriter()
        writer.writeBytes(action)
        let submit = Submit(
            session: log.session, first: number, ackedThrough: number - 1, count: 1, isVoid: false,
            actions: 0..<writer.count)
        receive(.submit(submit), source: writer.bytes)
        turn()
    }

    /// Asks for something of an accepted action.
    func request(_ wish: RunWish, of number: RequestNumber) {
        greet()
        let wishes = [RunMessage.Wish(number: number, kind: wish)]
        receive(.runRequest(RunMessage(session: log.session, wishes: wishes)))
        turn()
    }

    /// A peer that was silent for long is forgotten, and virtual time may have passed in one step.
    private func greet() {
        hello()
        receive(
            .keepAlive(
                KeepAlive(session: log.session, ackedThrough: 0, applied: machine.committed.position.sequence)))
    }

    private func hello() {
        let hello = Hello(
            nonce: 1, role: .client, node: "test", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1),
            store: Self.storeName, known: machine.committed)
        receive(.hello(hello))
    }

    private func receive(_ message: Message, source: [UInt8] = []) {
        let stamp = FrameStamp(
            channel: machine.configuration.channel, clusterHash: Self.cluster.hash, epoch: machine.epoch)
        let frame = withBytes(of: source) { stamp.frame(message, source: $0) }
        withBytes(of: frame) { bytes in step { $0.received(bytes, from: .local, &$1) }
        }
        execute()
    }

    // MARK: - Steps

    /// Time has passed.
    func tick() {
        greet()
        step { $0.ticked(&$1) }
        execute()
        turn()
    }

    /// Lets effects work, and brings what they bring to the log, one by one, until all of them wait or have ended.
    ///
    /// Returns false if there is no end to it.
    func settle(limit: Int = 10_000) -> Bool {
        for _ in 0..<limit where broken == nil {
            guard executor.drain() else { return false }
            happenings += failed.take().map(TestHappening.failure)
            guard let errand = port.next() else { return true }
            switch errand {
            case .emission(let cause, let mutations, let ticket):
                step { $0.emitted(cause, mutations: mutations, ticket: ticket, &$1) }
            case .end(let id, let item):
                step { $0.runFinished(id, item: item, &$1) }
            }
            execute()
            turn()
        }
        return broken != nil
    }

    func takeHappenings() -> [TestHappening<R>] {
        defer { happenings = [] }
        return happenings
    }

    /// Ends the life as a crash does: what has not committed is gone, and nothing that effects still bring counts.
    ///
    /// Their tasks are cancelled and go to their ends.
    func kill() {
        port.close()
        task?.cancel()
        task = nil
        _ = executor.drain()
    }

    /// The end of a turn, again and again while it brings something to the log.
    private func turn() {
        var before: SequenceNumber
        repeat {
            before = machine.committed.position.sequence
            step { $0.turnEnded(&$1) }
            execute()
        } while machine.committed.position.sequence > before && broken == nil
    }

    private func step(_ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Void) {
        machine.step(now: clock.now, wall: clock.wall, state: state, into: &directives, event)
    }

    private func execute() {
        while !directives.isEmpty, broken == nil {
            let batch = directives
            directives = []
            for directive in batch { execute(directive) }
            guard machine.isPersisting, !written.isEmpty else { continue }
            log.write(written)
            written = []
            step { $0.persisted(&$1) }
        }
    }

    private func execute(_ directive: PrimaryDirective) {
        switch directive {
        case .persist(let batches): written = batches
        case .committed(let batches):
            do throws(LogState.ApplyError) {
                happenings += try log.committed(batches).map(TestHappening.entry)
            } catch {
                broken = error
            }
        case .opened: runtime.opened()
        case .beginRun(let start): runtime.begin(start)
        case .stopRun(let id): runtime.stop(id)
        case .emission(let ticket, let outcome): runtime.emission(ticket, outcome)
        case .runEnd(let id, let outcome): runtime.runEnd(id, outcome)
        case .send(let frame, _): received(frame)
        case .halt(let reason): preconditionFailure("a test store's primary halts: \(reason)")
        // Nobody joins, nobody listens, and the journal needs no snapshot.
        case .replication: preconditionFailure("a test store's primary has no standbys")
        case .sendBulk, .sendChunks, .publish, .captureSnapshot, .encodeSnapshot, .encodeCommitted, .saveSnapshot,
            .dropSnapshot, .alarm,
            .audienceChanged, .awaiting, .count:
            break
        }
    }

    /// Answers are read in the log; here it is only seen whether the primary took the action.
    private func received(_ frame: [UInt8]) {
        withBytes(of: frame) { bytes in
            guard let message = try? Message.decode(bytes, rule: .member(Self.cluster.hash)).message else {
                preconditionFailure("the primary's machine sends frames that can be read")
            }
            if case .busy(let answer) = message { busy = answer.reason }
        }
    }
}

/// What a step brought, in order.
enum TestHappening<R: Reactor> {
    case entry(TestEntry<R>)
    case failure(EffectFailure)
}

/// Failures on their way from the runtime to the test.
final class FailureBox: Sendable {
    private let contents = Mutex<[EffectFailure]>([])

    var all: [EffectFailure] { contents.withLock { $0 } }

    func add(_ failure: EffectFailure) { contents.withLock { $0.append(failure) } }

    func take() -> [EffectFailure] {
        contents.withLock { contents in
            defer { contents = [] }
            return contents
        }
    }
}

/// The clock of a test store as the parts of a node see it: nanoseconds, and a wall clock that is always right.
struct TestStoreClock {
    let virtual: VirtualClock
    /// What log time is when the virtual clock is at zero.
    let origin: LogTime

    private var nanoseconds: Int64 {
        // Whole microseconds, as log time has them: otherwise both clocks would drift apart by what is cut off.
        virtual.elapsed.wholeMicroseconds * 1_000
    }

    var now: Tick { Tick(rawValue: 1_000_000_000 + nanoseconds) }
    var wall: LogTime { origin.advanced(by: virtual.elapsed) }

    /// When the virtual clock shows this log time; at once if it has shown it.
    func elapsed(at time: LogTime) -> Duration { .microseconds(max(0, time.rawValue - origin.rawValue)) }
}
