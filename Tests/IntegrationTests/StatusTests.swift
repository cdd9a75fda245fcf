import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing
import ZeroMQ

extension IntegrationTests {
    /// What an operator sees of nodes as `lockstep init` makes them (PROTOCOL R-29, L7).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct StatusTests {
        /// A replica whose primary died says so in phase, alarm and lag, in the table and in JSON; `--wait` is not content
        /// with it and names it; when the primary is back all of it is over.
        @Test func aReplicaWithoutAPrimarySaysSo() async throws {
            try await Bench.withCluster(replicas: 1) { cluster in
                let replica = cluster.node(1)
                #expect(try await replica.decodedStatus().stores.map(\.lag) == [0, 0])
                cluster.end(0, signal: SIGKILL)
                try await Bench.wait("the loss to be seen in both stores") {
                    try await replica.decodedStatus().stores.allSatisfy { store in
                        store.alarms.contains { $0.kind == .noPrimary && $0.text.contains(cluster.endpoint(0)) }
                    }
                }
                for store in try await replica.decodedStatus().stores {
                    #expect(store.phase == .connecting && store.lag == nil, "\(store)")
                    #expect(store.primarySilentSeconds ?? 0 >= 3)
                    #expect(store.alarms.contains { $0.text.contains(/lost \d+ s ago/) }, "\(store.alarms)")
                }
                let json = try Bench.lockstep("status", "--data", replica.path, "--json")
                #expect(json.status == 0 && json.output.contains("\"lag\":null"), "\(json)")
                let table = try Bench.lockstep("status", "--data", replica.path).output.split(separator: "\n")
                #expect(table.filter { $0.contains("NO_PRIMARY") }.count == 2, "\(table)")
                #expect(table.filter { $0.contains(#/ connecting .* \? /#) }.count == 2, "\(table)")
                let waited = try Bench.lockstep("status", "--data", replica.path, "--wait", "1.5")
                #expect(waited.status == 1 && waited.errors.contains("NO_PRIMARY"), "\(waited)")
                #expect(waited.errors.contains("waiting for the node in \(replica.path)"), "\(waited.errors)")

                try cluster.start(0)
                try await cluster.waitUntilReady()
                #expect(try Bench.lockstep("status", "--data", replica.path, "--wait", "10").status == 0)
                let after = try await replica.decodedStatus().stores
                #expect(after.allSatisfy { $0.alarms.isEmpty && $0.lag != nil }, "\(after)")
            }
        }

