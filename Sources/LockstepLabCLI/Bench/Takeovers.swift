import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P11.
    static let takeovers = BenchCase(name: "p11", title: Takeovers.title, isLong: true) {
        try await Takeovers(setting: $0).run()
    }
}

/// P11: how long no action is acknowledged when a data node ends or stands still, as a distribution for each way.
struct Takeovers {
    static let title = "how long nothing is acknowledged when one of three data nodes ends or stands still"
    private static let nodes = 3
    /// How often the ways are measured at most that are no SIGKILL to the primary.
    private static let mostOfOthers = 50

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    func run() async throws -> BenchResult {
        var pauses: [NodeEnd: [Double]] = [:]
        for isFull in [false, true] {
            let ends = NodeEnd.allCases.filter { $0.isUnderFullLoad == isFull }
            pauses.merge(try await measure(ends, isFull: isFull)) { $1 }
        }
        try write(pauses)
        let ofMany = try await ManyStores(setting: setting).measure()
        var figures = NodeEnd.allCases.flatMap { end in
            let found = pauses[end, default: []]
            return [
                BenchFigure("\(end.title), p50", [found.quantile(0.5)], "s", goal: .atMost(end.goals.p50)),
                BenchFigure("\(end.title), p99", [found.quantile(0.99)], "s", goal: .atMost(end.goals.p99)),
                BenchFigure("\(end.title), at most", [found.max() ?? 0], "s"),
            ]
        }
        figures.append(
            BenchFigure(
                "primary of \(ManyStores.names.count) stores killed, the last of them, at most", [ofMany.max() ?? 0],
                "s", goal: .atMost(5)))
        var result = BenchResult(("p11", Self.title), figures, settings)
        result.notes.append(
            "\(sizes.kills) kills of the primary under each load, \(count(of: .handedOver)) of each other way; the pause "
                + "of a primary runs from the signal to the first answer after the longest silence, that of a standby is "
                + "the longest silence")
        result.notes.append(
            "\(ofMany.count) of a node that leads \(ManyStores.names.count) stores, to the answer of the last store; its "
                + "nodes run lockstep-lab, which has so many")
        result.notes.append("where a way has fewer than 100, p99 is the longest")
        setting.say("the pauses are in \(setting.takeoverFile)")
        return result
    }

    private var settings: [BenchResult.Participant] {
        [
            BenchResult.Participant(
                name: "lockstep", durability: "synced on at least 2 data nodes before each answer",
                replicas:
                    "\(Self.nodes) data nodes, minimum 2, all of them members before each end; the arbiter is an etcd "
                    + "of 1 member",
                load:
                    "one client that knows all nodes; \(AnswerClock.fewTasks) callers with one increment in flight each; "
                    + "under full load \(AnswerClock.manyTasks) with an array of \(AnswerClock.chunk) each",
                checked: "the sum of all counters is the number of answers; the digests of all nodes")
        ]
    }

    // MARK: - Measuring

    /// The pauses of some ways to end, in seconds, of one cluster under one load.
    private func measure(_ ends: [NodeEnd], isFull: Bool) async throws -> [NodeEnd: [Double]] {
        try await BenchCluster.withDataNodes(setting, nodes: Self.nodes, minimum: 2) { nodes in
            let clock = AnswerClock()
            var pauses: [NodeEnd: [Double]] = [:]
            try await Program.withRemoteCounters(.client(of: nodes.endpoints)) { counters in
                try await clock.whileAnswering(counters, keys: sizes.counters, isFull: isFull) {
                    for end in ends {
                        for number in 1...count(of: end) {
                            setting.say("P11, \(end.title): \(number) of \(count(of: end))")
                            pauses[end, default: []].append(try await pause(end, nodes, clock) / .seconds(1))
                        }
                    }
                    try await nodes.waitUntilWhole()
                }
                try await counters.checkSum(clock.answers)
            }
            _ = try await NodeFolder.waitUntilEqual(nodes.folders, Hosted.counters, seconds: 60)
            return pauses
        }
    }

    private func count(of end: NodeEnd) -> Int {
        end.signal == SIGKILL && end.isOfPrimary ? sizes.kills : min(sizes.kills, Self.mostOfOthers)
    }

    /// Ends a node in one way, measures, and brings it back.
    private func pause(_ end: NodeEnd, _ nodes: DataProcesses, _ clock: AnswerClock) async throws -> Duration {
        let primary = try await nodes.waitUntilWhole()
        // Anywhere in the primary's work, not only where its status was told.
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...400)))
        let others = nodes.names.indices.filter { $0 != primary }
        let index = end.isOfPrimary ? primary : others[Int.random(in: others.indices)]
        let epoch = clock.epoch
        let start = clock.begin()
        if end.signal == SIGSTOP { nodes.send(SIGSTOP, to: index) } else { nodes.end(index, signal: end.signal) }
        if end.isOfPrimary {
            try await clock.wait(for: "another primary's answers") { clock.epoch > epoch }
        } else {
            let name = nodes.names[index]
            try await nodes.waitForPrimary { !$0.inSync.contains(name) }
        }
        try await clock.waitForMore()
        let silence = clock.longestSilence
        if end.signal == SIGSTOP { nodes.send(SIGCONT, to: index) } else { try nodes.start(index) }
        return end.isOfPrimary ? start.duration(to: silence.end) : silence.begin.duration(to: silence.end)
    }

    private func write(_ pauses: [NodeEnd: [Double]]) throws {
        let rows = NodeEnd.allCases.flatMap { end in
            pauses[end, default: []].map { "\"\(end.title)\",\(String(format: "%.4f", $0))\n" }
        }
        do {
            try Data(("end,seconds\n" + rows.joined()).utf8).write(to: URL(fileURLWithPath: setting.takeoverFile))
        } catch {
            throw CommandFailure("\(setting.takeoverFile) cannot be written: \(error.localizedDescription)")
        }
    }
}

/// A way in which a data node ends, or stands still.
enum NodeEnd: CaseIterable, Sendable {
    case killed, killedUnderLoad, stopped, handedOver, standbyKilled, standbyStopped

    var title: String {
        switch self {
        case .killed: "primary killed"
        case .killedUnderLoad: "primary killed under full load"
        case .stopped: "primary stands still (SIGSTOP)"
        case .handedOver: "primary told to stop (SIGTERM)"
        case .standbyKilled: "standby killed"
        case .standbyStopped: "standby stands still (SIGSTOP)"
        }
    }

    var signal: Int32 {
        switch self {
        case .killed, .killedUnderLoad, .standbyKilled: SIGKILL
        case .stopped, .standbyStopped: SIGSTOP
        case .handedOver: SIGTERM
        }
    }

    var isOfPrimary: Bool {
        switch self {
        case .killed, .killedUnderLoad, .stopped, .handedOver: true
        case .standbyKilled, .standbyStopped: false
        }
    }

    var isUnderFullLoad: Bool { self == .killedUnderLoad }

    /// Seconds that the pause may last.
    var goals: (p50: Double, p99: Double) {
        switch self {
        case .killed: (0.5, 2)
        case .killedUnderLoad: (0.8, 2.5)
        case .stopped: (1.7, 3.5)
        case .handedOver: (0.15, 0.6)
        case .standbyKilled, .standbyStopped: (0.8, 1.5)
        }
    }
}
