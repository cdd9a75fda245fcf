import Foundation
import Lockstep
import NodeTesting
import Testing

/// The program `tokens` on three data nodes: the primary is killed while callers take tokens.
@Suite(.timeLimit(.minutes(3))) struct DataNodesTests {
    /// Whether etcd is there, and the program was built with the trait Etcd.
    private static let canRun =
        (try? ChildProcess("/usr/bin/env", arguments: ["etcd", "--version"], output: "/dev/null").exitStatus()) == 0
        && (try? ChildProcess("tokens", arguments: ["cluster"], output: "/dev/null", errors: "/dev/null").exitStatus())
            == 0

    @Test(.enabled(if: canRun, "this needs etcd, and examples that are built with LOCKSTEP_TEST_BUILD=1"))
    func aCallerSeesNothingOfTheKillButAPause() async throws {
        try await withTemporaryFolder { folder in
            let nodes = try await DataNodes(folder: folder)
            let (output, errors) = (folder + "/take.out", folder + "/take.err")
            let take = try ChildProcess(
                "tokens", arguments: ["take", "5000", "--node", nodes.all, "--timeout", "60"], output: output,
                errors: errors)
            try await nodes.wait { try String(contentsOfFile: output, encoding: .utf8).contains("500 of 5000\n") }
            let notices = try String(contentsOfFile: errors, encoding: .utf8)
            try await nodes.wait { try String(contentsOfFile: output, encoding: .utf8).contains("2500 of 5000\n") }
            try nodes.killPrimary()
            #expect(take.exitStatus() == 0)
            let said = try String(contentsOfFile: output, encoding: .utf8)
            #expect(said.contains("5000 tokens, 5000 different ones, 1 to 5000, "), "\(said)")
            // Where answers come, the program does not say that it waits for one.
            #expect(try String(contentsOfFile: errors, encoding: .utf8) == notices)
        }
    }
}

/// An etcd of one member, and three data nodes in a cluster.
private final class DataNodes {
    private let folder: String
    private let addresses: [String]
    private let etcd: ChildProcess
    private var nodes: [ChildProcess] = []

    init(folder: String) async throws {
        self.folder = folder
        addresses = try (0..<3).map { _ in try freeAddress() }
        let client = try freeAddress().replacing("tcp", with: "http")
        let peer = try freeAddress().replacing("tcp", with: "http")
        etcd = try ChildProcess(
            "/usr/bin/env",
            arguments: [
                "etcd", "--data-dir", folder + "/etcd", "--listen-client-urls", client, "--advertise-client-urls",
                client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
                "default=\(peer)",
            ], output: folder + "/etcd.out", errors: folder + "/etcd.err")
        let made = try run("init", "--data", data(0), "--etcd", client)
        let cluster = try #require(made.output.firstMatch(of: /cluster ([0-9a-f]+)/)?.1)
        for node in 1...2 { _ = try run("init", "--data", data(node), "--etcd", client, "--cluster", String(cluster)) }
        // etcd takes a moment to begin.
        try await wait { try run("cluster", "create", "--data", data(0)).status == 0 }
        nodes = try addresses.indices.map { node in
            try ChildProcess(
                "tokens", "serve", "--data", data(node), "--listen", addresses[node], "--log-level", "warning")
        }
        #expect(try run("cluster", "status", "--data", data(0), "--wait", "60").status == 0)
    }

    /// The addresses, as a client is told of them.
    var all: String { addresses.joined(separator: ",") }

    private func data(_ node: Int) -> String { folder + "/node-\(node)" }

    func killPrimary() throws {
        let status = try run("cluster", "status", "--data", data(0), "--json").output
        let primary = try #require(status.firstMatch(of: /"primary":"node-([0-2])"/)?.1)
        nodes[try #require(Int(primary))].kill()
    }

    /// Waits until a condition holds.
    func wait(_ condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw LockstepError(.timeout, "it does not come") }
            try await Task.sleep(for: .milliseconds(20))  // A poll of another process.
        }
    }

    private func run(_ words: String...) throws -> (status: Int32, output: String) {
        let output = folder + "/command.out"
        let status = try ChildProcess("tokens", arguments: words, output: output).exitStatus()
        return (status, try String(contentsOfFile: output, encoding: .utf8))
    }
}
