import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// With its primary killed, a replica as `lockstep init` makes it, of two stores, goes on: it answers reads at once,
    /// and `recover --from` it brings a new folder and an old copy to what it has, for both stores; also when the replica
    /// itself was killed and started again meanwhile (PROTOCOL ).
    @Test func aReplicaServesWhileItsPrimaryIsAway() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(1_000, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGTERM)
            let copy = cluster.folder + "/copy"
            try FileManager.default.copyItem(atPath: cluster.node(0).path, toPath: copy)
            try cluster.start(0)
            try await cluster.waitUntilReady()
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(1_000, to: $0, prefix: "b/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGKILL)
            try await Self.waitUntilAlone(cluster)
            // A mark may have followed.
            let stores = try await cluster.node(1).decodedStatus().stores
            let end = try #require(stores.first { $0.name == "counters" })
            try Self.expectReads(cluster)
            try Self.expectNoSearch(cluster)
            try Self.expectRecovery(of: copy, from: cluster, end: end.sequence)
            let fresh = try Self.freshFolder("fresh", of: cluster)
            try Self.expectRecovery(of: fresh, from: cluster, end: end.sequence)

            cluster.end(1, signal: SIGKILL)
            try cluster.start(1)
            try await Self.waitUntilAlone(cluster)
            try Self.expectReads(cluster)
            let again = try Self.freshFolder("again", of: cluster)
            try Self.expectRecovery(of: again, from: cluster, end: end.sequence)
        }
    }

    /// Two replicas that were pointed at each other follow nobody and say what to do; what they hold is no state of a
    /// cluster, and they answer no read (PROTOCOL ).
    @Test func replicasOfEachOtherSayThatThereIsNoPrimary() async throws {
        try await Bench.withCluster(replicas: 1, start: false) { cluster in
            var children: [ChildProcess] = []
            defer { for child in children { child.end(SIGKILL) } }
            for (own, other) in [(0, 1), (1, 0)] {
                children.append(
                    try ChildProcess(
                        "node-\(own)", Bench.program,
                        [
                            "serve", "--data", cluster.node(own).path, "--listen", cluster.endpoint(own),
                            "--replica-of", cluster.endpoint(other),
                        ], log: cluster.folder + "/node-\(own).log"))
            }
            for (own, other) in [(0, 1), (1, 0)] {
                try await Bench.wait("the alarm") {
                    // Not up yet: asked again.
                    guard let stores = try? await cluster.node(own).decodedStatus().stores else { return false }
                    let text = "\(cluster.endpoint(other)) is a replica; name the primary with --replica-of"
                    return stores.count == 2
                        && stores.allSatisfy {
                            $0.alarms.contains { $0.kind == .noPrimary && $0.text == text } && $0.phase == .connecting
                        }
                }
                let (status, _, errors) = try Bench.lockstep(
                    "counter", "get", "a", "--node", cluster.endpoint(own), "--timeout", "2")
                #expect(status == 69)
                #expect(errors.contains("has not been live yet"), "\(errors)")
            }
        }
    }

    /// Waits until the replica has given its primary up: it has all that was sent to it.
    static func waitUntilAlone(_ cluster: ProcessCluster) async throws {
        try await Bench.wait("the replica to be without a primary") {
            // Not up yet: asked again.
            guard let stores = try? await cluster.node(1).decodedStatus().stores else { return false }
            return stores.count == 2 && stores.allSatisfy { $0.phase == .connecting }
        }
    }

    /// A search that nobody has in memory ends long before its time is over, with what is wrong and status 69.
    private static func expectNoSearch(_ cluster: ProcessCluster) throws {
        let start = ContinuousClock.now
        let found = try Bench.lockstep("search", "query", "new", "--node", cluster.endpoint(1), "--timeout", "60")
        #expect(found.status == 69 && found.errors.contains("the primary is away"), "\(found)")
        #expect(start.duration(to: .now) < .seconds(20))
    }

    private static func expectReads(_ cluster: ProcessCluster) throws {
        let start = ContinuousClock.now
        let (status, output, errors) = try Bench.lockstep("counter", "get", "b/1", "--node", cluster.endpoint(1))
        #expect(status == 0, "\(errors)")
        #expect(output == "1\n")
        #expect(start.duration(to: .now) < .seconds(8), "a read takes no time limit to be answered")
    }

    private static func freshFolder(_ name: String, of cluster: ProcessCluster) throws -> String {
        let path = cluster.folder + "/" + name
        let (status, _, errors) = try Bench.lockstep(
            "init", "--data", path, "--node", name, "--cluster", cluster.cluster)
        #expect(status == 0, "\(errors)")
        return path
    }

    private static func expectRecovery(of folder: String, from cluster: ProcessCluster, end: UInt64) throws {
        let (status, output, errors) = try Bench.lockstep(
            "recover", "--data", folder, "--from", cluster.endpoint(1))
        #expect(status == 0, "\(errors)")
        for store in ["counters", "search"] { #expect(output.contains(store), "\(output)") }
        let inspected = try Bench.lockstep("journal", "inspect", "--data", folder)
        #expect(inspected.output.contains("\(end)"), "\(inspected.output)")
    }
}
