import Counters
import Foundation
import LockstepCommands
import LockstepHarness
import LockstepServer

extension BenchCase {
    /// The cost of keys.
    static let keys = BenchCase(name: "keys", title: Keyed.title, isLong: true) { try await Keyed(setting: $0).run() }
}

/// What encryption costs: the same clusters with and without keys, in turns.
struct Keyed {
    static let title = "the same clusters with and without keys: rate, latency, and what each replica costs the primary"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// What one load did.
    private struct Cost {
        var perSecond: Double
        /// Processor time of the primary, in microseconds an increment.
        var primary: Double
    }

    /// Figures of both kinds, by rounds.
    private struct Pair {
        var plain: [Double] = []
        var keyed: [Double] = []

        mutating func add(_ value: Double, keys: Bool) {
            if keys { keyed.append(value) } else { plain.append(value) }
        }

        /// Of each round, since both of a round had the same neighbours on the host.
        var ratios: [Double] { zip(keyed, plain).map { $1 == 0 ? 0 : $0 / $1 } }

        func figure(_ what: String, _ unit: String) -> BenchFigure {
            BenchFigure(what, keyed, unit, peer: ("without keys", plain))
        }
    }

    func run() async throws -> BenchResult {
        var (rate, latency, applied) = (Pair(), Pair(), Pair())
        for round in 1...sizes.rounds {
            for keys in [false, true] {
                setting.say("keys, round \(round) of \(sizes.rounds): \(keys ? "with" : "without")")
                rate.add(try await load(replicas: 1, keys: keys).perSecond, keys: keys)
                latency.add(try await Latency(setting: setting).lockstep(keys: keys).quantile(0.5), keys: keys)
                applied.add(try await Applying(setting: setting).increments(keys: keys), keys: keys)
            }
        }
        var figures = [
            rate.figure("12,800 in flight", "increments/s"),
            BenchFigure("12,800 in flight, with and without keys", rate.ratios, "", goal: .atLeast(0.7)),
            latency.figure("one action in flight, p50", "us"),
            BenchFigure("one action in flight, p50, with and without keys", latency.ratios, "", goal: .atMost(1.15)),
            applied.figure("a replica applies what waits for it", "mutations/s"),
            BenchFigure("a replica applies what waits for it, with and without keys", applied.ratios, ""),
        ]
        figures += try await audience()
        var result = BenchResult(
            ("keys", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "synced before each answer",
                    replicas: "1; 1 to \(sizes.growthReplicas) where the audience grows",
                    load: "one client, arrays of 256, 12,800 in flight; or one action in flight",
                    checked: "the sum of all counters; the digests of all nodes")
            ])
        result.notes.append(
            "with and without keys take turns; a ratio is the median of the rounds' own. All nodes share the cores here, "
                + "so the rate falls with the audience either way; the primary's processor time is what carries over")
        return result
    }

    /// The primary's processor time for a growing audience, and what encryption adds for each replica.
    private func audience() async throws -> [BenchFigure] {
        var costs: [Int: (plain: Cost, keyed: Cost)] = [:]
        let counts = [1, 2, 4, 8, 16, 32, 64].filter { $0 <= sizes.growthReplicas }
        for replicas in counts {
            setting.say("keys: \(replicas) replicas")
            costs[replicas] = (
                try await load(replicas: replicas, keys: false),
                try await load(replicas: replicas, keys: true)
            )
        }
        var figures = counts.compactMap { replicas -> BenchFigure? in
            guard let cost = costs[replicas] else { return nil }
            return BenchFigure(
                "CPU of the primary, \(replicas) replicas", [cost.keyed.primary], "us an increment",
                peer: ("without keys", [cost.plain.primary]))
        }
        guard let first = costs[1], let most = counts.last, most > 1, let last = costs[most] else { return figures }
        let steps = Double(most - 1)
        let (keyed, plain) = (
            (last.keyed.primary - first.keyed.primary) / steps, (last.plain.primary - first.plain.primary) / steps
        )
        figures.append(
            BenchFigure(
                "CPU of the primary for one more replica, of \(most)", [keyed], "us an increment",
                peer: ("without keys", [plain])))
        if keyed > 0 {
            figures.append(
                BenchFigure(
                    "replicas that cost the primary as much as all its other work", [first.keyed.primary / keyed],
                    "replicas"))
        }
        return figures
    }

    private func load(replicas: Int, keys: Bool) async throws -> Cost {
        try await BenchCluster.with(setting, replicas: replicas, keys: keys) { cluster in
            try await Program.withRemoteCounters(try await cluster.client()) { counters in
                _ = try await counters.send(.add("warm-up", by: 1))
                let load = Load(increments: counters, tasks: 50, chunk: Throughput.chunk, counters: sizes.counters)
                let before = cluster.processorSeconds
                let report =
                    replicas == 1 ? try await load.send(sizes.actions) : try await load.send(seconds: sizes.seconds)
                _ = try await cluster.waitUntilEqual(seconds: 300)
                let primary = cluster.processorSeconds[0] - before[0]
                try await counters.checkSum(report.actions)
                return Cost(perSecond: report.perSecond, primary: primary / Double(report.actions) * 1_000_000)
            }
        }
    }
}
