import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing
import ZeroMQ

extension IntegrationTests {
    /// Nodes and clients with keys, made by the commands of the page (SECURITY.md).
    @Suite(.serialized, .timeLimit(.minutes(8))) struct KeysTests {
        /// Who is in the list is served as its role says, by a primary and a replica; nobody else is.
        @Test func aClusterWithKeysServesWhomItKnows() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let writer = try KeyedClient("web-1", "writer", of: cluster)
                let reader = try KeyedClient("page-1", "reader", of: cluster)
                let stranger = try KeyedClient("web-2", nil, of: cluster)
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
                    try KeyedClient("web-1", "writer", of: cluster), try KeyedClient("web-2", "writer", of: cluster)
                )
                let acknowledged = Told<ContinuousClock.Instant?>(nil)
                let node = try Node(try gone.configuration(0), logger: Bench.quiet)
                let counters = try node.remote(Counters.self, named: "counters")
                let revoked = try await node.whileRunning {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            while !Task.isCancelled {
                                let sent = ContinuousClock.now
                                // After the revocation it fails, which is what the test is about.
                                let receipt = try? await counters.send(.add("gone", by: 1), timeout: .seconds(1))
                                if receipt != nil { acknowledged.value = sent }
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
                // A second, and what reading the list takes on a machine that is busy.
                #expect(last - revoked < .seconds(3), "the last that was acknowledged was sent after \(last - revoked)")
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
                let client = try KeyedClient("web-1", "writer", of: cluster)
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
                let (oldBegun, oldIsOver) = (Told(false), Told(false))
                let withOldKey = try client.configuration(0)
                async let byOldKey = KeyedClient.count(withOldKey, begun: oldBegun, over: oldIsOver)
                try await Bench.wait("the client with the old key") { oldBegun.value }
                try rotateAll("--begin")
                try client.export()
                // Whoever has the list looks at it at least once a second.
                try await Task.sleep(for: .seconds(3))
                try rotateAll("--use")
                for index in [1, 0] {
                    cluster.end(index, signal: SIGTERM)
                    try cluster.start(index)
                    try await cluster.waitUntilReady()
                }
                // A client with the new key begins before the one with the old key ends, so somebody counts all the time.
                let (newBegun, newIsOver) = (Told(false), Told(false))
                let withNewKey = try client.configuration(0)
                #expect(withNewKey.keys?.own != withOldKey.keys?.own)
                async let byNewKey = KeyedClient.count(withNewKey, begun: newBegun, over: newIsOver)
                try await Bench.wait("the client with the new key") { newBegun.value }
                oldIsOver.value = true
                var counted = try await byOldKey
                try rotateAll("--end")
                try client.export()
                try await Task.sleep(for: .seconds(2))
                newIsOver.value = true
                counted += try await byNewKey
                let sum = try client.run("counter", "get", "load")
                #expect(sum.output == "\(counted)\n" && counted > 10, "\(sum), of \(counted)")
                let now = try AccessFile(path: cluster.accessList).read().entries
                #expect(now.allSatisfy { $0.keys.count == 1 })
                #expect(now.first { $0.name == "web-1" }?.keys != [old.pair.publicKey])
                try await cluster.waitUntilReady()
            }
        }

