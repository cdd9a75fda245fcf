import Synchronization

/// A clock whose time passes only when a test says so.
///
/// There are two ways to use it. ``run(_:)`` runs a closure, and all that it starts, on one queue: whenever nothing is
/// left to do, the time moves to the next sleeper, wakes it alone, and lets it work before anything else happens. The
/// outcome is the same at every run, and no real time passes. Sleepers of the same instant wake in the order in which
/// they went to sleep.
///
/// Without ``run(_:)``, ``waitForSleepers(_:)`` and ``advance(by:)`` move the time by hand beside tasks that run on
/// the usual threads.
public final class VirtualClock: Clock {
    /// A moment of a virtual clock, which begins at zero.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// How far it is from the beginning of the clock.
        public let offset: Swift.Duration

        /// Names the moment that is `offset` after the beginning.
        public init(offset: Swift.Duration) { self.offset = offset }

        /// The moment that is `duration` further on.
        public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

        /// How far `other` is from this moment; negative if it is earlier.
        public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

        /// Later moments are greater.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }

        /// The distance from the beginning.
        public var description: String { "\(offset)" }
    }

    fileprivate struct Sleeper {
        let id: UInt64
        let deadline: Swift.Duration
        /// It is told whether its time has come, or it was cancelled.
        let continuation: CheckedContinuation<Bool, Never>
    }

    fileprivate struct Contents {
        var now: Swift.Duration = .zero
        var lastID: UInt64 = 0
        /// By deadline, then by the order of going to sleep.
        var sleepers: [Sleeper] = []
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var settlers: [CheckedContinuation<Void, Never>] = []
    }

    fileprivate let contents = Mutex(Contents())

    /// Makes a clock that stands at zero.
    public init() {}

    /// Where the clock stands.
    public var now: Instant { Instant(offset: elapsed) }

    /// Where the clock stands, as the time since its beginning.
    public var elapsed: Swift.Duration { contents.withLock { $0.now } }

    /// Zero: every moment can be told from every other.
    public var minimumResolution: Swift.Duration { .zero }

    /// How many tasks sleep.
    public var sleepers: Int { contents.withLock { $0.sleepers.count } }

    /// When the sleepers will wake, earliest first.
    public var deadlines: [Instant] {
        contents.withLock { $0.sleepers.map { Instant(offset: $0.deadline) } }
    }

    /// When the first of the sleepers will wake, as the time since the beginning.
    var nextDeadline: Swift.Duration? { contents.withLock { $0.sleepers.first?.deadline } }

    /// Sleeps until the clock has reached `deadline`; the tolerance is not used.
    ///
    /// It returns at once if that time has come, and throws `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        try Task.checkCancellation()
        let id = contents.withLock { contents in
            contents.lastID += 1
            return contents.lastID
        }
        let timeHasCome = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                // A cancellation before this finds no sleeper, and is seen here; one after it finds the sleeper.
                let answer: Bool? = contents.withLock { contents in
                    if deadline.offset <= contents.now { return true }
                    if Task.isCancelled { return false }
                    contents.insert(Sleeper(id: id, deadline: deadline.offset, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) } else { tellObservers() }
            }
        } onCancel: {
            let sleeper = contents.withLock { contents in
                contents.sleepers.firstIndex { $0.id == id }.map { contents.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(returning: false)
        }
        guard timeHasCome else { throw CancellationError() }
    }

    /// Moves the clock, and wakes everybody whose time has come, earliest first.
    ///
    /// It does not wait for what they do then; inside ``run(_:)``, sleep on the clock instead.
    public func advance(by duration: Swift.Duration) {
        precondition(duration >= .zero, "time does not go back")
        let due = contents.withLock { contents in
            contents.now += duration
            let count = contents.sleepers.firstIndex { $0.deadline > contents.now } ?? contents.sleepers.count
            defer { contents.sleepers.removeFirst(count) }
            return Array(contents.sleepers.prefix(count))
        }
        for sleeper in due { sleeper.continuation.resume(returning: true) }
    }

    /// Moves the clock to the earliest deadline and wakes that one sleeper; false if nobody sleeps.
    @discardableResult public func advanceToNextSleeper() -> Bool {
        let sleeper: Sleeper? = contents.withLock { contents in
            guard let first = contents.sleepers.first else { return nil }
            contents.now = max(contents.now, first.deadline)
            return contents.sleepers.removeFirst()
        }
        sleeper?.continuation.resume(returning: true)
        return sleeper != nil
    }

    /// Returns as soon as at least `count` tasks sleep on this clock.
    ///
    /// With it, a test outside of ``run(_:)`` knows that those it is about to wake are asleep. If they never are, it
    /// never returns: give the test a time limit.
    public func waitForSleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = contents.withLock { contents in
                if contents.sleepers.count >= count { return true }
                contents.observers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Returns when everything that can happen at this moment has happened; only inside ``run(_:)``.
    public func settle() async {
        await withCheckedContinuation { continuation in contents.withLock { $0.settlers.append(continuation) } }
    }

    private func tellObservers() {
        let ready = contents.withLock { contents in
            let count = contents.sleepers.count
            defer { contents.observers.removeAll { $0.count <= count } }
            return contents.observers.filter { $0.count <= count }
        }
        for observer in ready { observer.continuation.resume() }
    }

    /// What is to be done when no job is left: those who wait for that first, then the next sleeper.
    fileprivate func passTime() -> Bool {
        let settlers = contents.withLock { contents in
            defer { contents.settlers = [] }
            return contents.settlers
        }
        for settler in settlers { settler.resume() }
        return !settlers.isEmpty || advanceToNextSleeper()
    }
}

extension VirtualClock.Contents {
    fileprivate mutating func insert(_ sleeper: VirtualClock.Sleeper) {
        let place = sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? sleepers.count
        sleepers.insert(sleeper, at: place)
    }
}

extension VirtualClock {
    /// Runs a closure in virtual time until it returns, all its child tasks and actors one step at a time.
    ///
    /// Tasks that the closure starts without a parent, and code on actors with their own executors, run elsewhere:
    /// the clock does not wait for them. What is still under way when the closure returns goes on elsewhere as well.
    /// - Parameter body: what is to be run.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func run<Result: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let executor = StepExecutor()
        let outcome = await withTaskGroup(of: Swift.Result<Result, Failure>.self) { group in
            group.addTask(executorPreference: executor) {
                defer { executor.finish() }
                do throws(Failure) {
                    return .success(try await body())
                } catch {
                    return .failure(error)
                }
            }
            await executor.drain { self.passTime() }
            guard let outcome = await group.next() else { preconditionFailure("the closure has returned") }
            return outcome
        }
        return try outcome.get()
    }
}

