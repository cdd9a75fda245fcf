import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P9.
    static let observed = BenchCase(name: "p9", title: Observed.title) { try await Observed(setting: $0).run() }
}

/// P9: the commit rate while somebody on the primary takes the whole state 100 times a second.
struct Observed {
    static let title = "the commit rate under an observer that takes the whole state 100 times a second"
    static let perSecond = 100

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    func run() async throws -> BenchResult {
        var unobserved: [Double] = []
        var observed: [Double] = []
        var taken: [Double] = []
        for round in 1...sizes.rounds {
            setting.say("P9, round \(round) of \(sizes.rounds): unobserved")
            unobserved.append(try await measure(.benchNode()).rate)
            setting.say("P9, round \(round) of \(sizes.rounds): observed")
            let (rate, states) = try await measure(.benchNode("--observe", "\(Self.perSecond)"))
            observed.append(rate)
            taken.append(states)
        }
        let figures = [
            BenchFigure(
                "increments with the observer, \(sizes.keys) counters", observed, "/s",
                peer: ("unobserved", unobserved),
                goal: .ratioAtLeast(0.5)),
            BenchFigure("different states that the observer took", taken, "a second"),
        ]
        var result = BenchResult(
            ("p9", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "synced before each answer", replicas: "1 with a journal",
                    load: "65,536 in flight for \(Int(sizes.seconds)) s; the observer holds each state until the next",
                    checked: "the sum of all counters; the digests of primary and replica"),
                BenchResult.Participant(
                    name: "unobserved", durability: "the same", replicas: "the same", load: "the same, nobody reads",
                    checked: "the same"),
            ])
        result.notes.append(
            "the state changes with each commit, and with 65,536 in flight a commit is large: there are fewer different "
                + "states a second than the observer takes")
        return result
    }

    /// Increments a second, and states that the observer took a second.
    private func measure(_ command: NodeCommand) async throws -> (rate: Double, states: Double) {
        try await BenchCluster.with(setting, replicas: 1, start: false) { cluster in
            try cluster.startAll(.benchNode())
            try await cluster.waitUntilReady()
            var actions = try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                try await Load(
                    increments: counters, tasks: 64, chunk: 256, counters: sizes.keys, isSequential: true
                ).send(sizes.keys).actions
            }
            _ = try await cluster.waitUntilEqual()
            // Started again, so that the observer sees nothing but the load.
            cluster.end(0, signal: SIGTERM)
            try cluster.start(0, command)
            try await cluster.waitUntilReady()
            let report = try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                let report = try await Load(increments: counters, tasks: 256, chunk: 256, counters: sizes.keys)
                    .send(seconds: sizes.seconds)
                actions += report.actions
                try await counters.checkSum(actions)
                return report
            }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGTERM)
            let log = try String(contentsOfFile: cluster.folder + "/primary.log", encoding: .utf8)
            let states = log.split(separator: "\n").last { $0.hasPrefix("observed ") }
                .flatMap { Double($0.dropFirst("observed ".count)) }
            return (report.perSecond, (states ?? 0) / report.seconds)
        }
    }
}
