import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepHarness
import Testing

extension IntegrationTests {
    /// What a replica takes of a node that forges snapshots (PROTOCOL R-32).
    @Suite(.serialized, .timeLimit(.minutes(10))) struct ForgedSnapshotTests {
        /// Sizes that nobody has, chunks of something else, and contents that were changed under right hashes: the replica
        /// installs none of it, its memory and its folder stay, and it joins as soon as it gets what is right (S9).
        @Test func nothingForgedIsInstalled() async throws {
            try await Bench.withCluster(replicas: 1, start: false) { cluster in
                try cluster.start(0)
                try await Bench.wait("the primary") { await cluster.node(0).isReady() }
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(2_000, to: $0, prefix: "f/") }
                let port = Bench.ports()
                let proxy = try ForgingProxy(port: port, primary: cluster.port)
                defer { proxy.end() }
                let folder = cluster.node(1)
                proxy.set(.immense)
                let replica = try ChildProcess(
                    "joiner", Bench.program,
                    [
                        "serve", "--data", folder.path, "--replica-of", "tcp://127.0.0.1:\(port)", "--listen",
                        cluster.endpoint(1),
                    ], log: cluster.folder + "/joiner.log")
                defer { replica.end(SIGKILL) }
                var largest = 0
                for mode in ForgingProxy.Mode.allCases where mode != .honest {
                    let before = proxy.forged
                    proxy.set(mode)
                    try await Bench.wait("five forgeries of the kind \(mode)") {
                        largest = max(largest, replica.residentBytes ?? 0)
                        return proxy.forged >= before + 5
                    }
                    let stores = try await folder.decodedStatus().stores
                    #expect(replica.isRunning && stores.allSatisfy { $0.phase != .live && $0.sequence == 0 }, "\(mode)")
                    let refused = try #require(stores.first { $0.name == "counters" }?.counters["frames_refused"])
                    #expect(refused > 0, "\(mode): \(stores)")
                }
                print("a replica of a forger took at most \(largest >> 20) MiB; \(proxy.forged) forgeries")
                #expect(largest < 192 << 20)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                proxy.set(.honest)
                try await Bench.wait("the replica to join") { await folder.isReady() }
                let (ours, theirs) = (try await cluster.node(0).decodedStatus(), try await folder.decodedStatus())
                #expect(theirs.stores.allSatisfy { $0.phase == .live && $0.alarms.isEmpty }, "\(theirs)")
                #expect(theirs.stores.map(\.name) == ours.stores.map(\.name))
                let after = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                #expect(Set(names).isSubset(of: after) && after.count <= names.count + 4, "\(names) \(after)")
            }
        }
    }
}
