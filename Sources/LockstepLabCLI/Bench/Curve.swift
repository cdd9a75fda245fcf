import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// Throughput against latency.
    static let curve = BenchCase(name: "curve", title: Curve.title, isLong: true) { try await Curve(setting: $0).run() }
}

/// Throughput and latency at a growing number of actions in flight, of Lockstep and of Redis.
struct Curve {
    static let title = "throughput against latency for growing load, closed loop"

    let setting: BenchSetting

    /// Callers, or connections, and how many actions each has in flight as one array, or pipeline.
    private static let shapes = [
        (1, 1), (4, 1), (16, 1), (16, 4), (16, 16), (32, 32), (50, 82), (50, 256), (128, 256), (256, 256),
    ]

    private struct Point {
        var system: String
        var inFlight: Int
        var perSecond: Double
        /// Of an array or pipeline, in microseconds.
        var p50: Double
        var p99: Double
    }

    func run() async throws -> BenchResult {
        let own = try await lockstep()
        let peer = try setting.redis.map(measure) ?? []
        let points = own + peer
        let header = "system,in_flight,per_second,p50_microseconds,p99_microseconds\n"
        let rows = points.map { point in
            "\(point.system),\(point.inFlight),"
                + String(
                    format: "%.0f,%.0f,%.0f\n", point.perSecond, point.p50, point.p99)
        }
        do { try Data((header + rows.joined()).utf8).write(to: URL(fileURLWithPath: setting.curveFile)) } catch {
            throw CommandFailure("\(setting.curveFile) cannot be written: \(error.localizedDescription)")
        }
        var figures: [BenchFigure] = []
        for point in own {
            let other = peer.first { $0.inFlight == point.inFlight }
            func figure(_ what: String, _ value: (Point) -> Double, _ unit: String) -> BenchFigure {
                BenchFigure(
                    "\(point.inFlight) in flight\(what)", [value(point)], unit,
                    peer: other.map { ("redis", [value($0)]) })
            }
            figures += [
                figure("", \.perSecond, "increments/s"), figure(", p50", \.p50, "us"), figure(", p99", \.p99, "us"),
            ]
        }
        var settings = [
            BenchResult.Participant(
                name: "lockstep", durability: "synced before each answer", replicas: "1 with a journal",
                load: "closed loop: callers that each wait for their own array; the latency is an array's",
                checked: "the sum of all counters; the digests of primary and replica")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "synced before each answer (appendfsync always)",
                    replicas: "1 with a file of its own",
                    load: "redis-benchmark with as many connections and as long pipelines; the latency is a pipeline's",
                    checked: "the sum of all counters, on primary and replica"))
        }
        setting.say("the points are in \(setting.curveFile)")
        return BenchResult(("curve", Self.title), figures, settings)
    }

    private func lockstep() async throws -> [Point] {
        try await BenchCluster.with(setting, replicas: 1) { cluster in
            try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                var (points, sent): ([Point], Int) = ([], 0)
                for (tasks, chunk) in Self.shapes {
                    setting.say("curve: lockstep, \(tasks * chunk) in flight")
                    let report = try await Load(
                        increments: counters, tasks: tasks, chunk: chunk, counters: setting.sizes.counters
                    ).send(seconds: setting.sizes.seconds * 0.6)
                    sent += report.actions
                    points.append(
                        Point(
                            system: "lockstep", inFlight: tasks * chunk, perSecond: report.perSecond,
                            p50: report.latencies.quantile(0.5), p99: report.latencies.quantile(0.99)))
                }
                try await counters.checkSum(sent)
                _ = try await cluster.waitUntilEqual()
                return points
            }
        }
    }

    private func measure(_ redis: RedisPeer) throws -> [Point] {
        try redis.withServers(setting, replicas: 1) { servers in
            try Self.shapes.map { connections, pipeline in
                setting.say("curve: redis, \(connections * pipeline) in flight")
                let inFlight = connections * pipeline
                // About as long as ours, whatever is in flight.
                let load = try servers.increments(
                    max(inFlight, min(setting.sizes.actions, Int(600 * setting.sizes.seconds) * inFlight)),
                    connections: connections,
                    pipeline: pipeline, keys: setting.sizes.counters)
                return Point(
                    system: "redis", inFlight: inFlight, perSecond: load.perSecond, p50: load.p50, p99: load.p99)
            }
        }
    }
}
