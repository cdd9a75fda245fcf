import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing
import ZeroMQ

extension IntegrationTests {
    /// Every mistake of an operator gets one clear line, a status other than 0, and leaves nothing behind
    /// (PROTOCOL ).
    @Test func mistakesGetOneLine() async throws {
        let folder = try Bench.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = Bench.ports()
        func expectLine(_ words: String..., arguments: [String]) throws {
            let (status, output, errors) = try ChildProcess.run(Bench.program, arguments)
            #expect(status != 0, "\(arguments) passed: \(output)")
            // On a machine that is busy an answer may take a second, which is said.
            #expect(Bench.lines(errors).count == 1, "\(arguments) printed \(errors)")
            for word in words { #expect(errors.contains(word), "\(arguments) printed \(errors)") }
        }
        let node = folder + "/node"
        try expectLine("lockstep init", arguments: ["serve", "--data", node, "--listen", "tcp://127.0.0.1:\(port)"])
        #expect(try Bench.lockstep("init", "--data", node).status == 0)
        try expectLine("already", arguments: ["init", "--data", node])
        try expectLine("loopback", arguments: ["serve", "--data", node, "--listen", "tcp://0.0.0.0:\(port)"])
        try expectLine("tcp://HOST:PORT", arguments: ["serve", "--data", node, "--listen", "127.0.0.1"])
        try expectLine("port", arguments: ["serve", "--data", node, "--listen", "tcp://127.0.0.1:65535"])
        try expectLine("no node", arguments: ["status", "--data", node])
        let top = try Bench.lockstep("top", "--data", node, "--frames", "1")
        #expect(top.status == 69 && top.errors == "lockstep: no node runs in \(node)\n", "\(top)")

        let first = try ChildProcess(
            "first", Bench.program, ["serve", "--data", node, "--listen", "tcp://127.0.0.1:\(port)"],
            log: folder + "/first.log")
        defer { first.end(SIGKILL) }
        try await Bench.wait("the node") { await NodeFolder(node).isReady() }
        try expectLine(
            "\(first.identifier)", arguments: ["serve", "--data", node, "--listen", "tcp://127.0.0.1:\(port + 10)"])
        let other = folder + "/other"
        #expect(try Bench.lockstep("init", "--data", other).status == 0)
        try expectLine("\(port)", arguments: ["serve", "--data", other, "--listen", "tcp://127.0.0.1:\(port)"])

        // A replica of another cluster says which cluster is whose, in one line, and ends (PROTOCOL R-9).
        let stranger = try Bench.lockstep(
            "serve", "--data", other, "--replica-of", "tcp://127.0.0.1:\(port)", "--listen",
            "tcp://127.0.0.1:\(port + 10)")
        #expect(stranger.status == 65)
        let line = stranger.errors.split(separator: "\n").last.map(String.init) ?? ""
        #expect(line.hasPrefix("lockstep: "), "\(stranger.errors)")
        let clusters = try [node, other].map { try NodeFolder($0).identity().cluster }
        for part in clusters + ["tcp://127.0.0.1:\(port)", other] {
            #expect(line.contains(part), "\(part) in: \(line)")
        }

        try Data("not a journal".utf8).write(to: URL(fileURLWithPath: other + "/counters.sqlite"))
        try expectLine(other, arguments: ["serve", "--data", other, "--listen", "tcp://127.0.0.1:\(port + 20)"])
        let file = folder + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        try expectLine(file, arguments: ["init", "--data", file + "/node"])
        try expectLine("32 hexadecimal", arguments: ["init", "--data", folder + "/n", "--cluster", "zz"])
        let zeros = String(repeating: "0", count: 32)
        try expectLine("digits are 0", arguments: ["init", "--data", folder + "/n", "--cluster", zeros])
        // As a variable gives it that is not set.
        for command in ["init", "serve", "status"] { try expectLine("is empty", arguments: [command, "--data", ""]) }
        try expectLine("--from is \"foo\"", "tcp://HOST", arguments: ["recover", "--data", other, "--from", "foo"])
        try expectLine(
            "has no store nope, but counters, search",
            arguments: ["recover", "--data", other, "--from", "tcp://127.0.0.1:\(port)", "--store", "nope"])
        let commands = [["journal", "verify"], ["journal", "inspect"], ["journal", "dump"], ["clock", "accept"]]
        for command in commands {
            try expectLine(
                "has no store nope, but counters, search", arguments: command + ["--data", other, "--store", "nope"])
        }
        try expectLine("a b is not a node's name", arguments: ["init", "--data", folder + "/n", "--node", "a\nb"])
        try expectLine(
            "lockstep: \(folder)/n cannot be indexed",
            arguments: ["search", "index", folder + "/n", "--index", folder + "/texts.index"])
        try expectLine(
            "256",
            arguments: ["counter", "add", String(repeating: "x", count: 257), "--node", "tcp://127.0.0.1:\(port)"]
        )
        try expectLine(
            "empty", arguments: ["counter", "add", "", "--node", "tcp://127.0.0.1:\(port)"])
        try expectLine("no counter", arguments: ["counter", "get", "nobody", "--node", "tcp://127.0.0.1:\(port)"])
        try expectLine(
            "127.0.0.1:\(port + 40)",
            arguments: ["counter", "add", "x", "--node", "tcp://127.0.0.1:\(port + 40)", "--timeout", "0.5"])

        // An `init` that was interrupted before `node.json` can be repeated, and finds its cluster again.
        let again = folder + "/again"
        let begun = try Bench.lockstep("init", "--data", again, "--json")
        try FileManager.default.removeItem(atPath: NodeFolder(again).identityPath)
        let repeated = try Bench.lockstep("init", "--data", again, "--json")
        #expect(begun.status == 0 && repeated.status == 0 && begun.output == repeated.output, "\(repeated)")
        first.end(SIGKILL)
        try FileManager.default.removeItem(atPath: NodeFolder(node).identityPath)
        try expectLine("put the file back", "--cluster", arguments: ["init", "--data", node])
    }

    /// Wrong store, wrong cluster, wrong version and an oversized action are refused with a reason (PROTOCOL ).
    @Test func wrongStoresAndOversizedActionsAreRefused() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let endpoint = cluster.endpoint(0)
            let node = try Node(.client(of: endpoint), logger: Bench.quiet)
            let wrong = try node.remote(Counters.self, named: "elsewhere")
            var (told, ended): (LockstepError?, LockstepError?)
            do {
                try await node.whileRunning {
                    do { _ = try await wrong.send(.add("x", by: 1), timeout: .seconds(5)) } catch let error
                        as LockstepError
                    { told = error }
                }
            } catch let error as LockstepError { ended = error }
            #expect(told?.message.contains("elsewhere") == true, "\(String(describing: told))")
            #expect(ended?.code == .refused, "nothing brings the store by itself, so the node has ended")

            try await Bench.withClient(of: endpoint) { counters in
                await #expect(throws: LockstepError.self) {
                    try await counters.send(.add(String(repeating: "x", count: 2 << 20), by: 1))
                }
                _ = try await counters.send(.add("fine", by: 1))
            }
            let wrongCluster = try Self.hello(endpoint, cluster: 7, version: FrameHeader.wireVersion)
            #expect(wrongCluster == .wrongCluster)
            let wrongVersion = try Self.hello(endpoint, cluster: 0, version: 9)
            #expect(wrongVersion == .wrongVersion)
        }
    }

    /// Says HELLO with a header of our own and returns why it was refused.
    private static func hello(_ endpoint: String, cluster: UInt64, version: UInt8) throws -> RefusalReason? {
        let hello = Hello(
            nonce: 1, role: .client, node: "raw", incarnation: .none, boot: BootID(rawValue: 1), store: "counters",
            known: .none)
        var frame = FrameStamp(channel: .none, clusterHash: cluster, epoch: .zero).frame(.hello(hello))
        frame[4] = version
        withBytes(of: frame) { span in
            var crc = CRC32C()
            crc.update(span, 0..<28)
            crc.update(span, 32..<span.byteCount)
            return crc.value
        }.littleEndianBytes.enumerated().forEach { frame[28 + $0.offset] = $0.element }
        let context = try Context()
        let socket = try Endpoints.link(context, to: endpoint)
        let poller = Poller<Bool>()
        poller.add(socket, as: true)
        var message = ZeroMQ.Message()
        for _ in 0..<50 {
            _ = try socket.send(frame)
            try poller.wait(timeout: .milliseconds(100))
            guard case .some(.message) = try socket.receive(into: &message) else { continue }
            guard
                case .refused(let refused) = try withBytes(
                    of: message.bytes, { try Message.decode($0, rule: .any).message })
            else { return nil }
            return refused.reason
        }
        return nil
    }

    /// Mutated ZMTP connections against every port leave the node and its clients working (PROTOCOL R-10).
    @Test func rawNoiseAtEveryPortHarmsNothing() async throws {
        let seconds = ProcessInfo.processInfo.environment["LOCKSTEP_FUZZ_SECONDS"] ?? "5"
        try await Bench.withCluster(replicas: 1) { cluster in
            let ports = (0...1).flatMap { node in (0..<3).map { cluster.port + 10 * node + $0 } }
            let memory = try Self.residentMemory(try #require(cluster.child(0)).identifier)
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "zmtp_noise.py")
            let noise = try ChildProcess(
                "noise", "/usr/bin/env",
                [
                    "python3", script.path, "--ports", ports.map(String.init).joined(separator: ","), "--seconds",
                    seconds,
                    "--seed", "7",
                ], log: cluster.folder + "/noise.log")
            try await Bench.withClient(of: cluster.endpoint(0)) { counters in
                while noise.isRunning { try await Bench.add(256, to: counters, prefix: "n/") }
            }
            let log = try String(contentsOfFile: cluster.folder + "/noise.log", encoding: .utf8)
            let count = try #require(log.firstMatch(of: /connections ([0-9]+)/).flatMap { Int($0.1) }, "\(log)")
            #expect(count > 200)
            _ = try await cluster.waitUntilEqual()
            #expect(try #require(cluster.child(0)).isRunning && #require(cluster.child(1)).isRunning)
            let after = try Self.residentMemory(try #require(cluster.child(0)).identifier)
            // The resend window and the journal's pages are in this too; noise alone adds a few MiB.
            #expect(after - memory < 400 << 20, "resident memory grew from \(memory >> 20) to \(after >> 20) MiB")
        }
    }

    private static func residentMemory(_ process: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)
        let pages = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return pages * 4_096
    }
}

extension UInt32 {
    fileprivate var littleEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}
