import Foundation
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// The program's configuration file, as an operator uses it.
    @Suite struct ConfigurationTests {
        private static let sample = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../deploy/lockstep.yaml").standardized.path

        private struct Line: Decodable {
            let key: String
            let value: String?
            let from: String
        }

        private func printed(_ words: String...) throws -> [Line] {
            let result = try ChildProcess.run(
                Bench.program, ["serve"] + words + ["--print-configuration", "--json"])
            #expect(result.status == 0, "\(result.errors)")
            return try JSONDecoder().decode([Line].self, from: Data(result.output.utf8))
        }

        /// deploy/lockstep.yaml sets nothing, and each of its lines is right when its `#` is taken away: every key of the
        /// program, with its default or with an example of a key that has none.
        @Test func theSampleHasEveryKeyWithItsDefault() async throws {
            let text = try String(contentsOfFile: Self.sample, encoding: .utf8)
            let usual = try printed("--config", Self.sample, "--data", "x")
            #expect(usual.allSatisfy { $0.key == "data" || $0.from == "default" })
            let lines = text.split(separator: "\n").map(String.init)
            let keys = lines.compactMap { try? /#([a-z-]+):(.*)/.wholeMatch(in: $0)?.output }
            #expect(keys.map { String($0.1) } == usual.map(\.key))
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let path = folder + "/all.yaml"
            try keys.map { "\($0.1):\($0.2)" }.joined(separator: "\n").write(
                toFile: path, atomically: true, encoding: .utf8)
            let all = try printed("--config", path)
            #expect(all.allSatisfy { $0.from == "file" })
            for (one, set) in zip(usual, all) where one.key != "data" {
                #expect(one.value == nil || one.value.flatMap { Double($0) } == set.value.flatMap { Double($0) })
                #expect(one.value == nil || Double(one.value ?? "") != nil || one.value == set.value, "\(one.key)")
            }
        }

        @Test func aWrongFileIsOneLineAndStatus64() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let path = folder + "/wrong.json"
            try "{\"data\": \"x\",\n\"listn\": \"y\"}".write(toFile: path, atomically: true, encoding: .utf8)
            let wrong = try Bench.lockstep("serve", "--config", path)
            #expect(wrong.status == 64 && wrong.output == "")
            #expect(
                wrong.errors.hasPrefix("lockstep: \(path), line 2: listn: there is no such key; did you mean listen?"))
            #expect(wrong.errors.split(separator: "\n").count == 1)
            // Nobody else may read it.
            #expect(chmod(path, 0o000) == 0)
            let unreadable = try Bench.lockstepAsNobody("serve", "--config", path)
            #expect(unreadable.status == 64)
            #expect(unreadable.errors == "lockstep: \(path): it cannot be read: Permission denied\n")
        }

        /// A node is started by its file alone, takes a new level at SIGHUP, and ends in good order.
        @Test func aNodeReadsItsFileAgainAtAHangUp() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let (data, path, port) = (folder + "/primary", folder + "/lockstep.yaml", Bench.ports())
            #expect(try Bench.lockstep("init", "--data", data).status == 0)
            func write(_ level: String, _ comment: String = "") throws {
                try "data: \(data)\nlisten: tcp://127.0.0.1:\(port)\nlog-level: \(level) # \(comment)\n".write(
                    toFile: path, atomically: true, encoding: .utf8)
            }
            try write("error")
            let log = folder + "/log"
            let node = try ChildProcess("primary", Bench.program, ["serve", "--config", path], log: log)
            defer { node.end(SIGKILL) }
            try await Bench.wait("the node to answer, and to take a hang-up") {
                let isReady = try Bench.lockstep("status", "--data", data, "--wait", "1").status == 0
                return try isReady && Self.takesHangUp(node.identifier)
            }
            func logged() throws -> String { try String(contentsOfFile: log, encoding: .utf8) }
            #expect(try logged() == "")
            try write("info")
            node.send(SIGHUP)
            var writes = 0
            try await Bench.wait("the new level") {
                // A file that is never the same at two looks is read at a hang-up only.
                writes += 1
                try write("info", "\(writes)")
                return try logged().contains("configuration read again")
            }
            #expect(try logged().contains("log-level is info, was error"))
            node.end(SIGTERM)
            #expect(try logged().contains("stopped"), "the node's own lines follow")
        }

        /// Whether a process handles SIGHUP, which ends one that does not.
        private static func takesHangUp(_ process: Int32) throws -> Bool {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            return status.matches(of: /Sig(?:Ign|Cgt):\s*([0-9a-f]+)/).contains {
                UInt64($0.1, radix: 16).map { $0 & 1 == 1 } ?? false
            }
        }
    }
}
