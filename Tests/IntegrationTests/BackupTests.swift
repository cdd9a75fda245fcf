import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Synchronization
import Testing

extension IntegrationTests {
    /// `lockstep backup` of nodes that run, and what `lockstep restore` makes of it (decision 0027).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct BackupTests {
        /// What `backup --json` and `backup show --json` print.
        private struct Report: Decodable {
            var bytes: Int
            var backup: BackupManifest

            init(_ output: String) throws {
                self = try JSONDecoder().decode(Self.self, from: Data(output.utf8))
            }

            func end(of store: String) -> UInt64? { backup.store(named: store)?.end.sequence }
        }

        private struct Digest: Decodable {
            var digest: String
            var sequence: UInt64
        }

        /// What callers saw during a time: one that sends an action when the last was acknowledged, and one that sends
        /// 256 at once.
        private struct Pace: Sendable, CustomStringConvertible {
            /// Between two acknowledgements of the first.
            var longest = Duration.zero
            var count = 0
            var load = 0
            var seconds = 0.0
            var description: String {
                let gap = (longest / .microseconds(100)).rounded() / 10
                let rate = Int(Double(load) / max(seconds, 0.001))
                return "longest gap \(gap) ms in \(count) acknowledgements, beside \(rate) increments a second"
            }
        }

        /// How many counters the state has; for measurements more.
        private static let counterCount =
            ProcessInfo.processInfo.environment["LOCKSTEP_BACKUP_COUNTERS"].flatMap { Int($0) } ?? 20_000

        /// Adds one after the other, until `isOver`.
        private static func write(to counters: RemoteStore<Counters>, until isOver: Flag) async throws -> Pace {
            var pace = Pace()
            let began = ContinuousClock.now
            var last = began
            while !isOver.value.load(ordering: .relaxed) {
                _ = try await counters.send(.add("w/\(pace.count % 500)", by: 1))
                let now = ContinuousClock.now
                pace.longest = max(pace.longest, now - last)
                (last, pace.count) = (now, pace.count + 1)
            }
            pace.seconds = (last - began) / .seconds(1)
            return pace
        }

        /// Adds 256 at once to the counters that are there, until `isOver`; how many.
        private static func load(_ counters: RemoteStore<Counters>, until isOver: Flag) async throws -> Int {
            var count = 0
            while !isOver.value.load(ordering: .relaxed) {
                let part = (0..<256).map { Counters.Action.add("a/\((count + $0) * 7_919 % counterCount)", by: 1) }
                for outcome in try await counters.send(contentsOf: part) { _ = try outcome.get() }
                count += part.count
            }
            return count
        }

        /// Runs `body`, which blocks, while both write.
        private static func pace<Value: Sendable>(
            _ cluster: ProcessCluster, during body: @escaping @Sendable () throws -> Value
        ) async throws -> (Pace, Value) {
            let endpoint = cluster.endpoint(0)
            let isOver = Flag()
            async let loaded = Bench.withClient(of: endpoint) { try await load($0, until: isOver) }
            async let written = Bench.withClient(of: endpoint) { try await write(to: $0, until: isOver) }
            let result = await withCheckedContinuation { (done: CheckedContinuation<Result<Value, any Error>, Never>) in
                Thread.detachNewThread {
                    let result = Result { try body() }
                    isOver.value.store(true, ordering: .relaxed)
                    done.resume(returning: result)
                }
            }
            var pace = try await written
            pace.load = try await loaded
            return (pace, try result.get())
        }

        private final class Flag: Sendable { let value = Atomic(false) }

        private static func backUp(_ node: String, _ file: String, since: String? = nil) throws -> Report {
            var arguments = ["backup", "--data", node, "--to", file, "--json"]
            if let since { arguments += ["--since", since] }
            let done = try ChildProcess.run(Bench.program, arguments)
            #expect(done.status == 0 && Bench.lines(done.errors).isEmpty, "\(done)")
            return try Report(done.output)
        }

        private static func restore(_ files: [String], to folder: String, _ options: String...) throws {
            let done = try ChildProcess.run(
                Bench.program, ["restore", "--data", folder] + files.flatMap { ["--from", $0] } + options)
            #expect(done.status == 0, "\(done)")
            let verified = try Bench.lockstep("journal", "verify", "--data", folder)
            #expect(verified.status == 0, "\(verified)")
        }

