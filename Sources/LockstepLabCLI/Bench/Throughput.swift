import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P1.
    static let throughput = BenchCase(name: "p1", title: Throughput.title) { try await Throughput(setting: $0).run() }
}

/// P1: durable acknowledged increments a second, at two windows, beside Redis; and what NATS and etcd reach at work that
/// is as durable and not the same.
struct Throughput {
    static let title = "durable acknowledged increments over many counters, a primary and one replica as processes"
    static let chunk = 256

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    func run() async throws -> BenchResult {
        var figures: [BenchFigure] = []
        for window in [12_800, 65_536] { figures += try await measure(window: window) }
        if let peer = setting.nats { figures.append(try nats(peer)) }
        if let peer = setting.etcd { figures.append(try etcd(peer)) }
        var result = BenchResult(("p1", Self.title), figures, settings)
        if setting.nats != nil || setting.etcd != nil {
            result.notes.append(
                "a message that NATS stores and a put of etcd are not increments, and have no replica here: no ratio")
        }
        return result
    }

    private var settings: [BenchResult.Participant] {
        var settings = [
            BenchResult.Participant(
                name: "lockstep", durability: "synced before each answer (SQLite, WAL, synchronous FULL)",
                replicas: "1 with a journal of its own, follows",
                load: "one client, arrays of 256, 12,800 or 65,536 in flight",
                checked: "the sum of all counters; the digests of primary and replica")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "synced before each answer (appendonly yes, appendfsync always)",
                    replicas: "1 with a file of its own, follows",
                    load: "redis-benchmark -P 256, -c 50 or 256: as many in flight",
                    checked: "the sum of all counters, on primary and replica"))
        }
        if let nats = setting.nats {
            settings.append(
                BenchResult.Participant(
                    name: "nats", durability: nats.durability, replicas: "none",
                    load: "one connection, 13-byte messages to a stream of files, 12,800 acknowledgements awaited",
                    checked: "the number of messages in the stream"))
        }
        if setting.etcd != nil {
            settings.append(
                BenchResult.Participant(
                    name: "etcd", durability: "synced before each answer (its default)", replicas: "none",
                    load: "\(EtcdPeer.connections) connections to the JSON gateway, one put in flight on each",
                    checked: "the revision after the last put"))
        }
        return settings
    }

    /// All rounds at one window; Lockstep and Redis take turns.
    private func measure(window: Int) async throws -> [BenchFigure] {
        var own: (rates: [Double], processor: [[Double]]) = ([], [])
        var peer: (rates: [Double], processor: [[Double]]) = ([], [])
        for round in 1...sizes.rounds {
            setting.say("P1, \(window) in flight, round \(round) of \(sizes.rounds): lockstep")
            let (rate, processor) = try await lockstep(window: window)
            own.rates.append(rate)
            own.processor.append(processor)
            guard let redis = setting.redis else { continue }
            setting.say("P1, \(window) in flight, round \(round) of \(sizes.rounds): redis")
            let load = try redis.withServers(setting, replicas: 1) { servers in
                try servers.increments(
                    sizes.actions, connections: window / Self.chunk, pipeline: Self.chunk, keys: sizes.counters)
            }
            peer.rates.append(load.perSecond)
            peer.processor.append(load.processorSeconds.map { $0 / Double(load.actions) * 1_000_000 })
        }
        let goal: BenchGoal = window == 12_800 ? .ratioAtLeast(2) : .ratioAtLeast(3)
        func part(_ indices: [Int], of processor: [[Double]]) -> [Double] {
            processor.map { round in indices.reduce(0) { $0 + round[$1] } }
        }
        let text = "\(window) in flight"
        return [
            BenchFigure(text, own.rates, "increments/s", peer: ("redis", peer.rates), goal: goal),
            BenchFigure(
                "\(text), CPU of all processes", part([0, 1, 2], of: own.processor), "us an increment",
                peer: ("redis", part([0, 1, 2], of: peer.processor))),
            BenchFigure(
                "\(text), CPU of the primary", part([0], of: own.processor), "us an increment",
                peer: ("redis", part([0], of: peer.processor))),
            BenchFigure(
                "\(text), CPU of the replica", part([1], of: own.processor), "us an increment",
                peer: ("redis", part([1], of: peer.processor))),
            BenchFigure(
                "\(text), CPU of the client", part([2], of: own.processor), "us an increment",
                peer: ("redis", part([2], of: peer.processor))),
        ]
    }

    /// One round: new nodes, the load, and the check that the sum is right and the replica equal.
    private func lockstep(window: Int) async throws -> (rate: Double, processor: [Double]) {
        try await BenchCluster.with(setting, replicas: 1) { cluster in
            let load = try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                _ = try await counters.send(.add("warm-up", by: 1))
                let load = Load(
                    increments: counters, tasks: max(1, window / Self.chunk), chunk: Self.chunk,
                    counters: sizes.counters)
                let before = cluster.processorSeconds
                let report = try await load.send(sizes.actions)
                let used = zip(before, cluster.processorSeconds).map { $1 - $0 } + [report.processorSeconds]
                try await counters.checkSum(report.actions)
                return (report: report, used: used)
            }
            _ = try await cluster.waitUntilEqual()
            return (load.report.perSecond, load.used.map { $0 / Double(load.report.actions) * 1_000_000 })
        }
    }

    private func nats(_ peer: NATSPeer) throws -> BenchFigure {
        setting.say("P1: nats")
        let rates = try (1...sizes.rounds).map { _ in
            try peer.messagesPerSecond(setting, count: sizes.actions / 200, window: 12_800)
        }
        return BenchFigure("nats: messages stored, 12,800 in flight", rates, "messages/s")
    }

    private func etcd(_ peer: EtcdPeer) throws -> BenchFigure {
        setting.say("P1: etcd")
        let rates = try (1...sizes.rounds).map { _ in
            try peer.puts(setting, count: sizes.actions / 200).perSecond
        }
        return BenchFigure("etcd: puts, \(EtcdPeer.connections) in flight", rates, "puts/s")
    }
}
