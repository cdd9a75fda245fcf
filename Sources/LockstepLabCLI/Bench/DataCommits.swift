import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P10.
    static let dataNodes = BenchCase(name: "p10", title: DataCommits.title, isLong: true) {
        try await DataCommits(setting: $0).run()
    }
}

/// P10: durable increments on one to three data nodes, beside one primary without an arbiter, and beside others that wait
/// for more than one server.
struct DataCommits {
    static let title = "durable acknowledged increments on data nodes, each of which has what is acknowledged"
    static let window = 12_800
    static let chunk = 256

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// What one round found of something: increments a second, processor time of its servers for each, and the latency of
    /// one in flight, in microseconds.
    private struct Measured {
        var rates: [Double] = []
        var processor: [Double] = []
        var p50: [Double] = []
        var p99: [Double] = []

        mutating func add(rate: Double, processor used: Double = 0, latencies: [Double]) {
            rates.append(rate)
            processor.append(used)
            p50.append(latencies.quantile(0.5))
            p99.append(latencies.quantile(0.99))
        }
    }

    /// What the machine charges, of each round, in microseconds.
    private struct Costs {
        var append: [Double] = []
        var appendBeside: [Double] = []
        var wakeUp: [Double] = []
    }

    func run() async throws -> BenchResult {
        var (solo, nodes) = (Measured(), [1: Measured(), 2: Measured(), 3: Measured()])
        var (redis, etcd, nats) = (Measured(), Measured(), Measured())
        var costs = Costs()
        for round in 1...sizes.rounds {
            func say(_ what: String) { setting.say("P10, round \(round) of \(sizes.rounds): \(what)") }
            say("this machine's append and wake-up")
            costs.append.append(try MachineCosts.append(folder: setting.folder))
            costs.appendBeside.append(try MachineCosts.appendBeside(folder: setting.folder))
            costs.wakeUp.append(try MachineCosts.wakeUp())
            say("a primary alone")
            try await measureSolo(into: &solo)
            for count in 1...3 {
                say("\(count) of \(count) data nodes")
                try await measure(count, into: &nodes[count, default: Measured()])
            }
            if let peer = setting.redis {
                say("redis")
                try measure(peer, into: &redis)
            }
            if let peer = setting.etcd {
                say("etcd")
                try measure(peer, into: &etcd)
            }
            if let peer = setting.nats {
                say("nats")
                let rate = try peer.messagesPerSecond(
                    setting, count: sizes.actions / 200, window: Self.window, servers: 3)
                nats.add(rate: rate, latencies: [])
            }
        }
        let all = (1...3).map { nodes[$0, default: Measured()] }
        var figures = rates(all, solo) + latencies(all, solo, costs)
        figures += peers(two: all[1], three: all[2], redis, etcd, nats) + machine(costs)
        var result = BenchResult(("p10", Self.title), figures, settings)
        result.notes = notes
        return result
    }

    // MARK: - Measuring

    private func measureSolo(into measured: inout Measured) async throws {
        let (report, single, used) = try await BenchCluster.with(setting, replicas: 0) { cluster in
            try await load(.client(of: cluster.endpoint(0))) { cluster.processorSeconds[0] }
        }
        measured.add(rate: report.perSecond, processor: used, latencies: single)
    }

    private func measure(_ count: Int, into measured: inout Measured) async throws {
        let (report, single, used) = try await BenchCluster.withDataNodes(
            setting, nodes: count, minimum: count
        ) { nodes in
            let load = try await load(.client(of: nodes.endpoints)) { nodes.processorSeconds }
            _ = try await NodeFolder.waitUntilEqual(nodes.folders, Hosted.counters, seconds: 60)
            return load
        }
        measured.add(rate: report.perSecond, processor: used, latencies: single)
    }

    /// One action in flight for a while, then many; checks the sum.
    ///
    /// The processor time is in microseconds an increment.
    private func load(
        _ configuration: NodeConfiguration, processorSeconds: () -> Double
    ) async throws -> (report: LoadReport, single: [Double], used: Double) {
        try await Program.withRemoteCounters(configuration) { counters in
            _ = try await counters.send(.add("warm-up", by: 1))
            let one = try await Load(increments: counters, tasks: 1, chunk: 1, counters: sizes.counters)
                .send(sizes.actions / 1_000)
            let before = processorSeconds()
            let many = try await Load(
                increments: counters, tasks: Self.window / Self.chunk, chunk: Self.chunk, counters: sizes.counters
            ).send(sizes.actions)
            let used = processorSeconds() - before
            try await counters.checkSum(one.actions + many.actions)
            let settled = Array(one.latencies.dropFirst(one.latencies.count / 4))
            return (many, settled, used / Double(many.actions) * 1_000_000)
        }
    }

    private func measure(_ redis: RedisPeer, into measured: inout Measured) throws {
        try redis.withServers(setting, replicas: 1) { servers in
            let one = try servers.waitedIncrements(
                sizes.actions / 1_000, connections: 1, pipeline: 1, keys: sizes.counters)
            let many = try servers.waitedIncrements(
                sizes.actions / 2, connections: Self.window / Self.chunk, pipeline: Self.chunk, keys: sizes.counters)
            measured.add(rate: many.perSecond, latencies: one.latencies)
        }
    }