        private static func digest(_ folder: String) throws -> Digest {
            let output = try ChildProcess.output(
                Bench.program, ["journal", "state-at", "--data", folder, "--digest-only"])
            return try JSONDecoder().decode(Digest.self, from: Data(output.utf8))
        }

        /// A primary is backed up while it writes, in full and three increments, and restored: what was acknowledged
        /// before the last is there, the digest is the cluster's, and the restored folder serves (PROTOCOL ).
        ///
        /// The checks can fail: the same folder without the last increment has another digest and another sum.
        @Test func aPrimaryIsBackedUpWhileItWrites() async throws {
            try await Bench.withCluster(replicas: 1) { cluster in
                let (node, files) = (cluster.node(0).path, cluster.folder)
                let count = Self.counterCount
                try await Bench.withClient(of: cluster.endpoint(0)) {
                    try await Bench.add(count, to: $0, prefix: "a/", keys: count)
                }
                let alone = try await Self.pace(cluster) { Thread.sleep(forTimeInterval: 5) }.0
                let (beside, reports) = try await Self.pace(cluster) {
                    try [("full", nil), ("one", "full"), ("two", "one")].map { name, since in
                        let began = ContinuousClock.now
                        let report = try Self.backUp(node, files + "/" + name, since: since.map { files + "/" + $0 })
                        let seconds = (ContinuousClock.now - began) / .seconds(1)
                        let part = report.backup.stores[0].isWhole ? "whole" : "batches since"
                        print("\(name): \(report.bytes) bytes, counters \(part), in \(seconds) s")
                        return report
                    }
                }
                print("\(count) counters, without a backup: \(alone)")
                print("\(count) counters, during three:     \(beside)")
                #expect(beside.count > 0 && beside.longest < .seconds(5))
                let at = reports.compactMap { $0.end(of: "counters") }
                #expect(at.count == 3 && at == at.sorted() && at[0] < at[2], "\(at)")
                #expect(reports.allSatisfy { $0.backup.stores.map(\.name) == ["counters", "search"] })
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(500, to: $0, prefix: "b/") }
                let present = try await cluster.waitUntilEqual()
                _ = try Self.backUp(node, files + "/three", since: files + "/two")
                let all = ["full", "one", "two", "three"].map { files + "/" + $0 }
                try Self.restore(all, to: files + "/restored")
                try Self.restore(all.dropLast(), to: files + "/short")
                // Sessions of clients come and go, with entries of their own, so the place is at or after that one.
                #expect(try Self.digest(files + "/restored").sequence >= present.sequence)
                #expect(try Self.digest(files + "/short").sequence < present.sequence)
                cluster.endAll(signal: SIGTERM)
                try await Self.serve(
                    files + "/restored",
                    sums: [
                        "a/": count + alone.load + beside.load, "b/": 500, "w/": alone.count + beside.count,
                    ])
                try await Self.serve(files + "/short", sums: ["b/": 0])
            }
        }

        /// Serves a restored primary and compares sums of counters.
        private static func serve(_ folder: String, sums: [String: Int]) async throws {
            let endpoint = "tcp://127.0.0.1:\(Bench.ports(10))"
            let served = try ChildProcess(
                "restored", Bench.program,
                ["serve", "--data", folder, "--listen", endpoint, "--audience-timeout", "0.2"],
                log: folder + ".log")
            defer { served.end(SIGTERM) }
            let node = NodeFolder(folder)
            try await Bench.wait("the restored primary") { await node.isReady() }
            try await Bench.withClient(of: endpoint) { counters in
                for (prefix, sum) in sums.sorted(by: { $0.key < $1.key }) {
                    let found = try await Bench.sum(counters, prefix: prefix)
                    #expect(found == Int64(sum), "\(prefix) of \(folder)")
                }
            }
        }

        /// At rest the restored state has the digest of the nodes, of a backup of the running primary, of the running
        /// replica and of the stopped primary alike; a replica's backup comes back as a replica under another name.
        @Test func everyNodeIsBackedUpWithTheSameState() async throws {
            try await Bench.withCluster(replicas: 1) { cluster in
                let files = cluster.folder
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(5_000, to: $0, prefix: "a/") }
                let present = try await cluster.waitUntilEqual()
                for (name, index) in [("primary", 0), ("replica", 1)] {
                    let report = try Self.backUp(cluster.node(index).path, files + "/of-\(name)")
                    // A mark may have followed.
                    #expect(report.end(of: "counters") ?? 0 >= present.sequence && report.backup.role == name)
                    let shown = try Report(try Bench.lockstep("backup", "show", files + "/of-\(name)", "--json").output)
                    #expect(shown.backup == report.backup && shown.bytes == report.bytes)
                    try Self.restore(
                        [files + "/of-\(name)"], to: files + "/from-\(name)", "--node", "node-\(name)", "--as-replica")
                    #expect(try Self.digest(files + "/from-\(name)").digest == present.digest)
                    try await Self.follow(files + "/from-\(name)", cluster)
                }
                _ = try await cluster.waitUntilEqual()
                cluster.endAll(signal: SIGKILL)
                let stopped = try Self.backUp(cluster.node(0).path, files + "/of-stopped")
                try Self.restore([files + "/of-stopped"], to: files + "/from-stopped")
                let (own, restored) = (try Self.digest(cluster.node(0).path), try Self.digest(files + "/from-stopped"))
                #expect(own.digest == restored.digest && own.sequence == stopped.end(of: "counters"))
                let checked = try Bench.lockstep("restore", "--check", "--from", files + "/of-stopped")
                #expect(checked.status == 0 && checked.output.hasPrefix("whole, counters through "), "\(checked)")
            }
        }

        /// A restored folder is served as a replica of the cluster, and catches up.
        private static func follow(_ folder: String, _ cluster: ProcessCluster) async throws {
            let served = try ChildProcess(
                "restored", Bench.program,
                [
                    "serve", "--data", folder, "--replica-of", cluster.endpoint(0), "--listen",
                    "tcp://127.0.0.1:\(Bench.ports(10))",
                ], log: folder + ".log")
            defer { served.end(SIGTERM) }
            let node = NodeFolder(folder)
            try await Bench.wait("the restored replica") { await node.isReady() }
            let status = try await node.decodedStatus()
            #expect(status.stores.allSatisfy { $0.phase == .live && $0.alarms.isEmpty }, "\(status)")
        }

        /// A primary's old state, restored, meets a replica that knows more, says PRIMARY_BEHIND, and is recovered
        /// (PROTOCOL ).
        @Test func aRestoredPrimaryThatIsBehindSaysSo() async throws {
            try await Bench.withCluster(replicas: 1) { cluster in
                let node = cluster.node(0)
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
                _ = try await cluster.waitUntilEqual()
                _ = try Self.backUp(node.path, cluster.folder + "/full")
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
                _ = try await cluster.waitUntilEqual()
                cluster.end(0, signal: SIGTERM)
                try FileManager.default.moveItem(atPath: node.path, toPath: node.path + "-before")
                try Self.restore([cluster.folder + "/full"], to: node.path)
                // From its first moment on somebody wants something of it, and gets nothing.
                let endpoint = cluster.endpoint(0)
                let asking = Task.detached {
                    var answers = 0
                    while !Task.isCancelled {
                        let add = try Bench.lockstep("counter", "add", "late", "--node", endpoint, "--timeout", "1")
                        answers += add.status == 0 ? 1 : 0
                    }
                    return answers
                }
                // It waits for its replica as long as a slow machine may take.
                try cluster.start(0, NodeCommand(["serve", "--audience-timeout", "60"]))
                try await Bench.wait("the alarm") {
                    let stores = try? await node.decodedStatus().stores  // Not up yet: asked again.
                    return stores?.first { $0.name == "counters" }?.alarms.contains { $0.kind == .primaryBehind }
                        ?? false
                }
                asking.cancel()
                #expect(try await asking.value == 0, "what it acknowledges is lost when it is recovered")
                cluster.end(0, signal: SIGTERM)
                let recovered = try Bench.lockstep("recover", "--data", node.path, "--from", cluster.endpoint(1))
                #expect(recovered.status == 0, "\(recovered)")
                try cluster.start(0)
                try await cluster.waitUntilReady()
                _ = try await cluster.waitUntilEqual()
                let sum = try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.sum($0, prefix: "a/") }
                #expect(sum == 600)
            }
        }

        /// A command that was killed at any moment leaves no backup under the name that was asked for, or a whole one;
        /// the next command is not disturbed by what is left.
        @Test func aKilledBackupLeavesNothingThatIsTakenForWhole() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let (node, file) = (cluster.node(0).path, cluster.folder + "/full")
                try await Bench.withClient(of: cluster.endpoint(0)) {
                    try await Bench.add(60_000, to: $0, prefix: "a/", keys: 60_000)
                }
                var (killed, begun) = (0, 0)
                for step in 0..<40 {
                    let backup = try ChildProcess(
                        "backup", Bench.program, ["backup", "--data", node, "--to", file], log: cluster.folder + "/log")
                    // The moments are spread over what a backup takes; each is one to be killed at.
                    try await Task.sleep(for: .milliseconds(10 + 12 * step))
                    let isRunning = backup.isRunning
                    backup.end(SIGKILL)
                    killed += isRunning ? 1 : 0
                    begun += FileManager.default.fileExists(atPath: file + ".part") ? 1 : 0
                    guard FileManager.default.fileExists(atPath: file) else {
                        #expect(try Bench.lockstep("backup", "show", file).status != 0)
                        continue
                    }
                    #expect(try Bench.lockstep("backup", "show", file).status == 0)
                    try FileManager.default.removeItem(atPath: file)
                }
                #expect(killed > 0 && begun > 0, "\(killed) were killed, \(begun) of them had begun the file")
                _ = try Self.backUp(node, file)
                #expect(!FileManager.default.fileExists(atPath: file + ".part"))
            }
        }

        /// An increment does not take the place of the backup that it goes on from, whichever path leads there.
        @Test func anIncrementDoesNotReplaceItsBackup() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let (file, files) = (cluster.folder + "/full", FileManager.default)
                _ = try Self.backUp(cluster.node(0).path, file)
                let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
                try files.createSymbolicLink(atPath: file + ".link", withDestinationPath: file)
                try files.linkItem(atPath: file, toPath: file + ".name")
                for since in [file, cluster.folder + "/./full", file + ".link", file + ".name"] {
                    let done = try Bench.lockstep(
                        "backup", "--data", cluster.node(0).path, "--to", file, "--since", since, "--overwrite")
                    #expect(done.status == 64 && done.errors.contains("name another file with --to"), "\(done)")
                    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes, "since \(since)")
                }
            }
        }

        /// Wrong input gets one line that says what to do, and its exit status.
        @Test func whatCannotBeIsSaidInOneLine() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                let (node, file) = (cluster.node(0).path, cluster.folder + "/full")
                _ = try Self.backUp(node, file)
                let cases: [([String], Int32, String)] = [
                    (["backup", "--data", node, "--to", file], 1, "say --overwrite"),
                    (["backup", "--data", node, "--to", file + "2", "--store", "votes"], 64, "has no store votes"),
                    (["backup", "--data", cluster.folder, "--to", file + "2"], 64, "is not a node's folder"),
                    (
                        ["backup", "--data", node, "--to", file + "2", "--since", node + "/counters.sqlite"], 65,
                        "is no backup"
                    ),
                    (["backup", "show", node + "/node.json"], 65, "is no backup"),
                    (["backup", "show", file + "3"], 64, "There is no backup"),
                    (["restore", "--from", file, "--data", node], 64, "is not empty"),
                    (["restore", "--from", file], 64, "--data FOLDER or --check"),
                    (["restore", "--from", file, "--from", file, "--check"], 1, "is a full backup"),
                    (["restore", "--from", file, "--data", node + "2", "--node", "a b"], 64, "is not a node's name"),
                ]
                for (arguments, status, text) in cases {
                    let done = try ChildProcess.run(Bench.program, arguments)
                    #expect(done.status == status && done.errors.contains(text), "\(arguments): \(done)")
                    if status != 64 { #expect(Bench.lines(done.errors).count == 1, "\(done)") }
                }
                #expect(!FileManager.default.fileExists(atPath: node + "2"))
                #expect(try Bench.lockstep("backup", "--data", node, "--to", file, "--overwrite").status == 0)
            }
        }
    }
}
