import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// A primary that dies between its journal's sync and its first word gives the retry the reply of the log, byte by
    /// byte, and the action takes effect once (PROTOCOL ).
    ///
    /// strace kills the primary at its next call of `sendto`, which is where a RESULT leaves. Other frames leave there
    /// too, so a round in which the entry did not reach the journal is tried again.
    @Test func aPrimaryKilledBetweenJournalAndReplyAnswersTheRetryAlike() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            var isHit = false
            for round in 0..<10 where !isHit {
                let name = "round-\(round)"
                let child = try #require(cluster.child(0))
                let (endpoint, process) = (cluster.endpoint(0), child.identifier)
                let task = Task {
                    try await Bench.withClient(of: endpoint) { counters in
                        _ = try await counters.send(.add(name, by: 1))  // The session is open now.
                        try Self.killAtNextSend(of: process)
                        return try await counters.send(.add(name, by: 41), timeout: .seconds(30))
                    }
                }
                try await Bench.wait("the primary to be killed") { !child.isRunning }
                let logged = try Self.entries(of: cluster.node(0).path).last {
                    $0.contains("added(\\\"\(name)\\\", 41)")
                }
                cluster.end(0, signal: SIGKILL)
                try cluster.start(0)
                let receipt = try await task.value
                #expect(receipt.reply == .value(42))
                guard let logged else { continue }
                isHit = true
                // The reply's bytes in the log are those that the client decoded.
                var writer = ByteWriter()
                Counters.Reply.value(42).encode(into: &writer)
                let bytes = writer.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                #expect(logged.contains("\"reply\":\"\(bytes)\""))
                #expect(logged.contains("\"sequence\":\(receipt.place.sequence)"))
                let (_, output, _) = try Bench.lockstep("counter", "get", name, "--node", cluster.endpoint(0))
                #expect(output == "42\n")
            }
            #expect(isHit, "in no round did the primary die between journal and reply")
        }
    }

    private static func killAtNextSend(of process: Int32) throws {
        let log = NSTemporaryDirectory() + "strace-\(process)"
        let strace = try ChildProcess(
            "strace", "/usr/bin/strace",
            ["-f", "-qq", "-e", "trace=sendto", "-e", "inject=sendto:signal=KILL:when=1", "-p", "\(process)"], log: log)
        // strace is attached when the kernel says so.
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
            if status.isEmpty || !status.contains("TracerPid:\t0\n") { return }
            usleep(1_000)
        }
        strace.end(SIGKILL)
        throw LockstepError(.unavailable, "strace does not attach; deploy/setup --test installs it")
    }

    private static func entries(of folder: String) throws -> [String] {
        let (status, output, errors) = try Bench.lockstep("journal", "dump", "--data", folder)
        guard status == 0 else { throw LockstepError(.unavailable, errors) }
        return output.split(separator: "\n").map(String.init)
    }

    /// An old copy of the primary's folder is put back while a replica is ahead: the primary says PRIMARY_BEHIND and
    /// admits nothing, the replica says AHEAD and keeps what it has, and `recover --from` brings everything back
    /// (PROTOCOL ).
    @Test func anOldCopyOfThePrimaryIsRecoveredFromAReplica() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(1_000, to: $0, prefix: "old/") }
            try await Self.stopAndCopy(cluster)
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(1_000, to: $0, prefix: "new/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGKILL)
            // A mark may have followed.
            try await Self.waitUntilAlone(cluster)
            let before = try #require(try await cluster.node(1).decodedStatus(digests: true).stores.first)
            try FileManager.default.removeItem(atPath: cluster.node(0).path)
            try FileManager.default.copyItem(atPath: cluster.folder + "/copy", toPath: cluster.node(0).path)
            try cluster.start(0)
            try await Self.expectBehindAndAhead(cluster, primary: cluster.node(0))
            let refused = try Bench.lockstep("counter", "add", "old/1", "--node", cluster.endpoint(0), "--timeout", "3")
            #expect(refused.status != 0)
            #expect(Bench.lines(refused.errors).count == 1, "\(refused.errors)")
            let kept = try #require(try await cluster.node(1).decodedStatus(digests: true).stores.first)
            #expect(kept.sequence == before.sequence && kept.digest == before.digest, "the replica keeps what it has")

            cluster.end(0, signal: SIGTERM)
            let recovered = try Bench.lockstep(
                "recover", "--data", cluster.node(0).path, "--from", cluster.endpoint(1), "--json")
            #expect(recovered.status == 0, "\(recovered.errors)")
            try cluster.start(0)
            try await cluster.waitUntilReady()
            let after = try await cluster.waitUntilEqual()
            #expect(after.sequence > before.sequence)
            let sum = try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.sum($0, prefix: "") }
            #expect(sum == 2_000)
            #expect(try Bench.lockstep("counter", "add", "old/1", "--node", cluster.endpoint(0)).status == 0)
        }
    }

    /// A copy of the primary's folder that is started as a second primary is told by a replica that knows more, and
    /// what it had admitted before is kept aside by `recover --from` (PROTOCOL R-41).
    @Test func aCopyStartedAsASecondPrimaryIsFound() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(500, to: $0, prefix: "both/") }
            try await Self.stopAndCopy(cluster)
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(500, to: $0, prefix: "first/") }
            _ = try await cluster.waitUntilEqual()
            // Both primaries run; the second admits until a replica that knows more comes to it.
            cluster.end(1, signal: SIGTERM)
            let copy = NodeFolder(cluster.folder + "/copy")
            let second = try ChildProcess(
                "second", Bench.program, ["serve", "--data", copy.path, "--listen", cluster.endpoint(5)],
                log: cluster.folder + "/second.log")
            defer { second.end(SIGKILL) }
            try await Bench.wait("the second primary") { await copy.isReady() }
            #expect(try Bench.lockstep("counter", "add", "second/1", "--node", cluster.endpoint(5)).status == 0)
            let replica = try ChildProcess(
                "moved", Bench.program,
                [
                    "serve", "--data", cluster.node(1).path, "--replica-of", cluster.endpoint(5), "--listen",
                    cluster.endpoint(1),
                ], log: cluster.folder + "/moved.log")
            defer { replica.end(SIGKILL) }
            try await Self.expectBehindAndAhead(cluster, primary: copy)
            second.end(SIGTERM)
            let recovered = try Bench.lockstep("recover", "--data", copy.path, "--from", cluster.endpoint(1))
            #expect(recovered.status == 0, "\(recovered.errors)")
            let inspect = try Bench.lockstep("journal", "inspect", "--data", copy.path)
            let words = try #require(recovered.output.split(separator: "\n").first { $0.hasPrefix("kept aside") })
            #expect(inspect.output.contains(words + ", in "), "\(recovered) \(inspect)")
            // What only the second primary had can be read, store by store, with the reason.
            let kept = try Bench.lockstep("journal", "dump", "--data", copy.path, "--kept-aside")
            let lines = kept.output.split(separator: "\n").filter { $0.contains("second/1") }
            #expect(lines.count == 1 && lines.allSatisfy { $0.contains("\"keptAside\":\"recovered from") }, "\(kept)")
            #expect(lines.allSatisfy { $0.contains("\"store\":\"counters\"") }, "\(lines)")
            let again = try ChildProcess(
                "second", Bench.program, ["serve", "--data", copy.path, "--listen", cluster.endpoint(5)],
                log: cluster.folder + "/second.log")
            defer { again.end(SIGKILL) }
            try await Bench.wait("both to be ready") {
                let isPrimaryReady = await copy.isReady()
                let isReplicaReady = await cluster.node(1).isReady()
                return isPrimaryReady && isReplicaReady
            }
            let sum = try await Bench.withClient(of: cluster.endpoint(5)) { try await Bench.sum($0, prefix: "") }
            #expect(sum == 1_000, "what the second primary admitted alone is kept aside")
        }
    }

    /// Ends the primary cleanly, copies its folder, and starts it again.
    private static func stopAndCopy(_ cluster: ProcessCluster) async throws {
        cluster.end(0, signal: SIGTERM)
        try FileManager.default.copyItem(atPath: cluster.node(0).path, toPath: cluster.folder + "/copy")
        try cluster.start(0)
        try await cluster.waitUntilReady()
    }

    private static func expectBehindAndAhead(_ cluster: ProcessCluster, primary: NodeFolder) async throws {
        try await Bench.wait("the primary to be behind") {
            (try? await primary.decodedStatus().stores.first?.phase) == .behind
        }
        try await Bench.wait("the replica to be ahead") {
            (try? await cluster.node(1).decodedStatus().stores.first?.phase) == .ahead
        }
        let primaryAlarms = try await primary.decodedStatus().stores.first?.alarms ?? []
        #expect(primaryAlarms.contains { $0.kind == .primaryBehind }, "\(primaryAlarms)")
        let replicaAlarms = try await cluster.node(1).decodedStatus().stores.first?.alarms ?? []
        #expect(replicaAlarms.contains { $0.kind == .ahead }, "\(replicaAlarms)")
    }

    /// The demonstration of deploy/up: a primary that is killed under load loses nothing (PROTOCOL ).
    @Test func theDemonstrationPasses() throws {
        let port = Bench.ports()
        let (status, output, errors) = try Bench.lab("demo", "--kills", "3", "--port", "\(port)")
        #expect(status == 0, "\(output) \(errors)")
        #expect(output.contains("passed"))
    }
}
