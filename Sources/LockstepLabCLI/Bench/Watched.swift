import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import Synchronization

extension BenchCase {
    /// What watched queries cost the node that evaluates them.
    static let watched = BenchCase(name: "watched", title: Watched.title, isLong: true) {
        try await Watched(setting: $0).run()
    }
}

/// P1's load while clients watch different counters at the primary.
struct Watched {
    static let title = "the commit rate while clients watch counters at the primary, each at most every 100 ms"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// What one measurement found.
    private struct Measurement {
        var perSecond = 0.0
        /// Microseconds an increment.
        var primary = 0.0
        var answersPerSecond = 0.0
    }

    func run() async throws -> BenchResult {
        let counts = [1_000, 10_000].map { min($0, sizes.counters) }
        var unwatched: [Measurement] = []
        var watched: [[Measurement]] = counts.map { _ in [] }
        for round in 1...sizes.rounds {
            setting.say("watched, round \(round) of \(sizes.rounds): unwatched")
            unwatched.append(try await measure(0))
            for (index, count) in counts.enumerated() {
                setting.say("watched, round \(round) of \(sizes.rounds): \(count) watches")
                watched[index].append(try await measure(count))
            }
        }
        let figures = zip(counts, watched).flatMap { count, found in
            [
                BenchFigure(
                    "increments, \(count) watches", found.map(\.perSecond), "/s",
                    peer: ("unwatched", unwatched.map(\.perSecond))),
                BenchFigure(
                    "CPU of the primary, \(count) watches", found.map(\.primary), "us an increment",
                    peer: ("unwatched", unwatched.map(\.primary))),
                BenchFigure("answers, \(count) watches", found.map(\.answersPerSecond), "/s"),
            ]
        }
        var result = BenchResult(
            ("watched", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "synced before each answer", replicas: "1 with a journal",
                    load: "65,536 in flight for \(Int(sizes.seconds)) s, and clients of 1,000 watches each",
                    checked: "the sum of all counters; a first answer to each watch"),
                BenchResult.Participant(
                    name: "unwatched", durability: "the same", replicas: "the same", load: "the same, nobody watches",
                    checked: "the sum of all counters"),
            ])
        result.notes.append(
            "load and watchers share the machine's cores with the nodes: the rate has the watchers' cost in it, the "
                + "primary's CPU has not")
        return result
    }

    private func measure(_ count: Int) async throws -> Measurement {
        try await BenchCluster.with(setting, replicas: 1) { cluster in
            let endpoint = cluster.endpoint(0)
            return try await Program.withRemoteCounters(.client(of: endpoint)) { counters in
                let filled = try await Load(
                    increments: counters, tasks: 64, chunk: 256, counters: sizes.counters, isSequential: true
                ).send(sizes.counters)
                return try await withThrowingTaskGroup(of: Void.self) { group in
                    let answers = WatchCount()
                    for first in stride(from: 0, to: count, by: 1_000) {
                        let names = CounterNames.make(min(first + 1_000, count)).dropFirst(first)
                        group.addTask { try await Self.watch(Array(names), at: endpoint, answers) }
                    }
                    let deadline = ContinuousClock.now + .seconds(60)
                    while answers.first < count {
                        guard ContinuousClock.now < deadline else {
                            throw CommandFailure("only \(answers.first) of \(count) watches were answered within 60 s")
                        }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    let (before, told) = (cluster.processorSeconds[0], answers.all)
                    let report = try await Load(
                        increments: counters, tasks: 256, chunk: 256, counters: sizes.counters
                    ).send(seconds: sizes.seconds)
                    let used = cluster.processorSeconds[0] - before
                    let answered = answers.all - told
                    group.cancelAll()
                    try await counters.checkSum(filled.actions + report.actions)
                    return Measurement(
                        perSecond: report.perSecond, primary: used / Double(report.actions) * 1_000_000,
                        answersPerSecond: Double(answered) / report.seconds)
                }
            }
        }
    }

    /// Watches counters with a client of its own, until the task is cancelled.
    private static func watch(_ names: [String], at endpoint: String, _ answers: WatchCount) async throws {
        let node = try Node(.client(of: endpoint), logger: Program.quiet)
        let counters = try node.remote(Counters.self, named: Hosted.counters)
        try await node.whileRunning {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names {
                    group.addTask {
                        var isFirst = true
                        for try await _ in counters.watch(.get(name)) {
                            answers.count(isFirst: isFirst)
                            isFirst = false
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

/// How many answers came, and to how many watches a first one.
private final class WatchCount: Sendable {
    private let counts = Mutex((all: 0, first: 0))
    var all: Int { counts.withLock { $0.all } }
    var first: Int { counts.withLock { $0.first } }
    func count(isFirst: Bool) {
        counts.withLock {
            $0.all += 1
            if isFirst { $0.first += 1 }
        }
    }
}