        /// `--wait` is not content with a node that serves and has an alarm, and says which.
        @Test func waitIsNotContentWithAnAlarm() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let alarm = "JOURNAL_DAMAGED in 1 places: batch at sequence number 7"
            let fake = try FakeNode(data: folder, answer: FakeNode.serving(alarm: alarm))
            defer { fake.end() }
            let (code, shown, errors) = try Bench.lockstep("status", "--data", folder, "--wait", "0.3")
            #expect(code == 1 && errors.contains("JOURNAL_DAMAGED"), "\(errors)")
            #expect(shown.contains("! JOURNAL_DAMAGED"), "\(shown)")
            // Each node is named and shown, also beside one that does not run.
            let none = folder + "-none"
            #expect(try Bench.lockstep("init", "--data", none).status == 0)
            defer { try? FileManager.default.removeItem(atPath: none) }
            let both = try Bench.lockstep("status", "--data", none, "--data", folder, "--wait", "0.3")
            #expect(both.status == 69 && both.output.contains("! JOURNAL_DAMAGED"), "\(both)")
            for name in [none, folder] {
                #expect(both.errors.contains("the node in \(name) is not ready after"), "\(both.errors)")
            }
            let table = try Bench.lockstep("status", "--data", folder)
            #expect(table.status == 0 && table.output.contains("! JOURNAL_DAMAGED"), "\(table.output)")
        }

        /// A look is one question to each node, on this host or over the network.
        @Test func aLookIsOneQuestion() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let fake = try FakeNode(data: folder, answer: FakeNode.serving(alarm: nil))
            defer { fake.end() }
            #expect(try Bench.lockstep("status", "--data", folder).status == 0)
            #expect(fake.questions == 1)
            #expect(try Bench.lockstep("status", "--data", folder, "--json").status == 0)
            #expect(fake.questions == 2)
            let address = "tcp://127.0.0.1:\(Bench.ports(10))"
            let far = try FakeNode(address: address, answer: FakeNode.serving(alarm: nil))
            defer { far.end() }
            #expect(try Bench.lockstep("status", "--node", address).status == 0)
            #expect(far.questions == 1)
            #expect(try Bench.lockstep("status", "--node", address, "--json", "--data", folder).status == 0)
            #expect(far.questions == 2 && fake.questions == 3)
        }

        /// The primary shows when it last heard of each replica, and that it has lost one.
        @Test func aPrimaryShowsALostReplica() async throws {
            try await Bench.withCluster(replicas: 2) { cluster in
                let primary = cluster.node(0)
                let before = try await primary.decodedStatus().stores
                for store in before {
                    let replicas = store.peers.filter { $0.role == .replica }
                    #expect(replicas.map(\.node) == ["replica-1", "replica-2"] && store.lostReplicas.isEmpty)
                    #expect(replicas.allSatisfy { $0.silentSeconds < 5 })
                }
                cluster.end(1, signal: SIGKILL)
                try await Bench.wait("the primary to miss the replica") {
                    try await primary.decodedStatus().stores.allSatisfy { $0.lostReplicas.map(\.node) == ["replica-1"] }
                }
                let store = try #require(try await primary.decodedStatus().stores.first)
                #expect(store.peers.map(\.node) == ["replica-2"], "it leaves the list of those that are there")
                let table = try Bench.lockstep("status", "--data", primary.path).output
                #expect(table.matches(of: /replica replica-1 is lost: last heard \d+ s ago/).count == 2, "\(table)")
                #expect(table.matches(of: /replica replica-2: lag 0, last heard \d s ago/).count == 2, "\(table)")
                try cluster.start(1)
                try await Bench.wait("the replica to be back") {
                    try await primary.decodedStatus().stores.allSatisfy { $0.lostReplicas.isEmpty }
                }
            }
        }

        /// A node that is stopped by a signal is not called "not running", which is said only of one that does not run.
        ///
        /// Each node that answers is printed, and the exit status tells of the one that did not.
        @Test func aNodeThatStandsStillIsNotCalledDead() async throws {
            try await Bench.withCluster(replicas: 1) { cluster in
                let (primary, replica) = (cluster.node(0), cluster.node(1))
                let process = try #require(cluster.child(1)).identifier
                ChildProcess.send(SIGSTOP, to: process)
                defer { ChildProcess.send(SIGCONT, to: process) }
                let stopped = try Bench.lockstep("status", "--data", primary.path, "--data", replica.path, "--json")
                #expect(stopped.status == 69)
                #expect(stopped.output.split(separator: "\n").count == 1 && stopped.output.contains("\"primary\""))
                let words = ["does not answer", "\(process)", "SIGSTOP", replica.path]
                for word in words { #expect(stopped.errors.contains(word), "\(stopped.errors)") }
                let table = try Bench.lockstep("status", "--data", replica.path)
                #expect(table.output.contains("does not answer") && !table.output.contains("not running"))
                let backup = try Bench.lockstep("backup", "--data", replica.path, "--to", replica.path + ".backup")
                #expect(backup.status == 69 && backup.errors.contains("kill -CONT"), "\(backup)")
                ChildProcess.send(SIGCONT, to: process)
                try await Bench.wait("the replica") { await replica.isReady() }

                // What SIGKILL leaves is a socket that nobody serves: known at once.
                cluster.end(1, signal: SIGKILL)
                let began = ContinuousClock.now
                let dead = try Bench.lockstep("status", "--data", replica.path, "--data", primary.path)
                #expect(dead.status == 69 && dead.errors.contains("no node runs in \(replica.path)"), "\(dead.errors)")
                #expect(dead.output.contains("not running") && dead.output.contains("admitting"), "\(dead.output)")
                #expect(Bench.lines(dead.errors).count == 1, "\(dead.errors)")
                #expect(ContinuousClock.now - began < .seconds(10))
            }
        }

        /// A node that takes no connections, so that the queue of its socket is full, is not called "not running".
        @Test func aNodeWhoseQueueIsFullIsNotCalledDead() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let (node, child) = (cluster.node(0), try #require(cluster.child(0)))
                child.send(SIGSTOP)
                defer { child.send(SIGCONT) }
                let path = try AdministrationPath(folder: node.administration)
                // What has looked and left stays in the queue until the node takes it.
                #expect((0..<10_000).contains { _ in path.reach() == .full })
                let full = try Bench.lockstep("status", "--data", node.path)
                #expect(full.status == 69 && full.output.contains("does not answer"), "\(full)")
                #expect(full.errors.contains("\(node.path) does not answer: it has taken no connection"), "\(full)")
                #expect(!(full.output + full.errors).contains(/not running|no node runs/), "\(full)")
                child.send(SIGCONT)
                try await Bench.wait("the node to take connections again") { await node.isReady() }
            }
        }

        /// Errors name options and not properties of the library; reads carry their place and their age; a wait is said.
        @Test func commandsSpeakTheWordsOfTheirOptions() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let open = try Bench.lockstep(
                    "serve", "--data", cluster.node(0).path, "--listen", "tcp://0.0.0.0:\(Bench.ports(10))")
                #expect(open.status == 64 && open.errors.contains("--insecure"), "\(open.errors)")
                #expect(!open.errors.contains("allowsPlaintext"))
                let small = try Bench.lockstep(
                    "serve", "--data", cluster.node(0).path, "--listen", cluster.endpoint(0), "--snapshot-after", "5")
                #expect(small.status == 64 && small.errors.contains("--snapshot-after"), "\(small.errors)")
                #expect(!small.errors.contains("snapshotAfterBytes"))

                #expect(try Bench.lockstep("counter", "add", "a/x", "7", "--node", cluster.endpoint(0)).status == 0)
                let reads = [
                    (["counter", "get", "a/x"], "a/x"), (["counter", "list", "a/"], "a/x"),
                    (["counter", "top", "1"], "a/x"), (["search", "stats"], "\"misses\""),
                ]
                let (query, node) = (#"{"get":{"_0":"a/x"}}"#, ["--node", cluster.endpoint(0)])
                let commands = reads.map { ($0.0 + ["--json"], $0.1) } + [(["ask", "counters", query], "7")]
                for (command, content) in commands {
                    try Self.expectStamp(try ChildProcess.run(Bench.program, command + node).output, content)
                }
                let watches = [
                    (["counter", "watch", "a/x", "--json"], "a/x"), (["watch", "counters", query], "\"answer\""),
                    (["watch", "counters"], "\"state\""),
                ]
                for (number, (command, content)) in watches.enumerated() {
                    let log = cluster.folder + "/watch-\(number).log"
                    let watch = try ChildProcess("watch", Bench.program, command + node, log: log)
                    defer { watch.end(SIGKILL) }
                    func watched() throws -> [Substring] {
                        try Bench.lines(String(contentsOfFile: log, encoding: .utf8))
                    }
                    try await Bench.wait("what is watched") { try !watched().isEmpty }
                    try Self.expectStamp(String(watched()[0]), content)
                }
                // It is no read of one state: it waits for a backend, and says how old the page is.
                let found = try ChildProcess.run(Bench.program, ["search", "query", "a", "--json"] + node)
                #expect(found.output.contains("\"source\"") && !found.output.contains("\"place\""), "\(found)")
                let nobody = "tcp://127.0.0.1:\(Bench.ports(10))"
                let waiting = try Bench.lockstep("counter", "add", "x", "--node", nobody, "--timeout", "2")
                let lines = waiting.errors.split(separator: "\n").filter {
                    $0.contains("waiting for an answer of \(nobody)")
                }
                #expect(waiting.status == 69 && lines.count == 1, "\(waiting)")
            }
        }

        /// An answer as JSON says of which state it is.
        private static func expectStamp(_ output: String, _ content: String) throws {
            let fields = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
            let place = fields?["place"] as? String ?? ""
            #expect(place.wholeMatch(of: /[0-9]+:[0-9]+/) != nil && output.contains(content), "\(output)")
            #expect((0..<60).contains(fields?["ageSeconds"] as? Double ?? -1), "\(output)")
        }

        /// Another user's node, a folder that is none and a file are called what they are.
        @Test(.enabled(if: geteuid() == 0)) func whatMayNotBeAskedIsSaid() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let node = cluster.node(0)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: node.path)
                let barred = try Bench.lockstepAsNobody("status", "--data", node.path)
                #expect(barred.status == 1 && barred.output.contains("no permission"), "\(barred)")
                #expect(
                    barred.errors.contains("no permission to ask") && !barred.errors.contains("init"),
                    "\(barred.errors)")
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: node.path)
                let outside = try Bench.lockstepAsNobody("status", "--data", node.path)
                #expect(outside.status == 1 && outside.errors.contains("no permission to ask"), "\(outside.errors)")
                #expect(!outside.errors.contains("init"))
            }
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let missing = try Bench.lockstep("status", "--data", folder + "/none")
            #expect(missing.status == 64 && missing.errors.contains("is not there"), "\(missing.errors)")
            try Data().write(to: URL(fileURLWithPath: folder + "/file"))
            let file = try Bench.lockstep("status", "--data", folder + "/file")
            #expect(file.status == 64 && file.errors.contains("is a file"), "\(file.errors)")
        }
    }
}

extension FakeNode {
    /// The status of a primary of one store that serves.
    fileprivate static func serving(alarm: String?) -> Data {
        let alarms = alarm.map { "\"\($0)\"" } ?? ""
        return Data(
            """
            {"boot":"","node":"fake","process":1,"role":"primary","stores":[{"alarms":[\(alarms)],"channel":0,"commit":7,\
            "counters":{},"digest":null,"epoch":1,"hash":"","incarnation":null,"isVolatile":false,"journal":null,"lag":0,\
            "lostReplicas":[],"mark":null,"name":"counters","peerCount":0,"peers":[],"phase":"admitting",\
            "primarySilentSeconds":null,"sequence":7,"sessionCount":0,"sessions":[],"time":0,"unanswered":0}],\
            "uptimeSeconds":1}
            """.utf8)
    }
}
