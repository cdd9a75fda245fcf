import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepHarness
import LockstepNode
import Synchronization
import Testing
import ZeroMQ

extension IntegrationTests {
    /// Nodes and clients with keys, made by the commands of the page (SECURITY.md).
    @Suite(.serialized, .timeLimit(.minutes(8))) struct KeysTests {
        /// Who is in the list is served as its role says, by a primary and a replica; nobody else is.
        @Test func aClusterWithKeysServesWhomItKnows() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let writer = try Client("web-1", "writer", of: cluster)
                let reader = try Client("page-1", "reader", of: cluster)
                let stranger = try Client("web-2", nil, of: cluster)
                let added = try writer.run("counter", "add", "visits")
                #expect(added.status == 0 && added.output == "1\n", "\(added)")
                let read = try reader.run("counter", "get", "visits")
                #expect(read.status == 0 && read.output == "1\n", "\(read)")
                try await Bench.wait("the replica to show it") {
                    try reader.run(at: 1, "counter", "get", "visits").output == "1\n"
                }
                let denied = try reader.run("counter", "add", "visits", "--timeout", "3")
                #expect(denied.status == 1 && denied.errors.contains("page-1 (reader)"), "\(denied)")
                for (name, who) in [("a key that is not in the list", stranger.words), ("no key", [])] {
                    for index in 0...1 {
                        let refused = try ChildProcess.run(
                            Bench.program,
                            ["counter", "add", "visits", "--node", cluster.endpoint(index), "--timeout", "2"] + who)
                        #expect(refused.status == 69, "\(name) at node \(index): \(refused)")
                    }
                    let status = try ChildProcess.run(
                        Bench.program, ["status", "--node", cluster.endpoint(0)] + who)
                    #expect(status.status == 69, "\(name): \(status)")
                }
                let status = try reader.run("status")
                #expect(status.status == 0 && status.output.contains("admitting"), "\(status)")
                #expect(try writer.run("counter", "get", "visits").output == "1\n", "nobody else has counted")
            }
        }

        /// A name that is taken out of the list gets nothing done a second later, on the connection that it had; the
        /// replica and another client go on.
        @Test func aRevokedNameIsSilentWithinASecond() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let (gone, stays) = (
                    try Client("web-1", "writer", of: cluster), try Client("web-2", "writer", of: cluster)
                )
                let acknowledged = Told<ContinuousClock.Instant?>(nil)
                let node = try Node(try gone.configuration(0), logger: Bench.quiet)
                let counters = try node.remote(Counters.self, named: "counters")
                let revoked = try await node.whileRunning {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            while !Task.isCancelled {
                                // After the revocation it fails, which is what the test is about.
                                let receipt = try? await counters.send(.add("gone", by: 1), timeout: .seconds(1))
                                if receipt != nil { acknowledged.value = .now }
                            }
                        }
                        try await Bench.wait("the first acknowledgement") { acknowledged.value != nil }
                        _ = try Bench.lockstep("keys", "revoke", "web-1", "--access", cluster.accessList)
                        let revoked = ContinuousClock.now
                        try await Task.sleep(for: .seconds(4))
                        group.cancelAll()
                        return revoked
                    }
                }
                let last = try #require(acknowledged.value)
                // A second, and what an answer that was on its way takes on a machine that is busy.
                #expect(last - revoked < .milliseconds(1_500), "the last was acknowledged after \(last - revoked)")
                #expect(try stays.run("counter", "add", "stays").status == 0)
                let after = try stays.run("counter", "get", "gone").output
                try await Task.sleep(for: .seconds(1))
                #expect(try stays.run("counter", "get", "gone").output == after, "nothing of it is counted any more")
                try await cluster.waitUntilReady()
            }
        }

        /// All keys of a cluster are replaced while a client counts; no action fails or is lost, and no old key is good.
        @Test func allKeysAreReplacedUnderLoad() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let client = try Client("web-1", "writer", of: cluster)
                let old = try KeyFile(reading: client.key)
                func rotate(_ name: String, _ step: String, _ files: [String]) throws {
                    let done = try ChildProcess.run(Bench.program, ["keys", "rotate", name, step] + files)
                    #expect(done.status == 0, "\(name) \(step): \(done)")
                }
                func rotateAll(_ step: String) throws {
                    for index in 0...1 {
                        try rotate(ProcessCluster.name(index), step, ["--data", cluster.node(index).path])
                    }
                    try rotate("web-1", step, ["--keys", client.key, "--access", cluster.accessList])
                }
                var counted: Int64 = 0
                counted += try await client.count {
                    try rotateAll("--begin")
                    try client.export(cluster)
                    // Whoever has the list looks at it at least once a second.
                    try await Task.sleep(for: .seconds(3))
                    try rotateAll("--use")
                    for index in [1, 0] {
                        cluster.end(index, signal: SIGTERM)
                        try cluster.start(index)
                        try await cluster.waitUntilReady()
                    }
                }
                // The client's own process begins anew, with its new key.
                counted += try await client.count {
                    try rotateAll("--end")
                    try client.export(cluster)
                    try await Task.sleep(for: .seconds(2))
                }
                let sum = try client.run("counter", "get", "load")
                #expect(sum.output == "\(counted)\n" && counted > 10, "\(sum), of \(counted)")
                let now = try AccessFile(path: cluster.accessList).read().entries
                #expect(now.allSatisfy { $0.keys.count == 1 })
                #expect(now.first { $0.name == "web-1" }?.keys != [old.pair.publicKey])
                try await cluster.waitUntilReady()
            }
        }

        /// Every other command that dials does it by keys: those that it is given, or those of the node of its folder.
        @Test func everyCommandThatDialsHasKeys() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                let writer = try Client("web-1", "writer", of: cluster)
                #expect(try writer.run("counter", "add", "visits").status == 0)
                let outcome = try writer.run("outcome", "1700000000000:42", "1", "--timeout", "5")
                #expect(outcome.status == 75 && outcome.output.contains("unknown"), "\(outcome)")
                let top = try writer.run("top", "--frames", "1")
                #expect(top.status == 0 && top.output.contains("primary"), "\(top)")
                let elsewhere = try ChildProcess.run(
                    Bench.program, ["status", "--node", "tcp://127.0.0.1:\(Bench.ports(10))"] + writer.words)
                #expect(elsewhere.status == 64 && elsewhere.errors.contains("no public key of"), "\(elsewhere)")

                let backup = try Bench.lockstep(
                    "backup", "--data", cluster.node(1).path, "--to", cluster.folder + "/a.backup")
                #expect(backup.status == 0, "\(backup)")
                cluster.end(1, signal: SIGTERM)
                let recovery = try Bench.lockstep(
                    "recover", "--data", cluster.node(1).path, "--from", cluster.endpoint(0))
                #expect(recovery.status == 0, "\(recovery)")

                // Without a query it follows as a replica, under the name of its keys.
                let follower = try Client("page-7", "replica", of: cluster)
                let log = cluster.folder + "/watch.log"
                let watch = try ChildProcess(
                    "watch", Bench.program, ["watch", "counters", "--node", cluster.endpoint(0)] + follower.words,
                    log: log)
                defer { watch.end(SIGKILL) }
                try await Bench.wait("the state") {
                    try String(contentsOfFile: log, encoding: .utf8).contains("visits")
                }
            }
        }

        /// A node that was told to do without keys says so in its log and its status; one on loopback has nothing to say.
        @Test func aNodeThatTalksInPlainTextSaysSo() async throws {
            try await Bench.withCluster(replicas: 0, start: false) { cluster in
                let (node, log) = (cluster.node(0), cluster.folder + "/open.log")
                let open = try ChildProcess(
                    "open", Bench.program,
                    ["serve", "--data", node.path, "--listen", "tcp://0.0.0.0:\(Bench.ports(10))", "--insecure"],
                    log: log)
                defer { open.end(SIGKILL) }
                try await Bench.wait("the node") { await node.isReady() }
                #expect(try await node.decodedStatus().isPlaintext == true)
                #expect(try Bench.lockstep("status", "--data", node.path).output.contains("! no keys"))
                #expect(try String(contentsOfFile: log, encoding: .utf8).contains("no keys: whoever"))
                open.end(SIGTERM)
                try cluster.start(0)
                try await cluster.waitUntilReady()
                #expect(try !Bench.lockstep("status", "--data", node.path).output.contains("no keys"))
            }
        }

        /// No secret is in a log, a status, a command line, an environment or the output of a command (S8).
        @Test func noSecretIsShown() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let client = try Client("web-1", "writer", of: cluster)
                var shown = ""
                for words in [["counter", "add", "visits"], ["status", "--json"], ["counter", "get", "visits"]] {
                    let done = try client.run(words)
                    shown += done.output + done.errors
                }
                let list = ["--access", cluster.accessList]
                for words in [
                    ["show", client.key], ["show", client.key, "--json"], ["show"] + list, ["show", "--json"] + list,
                    ["rotate", "web-1", "--begin", "--keys", client.key] + list, ["export"] + list,
                    ["allow", "web-1", "--key", client.key, "--role", "writer", "--json"] + list,
                ] {
                    let done = try ChildProcess.run(Bench.program, ["keys"] + words)
                    #expect(done.status == 0, "\(words): \(done)")
                    shown += done.output + done.errors
                }
                var secrets = [client.key, client.key + ".next"]
                for index in 0...1 {
                    let process = try #require(cluster.child(index)).identifier
                    for name in ["cmdline", "environ"] {
                        shown += String(
                            decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/\(name)")),
                            as: UTF8.self)
                    }
                    shown += try String(
                        contentsOfFile: cluster.folder + "/\(ProcessCluster.name(index)).log", encoding: .utf8)
                    shown += String(decoding: try await cluster.node(index).status().get(), as: UTF8.self)
                    shown += try String(contentsOfFile: cluster.node(index).identityPath, encoding: .utf8)
                    secrets.append(cluster.node(index).path + "/node.key")
                }
                shown += try String(contentsOfFile: cluster.accessList, encoding: .utf8)
                for path in secrets {
                    let file = try KeyFile(reading: path)
                    #expect(!shown.contains(file.pair.secretKey.z85), "the secret of \(path)")
                    #expect(shown.contains(file.pair.publicKey.z85), "the scan finds what is there")
                }
                // A file that others may read is refused where it is used.
                #expect(chmod(client.key, 0o644) == 0)
                let refused = try client.run("counter", "get", "visits")
                #expect(refused.status == 64 && refused.errors.contains("mode 644"), "\(refused)")
            }
        }
    }
}

