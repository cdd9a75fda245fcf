import ArgumentParser
import Foundation
import Lockstep
import LockstepHarness
import LockstepServer
import Synchronization

/// `lockstep-lab bench`: measures the shipped program, and peers beside it in the same run.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures throughput, latency and memory, and peers in the same run.",
        discussion: """
            The peers are redis-server with redis-benchmark, nats-server and etcd; those that are not installed are left \
            out ("deploy/setup --bench" installs them). Every case starts its own processes, checks the values that they \
            end with, and removes them. Build with -c release; let nothing else run.

              lockstep-lab bench                     the cases that take less than two minutes each
              lockstep-lab bench p1 p2 --rounds 5
              lockstep-lab bench all --output figures.json
              lockstep-lab bench --list
              lockstep-lab bench --quick             tiny sizes: whether all of it works, and no figures

            What each figure means, and what is not comparable: docs/PERFORMANCE.md.
            """)

    @Argument(help: "The cases; none: those that are not long; \"all\": all.")
    var cases: [String] = []
    @Flag(help: "List the cases.")
    var list = false
    @Flag(help: "Tiny sizes, every case: a check that it works. The figures mean nothing.")
    var quick = false
    @Option(help: "How often each figure is measured; medians count. Default: 3.", transform: Within.whole(1...20))
    var rounds: Int?
    @Option(
        help: "Increments in one measurement of throughput. Default: 2000000.",
        transform: Within.whole(100_000...1_000_000_000))
    var actions: Int?
    @Option(
        help: "Entries in the journal of a primary that restarts, in p5. Default: 10000000.",
        transform: Within.whole(100_000...1_000_000_000))
    var entries: Int?
    @Option(help: "How long a replica stands still, in p6. Default: 60.", transform: Within.seconds(1...3_600))
    var stallSeconds: Double?
    @Option(
        help: "How often a primary is killed under each load, in p11. Default: 20.", transform: Within.whole(1...10_000)
    )
    var kills: Int?
    @Option(help: "A folder on the disk to be measured. Default: a new one in the working folder, which is removed.")
    var scratch: String?
    @Option(help: "The first of 200 ports.", transform: Within.whole(1_024...60_000))
    var port = 7_700
    @OptionGroup var nodes: OperatorProgram
    @Flag(help: "Leave all peers out.")
    var withoutPeers = false
    @Option(help: "Where \"curve\" writes its points.")
    var curveFile = "throughput-latency.csv"
    @Option(help: "Where \"growth\" writes its points.")
    var growthFile = "growth.csv"
    @Option(help: "Where \"p11\" writes its pauses.")
    var takeoverFile = "takeovers.csv"
    @Flag(help: "Print JSON.")
    var json = false
    @Option(help: "Write the JSON to this file, beside the text.")
    var output: String?

    struct Report: Encodable {
        var machine = Machine.description
        var system = ProcessInfo.processInfo.operatingSystemVersionString
        var date = Date().ISO8601Format()
        var versions: [String]
        var isQuick: Bool
        var sizes: BenchSizes
        var cases: [BenchResult] = []
        /// Cases that ended with an error, and the error.
        var failures: [String: String] = [:]
    }

    func validate() throws {
        let unknown = cases.filter { name in name != "all" && !BenchCase.all.contains { $0.name == name } }
        guard unknown.isEmpty else {
            throw ValidationError(
                "there is no case \(unknown.joined(separator: ", ")); see \"lockstep-lab bench --list\"")
        }
    }

    func run() async throws {
        if list {
            for one in BenchCase.all {
                let name = one.name.padding(toLength: 9, withPad: " ", startingAt: 0)
                Output.line("\(name)\(one.title)\(one.isLong ? " (long)" : "")")
            }
            return
        }
        #if DEBUG
            Output.error("this is a debug build; its figures mean nothing")
        #endif
        let program = try nodes.path()
        let folder = scratch ?? FileManager.default.currentDirectoryPath + "/lockstep-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A left-over does no harm.
        defer { if scratch == nil { try? FileManager.default.removeItem(atPath: folder) } }
        // Of a folder that somebody named, what the cases put there.
        let removed = scratch == nil ? [folder] : ["nodes", "redis", "nats", "etcd"].map { "\(folder)/\($0)" }
        let interruptions = [SIGINT, SIGTERM].map { Self.onSignal($0, remove: removed) }
        defer { for source in interruptions { source.cancel() } }
        do { try await measure(program, in: folder) } catch {
            await Self.waitIfInterrupted()
            throw error
        }
        await Self.waitIfInterrupted()
    }

    /// Set when this process was told to end: then the nodes are killed, and what that makes fail is no result.
    private static let isInterrupted = Atomic(false)

    /// The handler of the signal ends this process, with its status.
    private static func waitIfInterrupted() async {
        guard isInterrupted.load(ordering: .acquiring) else { return }
        try? await Task.sleep(for: .seconds(60))  // It is not cancelled.
    }

    private func measure(_ program: String, in folder: String) async throws {
        var sizes = quick ? BenchSizes.quick : BenchSizes()
        sizes.rounds = rounds ?? sizes.rounds
        sizes.actions = actions ?? sizes.actions
        sizes.entries = entries ?? sizes.entries
        sizes.stallSeconds = stallSeconds ?? sizes.stallSeconds
        sizes.kills = kills ?? sizes.kills
        let setting = BenchSetting(
            program: program, folder: folder, port: port, sizes: sizes, curveFile: curveFile, growthFile: growthFile,
            takeoverFile: takeoverFile, redis: withoutPeers ? nil : RedisPeer.find(),
            nats: withoutPeers ? nil : NATSPeer.find(), etcd: withoutPeers ? nil : EtcdPeer.find())
        let peers = [
            ("redis-server", setting.redis?.version), ("nats-server", setting.nats?.version),
            ("etcd", setting.etcd?.version),
        ]
        for (name, version) in peers where version == nil && !withoutPeers {
            Output.error("\(name) is not installed; measuring without it")
        }
        var report = Report(
            versions: [Version.description] + peers.compactMap { $0.1 }, isQuick: quick, sizes: sizes)
        if !json { Output.line("\(report.machine); \(report.versions.joined(separator: ", "))") }
        for one in chosen {
            do {
                let result = try await one.run(setting)
                Output.progress("")
                report.cases.append(result)
                if !json { result.lines.forEach(Output.line) }
            } catch {
                // The others are still worth having.
                Output.progress("")
                let reason = (error as? CommandFailure ?? CommandFailure(describing: error))?.message ?? "\(error)"
                Output.error("\(one.name): \(reason)")
                report.failures[one.name] = reason
            }
        }
        if json { try Output.json(report) }
        if let output { try write(report, to: output) }
        guard report.failures.isEmpty else { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private var chosen: [BenchCase] {
        if cases.isEmpty { return BenchCase.all.filter { quick || !$0.isLong } }
        return BenchCase.all.filter { cases.contains("all") || cases.contains($0.name) }
    }

    private func write(_ report: Report, to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let data = try encoder.encode(report)
        do { try data.write(to: URL(fileURLWithPath: path)) } catch {
            throw CommandFailure("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Ends what was started, removes the folders, and exits, when this process is told to end.
    private static func onSignal(_ number: Int32, remove folders: [String]) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            isInterrupted.store(true, ordering: .releasing)
            ChildProcess.killAll()
            // A moment, so that none of them still writes into the folder.
            usleep(200_000)
            for folder in folders { try? FileManager.default.removeItem(atPath: folder) }  // A left-over does no harm.
            Foundation.exit(128 + number)
        }
        source.resume()
        return source
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
