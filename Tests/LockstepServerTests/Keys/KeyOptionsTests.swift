import Foundation
import LockstepNode
import LockstepServer
import Testing
import ZeroMQ

/// The two files that a command is given to talk to nodes with keys.
@Suite struct KeyOptionsTests {
    private static func refusal(_ words: String...) -> String {
        do { _ = try KeyOptions.parse(words).nodeKeys() } catch {
            return CommandFailure(describing: error)?.message ?? "\(error)"
        }
        return "not refused"
    }

    /// One without the other is refused, and so is a file that cannot be used; nothing named is no keys.
    @Test func bothFilesAreNeeded() async throws {
        try await withKeyFolder { folder in
            let (key, nodes) = (folder + "/web-1.key", folder + "/nodes.json")
            let file = try KeyFile.make(name: "web-1", at: key)
            #expect(try KeyOptions.parse([]).nodeKeys()?.own == nil)
            #expect(Self.refusal("--keys", key).contains("--nodes"))
            #expect(Self.refusal("--nodes", nodes).contains("--keys"))
            #expect(Self.refusal("--keys", key, "--nodes", nodes).contains(nodes))
            try Data(try AccessList.empty.json).write(to: URL(fileURLWithPath: nodes))
            #expect(try KeyOptions.parse(["--keys", key, "--nodes", nodes]).nodeKeys()?.own == file.pair)
            #expect(chmod(key, 0o640) == 0)
            #expect(Self.refusal("--keys", key, "--nodes", nodes).contains("mode 640"))
        }
    }

    /// A replica has the name of its keys, a client one of its own; both have the cluster that the file names.
    @Test func aReplicaHasTheNameOfItsKeys() async throws {
        try await withKeyFolder { folder in
            let (key, nodes) = (folder + "/page-7.key", folder + "/nodes.json")
            _ = try KeyFile.make(name: "page-7", at: key)
            let cluster = ClusterID(hexadecimal: "0123456789abcdef0123456789abcdef")
            try Data(try AccessList([], cluster: cluster).json).write(to: URL(fileURLWithPath: nodes))
            let options = try KeyOptions.parse(["--keys", key, "--nodes", nodes])
            var replica = NodeConfiguration.replica(of: "tcp://127.0.0.1:7400")
            try options.apply(to: &replica)
            #expect(replica.node.name == "page-7" && replica.cluster == cluster && replica.keys != nil)
            var client = NodeConfiguration.client(of: "tcp://127.0.0.1:7400")
            try options.apply(to: &client)
            #expect(client.node.name != "page-7" && client.cluster == cluster && client.keys != nil)
        }
    }
}
