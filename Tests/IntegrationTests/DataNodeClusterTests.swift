#if Etcd
    import Foundation
    import LockstepFolders
    import LockstepHarness
    import LockstepNode
    import Testing

    extension IntegrationTests {
        /// Data nodes as processes, made by the commands of deploy/README.md, section 14.
        @Suite(.serialized, .timeLimit(.minutes(5))) struct DataNodeClusterTests {
            private func withNodes(
                _ count: Int, minimum: Int = 2, _ body: (DataNodeProcesses) async throws -> Void
            ) async throws {
                let nodes = try await DataNodeProcesses(nodes: count, minimum: minimum)
                defer { nodes.remove() }
                try await body(nodes)
            }

            private func add(_ nodes: DataNodeProcesses, at index: Int) throws -> String {
                try nodes.done("counter", "add", "visits", "--node", nodes.endpoint(index), "--timeout", "30")
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }

            /// Waits until all these nodes stand at one entry with one digest.
            private func waitUntilEqual(_ nodes: DataNodeProcesses, _ indices: [Int]) async throws {
                try await Bench.wait("equal digests") {
                    var found: Set<String> = []
                    for index in indices {
                        let status = try await NodeFolder(nodes.data(index)).decodedStatus(digests: true)
                        guard let store = status.stores.first(where: { $0.name == "counters" }),
                            let digest = store.digest, store.commit == store.sequence
                        else { return false }
                        found.insert("\(store.commit) \(digest)")
                    }
                    return found.count == 1
                }
            }

            /// Goal: what was acknowledged by a primary that is killed is there at the next one, which takes over by
            /// itself; the killed one comes back as a standby, and all have one state (PROTOCOL R-78, R-80, R-83).
            @Test func anotherNodeTakesOverFromOneThatIsKilled() async throws {
                try await withNodes(3) { nodes in
                    for index in 0..<3 { try nodes.start(index) }
                    try await nodes.waitUntilWell()
                    for value in 1...3 { #expect(try add(nodes, at: 0) == "\(value)") }
                    let first = try #require(try nodes.primary())
                    nodes.end(first, SIGKILL)
                    let others = (0..<3).filter { $0 != first }
                    #expect(try add(nodes, at: others[0]) == "4")
                    #expect(try add(nodes, at: others[1]) == "5")
                    #expect(try nodes.primary() != first)
                    try nodes.start(first)
                    try await nodes.waitUntilWell()
                    #expect(try add(nodes, at: first) == "6")
                    try await waitUntilEqual(nodes, [0, 1, 2])
                }
            }

            /// Goal: a node that is told to stop gives its post away and is no longer listed; a cluster whose nodes all
            /// stopped goes on where it was (PROTOCOL R-90).
            @Test func stoppedNodesGoOnWhereTheyWere() async throws {
                try await withNodes(3) { nodes in
                    for index in 0..<3 { try nodes.start(index) }
                    try await nodes.waitUntilWell()
                    #expect(try add(nodes, at: 1) == "1")
                    let first = try #require(try nodes.primary())
                    nodes.end(first, SIGTERM)
                    // The node ends its lease; if etcd is too slow for that, it ends by itself some seconds later.
                    try await Bench.wait("the node's end in the list", seconds: 15) {
                        let listed = try nodes.done("cluster", "members", "--data", nodes.data(0), "--json")
                        #expect(listed.contains(#""isListed":true"#))
                        return !listed.contains(nodes.endpoint(first))
                    }
                    try await Bench.wait("another primary") { try nodes.primary() != first }
                    let second = try #require(try nodes.primary())
                    #expect(try add(nodes, at: second) == "2")
                    for index in 0..<3 { nodes.end(index, SIGTERM) }
                    for index in 0..<3 { try nodes.start(index) }
                    try await nodes.waitUntilWell()
                    #expect(try add(nodes, at: 2) == "3")
                    try await waitUntilEqual(nodes, [0, 1, 2])
                }
            }

            /// Goal: `cluster status --wait` waits for an etcd that is away for a while, and says so if that is too long.
            @Test func aWaitGoesOnUntilEtcdIsBack() async throws {
                try await withNodes(1, minimum: 1) { nodes in
                    try nodes.start(0)
                    try await nodes.waitUntilWell()
                    let words = ["cluster", "status", "--data", nodes.data(0), "--wait"]
                    let log = nodes.folder + "/waiting.log"
                    var waiting: ChildProcess?
                    defer { waiting?.end(SIGKILL) }
                    try await nodes.withoutEtcd {
                        let short = try ChildProcess.run(Bench.program, words + ["0.2"])
                        #expect(short.status == 69 && short.errors.contains("not well after 0.2 s"), "\(short)")
                        waiting = try ChildProcess("status", Bench.program, words + ["60"], log: log)
                        try await Bench.wait("the command, which waits") {
                            try String(contentsOfFile: log, encoding: .utf8).contains("waiting for the cluster")
                        }
                    }
                    try await Bench.wait("the command's end") { waiting?.isRunning == false }
                    let said = try String(contentsOfFile: log, encoding: .utf8)
                    #expect(waiting?.exitStatus == 0 && said.contains("node-0"), "\(said)")
                }
            }

            /// Goal: `create` makes each record once; asked again it changes nothing.
            ///
            /// What it must not do it refuses with what is there. A primary alone says in its status whom it waits for.
            @Test func recordsAreMadeOnce() async throws {
                try await withNodes(2) { nodes in
                    let again = try nodes.done("cluster", "create", "--data", nodes.data(0))
                    #expect(again.contains("counters has its record already"))
                    let other = try Bench.lockstep("cluster", "create", "--data", nodes.data(1), "counters")
                    #expect(other.status == 1)
                    #expect(other.errors.contains("etcd has a record of counters: number 1, epoch 1, primary node-0"))
                    try nodes.start(0)
                    let folder = NodeFolder(nodes.data(0))
                    try await Bench.wait("the alarm") {
                        guard let status = try? await folder.decodedStatus() else { return false }
                        return status.stores.allSatisfy { store in
                            store.dataNode?.role == .primary
                                && store.alarms.map(\.name) == [AlarmKind.insufficientMembers.rawValue]
                        }
                    }
                    try nodes.start(1)
                    try await nodes.waitUntilWell()
                    #expect(try add(nodes, at: 1) == "1")
                    try await Bench.wait("the end of the alarm") {
                        try await folder.decodedStatus().stores.allSatisfy(\.alarms.isEmpty)
                    }
                }
            }

            /// Goal: a store that is added to a data node's folder gets its record by the command that the texts name,
            /// which passes over the stores that have one.
            @Test func aStoreThatIsAddedGetsItsRecord() async throws {
                try await withNodes(1) { nodes in
                    // A cluster of its own in the same etcd.
                    let (data, log) = (nodes.folder + "/fewer", nodes.folder + "/fewer.log")
                    let create = ["cluster", "create", "--data", data, "--minimum", "1"]
                    _ = try nodes.done("init", "--data", data, "--store", "counters", "--etcd", nodes.etcdEndpoint)
                    _ = try nodes.done("cluster", "create", "--data", data, "--minimum", "1")
                    let served = try ChildProcess(
                        "fewer", Bench.program,
                        ["serve", "--data", data, "--listen", "tcp://127.0.0.1:\(Bench.ports(10))"], log: log)
                    defer { served.end(SIGKILL) }
                    // From its first epoch on the record is another one than was made.
                    _ = try nodes.done("cluster", "status", "--data", data, "--wait", "60")
                    served.end(SIGTERM)
                    _ = try nodes.done("init", "--data", data, "--add")
                    for end in ["search has a record: its first primary is fewer", "search has its record already"] {
                        let run = try ChildProcess.run(Bench.program, create)
                        #expect(run.status == 0, "\(run)")
                        #expect(run.output.hasPrefix("counters is passed over: it has a record\n\(end)"), "\(run)")
                    }
                    let named = try ChildProcess.run(Bench.program, create + ["counters"])
                    #expect(named.status == 1 && named.output.isEmpty, "\(named)")
                    #expect(named.errors.contains("etcd has a record of counters: number "), "\(named)")
                }
            }

            /// Goal: `create` asks the nodes that are listed by the keys of the node's configuration, where the folders
            /// note none.
            @Test func othersAreAskedByTheKeysOfTheConfiguration() async throws {
                try await withNodes(1) { nodes in
                    let (list, port) = (nodes.folder + "/access.json", Bench.ports(20))
                    func data(_ name: String) -> String { nodes.folder + "/" + name }
                    func keys(_ name: String) -> [String] { ["--keys", data(name) + "/node.key", "--access", list] }
                    var cluster: [String] = []
                    for (index, name) in ["first", "second"].enumerated() {
                        let words = [
                            "init", "--data", data(name), "--etcd", nodes.etcdEndpoint, "--access", list, "--address",
                            "tcp://127.0.0.1:\(port + 10 * index)",
                        ]
                        _ = try ChildProcess.output(Bench.program, words + cluster)
                        var identity = try NodeFolder(data(name)).identity()
                        cluster = ["--cluster", identity.cluster]
                        (identity.keys, identity.access) = (nil, nil)
                        try NodeFolder(data(name)).write(identity)
                    }
                    let endpoint = "tcp://127.0.0.1:\(port + 10)"
                    let served = try ChildProcess(
                        "second", Bench.program,
                        ["serve", "--data", data("second"), "--listen", endpoint] + keys("second"),
                        log: nodes.folder + "/second.log")
                    defer { served.end(SIGKILL) }
                    try await Bench.wait("the second node to be listed") {
                        try nodes.done("cluster", "members", "--data", data("first"), "--json").contains(endpoint)
                    }
                    let create = ["cluster", "create", "--data", data("first")]
                    let plain = try ChildProcess.run(Bench.program, create)
                    #expect(plain.status == 69, "\(plain)")
                    #expect(plain.errors.contains("second is listed, and does not say"), "\(plain)")
                    let asked = try ChildProcess.run(Bench.program, create + keys("first"))
                    #expect(asked.status == 0 && asked.output.contains("counters has a record"), "\(asked)")
                }
            }

            /// Goal: what does not go together is refused in one line that says what to do, before anything is made.
            @Test func wrongOptionsAreRefused() throws {
                let folder = try Bench.folder()
                defer { try? FileManager.default.removeItem(atPath: folder) }  // It is a temporary one.
                let data = folder + "/a"
                let wrong: [(words: [String], text: String)] = [
                    (["init", "--data", data, "--etcd", "10.0.0.1"], "is no endpoint of etcd"),
                    (["init", "--data", data, "--etcd", "http://10.0.0.1:2379"], "--etcd-plaintext"),
                    (["init", "--data", data, "--etcd", "https://10.0.0.1:2379"], "https needs three files"),
                    (["init", "--data", data, "--etcd", "http://127.0.0.1:1,http://127.0.0.1:1"], "is named twice"),
                    (["init", "--data", data, "--etcd-plaintext"], "go with --etcd URL"),
                    (["init", "--data", data, "--add", "--etcd", "http://127.0.0.1:1"], "--add keeps"),
                ]
                for (words, text) in wrong {
                    let run = try ChildProcess.run(Bench.program, words)
                    #expect(run.status == 64, "\(words): \(run)")
                    #expect(run.errors.contains(text), "\(words): \(run.errors)")
                }
                #expect(!FileManager.default.fileExists(atPath: data))
                #expect(try Bench.lockstep("init", "--data", data, "--etcd", "http://127.0.0.1:1").status == 0)
                let listen = ["--listen", "tcp://127.0.0.1:\(Bench.ports())"]
                let serve = [
                    (listen + ["--replica-of", "tcp://127.0.0.1:7400"], "its etcd says who is the primary"),
                    ([], "a data node needs --listen"),
                ]
                for (words, text) in serve {
                    let run = try ChildProcess.run(Bench.program, ["serve", "--data", data] + words)
                    #expect(run.status == 64, "\(words): \(run)")
                    #expect(run.errors.contains(text), "\(words): \(run.errors)")
                }
                let away = try Bench.lockstep("cluster", "status", "--data", data)
                #expect(away.status == 69, "\(away)")
                #expect(try Bench.lockstep("init", "--data", folder + "/b").status == 0)
                let other = try Bench.lockstep("cluster", "status", "--data", folder + "/b")
                #expect(other.status == 64)
                #expect(other.errors.contains("is no data node's folder"))
            }

            /// Goal: a folder notes another etcd when it is told to, and nothing that it could not use.
            @Test func aFolderNotesAnotherEtcd() throws {
                let folder = try Bench.folder()
                defer { try? FileManager.default.removeItem(atPath: folder) }  // It is a temporary one.
                let (data, alone) = (folder + "/a", folder + "/b")
                #expect(try Bench.lockstep("init", "--data", data, "--etcd", "http://127.0.0.1:1").status == 0)
                #expect(try Bench.lockstep("init", "--data", alone).status == 0)
                let before = try NodeFolder(data).identity()
                let wrong: [(words: [String], text: String)] = [
                    ([data], "name the members of etcd with --etcd URL"),
                    ([data, "--etcd", "http://10.0.0.1:2379"], "--etcd-plaintext"),
                    ([alone, "--etcd", "http://127.0.0.1:2"], "is no data node's folder"),
                ]
                for (words, text) in wrong {
                    let run = try ChildProcess.run(Bench.program, ["cluster", "etcd", "--data"] + words)
                    #expect(run.status == 64 && run.errors.contains(text), "\(words): \(run)")
                }
                #expect(try NodeFolder(data).identity() == before)
                let new = ["cluster", "etcd", "--data", data, "--etcd", "http://127.0.0.1:2,http://127.0.0.1:3"]
                for said in ["from its next start on", "nothing was changed"] {
                    let run = try ChildProcess.run(Bench.program, new)
                    #expect(run.status == 0 && run.output.contains(said), "\(run)")
                }
                var after = before
                after.etcd?.endpoints = ["http://127.0.0.1:2", "http://127.0.0.1:3"]
                #expect(try NodeFolder(data).identity() == after)
            }
        }
    }
#endif
