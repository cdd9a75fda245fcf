import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// How the figures change with size.
    static let growth = BenchCase(name: "growth", title: Growth.title, isLong: true) {
        try await Growth(setting: $0).run()
    }
}

/// Throughput and latency as functions of the state's size, the values' size, sessions, replicas, and the journal.
struct Growth {
    static let title = "throughput and latency for growing states, values, sessions, audiences and journals"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    private struct Point {
        var curve: String
        var size: Int
        var perSecond: Double
        /// Of an array, in microseconds.
        var p50: Double
        var p99: Double

        init(_ curve: String, _ size: Int, _ report: LoadReport) {
            self.curve = curve
            self.size = size
            perSecond = report.perSecond
            p50 = report.latencies.quantile(0.5)
            p99 = report.latencies.quantile(0.99)
        }
    }

    func run() async throws -> BenchResult {
        var points: [Point] = []
        for keys in upTo(sizes.growthKeys, from: 1_000) { points.append(try await state(keys)) }
        points += try await values()
        for count in upTo(sizes.growthSessions, from: 1) { points.append(try await sessions(count)) }
        for replicas in [1, 2, 4, 8, 16, 32, 64] where replicas <= sizes.growthReplicas {
            points.append(try await audience(replicas))
        }
        points += try await journal()
        try write(points)
        let figures = points.flatMap { point in
            let what = "\(point.curve) \(point.size)"
            return [
                BenchFigure(what, [point.perSecond], "/s"), BenchFigure(what + ", p50", [point.p50], "us"),
                BenchFigure(what + ", p99", [point.p99], "us"),
            ]
        }
        setting.say("the points are in \(setting.growthFile)")
        return BenchResult(
            ("growth", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "synced before each answer", replicas: "1; 1 to 64 in \"replicas\"",
                    load:
                        "12,800 in flight as arrays of 256; in \"sessions\" 16,384 shared among them, in \"value bytes\" "
                        + "64 actions one by one; the latency is an array's",
                    checked: "the sum of all counters, or the bytes of all values; the digests of all nodes")
            ])
    }

    /// `first` and its multiples by ten, to `last`.
    private func upTo(_ last: Int, from first: Int) -> [Int] {
        Array(sequence(first: first) { $0 * 10 <= last ? $0 * 10 : nil })
    }

    private func write(_ points: [Point]) throws {
        let rows = points.map { point in
            "\(point.curve),\(point.size),"
                + String(format: "%.0f,%.0f,%.0f\n", point.perSecond, point.p50, point.p99)
        }
        let text = "curve,size,per_second,p50_microseconds,p99_microseconds\n" + rows.joined()
        do { try Data(text.utf8).write(to: URL(fileURLWithPath: setting.growthFile)) } catch {
            throw CommandFailure("\(setting.growthFile) cannot be written: \(error.localizedDescription)")
        }
    }

    // MARK: - The curves

    /// Increments of random counters among so many.
    private func state(_ keys: Int) async throws -> Point {
        setting.say("growth: \(keys) counters")
        return try await counters(replicas: 1) { counters, _ in
            let filled = try await Load(
                increments: counters, tasks: 256, chunk: 256, counters: keys, isSequential: true
            ).send(keys)
            let report = try await Load(increments: counters, tasks: 50, chunk: 256, counters: keys)
                .send(seconds: sizes.seconds)
            return (Point("counters", keys, report), filled.actions + report.actions)
        }
    }

    /// Values of growing size under 64 keys, as plain `Codable` has them.
    private func values() async throws -> [Point] {
        var points: [Point] = []
        for bytes in [16, 256, 4_096, 65_536, 1_000_000] where bytes <= sizes.growthValueBytes {
            setting.say("growth: values of \(bytes) bytes")
            let value = String(repeating: "v", count: bytes)
            let report = try await BenchCluster.with(setting, replicas: 1, start: false) { cluster in
                try cluster.startAll(.benchNode("--plain"))
                try await cluster.waitUntilReady()
                let node = try Node(.client(of: cluster.endpoint(0)), logger: Program.quiet)
                let store = try node.remote(PlainCounters.self, named: PlainCounters.storeName)
                return try await node.whileRunning {
                    let names = CounterNames.make(64)
                    // Few large values at a time, so that they fit into the session's window.
                    let load = Load(
                        target: store, tasks: max(1, min(64, 2_000_000 / bytes)), chunk: 1, keys: names.count
                    ) { .put(names[$0], value) }
                    let report = try await load.send(seconds: sizes.seconds)
                    _ = try await cluster.waitUntilEqual(PlainCounters.storeName)
                    let total = try await store.ask(.totals, .linearizable).answer.textBytes
                    guard total > 0, total.isMultiple(of: bytes), total <= names.count * bytes else {
                        throw CommandFailure("the values have \(total) bytes in all")
                    }
                    return report
                }
            }
            points.append(Point("value bytes", bytes, report))
        }
        return points
    }

    /// So many sessions that share what is in flight.
    private func sessions(_ count: Int) async throws -> Point {
        setting.say("growth: \(count) sessions")
        let chunk = max(1, min(256, 16_384 / count))
        return try await counters(replicas: 1) { _, cluster in
            let load = ManySessions(
                endpoint: cluster.endpoint(0), sessions: count, arrays: max(1, 16_384 / count / chunk), chunk: chunk,
                seconds: sizes.seconds)
            let report = try onThreads(1) { _ in try load.run() }[0]
            return (Point("sessions", count, report), report.actions)
        }
    }

    /// So many replicas as processes.
    private func audience(_ replicas: Int) async throws -> Point {
        setting.say("growth: \(replicas) replicas")
        return try await counters(replicas: replicas) { counters, _ in
            let report = try await Load(increments: counters, tasks: 50, chunk: 256, counters: sizes.counters)
                .send(seconds: sizes.seconds)
            return (Point("replicas", replicas, report), report.actions)
        }
    }

    /// Ten stretches of one run: the journal's length is the only thing that grows.
    private func journal() async throws -> [Point] {
        var points: [Point] = []
        _ = try await counters(replicas: 1) { counters, _ in
            let load = Load(increments: counters, tasks: 50, chunk: 256, counters: sizes.counters)
            var sent = 0
            for step in 1...10 {
                setting.say("growth: a journal of \(sent) entries and more")
                let report = try await load.send(sizes.entries / 10)
                sent += report.actions
                points.append(Point("journal entries", sizes.entries / 10 * step, report))
            }
            return (points[0], sent)
        }
        return points
    }

    /// Runs a load against counters, and checks their sum and the digests of all nodes.
    private func counters(
        replicas: Int, _ body: (RemoteStore<Counters>, ProcessCluster) async throws -> (Point, sent: Int)
    ) async throws -> Point {
        try await BenchCluster.with(setting, replicas: replicas) { cluster in
            try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                let (point, sent) = try await body(counters, cluster)
                _ = try await cluster.waitUntilEqual(seconds: 300)
                try await counters.checkSum(sent)
                return point
            }
        }
    }
}
