import Foundation
import LockstepHarness
import Testing

/// `lockstep-lab simulate` as its users run it, and the program with planted defects.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SimulateTests {
    /// nil where only a debug build is there, which takes too long.
    private static let program =
        ProcessInfo.processInfo.environment["LOCKSTEP_PROGRAM"] == nil ? nil : Bench.labProgram
    private static let defective = ProcessInfo.processInfo.environment["LOCKSTEP_DEFECTIVE_PROGRAM"]

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
            let run = try simulate(kind + ["--first", "0x51", "--seeds", "40", "--jobs", jobs, "--hashes", file])
            #expect(run.status == 0, "\(run.output)\(run.errors)")
        }
        let hashes = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(hashes[0] == hashes[1])
        #expect(hashes[0].split(separator: "\n").count == 40)
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
        try expectFound(defect, ["--cluster", "--seeds", "4000"])
    }

    /// Every planted defect is found within 2,000 seeds: a promise is broken, or a machine stops.
    @Test(.enabled(if: defective != nil), arguments: defects) func aPlantedDefectIsFound(defect: String) throws {
        try expectFound(defect, ["--seeds", "2000"])
    }

    private func expectFound(_ defect: String, _ seeds: [String]) throws {
        let jobs = "\(ProcessInfo.processInfo.activeProcessorCount)"
        let run = try ChildProcess.run(
            "/usr/bin/env",
            ["LOCKSTEP_DEFECT=\(defect)", try #require(Self.defective), "simulate", "--first", "1", "--jobs", jobs]
                + seeds)
        #expect([70, 75, 76].contains(run.status), "\(defect): \(run.output.suffix(300))")
    }
}