/// Runs jobs one after the other, in the order in which they came, inside of ``drain(_:)``.
private final class StepExecutor: TaskExecutor {
    private struct Contents {
        var jobs: [UnownedJob] = []
        var isFinished = false
        /// Nobody drains it now.
        var isClosed = false
        /// The one who drains, while there is nothing to do.
        var drainer: CheckedContinuation<Void, Never>?
    }

    private let contents = Mutex(Contents())

    func enqueue(_ job: UnownedJob) {
        let (isClosed, drainer) = contents.withLock { contents in
            if !contents.isClosed { contents.jobs.append(job) }
            return (contents.isClosed, contents.drainer.take())
        }
        if isClosed { globalConcurrentExecutor.enqueue(job) }
        drainer?.resume()
    }

    /// The closure has returned.
    func finish() {
        contents.withLock { $0.isFinished = true }
    }

    /// Runs jobs until the closure has returned and none is left; `passTime` makes new ones, or says that it cannot.
    func drain(_ passTime: () -> Bool) async {
        while true {
            let (jobs, isOver) = contents.withLock { contents in
                defer { contents.jobs = [] }
                contents.isClosed = contents.jobs.isEmpty && contents.isFinished
                return (contents.jobs, contents.isClosed)
            }
            if isOver { return }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            if jobs.isEmpty, !passTime() { await waitForJob() }
        }
    }

    /// Whatever comes next comes from outside: another thread, or a cancellation.
    private func waitForJob() async {
        await withCheckedContinuation { continuation in
            let isThere = contents.withLock { contents in
                if !contents.jobs.isEmpty || contents.isFinished { return true }
                contents.drainer = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
