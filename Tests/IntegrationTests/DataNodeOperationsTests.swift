#if Etcd
    import Foundation
    import LockstepFolders
    import LockstepHarness
    import LockstepNode
    import Testing

    extension IntegrationTests {
        /// What an operator does to data nodes, by the commands of docs/FAILOVER.md.
        @Suite(.serialized, .timeLimit(.minutes(8))) struct DataNodeOperationsTests {
            func withNodes(
                _ count: Int, minimum: Int = 2, _ body: (DataNodeProcesses) async throws -> Void
            ) async throws {
                let nodes = try await DataNodeProcesses(nodes: count, minimum: minimum)
                defer { nodes.remove() }
                try await body(nodes)
            }

            /// All run, and are members.
            func start(_ nodes: DataNodeProcesses, _ indices: [Int]) async throws {
                for index in indices { try nodes.start(index) }
                try await nodes.waitUntilWell()
            }

            func add(_ endpoint: String) throws -> String {
                let run = try Bench.lockstep("counter", "add", "visits", "--node", endpoint, "--timeout", "30")
                // What it waits for it says beside the answer.
                return (run.status == 0 ? run.output : run.errors).trimmingCharacters(in: .whitespacesAndNewlines)
            }

            /// The command must fail with this status, and say this.
            private func refused(
                _ status: Int32, _ text: String, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
            ) throws {
                let run = try ChildProcess.run(Bench.program, words)
                #expect(run.status == status, "\(run)", sourceLocation: sourceLocation)
                #expect(run.errors.contains(text), "\(run)", sourceLocation: sourceLocation)
                #expect(Bench.lines(run.errors).count == 1, "\(run)", sourceLocation: sourceLocation)
            }

            /// Runs a command that gives posts away, again as long as it says that one stays: who is asked has 500 ms.
            ///
            /// Returns what it prints, or nil if who was asked took the post after that.
            func giveAway(_ words: String...) async throws -> String? {
                let end = ContinuousClock.now + .seconds(30)
                let gone = ["this node is not the primary of", "the node leads no store"]
                var stayed = false
                while true {
                    let run = try ChildProcess.run(Bench.program, ["cluster"] + words)
                    if run.status == 0 { return run.output }
                    if stayed, gone.contains(where: run.errors.contains) { return nil }
                    stayed = run.errors.contains(/the post of [a-z]+ stays:/)
                    guard stayed, ContinuousClock.now < end else {
                        throw LockstepError(.failed, "\(words): \(run)")
                    }
                    try await Task.sleep(for: .milliseconds(200))  // What keeps the next node busy may pass.
                }
            }

            /// Waits until etcd does not list a node any more, which it does for some seconds after a kill.
            private func waitUntilUnlisted(_ nodes: DataNodeProcesses, _ index: Int, from other: Int) async throws {
                try await Bench.wait("the end of the lease") {
                    try !nodes.done("cluster", "members", "--data", nodes.data(other), "--json")
                        .contains(nodes.endpoint(index))
                }
            }

            /// Goal: posts are handed over and spread while callers go on; what cannot be is said (PROTOCOL R-90).
            @Test func postsAreHandedOver() async throws {
                try await withNodes(3) { nodes in
                    try await start(nodes, [0, 1, 2])
                    #expect(try add(nodes.endpoint(1)) == "1")
                    let first = try #require(try nodes.primary())
                    let next = (first + 1) % 3
                    let said = try await giveAway(
                        "handover", "--data", nodes.data(first), "counters", "--to", "node-\(next)")
                    #expect(said?.contains("counters is led by node-\(next) now, after ") ?? true)
                    #expect(try nodes.primary() == next)
                    #expect(try add(nodes.endpoint(first)) == "2")
                    try refused(
                        1, "this node is not the primary of counters: node-\(next) is", "cluster", "handover", "--data",
                        nodes.data(first), "counters")
                    try refused(
                        1, "node-7 is not another member", "cluster", "handover", "--data", nodes.data(next),
                        "counters", "--to", "node-7")
                    try await nodes.waitUntilWell()
                    _ = try await giveAway("handover", "--data", nodes.data(next))
                    #expect(try nodes.primary() != next)
                    for index in 0..<3 {
                        _ = try await giveAway("balance", "--data", nodes.data(index))
                    }
                    #expect(try add(nodes.endpoint(next)) == "3")
                }
            }

            /// Goal: the rest of a set goes on after an operator has taken out who is gone for good (PROTOCOL R-76).
            @Test func aLostNodeIsRemoved() async throws {
                try await withNodes(2) { nodes in
                    try await start(nodes, [0, 1])
                    #expect(try add(nodes.endpoint(0)) == "1")
                    let first = try #require(try nodes.primary())
                    let other = 1 - first
                    try refused(
                        1, "node-\(other) is there", "cluster", "remove", "node-\(other)", "--data", nodes.data(first),
                        "--minimum", "1")
                    nodes.end(other, SIGKILL)
                    try await waitUntilUnlisted(nodes, other, from: first)
                    try refused(
                        1, "--minimum 1", "cluster", "remove", "node-\(other)", "--data", nodes.data(first))
                    _ = try nodes.done(
                        "cluster", "remove", "node-\(other)", "--data", nodes.data(first), "--minimum", "1")
                    #expect(try add(nodes.endpoint(first)) == "2")
                    try refused(
                        1, "node-\(other) is in no set", "cluster", "remove", "node-\(other)", "--data",
                        nodes.data(first))
                }
            }

            /// Goal: the minimum of a running cluster is raised when others have joined, and lowered when one is lost; what
            /// would stop the store is refused (PROTOCOL ).
            @Test func theMinimumIsChanged() async throws {
                try await withNodes(2, minimum: 1) { nodes in
                    func change(_ minimum: Int, _ stores: String...) throws -> String {
                        let words = ["cluster", "minimum", "\(minimum)", "--data", nodes.data(0)] + stores
                        let run = try ChildProcess.run(Bench.program, words)
                        return run.status == 0 ? run.output : run.errors
                    }
                    func known(_ index: Int) async throws -> [String: Int] {
                        let status = try await NodeFolder(nodes.data(index)).decodedStatus()
                        return Dictionary(
                            uniqueKeysWithValues: status.stores.compactMap { store in
                                store.dataNode?.minimum.map { (store.name, $0) }
                            })
                    }
                    try await start(nodes, [0])
                    try refused(
                        1, "counters has 1 of 2 members (node-0)", "cluster", "minimum", "2", "--data", nodes.data(0))
                    for wrong in ["0", "17", "two"] {
                        let run = try Bench.lockstep("cluster", "minimum", wrong, "--data", nodes.data(0))
                        #expect(run.status == 64 && run.errors.contains("a whole number from 1 to 16"), "\(run)")
                    }
                    try await start(nodes, [1])
                    // Asked again while etcd is busy.
                    try await Bench.wait("the second member") {
                        try change(2, "counters").contains("the minimum of counters is 2 now, of node-0, node-1")
                    }
                    // The command has waited until the primary goes by it.
                    #expect(try await known(0) == ["counters": 2, "search": 1])
                    #expect(try change(2, "counters").contains("counters has the minimum 2 already"))
                    #expect(try add(nodes.endpoint(0)) == "1")
                    nodes.end(1, SIGKILL)
                    let waiting = try Bench.lockstep(
                        "counter", "add", "visits", "--node", nodes.endpoint(0), "--timeout", "3")
                    #expect(waiting.status != 0, "nothing is acknowledged with one of two: \(waiting)")
                    #expect(try change(1).contains("the minimum of counters is 1 now"))
                    // Who hears no other node removes nobody for 7 s.
                    try await waitUntilUnlisted(nodes, 1, from: 0)
                    let removal = try Bench.lockstep("cluster", "remove", "node-1", "--data", nodes.data(0))
                    #expect(removal.status == 0 || removal.errors.contains("node-1 is in no set"), "\(removal)")
                    #expect(["2", "3"].contains(try add(nodes.endpoint(0))), "what waited may have come before")
                }
            }

            /// Goal: when the set is gone, an operator who accepts the loss lets another node go on (PROTOCOL R-75).
            @Test func aNodeIsPromotedWhenTheSetIsGone() async throws {
                try await withNodes(3, minimum: 1) { nodes in
                    try await start(nodes, [0, 1, 2])
                    #expect(try add(nodes.endpoint(0)) == "1")
                    let first = try #require(try nodes.primary())
                    let (second, last) = ((first + 1) % 3, (first + 2) % 3)
                    // The last one misses something, and leaves the set.
                    nodes.end(last, SIGTERM)
                    #expect(try add(nodes.endpoint(first)) == "2")
                    nodes.end(second, SIGTERM)
                    nodes.end(first, SIGKILL)
                    try nodes.start(last)
                    try await waitUntilUnlisted(nodes, first, from: last)
                    try refused(64, "say --accept-loss", "cluster", "promote", "--data", nodes.data(last))
                    let said = try nodes.done(
                        "cluster", "promote", "--data", nodes.data(last), "--accept-loss", "counters")
                    #expect(said.contains("node-\(last) is the primary of counters in epoch "))
                    #expect(try add(nodes.endpoint(last)) == "2", "what only the others had is lost")
                    // A command that has ended between two stores goes on where it was.
                    let rest = try nodes.done("cluster", "promote", "--data", nodes.data(last), "--accept-loss")
                    #expect(rest.contains("counters is passed over: node-\(last) is its primary already"))
                    #expect(rest.contains("node-\(last) is the primary of search in epoch "))
                    for stores in [[], ["counters"]] {
                        let again = ["cluster", "promote", "--data", nodes.data(last), "--accept-loss"] + stores
                        let run = try ChildProcess.run(Bench.program, again)
                        #expect(run.status == 1 && run.errors.contains("is the primary of counters already"), "\(run)")
                    }
                }
            }

            /// Goal: a cluster of one primary goes over to etcd and back without losing an entry (PROTOCOL R-85).
            @Test func aPrimaryIsAdoptedAndLeaves() async throws {
                try await withNodes(1) { nodes in
                    let data = nodes.folder + "/primary"
                    let endpoint = "tcp://127.0.0.1:\(Bench.ports())"
                    func serving(_ body: () throws -> Void) async throws {
                        let process = try ChildProcess(
                            "primary", Bench.program, ["serve", "--data", data, "--listen", endpoint],
                            log: nodes.folder + "/primary.log")
                        defer { process.end(SIGTERM) }
                        try await Bench.wait("the primary") { await NodeFolder(data).isReady() }
                        try body()
                    }
                    let adopt = ["cluster", "adopt", "--data", data, "--etcd", nodes.etcdEndpoint, "--minimum", "1"]
                    _ = try nodes.done("init", "--data", data)
                    try await serving {
                        for value in 1...3 { #expect(try add(endpoint) == "\(value)") }
                        let run = try ChildProcess.run(Bench.program, adopt)
                        #expect(run.status != 0 && run.errors.contains("in use"), "\(run)")
                    }
                    for _ in 0..<2 {
                        let run = try ChildProcess.run(Bench.program, adopt)
                        #expect(run.status == 0, "\(run)")
                    }
                    try refused(
                        1, "\"cluster minimum\"", "cluster", "adopt", "--data", data, "--etcd", nodes.etcdEndpoint,
                        "--minimum", "2")
                    try await serving {
                        let sum = try add(endpoint)
                        #expect(sum == "4")
                        try refused(1, "in use", "cluster", "leave", "--data", data, "--accept-loss")
                    }
                    let late = try ChildProcess.run(Bench.program, adopt)
                    #expect(
                        late.status == 1 && late.errors.contains("etcd has a record of counters already"), "\(late)")
                    try refused(64, "say --accept-loss", "cluster", "leave", "--data", data)
                    _ = try nodes.done("cluster", "leave", "--data", data, "--accept-loss")
                    try await serving {
                        let sum = try add(endpoint)
                        #expect(sum == "5")
                    }
                    try refused(64, "is no data node's folder", "cluster", "status", "--data", data)
                    // A replica's folder is not adopted.
                    let replica = nodes.folder + "/replica"
                    let cluster = try NodeFolder(data).identity().cluster
                    _ = try nodes.done("init", "--data", replica, "--cluster", cluster)
                    let process = try ChildProcess(
                        "replica", Bench.program,
                        [
                            "serve", "--data", replica, "--replica-of", endpoint, "--listen",
                            "tcp://127.0.0.1:\(Bench.ports(10))",
                        ], log: nodes.folder + "/replica.log")
                    try await serving {}
                    process.end(SIGTERM)
                    try refused(
                        1, "was served as a replica", "cluster", "adopt", "--data", replica, "--etcd",
                        nodes.etcdEndpoint)
                }
            }
        }
    }
#endif