        /// A name sends the kinds of actions that the list allows it, as long as its quota is left; an administrator sees
        /// over the network who has sessions; and the journal names who sent what.
        @Test func aNameSendsWhatItMay() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                try await cluster.waitUntilReady()
                let web = try KeyedClient("web-1", "writer", of: cluster)
                let other = try KeyedClient("web-2", "writer", of: cluster)
                let ops = try KeyedClient("ops", "admin", of: cluster)
                func allow(_ words: String...) throws {
                    let done = try ChildProcess.run(
                        Bench.program, ["keys", "allow", "web-1", "--access", cluster.accessList] + words)
                    #expect(done.status == 0, "\(words): \(done)")
                }
                try allow("--action", "counters:add", "--quota", "sessions=1")
                try await Bench.wait("the changed list") {
                    try web.run("counter", "set", "probe", "5").errors.contains("web-1 no action of kind set")
                }
                // Each command has a session of its own, and the name may have one.
                func waitUntilFree() async throws {
                    try await Bench.waitForEnd(of: "the sessions of web-1") {
                        let listed = try ops.run("sessions", "list", "--json")
                        return listed.status != 0 || listed.output.contains("\"sender\":\"web-1\"")
                    } close: {
                        _ = try ops.run("sessions", "close", "--peer", "web-1")
                    }
                }
                try await waitUntilFree()
                let denied = try web.run("counter", "set", "visits", "5")
                #expect(denied.status == 1 && denied.output.isEmpty, "\(denied)")
                try await waitUntilFree()
                #expect(try web.run("counter", "add", "visits").output == "1\n", "nothing was set")
                #expect(try other.run("counter", "set", "visits", "5").status == 0)
                try await waitUntilFree()
                // With one session of the name, a second one is refused; another name's is not.
                let node = try Node(try web.configuration(0), logger: Bench.quiet)
                let counters = try node.remote(Counters.self, named: "counters")
                try await node.whileRunning {
                    _ = try await counters.send(.add("visits", by: 1))
                    let second = try web.run("counter", "add", "visits", "--timeout", "10")
                    #expect(second.status != 0 && second.errors.contains("web-1 has 1 sessions"), "\(second)")
                    #expect(try other.run("counter", "add", "visits").status == 0)
                    let outcomes = Array(
                        try await counters.send(contentsOf: [
                            .add("visits", by: 1), .reset("visits"), .add("visits", by: 1),
                        ]))
                    guard case .denied(let reason, _) = outcomes[1] else {
                        Issue.record("\(outcomes[1])")
                        return
                    }
                    #expect(reason.contains("web-1 no action of kind reset"))
                    #expect(try outcomes[2].get().reply == .value(9))
                    let list = try ops.run("sessions", "list", "--json")
                    #expect(list.status == 0 && list.output.contains("\"sender\":\"web-1\""), "\(list)")
                    let refused = try web.run("sessions", "list")
                    #expect(refused.status == 1 && refused.errors.contains("its status only"), "\(refused)")
                    let closed = try ops.run("sessions", "close", "--peer", "nobody")
                    #expect(closed.status == 0 && closed.output == "closed 0 sessions\n", "\(closed)")
                }
                try allow("--all-actions", "--no-quota")
                try await Bench.wait("the list without limits") {
                    try web.run("counter", "set", "visits", "20").status == 0
                }
                for index in [1, 0] {
                    cluster.end(index, signal: SIGTERM)
                    let dump = try Bench.lockstep("journal", "dump", "--data", cluster.node(index).path)
                    for name in ["web-1", "web-2"] {
                        #expect(dump.output.contains("\"sender\":\"\(name)\""), "\(name) in the journal of \(index)")
                    }
                    #expect(dump.output.contains("no action of kind reset"))
                }
            }
        }

        /// Every other command that dials does it by keys: those that it is given, or those of the node of its folder.
        @Test func everyCommandThatDialsHasKeys() async throws {
            try await Bench.withCluster(replicas: 1, keys: true) { cluster in
                let writer = try KeyedClient("web-1", "writer", of: cluster)
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
                let follower = try KeyedClient("page-7", "replica", of: cluster)
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

        /// A command that is killed at its first write leaves no half of a key file, which would stop every later one.
        @Test func aKilledCommandLeavesNoHalfOfAKeyFile() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let key = folder + "/web-1.key"
            // The system kills who writes more into a file than is allowed.
            let script = "ulimit -c 0 && ulimit -f 0 && exec \"$0\" keys new web-1 --to \"$1\""
            let killed = try ChildProcess.run("/bin/sh", ["-c", script, Bench.program, key])
            #expect(killed.status != 0 && !FileManager.default.fileExists(atPath: key), "\(killed)")
            let made = try Bench.lockstep("keys", "new", "web-1", "--to", key)
            #expect(made.status == 0, "\(made)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["web-1.key"])
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
                let client = try KeyedClient("web-1", "writer", of: cluster)
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
