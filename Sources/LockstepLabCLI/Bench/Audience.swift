import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P7.
    static let audience = BenchCase(name: "p7", title: Audience.title) { try await Audience(setting: $0).run() }
}

/// P7: what one more replica costs, beside one more plain socket that receives the same bytes.
struct Audience {
    static let title = "the cost of one more replica, beside one more plain socket on the same broadcast"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// Who listens to the primary.
    private struct Listeners: Hashable {
        var replicas: Int
        var sockets: Int
    }

    /// Processor time in microseconds an increment.
    private struct Cost {
        var perSecond: Double
        var primary: Double
        /// Of the replicas beyond the first, or of the sockets.
        var listeners: Double
    }

    func run() async throws -> BenchResult {
        let kinds = [
            Listeners(replicas: 1, sockets: 0), Listeners(replicas: 2, sockets: 0), Listeners(replicas: 4, sockets: 0),
            Listeners(replicas: 1, sockets: 1), Listeners(replicas: 1, sockets: 3),
        ]
        var costs: [Listeners: [Cost]] = [:]
        for round in 1...sizes.rounds {
            for kind in kinds {
                setting.say(
                    "P7, round \(round) of \(sizes.rounds): \(kind.replicas) replicas, \(kind.sockets) plain sockets")
                costs[kind, default: []].append(try await measure(kind))
            }
        }
        func values(_ replicas: Int, _ sockets: Int, _ value: (Cost) -> Double) -> [Double] {
            (costs[Listeners(replicas: replicas, sockets: sockets)] ?? []).map(value)
        }
        /// What each of three more costs, by rounds.
        func more(_ replicas: Int, _ sockets: Int) -> [Double] {
            zip(values(replicas, sockets, \.primary), values(1, 0, \.primary)).map { ($0 - $1) / 3 }
        }
        let figures = [
            BenchFigure("increments with 1 replica", values(1, 0, \.perSecond), "/s"),
            BenchFigure(
                "with one more replica (with one more plain socket)", values(2, 0, \.perSecond), "/s",
                peer: ("socket", values(1, 1, \.perSecond))),
            BenchFigure(
                "with three more replicas (with three more plain sockets)", values(4, 0, \.perSecond), "/s",
                peer: ("socket", values(1, 3, \.perSecond))),
            BenchFigure("CPU of the primary with 1 replica", values(1, 0, \.primary), "us an increment"),
            BenchFigure(
                "CPU of the primary with 4 replicas (1 and 3 plain sockets)", values(4, 0, \.primary),
                "us an increment",
                peer: ("socket", values(1, 3, \.primary)), goal: .ratioAtMost(1.2)),
            BenchFigure("CPU of the primary for one more replica, of three", more(4, 0), "us an increment"),
            BenchFigure("CPU of the primary for one more plain socket, of three", more(1, 3), "us an increment"),
            BenchFigure(
                "CPU of one more listener itself, of three", values(4, 0) { $0.listeners / 3 }, "us an increment",
                peer: ("socket", values(1, 3) { $0.listeners / 3 })),
        ]
        var result = BenchResult(
            ("p7", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "every answer synced; each replica has a journal",
                    replicas: "1, 2 and 4", load: "65,536 in flight, \(sizes.actions) increments",
                    checked: "the sum of all counters; the digests of all nodes"),
                BenchResult.Participant(
                    name: "socket", durability: "keeps nothing",
                    replicas: "1, and 1 or 3 processes that receive and discard",
                    load: "the same", checked: "that the sockets received, and how much: see the note"),
            ])
        result.notes.append(
            "a replica decodes, applies, hashes and writes what it receives; a plain socket throws it away. The goal "
                + "compares what either costs the primary")
        result.notes.append(
            "what one more costs the primary is less than the rounds differ by, so the goal is for all four together")
        return result
    }

    private func measure(_ kind: Listeners) async throws -> Cost {
        try await BenchCluster.with(setting, replicas: kind.replicas) { cluster in
            var sockets: [ChildProcess] = []
            defer { for socket in sockets { socket.end(SIGKILL) } }
            for index in 0..<kind.sockets { sockets.append(try await subscribe(cluster, index)) }
            let (report, primary, listeners) = try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) {
                counters in
                let load = Load(increments: counters, tasks: 256, chunk: 256, counters: sizes.counters)
                let before = cluster.processorSeconds
                let socketsBefore = sockets.map { $0.processorSeconds ?? 0 }
                let report = try await load.send(sizes.actions)
                _ = try await cluster.waitUntilEqual()
                let used = zip(before, cluster.processorSeconds).map { $1 - $0 }
                let socketsUsed = zip(socketsBefore, sockets).map { ($1.processorSeconds ?? 0) - $0 }
                try await counters.checkSum(report.actions)
                return (report, used[0], used.dropFirst(2).reduce(0, +) + socketsUsed.reduce(0, +))
            }
            for (index, socket) in sockets.enumerated() {
                socket.end(SIGTERM)
                let words = try log(cluster, index).split(separator: "\n").last?.split(separator: " ") ?? []
                // An increment takes a dozen bytes at the very least.
                guard words.count == 3, let bytes = Int(words[2]), bytes > 12 * report.actions else {
                    throw CommandFailure("a plain socket received \(words.joined(separator: " "))")
                }
            }
            let scale = 1_000_000 / Double(report.actions)
            return Cost(perSecond: report.perSecond, primary: primary * scale, listeners: listeners * scale)
        }
    }

    private func subscribe(_ cluster: ProcessCluster, _ index: Int) async throws -> ChildProcess {
        let endpoint = "tcp://127.0.0.1:\(cluster.port + 1)"
        let child = try ChildProcess(
            "socket-\(index)", ChildProcess.ownPath, ["bench-subscriber", endpoint],
            log: cluster.folder + "/socket-\(index).log")
        let deadline = ContinuousClock.now + .seconds(20)
        // A beacon comes within 300 ms.
        while !(try log(cluster, index).hasPrefix("ready")) {
            guard ContinuousClock.now < deadline else { throw CommandFailure("a plain socket receives nothing") }
            try await Task.sleep(for: .milliseconds(20))
        }
        return child
    }

    private func log(_ cluster: ProcessCluster, _ index: Int) throws -> String {
        try String(contentsOfFile: cluster.folder + "/socket-\(index).log", encoding: .utf8)
    }
}
