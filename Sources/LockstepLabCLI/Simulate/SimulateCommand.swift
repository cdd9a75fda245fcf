import ArgumentParser
import Foundation
import LockstepCore
import LockstepHarness
import LockstepServer
import LockstepSimulator

/// `lockstep-lab simulate`: runs whole clusters in one thread under faults, each from one number.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Runs simulated clusters under faults and checks every promise.",
        discussion: """
            A seed decides everything: the cluster, its faults, what callers ask, and the order of all events. The same \
            seed, options and program give the same run, event by event.

              lockstep-lab simulate --seeds 300         fresh seeds, as many
              lockstep-lab simulate --for 10m --jobs 2  as many as there is time for
              lockstep-lab simulate --seed 0x1f3a       one seed again
              lockstep-lab simulate --seed 0x1f3a --fault loss=0 --fault cut=1
              lockstep-lab simulate --cluster --seeds 300
                                                        several data nodes, of which any may become the primary

            Exit status: 0 all passed; 64 wrong usage; 65 all passed, but 5,000 seeds or more did not show all that \
            they are to show; 70 a promise was broken; 75 a healed cluster did not come to rest; 76 a machine stopped \
            at something impossible.
            """)

    @OptionGroup var selection: SeedSelection
    @Option(help: "Processes that run seeds side by side.", transform: Within.whole(1...64))
    var jobs = 1
    @Option(help: "Append a line with the seeds and the figures to this file.")
    var results: String?
    @Option(help: "Write each seed and the hash of its trace to this file, in the order of the seeds.")
    var hashes: String?
    @Option(help: "The source's revision, to be printed with the results.")
    var commit: String?
    @Flag(help: "Go on after the first failure.")
    var keepGoing = false
    @Flag(help: "Print what each fault means, and end.")
    var listFaults = false
    @Flag(help: "Print the planted defects, of which LOCKSTEP_DEFECT switches one on, and end.")
    var listDefects = false
    @Option(help: .hidden)
    var worker: Int?

    func validate() throws {
        try selection.check()
    }

    func run() throws {
        if listFaults {
            let faults =
                selection.cluster
                ? ClusterFault.allCases.map { ($0.rawValue, $0.meaning) }
                : FaultClass.allCases.map { ($0.rawValue, $0.meaning) }
            for (name, meaning) in faults {
                Output.line(name.padding(toLength: 20, withPad: " ", startingAt: 0) + meaning)
            }
            return
        }
        if listDefects {
            let defects = selection.cluster ? try DefectSwitch.ofClusters() : try DefectSwitch.ofMachines()
            for defect in defects { Output.line(defect) }
            return
        }
        try DefectSwitch.apply()
        if let worker { return try Self.work(selection, number: worker, of: jobs) }
        let first = selection.firstSeed
        announce(first)
        var supervisor = SeedSupervisor(selection: selection, first: first, jobs: jobs, keepsGoing: keepGoing)
        let totals = try supervisor.run()
        let seconds = supervisor.seconds
        if let first = totals.failures.first { show(first) }
        for report in totals.failures.dropFirst() { Output.line(verdict(report)) }
        for crash in supervisor.crashes { show(crash) }
        summarise(totals, seconds: seconds, crashes: supervisor.crashes.count)
        if let results { try record(totals, first: first, seconds: seconds, supervisor.crashes.count, in: results) }
        if let hashes { try supervisor.hashLines.write(toFile: hashes, atomically: true, encoding: .utf8) }
        if !supervisor.crashes.isEmpty { throw ExitCode(76) }
        if totals.failures.contains(where: { !$0.isNotConverged }) { throw ExitCode(70) }
        if !totals.failures.isEmpty { throw ExitCode(75) }
        if lacksSomething(totals) { throw ExitCode(65) }
    }

    /// Whether so many seeds passed that all should have been seen which they are to show, and something never was.
    private func lacksSomething(_ totals: SeedTotals) -> Bool {
        guard totals.seeds >= Self.manySeeds, selection.showsEverything else { return false }
        return totals.missed(ofClusters: selection.cluster).contains { !$0.names.isEmpty }
    }

    /// The rarest of what is to be seen is seen in one of some 600.
    private static let manySeeds = 5_000

    /// A worker's whole life: it runs every seed that is its own and says how each ended.
    private static func work(_ selection: SeedSelection, number: Int, of jobs: Int) throws {
        let run = try runner(of: selection)
        var seed = selection.firstSeed &+ UInt64(number)
        var left = selection.count
        while left != 0 {
            let report = run(seed)
            let line = try JSONEncoder().encode(report)
            FileHandle.standardOutput.write(line + Data("\n".utf8))
            seed &+= UInt64(jobs)
            if left > 0 { left = max(0, left - 1) }
        }
    }

    private static func runner(of selection: SeedSelection) throws -> (UInt64) -> SeedReport {
        if selection.cluster {
            let pins = try selection.clusterPins
            return { SeedReport(ClusterResult.run(.drawn(seed: $0, pins: pins))) }
        }
        let pins = try selection.pins
        return { SeedReport(SimulationResult.run(.drawn(seed: $0, pins: pins))) }
    }

    // MARK: - Words

    private func announce(_ first: UInt64) {
        let revision = commit.map { ", commit \($0)" } ?? ""
        Output.line("\(Version.description)\(revision)")
        let options = (try? selection.pinnedDescription) ?? ""
        if selection.seed != nil, selection.cluster {
            let drawn = ClusterOptions.drawn(seed: first, pins: (try? selection.clusterPins) ?? [:])
            Output.line("seed 0x\(String(first, radix: 16)): \(drawn.description)")
        } else if selection.seed != nil {
            let drawn = SimulationOptions.drawn(seed: first, pins: (try? selection.pins) ?? .init())
            let effects = drawn.effects > 0 ? ", \(Int(drawn.effects * 100)) % of the calls about effects" : ""
            Output.line(
                "seed 0x\(String(first, radix: 16)): \(drawn.replicas) replicas, \(drawn.clients) clients\(effects)")
            Output.line("faults: \(drawn.plan.description)")
        }
        Output.line("again with: lockstep-lab simulate \(selection.description(first: first))\(options)")
    }

    private func show(_ report: SeedReport) {
        for line in report.trace { Output.line(line) }
        Output.line(verdict(report))
        Output.line(again(report.seed))
    }

    private func verdict(_ report: SeedReport) -> String {
        "FAILED seed 0x\(String(report.seed, radix: 16)): \(report.promise ?? ""): \(report.text ?? "")"
    }

    private func show(_ crash: SeedSupervisor.Crash) {
        Output.line(crash.errors)
        Output.line("CRASHED seed 0x\(String(crash.seed, radix: 16)), by signal \(crash.signal)")
        Output.line(again(crash.seed))
    }

    private func again(_ seed: UInt64) -> String {
        let options = (try? selection.pinnedDescription) ?? ""
        let revision = commit.map { " --commit \($0)" } ?? ""
        return "lockstep-lab simulate --seed 0x\(String(seed, radix: 16))\(options)\(revision)"
    }

    private func summarise(_ totals: SeedTotals, seconds: Double, crashes: Int) {
        let rate = Double(totals.seeds) / max(seconds, 0.001) * 60
        Output.line(
            "\(totals.seeds) seeds in \(Self.short(seconds)) s, \(Int(rate)) a minute with \(jobs) "
                + "job\(jobs == 1 ? "" : "s"); virtual time \(Int(totals.virtualSeconds)) s, \(totals.steps) events")
        Output.line("\(totals.calls) calls: \(totals.answered) answered, \(totals.unknown) with unknown outcome")
        if totals.seeds >= 100 {
            let rare = totals.rareFaults(ofClusters: selection.cluster)
            Output.line("faults in fewer than 1 % of seeds: \(Self.list(rare))")
            if selection.cluster {
                let deeds = totals.deeds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                Output.line("of data nodes: \(Self.list(deeds))")
            }
            for missed in totals.missed(ofClusters: selection.cluster) {
                Output.line("\(missed.kind) never seen: \(Self.list(missed.names))")
            }
        }
        let isPassed = totals.failures.isEmpty && crashes == 0
        Output.line(isPassed ? "passed" : "\(totals.failures.count) failed, \(crashes) crashed")
    }

    private func record(
        _ totals: SeedTotals, first: UInt64, seconds: Double, _ crashes: Int, in path: String
    ) throws {
        let line = """
            \(ISO8601DateFormatter().string(from: Date())) commit=\(commit ?? "-") first=0x\(String(first, radix: 16)) \
            seeds=\(totals.seeds) failed=\(totals.failures.count) crashed=\(crashes) seconds=\(Self.short(seconds)) \
            jobs=\(jobs) virtual_seconds=\(Int(totals.virtualSeconds)) calls=\(totals.calls) \
            events=\(totals.steps)\((try? selection.pinnedDescription) ?? "")

            """
        let old = FileManager.default.contents(atPath: path) ?? Data()
        guard FileManager.default.createFile(atPath: path, contents: old + Data(line.utf8)) else {
            throw CommandFailure("\(path) cannot be written; name another file with --results")
        }
    }

    private static func short(_ seconds: Double) -> String { String(format: "%.1f", seconds) }
    private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
}
