import Foundation
import LockstepHarness
import Testing

/// `lockstep-lab simulate` as its users run it, and the program with planted defects.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SimulateTests {
    /// nil where only a debug build is there, which takes too long.
    private static let program =
        ProcessInfo.processInfo.environment["LOCKSTEP_PROGRAM"] == nil ? nil : Bench.labProgram
    private static let defective = ProcessInfo.processInfo.environment["LOCKSTEP_DEFECTIVE_PROGRAM"]
    private static let jobs = "\(ProcessInfo.processInfo.activeProcessorCount)"

    private func simulate(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(try #require(Self.program), ["simulate"] + arguments)
    }

    private func simulate(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
        try simulate(arguments)
    }

    @Test(.enabled(if: program != nil), arguments: [[], ["--cluster"]])
    func twoProcessesHaveTheSameTraces(kind: [String]) throws {
        let folder = NSTemporaryDirectory() + "lockstep-simulate-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }  // Left behind, it harms nobody.
        let files = ["a", "b"].map { "\(folder)/\($0)" }
        for (jobs, file) in zip(["1", "2"], files) {
            let run = try simulate(kind + ["--first", "0x51", "--seeds", "20", "--jobs", jobs, "--hashes", file])
            #expect(run.status == 0, "\(run.output)\(run.errors)")
        }
        let hashes = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(hashes[0] == hashes[1])
        #expect(hashes[0].split(separator: "\n").count == 20)
    }

    /// What seeds are to show is seen: every fault, unusual way and deed, in one range or in one of the next.
    @Test(.enabled(if: program != nil), arguments: [[], ["--cluster"]])
    func nothingIsLeftUnseen(kind: [String]) throws {
        var unseen: Set<Substring>?
        // First the seeds that show all of it, unless a machine has changed since.
        for first in [kind.isEmpty ? 3_001 : 1] + stride(from: 1, to: 12_000, by: 1_000) where unseen?.isEmpty != true {
            let run = try simulate(kind + ["--first", "\(first)", "--seeds", "150", "--jobs", Self.jobs])
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            let lists = run.output.split(separator: "\n").compactMap { line in
                line.split(separator: " never seen: ").dropFirst().first
            }
            #expect(lists.count >= 2)
            let names = Set(lists.flatMap { $0.split(separator: ", ") }).subtracting(["none"])
            unseen = unseen.map { $0.intersection(names) } ?? names
        }
        #expect(unseen == [])
    }

    /// Many seeds that did not show all of it have a status of their own: here none is long enough for anything.
    @Test(.enabled(if: program != nil)) func seedsThatShowTooLittleHaveTheirStatus() throws {
        func status(_ seeds: String, _ pins: String...) throws -> Int32 {
            try simulate(
                ["--first", "1", "--seeds", seeds, "--jobs", Self.jobs, "--operations", "1", "--fault-time", "1"] + pins
            ).status
        }
        #expect(try status("5000") == 65)
        #expect(try status("999") == 0)
        #expect(try status("5000", "--effects", "0") == 0)
    }

    @Test(.enabled(if: program != nil)) func wrongUsageGetsOneLineAndItsStatus() throws {
        for arguments in [
            ["--fault", "fire=1"], ["--fault", "loss=2"], ["--seed", "x"], ["--for", "never"], ["--replicas", "0"],
            ["--seed", "1", "--seeds", "2"], ["--volatile", "maybe"], ["--jobs", "0"], ["--effects", "2"],
            ["--cluster", "--clients", "2"], ["--cluster", "--fault", "loss=1"],
        ] {
            let run = try ChildProcess.run(try #require(Self.program), ["simulate"] + arguments)
            #expect(run.status == 64, "\(arguments): \(run.output)")
        }
    }

    @Test(.enabled(if: program != nil)) func aReplaySaysWhatItRuns() throws {
        let run = try simulate("--seed", "0x2a", "--operations", "200", "--commit", "abc")
        #expect(run.status == 0)
        #expect(run.output.contains("again with: lockstep-lab simulate --seed 0x2a --operations 200"))
        #expect(run.output.contains("faults: "))
        #expect(run.output.contains("commit abc"))
    }

    /// The shipped programs have none of the defects.
    @Test(.enabled(if: program != nil && defective != nil)) func theShippedProgramsHaveNoDefects() throws {
        let name = Data("publishBeforeCommit".utf8)
        for path in [Bench.program, Bench.labProgram] {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: name) == nil, "\(path)")
        }
        let planted = try Data(contentsOf: URL(fileURLWithPath: try #require(Self.defective)))
        #expect(planted.range(of: name) != nil)
    }

    /// A run that is to find a defect proves nothing in a program that has none, so it is refused.
    @Test(.enabled(if: program != nil)) func aProgramWithoutDefectsSaysSo() throws {
        let program = try #require(Self.program)
        for arguments in [["simulate", "--list-defects"], ["chaos", "storage", "defects"]] {
            let run = try ChildProcess.run(program, arguments)
            #expect(run.status == 1)
            #expect(run.errors.contains("this program has no planted defects"), "\(arguments): \(run.errors)")
        }
        let run = try ChildProcess.run(
            "/usr/bin/env", ["LOCKSTEP_DEFECT=publishBeforeCommit", program, "simulate", "--seeds", "1"])
        #expect(run.status == 1)
        #expect(run.errors.contains("this program has no planted defects"), "\(run.errors)")
    }

    static var defects: [String] {
        guard let defective else { return [] }
        let listed = try? ChildProcess.run(defective, ["simulate", "--list-defects"])  // No list: the count fails.
        return listed?.output.split(separator: "\n").map(String.init) ?? []
    }

    @Test(.enabled(if: defective != nil)) func thereAreEnoughPlantedDefects() {
        #expect(Self.defects.count >= 14)
    }

    static var clusterDefects: [String] {
        guard let defective else { return [] }
        let listed = try? ChildProcess.run(defective, ["simulate", "--cluster", "--list-defects"])  // As above.
        return listed?.output.split(separator: "\n").map(String.init) ?? []
    }

    @Test(.enabled(if: defective != nil)) func thereAreEnoughPlantedDefectsOfFailover() {
        #expect(Self.clusterDefects.count >= 14)
    }

    /// Every planted defect of failover is found within 4,000 seeds of several data nodes.
    @Test(.enabled(if: defective != nil), arguments: clusterDefects)
    func aPlantedDefectOfFailoverIsFound(defect: String) throws {
        #expect(try isFound(defect, first: 1, seeds: 4_000, ["--cluster"]))
    }

    /// Data nodes apply whole series with the path that ships, as replicas do.
    @Test(.enabled(if: defective != nil), arguments: ["runAppliedAtOnePlace", "lastItemLeftOut"])
    func aPlantedDefectOfSeriesIsFoundOnDataNodes(defect: String) throws {
        #expect(try breaks(defect, ["--cluster", "--first", "1", "--seeds", "500", "--jobs", Self.jobs]))
    }

    /// The median of three ranges finds every planted defect of one primary within 500 seeds: two of them do.
    @Test(.enabled(if: defective != nil), arguments: defects) func aPlantedDefectIsFound(defect: String) throws {
        var (found, missed) = (0, 0)
        for first: UInt64 in [1, 100_001, 200_001] where found < 2 && missed < 2 {
            if try isFound(defect, first: first, seeds: 500) { found += 1 } else { missed += 1 }
        }
        #expect(found == 2)
    }

    /// Whether one of these seeds finds it: the one that the page names, if that still does, or else any.
    private func isFound(
        _ defect: String, first: UInt64, seeds: UInt64, _ kind: [String] = []
    ) throws -> Bool {
        let kept = FoundSeeds.page.seeds[defect, default: []].filter { (first..<first + seeds).contains($0) }
        for seed in kept where try breaks(defect, kind + ["--seed", "\(seed)"]) { return true }
        if !kept.isEmpty { print("docs/SIMULATOR.md names a seed that no longer finds \(defect): run make defects") }
        return try breaks(defect, kind + ["--first", "\(first)", "--seeds", "\(seeds)", "--jobs", Self.jobs])
    }

    /// Whether a promise is broken, or a machine stops.
    private func breaks(_ defect: String, _ seeds: [String]) throws -> Bool {
        let program = try #require(Self.defective)
        let run = try ChildProcess.run(
            "/usr/bin/env", ["LOCKSTEP_DEFECT=\(defect)", program, "simulate"] + seeds)
        return [70, 75, 76].contains(run.status)
    }
}

/// The seeds in which the planted defects were found, from the tables of docs/SIMULATOR.md.
private struct FoundSeeds {
    /// By the name of a defect.
    var seeds: [String: [UInt64]] = [:]

    static let page = FoundSeeds()

    /// The last column but one has a number for each range: the first of its seeds that found it, counted from 1.
    private init() {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/SIMULATOR.md")
        // Without the page the ranges are searched.
        guard let text = try? String(contentsOf: page, encoding: .utf8) else { return }
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            let columns = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard columns.count > 2 else { continue }
            let numbers = columns[columns.count - 2].split(separator: " ").map { UInt64($0) }
            seeds[columns[0]] = zip([0, 100_000, 200_000], numbers).compactMap { start, number in
                number.map { start + $0 }
            }
        }
    }
}
