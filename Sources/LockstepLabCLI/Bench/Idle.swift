import Foundation
import LockstepHarness

extension BenchCase {
    /// A cluster at rest.
    static let idle = BenchCase(name: "idle", title: Idle.title) { try await Idle(setting: $0).run() }
}

/// What a primary and its replicas use when nothing happens.
struct Idle {
    static let title = "a primary with 8 replicas at rest"
    static let replicas = 8

    let setting: BenchSetting

    func run() async throws -> BenchResult {
        let seconds = 4 * setting.sizes.seconds
        setting.say("idle: \(Self.replicas) replicas start")
        let used = try await BenchCluster.with(setting, replicas: Self.replicas) { cluster in
            _ = try await cluster.waitUntilEqual()
            try await Task.sleep(for: .seconds(seconds / 10))
            setting.say("idle: \(Self.replicas) replicas at rest for \(Int(seconds)) s")
            let before = cluster.processorSeconds
            let start = ContinuousClock.now
            try await Task.sleep(for: .seconds(seconds))
            let passed = start.duration(to: .now) / .seconds(1)
            return zip(before, cluster.processorSeconds).map { ($1 - $0) / passed * 100 }
        }
        let figures = [
            BenchFigure("CPU of the primary in \(Int(seconds)) s", [used[0]], "% of a core", goal: .atMost(1)),
            BenchFigure("CPU of all 9 processes", [used.reduce(0, +)], "% of a core"),
            BenchFigure("CPU of one replica", Array(used.dropFirst()), "% of a core"),
        ]
        return BenchResult(
            ("idle", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "each has a journal", replicas: "\(Self.replicas)",
                    load: "none; two stores, counters and search", checked: "equal digests before")
            ])
    }
}
