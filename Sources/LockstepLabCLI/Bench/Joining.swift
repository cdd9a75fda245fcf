import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P4.
    static let joining = BenchCase(name: "p4", title: Joining.title) { try await Joining(setting: $0).run() }
}

/// P4: a replica joins a large state while it is written, beside a full sync of Redis.
struct Joining {
    static let title = "a replica joins a state of many counters under writes"
    /// Small sends: eight callers, each with 16 increments in flight.
    static let callers = 8
    static let chunk = 16

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// Of one round.
    private struct Round {
        var seconds: Double
        /// Of the small sends, in microseconds.
        var base: Double
        var during: Double
    }

    func run() async throws -> BenchResult {
        var own: [Round] = []
        var peer: [Round] = []
        for round in 1...sizes.rounds {
            setting.say("P4, round \(round) of \(sizes.rounds): lockstep")
            own.append(try await lockstep())
            guard let redis = setting.redis else { continue }
            setting.say("P4, round \(round) of \(sizes.rounds): redis")
            peer.append(try measure(redis))
        }
        let figures = [
            BenchFigure(
                "\(sizes.keys) counters, until the replica is live", own.map(\.seconds), "s",
                peer: ("redis", peer.map(\.seconds)), goal: .ratioAtMost(1)),
            BenchFigure(
                "p99 of the primary's small sends before", own.map(\.base), "us", peer: ("redis", peer.map(\.base))),
            BenchFigure(
                "p99 while the replica joins", own.map(\.during), "us", peer: ("redis", peer.map(\.during))),
            BenchFigure(
                "p99 while it joins, in times of that before", own.map { $0.during / $0.base }, "",
                peer: ("redis", peer.map { $0.during / $0.base }), goal: .atMost(1.5)),
        ]
        let load = "\(Self.callers) callers with \(Self.chunk) increments in flight each, before and during the join"
        var settings = [
            BenchResult.Participant(
                name: "lockstep", durability: "both with a journal, every answer synced",
                replicas: "the one that joins, from the start of its process", load: load,
                checked: "the sum of all counters; the digests of primary and replica")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "both with appendonly yes, appendfsync always",
                    replicas: "the one that syncs (repl-diskless-sync-delay 0), from the start of its process",
                    load: load, checked: "the sum of all counters, on primary and replica"))
        }
        return BenchResult(("p4", Self.title), figures, settings)
    }

    private func lockstep() async throws -> Round {
        try await BenchCluster.with(setting, replicas: 1, start: false) { cluster in
            try cluster.start(0)
            try await cluster.wait(for: 0) { $0.phase == .admitting }
            return try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                let fill = try await Load(
                    increments: counters, tasks: 64, chunk: 256, counters: sizes.keys, isSequential: true
                ).send(sizes.keys)
                let load = Load(
                    increments: counters, tasks: Self.callers, chunk: Self.chunk, counters: sizes.keys)
                let base = try await load.send(seconds: sizes.seconds)
                let (during, seconds) = try await load.whileRunning {
                    let start = ContinuousClock.now
                    try cluster.start(1)
                    try await cluster.wait(for: 1) { $0.phase == .live }
                    return start.duration(to: .now) / .seconds(1)
                }
                try await counters.checkSum(fill.actions + base.actions + during.actions)
                _ = try await cluster.waitUntilEqual()
                return Round(
                    seconds: seconds, base: base.latencies.quantile(0.99), during: during.latencies.quantile(0.99))
            }
        }
    }

    private func measure(_ redis: RedisPeer) throws -> Round {
        let servers = try RedisServers(
            folder: setting.folder + "/redis", port: setting.peerPort, replicas: 1, sync: "always")
        defer { servers.endAll() }
        try servers.start(0)
        try servers.waitUntilUp(0)
        try servers.fill(keys: sizes.keys)
        let seconds = sizes.seconds
        let base = try loading(servers) { usleep(UInt32(seconds * 1_000_000)) }
        let before = try servers.sum(0)
        var sync = 0.0
        let during = try loading(servers) {
            let start = ContinuousClock.now
            try servers.start(1)
            // Not up yet: asked again.
            while (try? servers.isLinkUp(1)) != true {
                guard start.duration(to: .now) < .seconds(120) else { throw CommandFailure("redis does not sync") }
                usleep(5_000)
            }
            sync = start.duration(to: .now) / .seconds(1)
        }
        guard try servers.sum(0) - before == during.count * Self.chunk else {
            throw CommandFailure("redis did not count \(during.count * Self.chunk) increments")
        }
        try servers.checkReplicas()
        return Round(seconds: sync, base: base.quantile(0.99), during: during.quantile(0.99))
    }

    /// The latencies of small sends while `body` runs here.
    private func loading(_ servers: RedisServers, _ body: () throws -> Void) throws -> [Double] {
        let isOver = StopFlag()
        let (port, keys) = (servers.port, sizes.keys)
        return try onThreads(Self.callers) { _ in
            try Self.send(port: port, keys: keys, until: isOver)
        } meanwhile: {
            defer { isOver.raise() }
            try body()
        }.flatMap(\.self)
    }

    private static func send(port: Int, keys: Int, until isOver: StopFlag) throws -> [Double] {
        let client = try LoopbackClient(port: port)
        var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
        var latencies: [Double] = []
        while !isOver.isRaised {
            var request: [UInt8] = []
            for _ in 0..<chunk {
                let key = "counter:\(generator.next(below: keys))"
                request += Array("*2\r\n$4\r\nINCR\r\n$\(key.utf8.count)\r\n\(key)\r\n".utf8)
            }
            let start = ContinuousClock.now
            _ = try client.exchange(request) { answer in
                answer.count(where: { $0 == 10 }) == chunk ? answer.count : nil
            }
            latencies.append(start.duration(to: .now) / .microseconds(1))
        }
        return latencies
    }
}
