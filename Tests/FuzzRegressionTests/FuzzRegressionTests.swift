import Foundation
import LockstepFuzzing
import Testing

/// What fuzzing runs, without a fuzzer: the seeds, every input that once failed, and planted defects (docs/FUZZING.md).
@Suite("Fuzz regressions") struct FuzzRegressionTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func seeds(of target: FuzzTarget) throws -> [Seeds.Seed] {
        let golden = root.appendingPathComponent("docs/golden-bytes.txt")
        return try Seeds.seeds(of: target, golden: try String(contentsOf: golden, encoding: .utf8))
    }

    /// The inputs below Fuzz/regressions, by their paths.
    static func regressions(of target: FuzzTarget) throws -> [Seeds.Seed] {
        let folder = root.appendingPathComponent("Fuzz/regressions/\(target)")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            Seeds.Seed(name: name, bytes: [UInt8](try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    /// Goal: an input that failed once does not fail again; names of files say what was wrong.
    @Test(arguments: FuzzTarget.allCases)
    func nothingThatFailedOnceFailsAgain(target: FuzzTarget) throws {
        for input in try Self.regressions(of: target) {
            #expect(throws: Never.self, "\(target)/\(input.name)") { try target.run(input.bytes) }
        }
    }

    /// Goal: the seeds pass, cut anywhere and with any byte changed.
    @Test(arguments: FuzzTarget.allCases)
    func seedsAndTheirNeighboursPass(target: FuzzTarget) throws {
        let seeds = try Self.seeds(of: target)
        #expect(seeds.count > 1)
        var runs = 0
        for seed in seeds {
            for place in 0...seed.bytes.count {
                runs += 1
                try target.run(Array(seed.bytes[..<place]))
                guard place < seed.bytes.count, runs < 5_000 else { continue }
                for change in [1, 0x80, 0xFF] as [UInt8] {
                    var bytes = seed.bytes
                    bytes[place] ^= change
                    try target.run(bytes)
                }
            }
        }
    }

    /// Goal: every target can fail: with a comparison made wrong, a seed of each is found.
    ///
    /// It also shows that the seeds get past the checksums, since only what was decoded is compared.
    @Test(arguments: FuzzTarget.allCases)
    func aWrongComparisonIsFound(target: FuzzTarget) throws {
        let seeds = try Self.seeds(of: target)
        let found = seeds.filter { seed in
            do throws(FuzzFinding) {
                try target.run(seed.bytes, defect: .comparison)
                return false
            } catch {
                return true
            }
        }
        #expect(!found.isEmpty)
    }

    /// Goal: the seeds of frames are found with a wrong comparison each, whether their header is made right or not.
    @Test func everyFrameOfTheGoldenBytesIsCompared() throws {
        for seed in try Self.seeds(of: .frames) {
            #expect(throws: FuzzFinding.self, "\(seed.name)") {
                try FuzzTarget.frames.run(seed.bytes, defect: .comparison)
            }
        }
    }
}
