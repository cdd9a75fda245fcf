import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode

/// P1: durable acknowledged increments a second, at two windows, beside Redis.
struct Throughput {
    let folder: String
    let port: Int
    let actions: Int
    let rounds: Int
    let redis: RedisPeer?

    static let counters = 100_000
    static let chunk = 256

    struct Result: Encodable {
        var window: Int
        /// Increments a second in each round.
        var lockstep: [Double]
        var redis: [Double]
        /// Seconds of processor time for a million increments: primary, replica, client.
        var processorSeconds: [Double]
        var ratio: Double?

        var text: String {
            let own =
                "P1 \(window) in flight: lockstep \(Int(lockstep.median)) increments/s (\(lockstep.map { Int($0) }))"
            let cost = processorSeconds.map { String(format: "%.2f", $0) }.joined(separator: " + ")
            let processor = ", \(cost) us of CPU each (primary, replica, client)"
            guard let ratio else { return own + processor }
            return own + processor
                + "; redis \(Int(redis.median)) (\(redis.map { Int($0) })); ratio \(String(format: "%.2f", ratio))"
        }
    }

    func run() async throws -> [Result] {
        var results: [Result] = []
        for window in [12_800, 65_536] {
            var own: [Double] = []
            var peer: [Double] = []
            var processor: [[Double]] = []
            for round in 1...rounds {
                Output.progress("P1, \(window) in flight, round \(round) of \(rounds): lockstep")
                let (rate, seconds) = try await measure(window: window, name: "p1-\(window)-\(round)")
                own.append(rate)
                processor.append(seconds)
                if let redis {
                    Output.progress("P1, \(window) in flight, round \(round) of \(rounds): redis")
                    peer.append(
                        try redis.throughput(
                            folder: folder + "/redis-\(window)-\(round)", port: port + 20, actions: actions))
                }
            }
            let median = (0..<3).map { part in processor.map { $0[part] }.median }
            results.append(
                Result(
                    window: window, lockstep: own, redis: peer, processorSeconds: median,
                    ratio: peer.isEmpty ? nil : own.median / peer.median))
        }
        Output.progress("")
        return results
    }

    /// One round: new nodes, the load, and the check that the sum is right and the replica equal.
    private func measure(window: Int, name: String) async throws -> (rate: Double, processor: [Double]) {
        let path = folder + "/" + name
        let cluster = try ProcessCluster(folder: path, port: port, replicas: 1)
        defer {
            cluster.endAll(signal: SIGKILL)
            try? FileManager.default.removeItem(atPath: path)  // A left-over is removed with the folder above it.
        }
        try cluster.startAll()
        try await cluster.waitUntilReady()
        let tasks = max(1, window / Self.chunk)
        let chunks = actions / Self.chunk
        let load = try await Program.withRemoteCounters(NodeConfiguration.client(of: cluster.endpoint(0))) { counters in
            // Names are made before the clock runs, as redis-benchmark's are; encoding is part of the measurement.
            let names = (0..<Self.counters).map { "counter:\($0)" }
            _ = try await counters.send(.add("warm-up", by: 1))
            let ownBefore = Self.ownProcessorSeconds
            let before = (0...1).map { cluster.child($0)?.processorSeconds ?? 0 }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<tasks {
                    let share = chunks / tasks + (task < chunks % tasks ? 1 : 0)
                    group.addTask { @concurrent in try await Self.load(counters, names, chunks: share) }
                }
                try await group.waitForAll()
            }
            let seconds = start.duration(to: .now) / .seconds(1)
            let after = (0...1).map { cluster.child($0)?.processorSeconds ?? 0 }
            let used = zip(before, after).map { $1 - $0 } + [Self.ownProcessorSeconds - ownBefore]
            guard case .value(let sum?) = try await counters.ask(.sum(prefix: "counter:"), .linearizable).answer,
                sum == Int64(chunks * Self.chunk)
            else { throw CommandFailure("the counters' sum is not the number of increments") }
            return (seconds: seconds, used: used)
        }
        _ = try await cluster.waitUntilEqual()
        let total = Double(chunks * Self.chunk)
        return (total / load.seconds, load.used.map { $0 / total * 1_000_000 })
    }

    @concurrent private static func load(_ counters: RemoteStore<Counters>, _ names: [String], chunks: Int) async throws
    {
        var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
        var actions: [Counters.Action] = []
        actions.reserveCapacity(chunk)
        for _ in 0..<chunks {
            actions.removeAll(keepingCapacity: true)
            for _ in 0..<chunk { actions.append(.add(names[generator.next(below: names.count)], by: 1)) }
            let outcomes = try await counters.send(contentsOf: actions)
            guard outcomes.count == chunk else { throw CommandFailure("an increment has no answer") }
        }
    }

    private static var ownProcessorSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
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
