import ArgumentParser
import Foundation
import Lockstep
import LockstepHarness

/// `lockstep bench`: measures the shipped program, and redis-server beside it in the same run.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures throughput and latency, and Redis's in the same run.",
        discussion: """
            P1: durable acknowledged increments over 100,000 counters, a primary and one replica as processes, at 12,800 \
            and 65,536 actions in flight; redis-server with appendfsync always and one replica beside it.
            P2: one client with one action in flight, beside what a durable append and a wake-up cost on this machine.
            Build with -c release; let nothing else run.

              lockstep bench
              lockstep bench --actions 4000000 --rounds 3 --json
            """)

    @Option(help: "Increments in one measurement of P1.")
    var actions = 2_000_000
    @Option(help: "How often each is measured; the median is printed.")
    var rounds = 3
    @Option(help: "A folder on the disk to be measured. Default: a new one in the working folder, which is removed.")
    var scratch: String?
    @Option(help: "The first of 60 ports.")
    var port = 7_700
    @Flag(help: "Leave Redis out.")
    var withoutRedis = false
    @Flag(help: "Print JSON.")
    var json = false

    struct Report: Encodable {
        var machine: String
        var versions: String
        var actions: Int
        var throughput: [Throughput.Result]
        var latency: LatencyReport
    }

    func run() async throws {
        guard actions >= 100_000, (1...20).contains(rounds) else {
            throw ValidationError("--actions is at least 100000, --rounds 1 to 20")
        }
        #if DEBUG
            Output.error("this is a debug build; its figures mean nothing")
        #endif
        let folder = scratch ?? FileManager.default.currentDirectoryPath + "/lockstep-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A left-over does no harm.
        defer { if scratch == nil { try? FileManager.default.removeItem(atPath: folder) } }
        let redis = withoutRedis ? nil : RedisPeer.find()
        if redis == nil, !withoutRedis { Output.error("redis-server is not installed; measuring without it") }
        let report = Report(
            machine: Machine.description, versions: Version.description + (redis.map { ", " + $0.version } ?? ""),
            actions: actions,
            throughput: try await Throughput(
                folder: folder, port: port, actions: actions, rounds: rounds, redis: redis
            ).run(),
            latency: try await Latency(folder: folder, port: port + 30, redis: redis).run())
        if json { return try Output.json(report) }
        Output.line("\(report.machine); \(report.versions)")
        for result in report.throughput { Output.line(result.text) }
        Output.line(report.latency.text)
    }
}

/// What the figures were measured on.
enum Machine {
    static var description: String {
        let cores = ProcessInfo.processInfo.processorCount
        let memory = ProcessInfo.processInfo.physicalMemory >> 30
        let model =
            (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?  // Not Linux: no model.
            .split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
        return "\(cores) cores of \(model), \(memory) GiB"
    }
}

extension [Double] {
    /// The middle of the sorted values; 0 of none.
    var median: Double { quantile(0.5) }

    /// The value below which the share `part` of the values lies.
    func quantile(_ part: Double) -> Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        return sorted[Swift.min(count - 1, Int(Double(count) * part))]
    }
}
