import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// `lockstep backup` and `lockstep restore` of nodes with keys, of which a backup has none (docs/SECURITY.md).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct KeyedBackupTests {
        /// A folder that is restored with keys notes them, and is served to those alone who are in the list; what cannot
        /// be noted is refused, and nothing is made.
        @Test func aRestoredNodeHasItsKeys() async throws {
            try await Bench.withCluster(replicas: 0, keys: true) { cluster in
                let (node, file) = (cluster.node(0), cluster.folder + "/full")
                let writer = try KeyedClient("web-1", "writer", of: cluster)
                #expect(try writer.run("counter", "add", "visits").output == "1\n")
                let backup = try Bench.lockstep("backup", "--data", node.path, "--to", file)
                #expect(backup.status == 0, "\(backup)")
                cluster.end(0, signal: SIGTERM)
                let key = node.path + "-before/node.key"
                try FileManager.default.moveItem(atPath: node.path, toPath: node.path + "-before")
                func restore(_ words: [String]) throws -> (status: Int32, output: String, errors: String) {
                    try ChildProcess.run(Bench.program, ["restore", "--from", file] + words)
                }
                let (data, list) = (["--data", node.path], ["--access", cluster.accessList])
                let wrong: [([String], String)] = [
                    (data + ["--keys", key], "name it with --access"),
                    (data + ["--keys", writer.key] + list, "has the keys of web-1"),
                    (data + ["--keys", key, "--access", cluster.folder + "/none"], "/none cannot be used"),
                    (["--check"] + list, "leave --keys and --access out"),
                ]
                for (words, text) in wrong {
                    let refused = try restore(words)
                    #expect(refused.status == 64 && refused.errors.contains(text), "\(words): \(refused)")
                    #expect(!FileManager.default.fileExists(atPath: node.path), "\(words)")
                }
                let restored = try restore(data + ["--keys", key] + list)
                #expect(restored.status == 0, "\(restored)")
                #expect(restored.output.contains("\nkey lockstep-public 1 primary "), "\(restored)")
                let identity = try node.identity()
                #expect(identity.keys == key && identity.access == cluster.accessList)
                try cluster.start(0)
                try await cluster.waitUntilReady()
                #expect(try writer.run("counter", "add", "visits").output == "2\n")
                let plain = try Bench.lockstep(
                    "counter", "get", "visits", "--node", cluster.endpoint(0), "--timeout", "2")
                #expect(plain.status == 69, "nobody without keys is served: \(plain)")
                // Where the key is lost, a new one is made in the folder.
                let other = try restore(["--data", node.path + "-other"] + list)
                #expect(other.status == 0, "\(other)")
                #expect(try NodeFolder(node.path + "-other").identity().keys == "node.key")
                let made = try KeyFile(reading: node.path + "-other/node.key")
                #expect(other.output.contains("\nkey \(PublicKeyLine(made))\n"), "\(other)")
            }
        }

        /// A node that has its keys by the configuration of `serve`, and notes none, is backed up with the same files.
        @Test func aNodeWithKeysOfItsConfigurationIsBackedUp() async throws {
            try await Bench.withCluster(replicas: 0, start: false, keys: true) { cluster in
                let (node, file) = (cluster.node(0), cluster.folder + "/full")
                var identity = try node.identity()
                identity.keys = nil
                identity.access = nil
                try node.write(identity)
                let words = ["--keys", node.path + "/node.key", "--access", cluster.accessList]
                try cluster.start(0, NodeCommand(["serve"] + words))
                try await cluster.waitUntilReady()
                let backup = try ChildProcess.run(
                    Bench.program, ["backup", "--data", node.path, "--to", file] + words)
                #expect(backup.status == 0 && backup.output.contains("counters through"), "\(backup)")
                #expect(try Bench.lockstep("backup", "show", file).status == 0)
            }
        }
    }
}
