import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P6.
    static let memory = BenchCase(name: "p6", title: MemoryUse.title, isLong: true) {
        try await MemoryUse(setting: $0).run()
    }
}

/// P6: what a counter takes, beside Redis, and what a replica that stands still takes of its primary.
struct MemoryUse {
    static let title = "memory: bytes a counter; a replica that stands still under full load"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// Resident bytes of the primary.
    private struct Stall {
        var before: Int
        var highest: Int
        var after: Int
        var actions: Int
    }

    func run() async throws -> BenchResult {
        setting.say("P6: bytes a counter, lockstep")
        let own = try await bytesPerCounter()
        setting.say("P6: bytes a counter, redis")
        let peer = try setting.redis.map(bytesPerKey)
        setting.say("P6: a replica stands still for \(Int(sizes.stallSeconds)) s")
        let stall = try await stall()
        func mebibytes(_ bytes: Int) -> [Double] { [Double(bytes) / Double(1 << 20)] }
        let queue = 1_024.0 * 48 / 1_024
        let figures = [
            BenchFigure(
                "bytes of resident memory a counter, \(sizes.keys) counters", [own], "bytes",
                peer: peer.map { ("redis", [$0]) }, goal: .ratioAtMost(1.5)),
            BenchFigure("primary under full load, at most, before the stall", mebibytes(stall.before), "MiB"),
            BenchFigure("at most in \(Int(sizes.stallSeconds)) s of stall", mebibytes(stall.highest), "MiB"),
            BenchFigure("when the replica had caught up", mebibytes(stall.after), "MiB"),
            BenchFigure(
                "what the stall cost at most", mebibytes(stall.highest - stall.before), "MiB", goal: .atMost(queue)),
        ]
        var settings = [
            BenchResult.Participant(
                name: "lockstep", durability: "a journal, every answer synced", replicas: "none; 1 for the stall",
                load:
                    "counter:N + N each, after increments of one counter have filled the resend window of 64 MiB; for the "
                    + "stall 65,536 in flight",
                checked: "the number and sum of all counters; the digests of primary and replica after the stall")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "appendonly yes, appendfsync always", replicas: "none",
                    load: "INCRBY counter:N N each", checked: "the sum of all counters"))
        }
        var result = BenchResult(("p6", Self.title), figures, settings)
        result.notes.append(
            "the queue of the broadcast is 1,024 frames of about 48 KiB; \(stall.actions) increments were acknowledged "
                + "in the stall")
        return result
    }

    private func bytesPerCounter() async throws -> Double {
        try await BenchCluster.with(setting, replicas: 0) { cluster in
            try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                try await fillWindow(counters)
                try await Task.sleep(for: .seconds(1))
                let before = cluster.child(0)?.residentBytes ?? 0
                let names = CounterNames.make(sizes.keys)
                let load = Load(target: counters, tasks: 64, chunk: 256, keys: sizes.keys, isSequential: true) {
                    Counters.Action.set(names[$0], to: Int64($0))
                }
                _ = try await load.send(sizes.keys)
                try await Task.sleep(for: .seconds(1))
                let after = cluster.child(0)?.residentBytes ?? 0
                try await counters.checkSum((sizes.keys - 1) * sizes.keys / 2)
                return Double(after - before) / Double(sizes.keys)
            }
        }
    }

    /// So many increments of one counter that the newest 64 MiB of batches are in memory, as on any primary at work.
    private func fillWindow(_ counters: RemoteStore<Counters>) async throws {
        _ = try await Load(target: counters, tasks: 256, chunk: 256, keys: 1) { _ in
            Counters.Action.add("one", by: 1)
        }.send(3 * sizes.actions)
    }

    private func bytesPerKey(_ redis: RedisPeer) throws -> Double {
        try redis.withServers(setting, replicas: 0) { servers in
            let before = servers.residentBytes(0)
            try servers.fill(keys: sizes.keys)
            let after = servers.residentBytes(0)
            guard try servers.sum(0) == (sizes.keys - 1) * sizes.keys / 2 else {
                throw CommandFailure("redis does not hold the keys")
            }
            return Double(after - before) / Double(sizes.keys)
        }
    }

    private func stall() async throws -> Stall {
        try await BenchCluster.with(setting, replicas: 1) { cluster in
            try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                try await fillWindow(counters)
                let load = Load(increments: counters, tasks: 256, chunk: 256, counters: sizes.counters)
                let base = try await load.whileRunning {
                    try await highest(cluster, seconds: min(15, sizes.stallSeconds))
                }
                _ = try await cluster.waitUntilEqual()
                cluster.child(1)?.send(SIGSTOP)
                let stalled = try await load.whileRunning { try await highest(cluster, seconds: sizes.stallSeconds) }
                cluster.child(1)?.send(SIGCONT)
                _ = try await cluster.waitUntilEqual(seconds: 120)
                try await counters.checkSum(base.report.actions + stalled.report.actions)
                return Stall(
                    before: base.value, highest: stalled.value, after: cluster.child(0)?.residentBytes ?? 0,
                    actions: stalled.report.actions)
            }
        }
    }

    /// The most memory that the primary had in so long.
    private func highest(_ cluster: ProcessCluster, seconds: Double) async throws -> Int {
        var highest = 0
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            highest = max(highest, cluster.child(0)?.residentBytes ?? 0)
            try await Task.sleep(for: .milliseconds(100))
        }
        return highest
    }
}
