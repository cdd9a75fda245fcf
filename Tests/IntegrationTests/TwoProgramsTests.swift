import Foundation
import LockstepHarness
import Testing

extension IntegrationTests {
    /// `lockstep` is what an operator needs, `lockstep-lab` what those need who test and measure.
    @Suite struct TwoProgramsTests {
        /// Goal: the operator's program has no command of the other, hidden ones included; the other has them all.
        @Test(arguments: [
            ["simulate"], ["demo"], ["bench"], ["bench-node"], ["bench-subscriber"], ["chaos", "client"],
            ["chaos", "check"], ["chaos", "storage"],
        ]) func onlyTheLabHasTheCommand(words: [String]) throws {
            let lab = try ChildProcess.run(Bench.labProgram, ["help"] + words)
            #expect(
                lab.status == 0 && lab.output.contains("USAGE: lockstep-lab \(words.joined(separator: " "))"), "\(lab)")
            let refused = try ChildProcess.run(Bench.program, words + ["--help"])
            #expect(!refused.output.contains("USAGE: lockstep \(words[0])"), "\(refused)")
            let run = try ChildProcess.run(Bench.program, words)
            #expect(run.status == 64 && run.output.isEmpty, "\(run)")
        }

        @Test func theOperatorsSearchHasNoBenchmark() throws {
            let run = try Bench.lockstep("search", "bench", "--index", "x")
            #expect(run.status == 64 && run.output.isEmpty, "\(run)")
        }

        /// Goal: nothing of the simulator, the laboratory and the processes of a test is linked into the operator's
        /// program: metadata names a type's module, in a stripped program too.
        @Test func theOperatorsProgramHasNoneOfTheModules() throws {
            let program = try Data(contentsOf: URL(fileURLWithPath: Bench.program))
            let lab = try Data(contentsOf: URL(fileURLWithPath: Bench.labProgram))
            for module in ["LockstepSimulator", "LockstepLaboratory", "LockstepHarness", "LockstepChecking"] {
                let name = Data("\(module.utf8.count)\(module)".utf8)
                #expect(program.range(of: name) == nil, "\(module)")
                #expect(lab.range(of: name) != nil, "\(module)")
            }
        }

        /// Goal: a node with the store of the laboratory's workloads is one of lockstep-lab, and lockstep says so.
        @Test func onlyTheLabKnowsTheWorkbench() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let refused = try Bench.lockstep("init", "--data", folder + "/a", "--store", "workbench")
            #expect(refused.status == 64 && refused.errors.contains("counters, search"), "\(refused)")
            let made = try Bench.lab("init", "--data", folder + "/b", "--store", "counters", "--store", "workbench")
            #expect(made.status == 0, "\(made)")
            let served = try Bench.lockstep(
                "serve", "--data", folder + "/b", "--listen", "tcp://127.0.0.1:\(Bench.ports())")
            #expect(served.status == 64, "its unit does not start it again: \(served)")
            #expect(served.errors.hasPrefix("lockstep: ") && served.errors.contains("the store workbench"), "\(served)")
        }

        /// Goal: where the operator's program is not, the demonstration and the benchmark say so in one line, and how it
        /// is had.
        @Test(arguments: [["demo"], ["bench", "idle"]]) func aMissingProgramIsSaidInOneLine(words: [String]) throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            for path in [folder + "/lockstep", folder] {
                let run = try ChildProcess.run(Bench.labProgram, words + ["--program", path])
                // A debug build of the benchmark says first what it is.
                let lines = run.errors.split(separator: "\n").filter { !$0.contains("this is a debug build") }
                #expect(run.status == 64 && lines.count == 1, "\(run)")
                #expect(lines.first?.hasPrefix("lockstep-lab: \(path) is not a program") == true, "\(run)")
            }
            // Alone in a folder, it looks there.
            let alone = folder + "/lockstep-lab"
            try FileManager.default.copyItem(atPath: Bench.labProgram, toPath: alone)
            let run = try ChildProcess.run(alone, words)
            #expect(run.status == 64 && run.errors.contains("\(folder)/lockstep is not a program"), "\(run)")
        }

        @Test func theDemonstrationComesToItsEnd() throws {
            let run = try Bench.lab("demo", "--kills", "2", "--port", "\(Bench.ports())", "--program", Bench.program)
            #expect(run.status == 0 && run.output.contains("passed: equal digests"), "\(run)")
        }
    }
}
