import Counters
import Foundation
import Lockstep
import LockstepServer
import Synchronization

/// How many arrays of actions are left to send; shared by those who send them.
final class Budget: Sendable {
    private let taken = Atomic<Int>(0)
    private let limit: Atomic<Int>

    init(_ arrays: Int = .max) { limit = Atomic(arrays) }

    /// The number of an array to send, from 0; nil if it is enough.
    func take() -> Int? {
        let number = taken.add(1, ordering: .relaxed).oldValue
        return number < limit.load(ordering: .relaxed) ? number : nil
    }

    func stop() { limit.store(0, ordering: .relaxed) }
}

/// A pipelined client: as many tasks as arrays are in flight, and each waits for the answers to its own.
struct Load<Target: ActionTarget>: Sendable {
    let target: Target
    let tasks: Int
    /// Actions in one array.
    let chunk: Int
    /// How many keys there are; an action gets the number of one.
    let keys: Int
    /// Whether keys come one after the other, and not at random.
    var isSequential = false
    let action: @Sendable (Int) -> Target.R.Action

    /// Sends so many actions; the last array is full.
    func send(_ actions: Int) async throws -> LoadReport { try await run(Budget((actions + chunk - 1) / chunk)) }

    /// Sends for as long as `body` runs.
    func whileRunning<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws -> (report: LoadReport, value: Value) {
        let budget = Budget()
        async let report = run(budget)
        let value: Value
        do {
            defer { budget.stop() }
            value = try await body()
        }
        return (try await report, value)
    }

    /// Sends for so long.
    func send(seconds: Double) async throws -> LoadReport {
        try await whileRunning { try await Task.sleep(for: .seconds(seconds)) }.report
    }

    @concurrent private func run(_ budget: Budget) async throws -> LoadReport {
        let before = Processor.ownSeconds
        let start = ContinuousClock.now
        var report = try await withThrowingTaskGroup(of: LoadReport.self) { group in
            for _ in 0..<tasks { group.addTask { @concurrent in try await share(of: budget) } }
            var sum = LoadReport()
            for try await part in group {
                sum.actions += part.actions
                sum.latencies += part.latencies
            }
            return sum
        }
        report.seconds = start.duration(to: .now) / .seconds(1)
        report.processorSeconds = Processor.ownSeconds - before
        return report
    }

    @concurrent private func share(of budget: Budget) async throws -> LoadReport {
        var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
        var report = LoadReport()
        var actions: [Target.R.Action] = []
        actions.reserveCapacity(chunk)
        while let number = budget.take() {
            actions.removeAll(keepingCapacity: true)
            for index in 0..<chunk {
                actions.append(
                    action(isSequential ? (number * chunk + index) % keys : generator.next(below: keys)))
            }
            let start = ContinuousClock.now
            let outcomes = try await target.send(contentsOf: actions)
            report.latencies.append(start.duration(to: .now) / .microseconds(1))
            guard outcomes.count == chunk else { throw CommandFailure("an action has no answer") }
            report.actions += chunk
        }
        return report
    }
}

/// What a load did.
struct LoadReport: Sendable {
    var actions = 0
    var seconds = 0.0
    /// Of each array, from the call to its return, in microseconds.
    var latencies: [Double] = []
    /// Of this process, while the load ran.
    var processorSeconds = 0.0

    var perSecond: Double { Double(actions) / seconds }
}

extension Load where Target.R == Counters {
    /// Increments of `counter:N` by 1; names are made before, as redis-benchmark's are.
    init(increments target: Target, tasks: Int, chunk: Int, counters: Int, isSequential: Bool = false) {
        let names = CounterNames.make(counters)
        self.init(target: target, tasks: tasks, chunk: chunk, keys: counters, isSequential: isSequential) {
            .add(names[$0], by: 1)
        }
    }
}

enum CounterNames {
    static func make(_ count: Int) -> [String] { (0..<count).map { "counter:\($0)" } }
}

extension ActionTarget where R == Counters {
    /// Throws if the sum of all `counter:N` is not that.
    func checkSum(_ expected: Int) async throws {
        guard case .value(let sum?) = try await ask(.sum(prefix: "counter:"), .linearizable).answer,
            sum == Int64(expected)
        else { throw CommandFailure("the counters' sum is not \(expected), the number of increments") }
    }
}

/// A cheap source of random indices, so that the load generator costs little.
struct SplitGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed | 1 }

    mutating func next(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}

/// Processor time, user and system.
enum Processor {
    /// Of this process so far, in seconds.
    static var ownSeconds: Double { seconds(RUSAGE_SELF) }

    /// Of the children that have ended.
    static var endedChildrenSeconds: Double { seconds(RUSAGE_CHILDREN) }

    #if canImport(Darwin)
        private typealias Who = Int32
    #else
        private typealias Who = __rusage_who
    #endif

    private static func seconds(_ who: Who) -> Double {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(who, &usage)
        #else
            getrusage(__rusage_who_t(who.rawValue), &usage)
        #endif
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
    }
}

/// Runs a closure on so many threads of its own each, which may block, and another here meanwhile; waits for all.
func onThreads<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value, meanwhile: () throws -> Void = {}
) throws -> [Value] {
    let group = DispatchGroup()
    let results = Mutex<[Int: Result<Value, any Error>]>([:])
    for index in 0..<count {
        group.enter()
        Thread {
            let result = Result { try body(index) }
            results.withLock { $0[index] = result }
            group.leave()
        }.start()
    }
    do {
        defer { group.wait() }
        try meanwhile()
    }
    let all = results.withLock { $0 }
    return try (0..<count).compactMap { try all[$0]?.get() }
}
