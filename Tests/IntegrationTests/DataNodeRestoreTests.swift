#if Etcd
    import Foundation
    import LockstepFolders
    import LockstepHarness
    import LockstepNode
    import Testing

    extension IntegrationTests {
        /// What the commands for one primary's journal do with a data node's, and what becomes of its backups (docs/FAILOVER.md).
        @Suite(.serialized, .timeLimit(.minutes(5))) struct DataNodeRestoreTests {
            private func withNodes(_ count: Int, _ body: (DataNodeProcesses) async throws -> Void) async throws {
                let nodes = try await DataNodeProcesses(nodes: count)
                defer { nodes.remove() }
                for index in 0..<count { try nodes.start(index) }
                try await nodes.waitUntilWell()
                try await body(nodes)
            }

            private func add(_ nodes: DataNodeProcesses, at index: Int) throws -> String {
                try nodes.done("counter", "add", "visits", "--node", nodes.endpoint(index), "--timeout", "30")
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }

            /// The command must fail in one line that says this.
            private func refused(
                _ text: String, _ words: [String], sourceLocation: SourceLocation = #_sourceLocation
            ) throws {
                let run = try ChildProcess.run(Bench.program, words)
                #expect(run.status == 64, "\(run)", sourceLocation: sourceLocation)
                #expect(run.errors.contains(text), "\(run)", sourceLocation: sourceLocation)
                #expect(run.errors.split(separator: "\n").count == 1, "\(run)", sourceLocation: sourceLocation)
                #expect(run.output.isEmpty, "\(run)", sourceLocation: sourceLocation)
            }

            /// What `journal inspect` says of a stopped node.
            private func inspected(_ folder: String) throws -> String {
                try ChildProcess.output(
                    Bench.program, ["journal", "inspect", "--data", folder, "--store", "counters", "--json"])
            }

            /// Goal: the commands that repair or turn a primary's journal refuse a data node's, whether it runs or not, name
            /// the right command, and leave it as it is (PROTOCOL R-85).
            @Test func aDataNodesJournalIsNotRepaired() async throws {
                try await withNodes(3) { nodes in
                    #expect(try add(nodes, at: 0) == "1")
                    let data = ["--data", nodes.data(2)]
                    let from = ["--from", nodes.endpoint(0)]
                    func tryAll() throws {
                        try refused(#"make it anew with "init --etcd""#, ["recover"] + data + from)
                        try refused(#"make it anew with "init --etcd""#, ["recover", "--anew"] + data + from)
                        try refused(
                            #""cluster promote --accept-loss""#, ["recover", "--accept-loss", "1:1"] + data)
                        try refused(#""cluster handover" gives the post away"#, ["promote", "--yes"] + data)
                        try refused(#""cluster handover" gives the post away"#, ["demote", "--yes"] + data)
                    }
                    try tryAll()
                    nodes.end(2, SIGTERM)
                    let before = try inspected(nodes.data(2))
                    try tryAll()
                    #expect(try inspected(nodes.data(2)) == before)
                    // The folder has lost its etcd: what is in it is a data node's all the same.
                    let folder = NodeFolder(nodes.data(2))
                    let identity = try folder.identity()
                    var other = identity
                    other.etcd = nil
                    try folder.write(other)
                    for words in [["recover", "--anew"] + data + from, ["recover"] + data + from] {
                        let run = try ChildProcess.run(Bench.program, words)
                        #expect(run.status != 0 && run.errors.contains("data node's"), "\(run)")
                    }
                    #expect(try inspected(nodes.data(2)) == before)
                    try folder.write(identity)
                    try nodes.start(2)
                    try await nodes.waitUntilWell()
                    #expect(try add(nodes, at: 2) == "2")
                }
            }

            /// Goal: a backup of a data node, running or stopped, becomes a data node that is another member, never unasked a
            /// primary (PROTOCOL R-2, R-75, R-83).
            @Test func aDataNodesBackupJoinsAsAnotherMember() async throws {
                try await withNodes(3) { nodes in
                    #expect(try add(nodes, at: 0) == "1")
                    let files = ["running", "stopped"].map { nodes.folder + "/" + $0 }
                    _ = try nodes.done("backup", "--data", nodes.data(2), "--to", files[0])
                    nodes.end(2, SIGTERM)
                    _ = try nodes.done("backup", "--data", nodes.data(2), "--to", files[1])
                    #expect(try add(nodes, at: 0) == "2")
                    try FileManager.default.moveItem(atPath: nodes.data(2), toPath: nodes.data(2) + "-before")
                    let etcd = ["--etcd", nodes.etcdEndpoint]
                    for (index, file) in files.enumerated() {
                        #expect(try nodes.done("backup", "show", file).contains("node-2, a data node"))
                        let restore = ["restore", "--from", file, "--data", nodes.data(2)]
                        try refused("say --etcd URL for a data node", restore)
                        #expect(!FileManager.default.fileExists(atPath: nodes.data(2)))
                        let both = try ChildProcess.run(Bench.program, restore + etcd + ["--as-replica"])
                        #expect(
                            both.status == 64 && both.errors.contains("leave --check and --as-replica out"), "\(both)")
                        let run = try ChildProcess.run(Bench.program, restore + etcd)
                        #expect(
                            run.status == 0 && run.output.contains("node-2, a data node, counters through"), "\(run)")
                        let before = try inspected(nodes.data(2))
                        #expect(before.contains(#""adopted""#), "\(before)")
                        try nodes.start(2)
                        try await nodes.waitUntilWell()
                        #expect(try add(nodes, at: 2) == "\(3 + index)")
                        nodes.end(2, SIGTERM)
                        try FileManager.default.removeItem(atPath: nodes.data(2))
                    }
                }
            }

            /// Goal: when all data nodes are lost, a backup goes on alone after an operator has said so; no node leads before
            /// (PROTOCOL R-75).
            @Test func aBackupGoesOnWhenAllAreLost() async throws {
                try await withNodes(2) { nodes in
                    #expect(try add(nodes, at: 0) == "1")
                    let file = nodes.folder + "/one"
                    _ = try nodes.done("backup", "--data", nodes.data(1), "--to", file)
                    #expect(try add(nodes, at: 0) == "2")
                    for index in 0..<2 {
                        nodes.end(index, SIGKILL)
                        try FileManager.default.removeItem(atPath: nodes.data(index))
                    }
                    _ = try nodes.done(
                        "restore", "--from", file, "--data", nodes.data(0), "--node", "node-9", "--etcd",
                        nodes.etcdEndpoint)
                    try nodes.start(0)
                    try await Bench.wait("the end of the leases") {
                        let listed = try nodes.done("cluster", "members", "--data", nodes.data(0), "--json")
                        return listed.contains("node-9")
                            && listed.components(separatedBy: #""isListed":true"#).count == 2
                    }
                    let status = try await NodeFolder(nodes.data(0)).decodedStatus()
                    #expect(status.stores.allSatisfy { $0.dataNode?.role == .standby })
                    let said = try nodes.done(
                        "cluster", "promote", "--data", nodes.data(0), "--accept-loss", "--minimum", "1")
                    #expect(said.contains("node-9 is the primary of counters in epoch "))
                    #expect(try add(nodes, at: 0) == "2", "what came after the backup is lost")
                }
            }
        }
    }
#endif