    private func measure(_ etcd: EtcdPeer, into measured: inout Measured) throws {
        let one = try etcd.puts(setting, count: sizes.actions / 1_000, members: 3, connections: 1)
        let many = try etcd.puts(setting, count: sizes.actions / 200, members: 3)
        measured.add(rate: many.perSecond, latencies: one.latencies)
    }

    // MARK: - Figures

    private func name(_ count: Int) -> String { "\(count) of \(count)" }

    private func rates(_ all: [Measured], _ solo: Measured) -> [BenchFigure] {
        let goals: [BenchGoal?] = [nil, .ratioAtLeast(0.5), .ratioAtLeast(0.35)]
        return zip(all, goals).enumerated().flatMap { index, part in
            [
                BenchFigure(
                    "\(name(index + 1)), \(Self.window) in flight", part.0.rates, "increments/s",
                    peer: ("solo", solo.rates), goal: part.1),
                BenchFigure(
                    "\(name(index + 1)), CPU of all nodes", part.0.processor, "us an increment",
                    peer: ("solo", solo.processor)),
            ]
        }
    }

    private func latencies(_ all: [Measured], _ solo: Measured, _ costs: Costs) -> [BenchFigure] {
        let allowed = solo.p50.median + costs.appendBeside.median + 6 * costs.wakeUp.median
        return all.enumerated().flatMap { index, measured in
            [
                BenchFigure(
                    "\(name(index + 1)), one in flight, p50", measured.p50, "us", peer: ("solo", solo.p50),
                    goal: index == 0 ? nil : .atMost(allowed)),
                BenchFigure(
                    "\(name(index + 1)), one in flight, p99", measured.p99, "us", peer: ("solo", solo.p99)),
            ]
        }
    }

    private func peers(
        two: Measured, three: Measured, _ redis: Measured, _ etcd: Measured, _ nats: Measured
    ) -> [BenchFigure] {
        var figures: [BenchFigure] = []
        if setting.etcd != nil {
            figures += [
                BenchFigure(
                    "3 of 3, beside puts of 3 members", three.rates, "/s", peer: ("etcd", etcd.rates),
                    goal: .ratioAtLeast(10)),
                BenchFigure(
                    "3 of 3, one in flight, p50, beside a put", three.p50, "us", peer: ("etcd", etcd.p50)),
            ]
        }
        if setting.redis != nil {
            figures += [
                BenchFigure("2 of 2, beside INCR and WAIT 1", two.rates, "/s", peer: ("redis", redis.rates)),
                BenchFigure(
                    "2 of 2, one in flight, p50, beside INCR and WAIT 1", two.p50, "us", peer: ("redis", redis.p50)),
            ]
        }
        if setting.nats != nil {
            figures.append(
                BenchFigure(
                    "nats: messages stored by 3 servers, \(Self.window) in flight", nats.rates, "messages/s"))
        }
        return figures
    }

    private func machine(_ costs: Costs) -> [BenchFigure] {
        [
            BenchFigure("append and fdatasync of 4 KiB on this disk, p50", costs.append, "us"),
            BenchFigure("the same beside another, p50", costs.appendBeside, "us"),
            BenchFigure("wake-up of a thread on another core, p50", costs.wakeUp, "us"),
        ]
    }

    // MARK: - Settings

    private var settings: [BenchResult.Participant] {
        let load = "one client, arrays of \(Self.chunk), \(Self.window) in flight; before that one action in flight"
        var settings = [
            BenchResult.Participant(
                name: "solo", durability: "synced before each answer (SQLite, WAL, synchronous FULL)",
                replicas: "none, no arbiter", load: load, checked: "the sum of all counters"),
            BenchResult.Participant(
                name: "lockstep", durability: "synced on all data nodes before each answer, each with the same journal",
                replicas: "1 to 3 data nodes, minimum the same; the arbiter is an etcd of 1 member",
                load: load + "; the client knows all nodes",
                checked: "the sum of all counters; the digests of all nodes"),
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "appendonly yes, appendfsync always, on both",
                    replicas: "1, awaited: WAIT 1 0 ends each pipeline",
                    load:
                        "\(Self.window / Self.chunk) connections, pipelines of \(Self.chunk) INCR; before that 1 of 1",
                    checked: "the sum of all counters, on primary and replica; that WAIT counted 1"))
        }
        if setting.etcd != nil {
            settings.append(
                BenchResult.Participant(
                    name: "etcd", durability: "synced by a majority before each answer (its default)",
                    replicas: "3 members",
                    load: "\(EtcdPeer.connections) connections to the JSON gateway of the leader, one put in flight on "
                        + "each; before that one connection", checked: "the revision after the last put"))
        }
        if let nats = setting.nats {
            settings.append(
                BenchResult.Participant(
                    name: "nats", durability: nats.durability, replicas: "3 servers, a majority of which has a message",
                    load: "one connection to the stream's leader, 13-byte messages, \(Self.window) acknowledgements "
                        + "awaited", checked: "the number of messages in the stream"))
        }
        return settings
    }

    private var notes: [String] {
        var notes = [
            "all nodes, their etcd, the peers and the client are on the same cores and the same disk",
            "what one action in flight may cost: the solo p50, an append beside another, six wake-ups of this machine, "
                + "all measured in this run",
        ]
        if setting.etcd != nil || setting.nats != nil {
            notes.append(
                "a put of etcd and a message that NATS stores are not increments; the ratio to etcd is there for its goal"
            )
        }
        return notes
    }
}
