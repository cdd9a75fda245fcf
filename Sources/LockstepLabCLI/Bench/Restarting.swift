import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P5.
    static let restarting = BenchCase(name: "p5", title: Restarting.title, isLong: true) {
        try await Restarting(setting: $0).run()
    }
}

/// P5: a primary starts with a long journal, without a snapshot of it and with one, beside Redis with its file.
struct Restarting {
    static let title = "a primary restarts with many increments in its journal"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    func run() async throws -> BenchResult {
        let own = try await lockstep()
        let peer = try setting.redis.map(measure) ?? []
        let figures = [
            BenchFigure(
                "\(sizes.entries) entries, no snapshot", own.history, "s", peer: ("redis", peer),
                goal: .ratioAtMost(1)),
            BenchFigure("the same, with a snapshot of them", own.snapshot, "s", goal: .atMost(2)),
        ]
        var settings = [
            BenchResult.Participant(
                name: "lockstep",
                durability: "a journal of batches; --snapshot-after decides whether a snapshot is there",
                replicas: "none",
                load: "increments of \(sizes.counters) counters; from the start of the process until it "
                    + "admits; the files are in the page cache",
                checked: "the sum of all counters after each start")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "an append-only file that was never rewritten", replicas: "none",
                    load: "INCR of as many keys as often; from the start of the process until PING is answered",
                    checked: "the sum of all counters after each start"))
        }
        return BenchResult(("p5", Self.title), figures, settings)
    }

    private func lockstep() async throws -> (history: [Double], snapshot: [Double]) {
        try await BenchCluster.with(setting, replicas: 0, start: false) { cluster in
            let never = NodeCommand(["serve", "--snapshot-after", "\(Int.max)"])
            let soon = NodeCommand(["serve", "--snapshot-after", "\(1 << 20)"])
            setting.say("P5: lockstep writes its history")
            try cluster.start(0, never)
            try await cluster.waitUntilReady()
            let entries = try await withCounters(cluster) { counters in
                try await Load(increments: counters, tasks: 256, chunk: 256, counters: sizes.counters)
                    .send(sizes.entries).actions
            }
            var history: [Double] = []
            for round in 1...sizes.rounds {
                setting.say("P5: lockstep restarts without a snapshot, round \(round) of \(sizes.rounds)")
                history.append(try await restart(cluster, never, entries: entries))
            }
            setting.say("P5: lockstep takes a snapshot")
            cluster.end(0, signal: SIGTERM)
            try cluster.start(0, soon)
            try await cluster.waitUntilReady()
            // A snapshot is taken at a mark, and a mark follows a change.
            try await withCounters(cluster) { _ = try await $0.send(.add("snapshot", by: 1)) }
            try await cluster.wait(for: 0) { ($0.journal?.batchBytes ?? .max) <= 1 << 20 }
            var snapshot: [Double] = []
            for round in 1...sizes.rounds {
                setting.say("P5: lockstep restarts with a snapshot, round \(round) of \(sizes.rounds)")
                snapshot.append(try await restart(cluster, never, entries: entries))
            }
            return (history, snapshot)
        }
    }

    /// Seconds from the start of the process until it admits actions.
    private func restart(_ cluster: ProcessCluster, _ command: NodeCommand, entries: Int) async throws -> Double {
        cluster.end(0, signal: SIGKILL)
        let start = ContinuousClock.now
        try cluster.start(0, command)
        try await cluster.wait(for: 0, seconds: 600) { $0.phase == .admitting }
        let seconds = start.duration(to: .now) / .seconds(1)
        try await withCounters(cluster) { try await $0.checkSum(entries) }
        return seconds
    }

    private func withCounters<Value>(
        _ cluster: ProcessCluster, _ body: (RemoteStore<Counters>) async throws -> Value
    ) async throws -> Value {
        try await Program.withRemoteCounters(.client(of: cluster.endpoint(0)), body)
    }

    private func measure(_ redis: RedisPeer) throws -> [Double] {
        setting.say("P5: redis writes its history")
        // The file is the same whenever it is synced.
        return try redis.withServers(setting, replicas: 0, sync: "no") { servers in
            let entries = try servers.increments(
                sizes.entries, connections: 50, pipeline: 256, keys: sizes.counters
            ).actions
            return try (1...sizes.rounds).map { round in
                setting.say("P5: redis restarts, round \(round) of \(sizes.rounds)")
                servers.end(0, SIGKILL)
                let start = ContinuousClock.now
                try servers.start(0)
                try servers.waitUntilUp(0)
                let seconds = start.duration(to: .now) / .seconds(1)
                guard try servers.sum(0) == entries else { throw CommandFailure("redis lost increments") }
                return seconds
            }
        }
    }
}