/// A value that one task tells another.
private final class Told<Value: Sendable>: Sendable {
    private let kept: Mutex<Value>
    init(_ value: Value) { kept = Mutex(value) }
    var value: Value {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}

/// A client with a key file of its own, and the file of the nodes.
private struct Client {
    let key: String
    let nodes: String
    private let cluster: ProcessCluster

    /// Makes the keys, and lets the name in unless it has no role.
    init(_ name: String, _ role: String?, of cluster: ProcessCluster) throws {
        self.cluster = cluster
        key = cluster.folder + "/\(name).key"
        nodes = cluster.folder + "/nodes.json"
        _ = try ChildProcess.output(Bench.program, ["keys", "new", name, "--to", key])
        if let role {
            _ = try ChildProcess.output(
                Bench.program, ["keys", "allow", name, "--key", key, "--role", role, "--access", cluster.accessList])
        }
        try export(cluster)
    }

    /// Writes the file of the nodes anew.
    func export(_ cluster: ProcessCluster) throws {
        _ = try ChildProcess.output(Bench.program, ["keys", "export", "--access", cluster.accessList, "--to", nodes])
    }

    /// The options of a command.
    var words: [String] { ["--keys", key, "--nodes", nodes] }

    func run(at index: Int = 0, _ words: String...) throws -> (status: Int32, output: String, errors: String) {
        try run(at: index, words)
    }

    func run(at index: Int = 0, _ words: [String]) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(Bench.program, words + ["--node", cluster.endpoint(index)] + self.words)
    }

    func configuration(_ index: Int) throws -> NodeConfiguration {
        var configuration = NodeConfiguration.client(of: cluster.endpoint(index))
        configuration.keys = NodeKeys(own: try KeyFile(reading: key).pair, access: AccessFile(path: nodes))
        return configuration
    }

    /// Counts as fast as it is answered, for as long as `body` runs; every action must be acknowledged.
    func count(during body: () async throws -> Void) async throws -> Int64 {
        let node = try Node(try configuration(0), logger: Bench.quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        let isOver = Told(false)
        return try await node.whileRunning {
            async let counted: Int64 = {
                var count: Int64 = 0
                while !isOver.value {
                    _ = try await counters.send(.add("load", by: 1), timeout: .seconds(40))
                    count += 1
                }
                return count
            }()
            do { try await body() } catch {
                isOver.value = true
                throw error
            }
            isOver.value = true
            return try await counted
        }
    }
}
