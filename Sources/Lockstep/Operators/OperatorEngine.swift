import Synchronization

/// Runs an operator's machine: one reader for each source and one sleeper beside the consumer.
///
/// All of them wait in slots, and whoever changes the machine wakes those who may go on. The lock is held for the
/// machine's few assignments; nobody is resumed under it. A value that a machine drops is let go under it, so the end of
/// a value's life must not use the operator.
final class OperatorEngine<Machine: OperatorMachine>: Sendable {
    typealias Event = OperatorEvent<Machine.Element, Machine.Failure>
    typealias Delivery = Outbox<Machine.Output, Machine.Failure>.Delivery

    /// Who waits for the machine.
    enum Slot: Int, CaseIterable {
        case consumer, source, side, sleeper
    }

    private struct Contents {
        var machine: Machine
        var waiting: [CheckedContinuation<Void, Never>?] = Array(repeating: nil, count: Slot.allCases.count)
        var isStopped = false
        var task: OwnedTask?

        func mayGoOn(_ slot: Slot) -> Bool {
            if isStopped { return true }
            switch slot {
            case .consumer: return !machine.outbox.isEmpty
            case .source: return machine.wantsValue
            case .side: return machine.wantsSide
            case .sleeper: return machine.deadline != nil
            }
        }

        /// Whether the machine's deadline has come.
        func isDue(at now: Duration) -> Bool { machine.deadline.map { $0 <= now } ?? false }

        /// Those who may go on, in the order of the slots.
        mutating func takeReady() -> [CheckedContinuation<Void, Never>] {
            Slot.allCases.compactMap { mayGoOn($0) ? waiting[$0.rawValue].take() : nil }
        }
    }

    private let contents: Mutex<Contents>
    private let time: Timekeeper

    init(_ machine: Machine, time: Timekeeper) {
        contents = Mutex(Contents(machine: machine))
        self.time = time
    }

    /// Starts what runs beside the consumer: `readers`, and the sleeper.
    func start(_ readers: [@Sendable (OperatorEngine) async -> Void]) {
        let task = OwnedTask {
            await withTaskGroup(of: Void.self) { group in
                for reader in readers { group.addTask { await reader(self) } }
                group.addTask { await self.passTime() }
            }
        }
        let isStopped = contents.withLock { contents in
            contents.task = task
            return contents.isStopped
        }
        if isStopped { task.cancel() }
    }

    /// Ends everything; what is ready is no longer delivered.
    func stop() {
        let (ready, task) = contents.withLock { contents in
            contents.isStopped = true
            return (contents.takeReady(), contents.task)
        }
        task?.cancel()
        for continuation in ready { continuation.resume() }
    }

    /// The next value, or the end; after an end, nothing of this operator runs.
    func next() async -> Delivery {
        handle(.demanded)
        await withTaskCancellationHandler {
            await wait(in: .consumer)
        } onCancel: {
            stop()
        }
        let (delivery, ready) = contents.withLock { contents in
            let delivery = contents.isStopped ? .ended : contents.machine.outbox.take() ?? .ended
            return (delivery, contents.takeReady())
        }
        for continuation in ready { continuation.resume() }
        if case .value = delivery { return delivery }
        stop()
        await contents.withLock { $0.task }?.end()
        return delivery
    }

    private func handle(_ event: Event) {
        let now = time.now()
        let ready: [CheckedContinuation<Void, Never>] = contents.withLock { contents in
            guard !contents.isStopped, contents.machine.outbox.ending == nil else { return [] }
            // A value may have moved the deadline since the sleeper woke; it sleeps again then.
            if case .timePassed = event, !contents.isDue(at: now) { return [] }
            contents.machine.handle(event, at: now)
            return contents.takeReady()
        }
        for continuation in ready { continuation.resume() }
    }

    private func wait(in slot: Slot) async {
        await withCheckedContinuation { continuation in
            let mayGoOn = contents.withLock { contents in
                if contents.mayGoOn(slot) { return true }
                contents.waiting[slot.rawValue] = continuation
                return false
            }
            if mayGoOn { continuation.resume() }
        }
    }

    /// Waits for leave to read; false when everything is to end.
    private func mayRead(_ slot: Slot) async -> Bool {
        await wait(in: slot)
        return contents.withLock { !$0.isStopped }
    }

    /// Reads the source to its end.
    func read<Source: AsyncSequence>(
        _ source: Source, failure: (Source.Failure) -> Machine.Failure
    ) async where Source.Element == Machine.Element {
        var iterator = source.makeAsyncIterator()
        do throws(Source.Failure) {
            while await mayRead(.source), let value = try await iterator.next(isolation: #isolation) {
                handle(.value(value))
            }
            handle(.ended)
        } catch {
            handle(.failed(failure(error)))
        }
    }

    /// Reads the other source to its end.
    func readSide<Side: AsyncSequence>(_ side: Side, failure: (Side.Failure) -> Machine.Failure) async {
        var iterator = side.makeAsyncIterator()
        do throws(Side.Failure) {
            while await mayRead(.side), try await iterator.next(isolation: #isolation) != nil { handle(.sideFired) }
            handle(.sideEnded)
        } catch {
            handle(.failed(failure(error)))
        }
    }

    /// Reads the other source, which cannot fail, to its end.
    func readSide<Side: AsyncSequence>(_ side: Side) async where Side.Failure == Never {
        var iterator = side.makeAsyncIterator()
        while await mayRead(.side), await iterator.next(isolation: #isolation) != nil { handle(.sideFired) }
        handle(.sideEnded)
    }

    private func passTime() async {
        while await mayRead(.sleeper) {
            guard let deadline = contents.withLock({ $0.machine.deadline }) else { continue }
            // It throws only when everything is to end.
            do { try await time.sleep(deadline) } catch { return }
            handle(.timePassed)
        }
    }
}

/// A sequence that an operator's machine makes of others.
struct OperatorSequence<Machine: OperatorMachine>: AsyncSequence, Sendable {
    typealias Element = Machine.Output
    typealias Failure = Machine.Failure

    let machine: @Sendable () -> Machine
    let clock: any Clock<Duration>
    let readers: [@Sendable (OperatorEngine<Machine>) async -> Void]

    func makeAsyncIterator() -> Iterator {
        Iterator(engine: OperatorEngine(machine(), time: Timekeeper(clock)), readers: readers)
    }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Machine.Failure

        /// Ends the operator with its iterator; nobody can wait for it then.
        private final class Lifetime: Sendable {
            let engine: OperatorEngine<Machine>
            init(_ engine: OperatorEngine<Machine>) { self.engine = engine }
            deinit { engine.stop() }
        }

        private let lifetime: Lifetime
        private var readers: [@Sendable (OperatorEngine<Machine>) async -> Void]?

        init(engine: OperatorEngine<Machine>, readers: [@Sendable (OperatorEngine<Machine>) async -> Void]) {
            lifetime = Lifetime(engine)
            self.readers = readers
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Machine.Failure) -> Machine.Output? {
            if let readers = readers.take() { lifetime.engine.start(readers) }
            switch await lifetime.engine.next() {
            case .value(let value): return value
            case .ended: return nil
            case .failed(let failure): throw failure
            }
        }
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Runs a machine with this sequence as its only source.
    func operated<Machine: OperatorMachine>(
        clock: any Clock<Duration>, _ machine: @escaping @Sendable () -> Machine
    ) -> OperatorSequence<Machine> where Machine.Element == Element, Machine.Failure == Failure {
        OperatorSequence(machine: machine, clock: clock, readers: [{ await $0.read(self, failure: { $0 }) }])
    }
}
