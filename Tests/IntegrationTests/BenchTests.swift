import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// `lockstep-lab bench --quick` comes to the end of every case, with the checks of final values that each makes.
    ///
    /// What it measures is not looked at.
    @Suite struct BenchTests {
        private struct Report: Decodable {
            struct Case: Decodable {
                struct Figure: Decodable {
                    struct Peer: Decodable {
                        var name: String
                        var value: Double
                    }
                    var what: String
                    var unit: String
                    var value: Double
                    var rounds: [Double]
                    var peer: Peer?
                    var ratio: Double?
                }
                struct Participant: Decodable {
                    var name: String
                    var durability: String
                    var replicas: String
                    var load: String
                    var checked: String
                }
                var name: String
                var title: String
                var figures: [Figure]
                var settings: [Participant]
                var notes: [String]
            }
            var machine: String
            var system: String
            var date: String
            var versions: [String]
            var isQuick: Bool
            var cases: [Case]
            var failures: [String: String]
        }

        @Test func everyCaseComesToItsEnd() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let (scratch, figures) = (folder + "/s", folder + "/figures.json")
            let (points, growth) = (folder + "/points.csv", folder + "/growth.csv")
            let takeovers = folder + "/takeovers.csv"
            let run = try Bench.lab(
                "bench", "--quick", "--scratch", scratch, "--output", figures, "--curve-file", points, "--growth-file",
                growth, "--takeover-file", takeovers, "--port", "\(Bench.ports(200))", "--program", Bench.program)
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            let data = try #require(FileManager.default.contents(atPath: figures))
            let report = try JSONDecoder().decode(Report.self, from: data)
            #expect(report.failures == [:])
            #expect(report.isQuick)
            #expect(!report.machine.isEmpty && !report.system.isEmpty && !report.date.isEmpty)
            #expect(report.versions.first?.hasPrefix("lockstep ") == true)
            let listed = try Bench.lab("bench", "--list").output.split(separator: "\n")
                .compactMap { $0.split(separator: " ").first.map(String.init) }
            #expect(listed.count == 17)
            #expect(report.cases.map(\.name) == listed)
            for one in report.cases {
                #expect(!one.title.isEmpty && !one.figures.isEmpty && !one.settings.isEmpty, "\(one.name)")
                for figure in one.figures {
                    #expect(!figure.what.isEmpty && !figure.rounds.isEmpty, "\(one.name): \(figure)")
                    #expect(figure.value.isFinite && figure.ratio?.isFinite != false, "\(one.name): \(figure)")
                    #expect(run.output.contains(figure.what), "\(figure.what) is not in the text")
                }
                for part in one.settings {
                    #expect(![part.durability, part.replicas, part.load, part.checked].contains(""), "\(part)")
                }
            }
            let rows = try String(contentsOfFile: points, encoding: .utf8).split(separator: "\n")
            #expect(rows.first == "system,in_flight,per_second,p50_microseconds,p99_microseconds")
            #expect(rows.count { $0.hasPrefix("lockstep,") } == 10)
            let curves = try String(contentsOfFile: growth, encoding: .utf8).split(separator: "\n").dropFirst()
                .compactMap { $0.split(separator: ",").first }
            #expect(Set(curves) == ["counters", "value bytes", "sessions", "replicas", "journal entries"])
            // One of each way to end, and the head.
            #expect(try String(contentsOfFile: takeovers, encoding: .utf8).split(separator: "\n").count == 7)
            // A case removes what it made.
            #expect(try FileManager.default.contentsOfDirectory(atPath: scratch) == [])
        }

        /// A benchmark that is interrupted leaves no process and no folder.
        @Test func anInterruptedBenchmarkLeavesNothing() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let port = Bench.ports(200)
            let run = Process()
            run.executableURL = URL(fileURLWithPath: Bench.labProgram)
            run.arguments = ["bench", "idle", "--without-peers", "--port", "\(port)", "--program", Bench.program]
            run.currentDirectoryURL = URL(fileURLWithPath: folder)
            run.standardError = FileHandle.nullDevice
            run.standardOutput = FileHandle.nullDevice
            try run.run()
            let nodes = folder + "/lockstep-bench-\(run.processIdentifier)/nodes"
            var processes: [Int] = []
            try await Bench.wait("the nodes of the benchmark") {
                processes = []
                for index in 0...8 {
                    let node = NodeFolder(nodes + "/" + ProcessCluster.name(index))
                    guard await node.isReady() else { return false }
                    processes.append(try await node.decodedStatus().process)
                }
                return true
            }
            run.interrupt()
            run.waitUntilExit()
            #expect(run.terminationStatus == 128 + SIGINT)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            // Killed, they are reaped by whoever adopts them.
            try await Bench.wait("the end of the nodes") { processes.allSatisfy { kill(Int32($0), 0) != 0 } }
        }

        @Test(arguments: [
            ["p0"], ["--rounds", "0"], ["--actions", "1"], ["--stall-seconds", "0"], ["--port", "80"],
            ["--kills", "0"],
        ]) func wrongUsageGetsItsStatus(arguments: [String]) throws {
            let run = try ChildProcess.run(Bench.labProgram, ["bench"] + arguments)
            #expect(run.status == 64, "\(run.output)\(run.errors)")
        }
    }
}
