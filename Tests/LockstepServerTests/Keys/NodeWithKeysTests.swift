import Foundation
import LockstepFolders
import LockstepNode
import LockstepServer
import Testing
import ZeroMQ

/// A node's folder that notes keys: `init` makes them, and `serve` is never without.
@Suite struct NodeWithKeysTests {
    private static let address = "tcp://127.0.0.1:7400"

    private static func makeNode(_ folder: String, _ words: String...) throws {
        var command = try Shop.parseAsRoot(
            ["init", "--data", folder + "/node-a", "--access", folder + "/access.json"] + words)
        try command.run()
    }

    private static func configuration(_ data: String, _ words: String...) throws -> NodeConfiguration {
        try NodePlace<Shop>.parse(["--data", data, "--listen", address] + words).configuration()
    }

    /// The key is in the folder, the entry in the list; `serve` finds both, also after the folder has moved.
    @Test func aNewNodeHasKeysAndIsLetIn() async throws {
        try await withKeyFolder { folder in
            try Self.makeNode(folder, "--address", Self.address)
            let key = try KeyFile(reading: folder + "/node-a/node.key")
            let list = try AccessFile(path: folder + "/access.json").read()
            let identity = try NodeFolder(folder + "/node-a").identity()
            #expect(
                list.entries == [
                    AccessList.Entry(
                        name: "node-a", keys: [key.pair.publicKey], roles: [.node], address: Self.address)
                ])
            #expect(list.cluster.map { "\($0)" } == identity.cluster)
            #expect(identity.keys == "node.key" && identity.access == folder + "/access.json")
            let keys = try #require(try Self.configuration(folder + "/node-a").keys)
            #expect(keys.own == key.pair && keys.access?.path == folder + "/access.json")
            try FileManager.default.moveItem(atPath: folder + "/node-a", toPath: folder + "/moved")
            #expect(try Self.configuration(folder + "/moved").keys?.own == key.pair)
        }
    }

    /// An `init` that was interrupted after it had made the key is repeated, and takes it.
    @Test func aRepeatedInitTakesTheKeyThatIsThere() async throws {
        try await withKeyFolder { folder in
            try Self.makeNode(folder, "--address", Self.address)
            let key = try KeyFile(reading: folder + "/node-a/node.key")
            try FileManager.default.removeItem(atPath: folder + "/node-a/node.json")
            try Self.makeNode(folder, "--address", Self.address)
            #expect(try KeyFile(reading: folder + "/node-a/node.key") == key)
            #expect(try AccessFile(path: folder + "/access.json").read().entries.map(\.keys) == [[key.pair.publicKey]])
        }
    }

    /// What is noted and not there, or another's, ends the start: nobody is served without keys by mistake.
    @Test func aNodeThatHasKeysNeverServesWithout() async throws {
        try await withKeyFolder { folder in
            try Self.makeNode(folder, "--address", Self.address)
            let (data, list) = (folder + "/node-a", folder + "/access.json")
            func refusal(_ words: String...) -> String {
                do {
                    _ = try NodePlace<Shop>.parse(["--data", data, "--listen", Self.address] + words).configuration()
                } catch { return CommandFailure(describing: error)?.message ?? "\(error)" }
                return "not refused"
            }
            _ = try KeyFile.make(name: "node-b", at: folder + "/node-b.key")
            #expect(refusal("--keys", folder + "/node-b.key").contains("each node has its own"))
            #expect(refusal("--access", folder + "/nowhere").contains("nowhere"))
            try FileManager.default.moveItem(atPath: list, toPath: list + ".away")
            #expect(refusal().contains("access.json"))
            #expect(refusal("--access", list + ".away") == "not refused")
            let other = "0123456789abcdef0123456789abcdef"
            let entries = try AccessFile(path: list + ".away").read().entries
            try Data(try AccessList(entries, cluster: ClusterID(hexadecimal: other)).json).write(
                to: URL(fileURLWithPath: list))
            #expect(refusal().contains("another cluster"))
            try FileManager.default.removeItem(atPath: data + "/node.key")
            #expect(refusal("--access", list + ".away").contains("node.key"))
        }
    }

    /// A folder of before keys is read as it was, and neither a flipped note nor a missing one is taken.
    @Test func theNotesAreUnderTheSum() async throws {
        try await withKeyFolder { folder in
            try Self.makeNode(folder, "--address", Self.address)
            let path = folder + "/node-a/node.json"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            for changed in [
                text.replacing("node.key", with: "nude.key"), text.replacing("access.json", with: "excess.json"),
                text.replacing(#"  "keys" : "node.key","#, with: ""),
            ] {
                #expect(changed != text)
                try Data(changed.utf8).write(to: URL(fileURLWithPath: path))
                let error = #expect(throws: LockstepError.self) { try NodeFolder(folder + "/node-a").identity() }
                #expect(error?.message.contains("sum does not match") == true)
            }
            let plain = folder + "/plain"
            var command = try Shop.parseAsRoot(["init", "--data", plain])
            try command.run()
            #expect(try Self.configuration(plain).keys == nil)
            #expect(try !String(contentsOfFile: plain + "/node.json", encoding: .utf8).contains("access"))
        }
    }

    /// A list of keys needs keys, and keys a list.
    @Test func halfOfTheKeysIsRefused() async throws {
        try await withKeyFolder { folder in
            var command = try Shop.parseAsRoot(["init", "--data", folder + "/plain"])
            try command.run()
            _ = try KeyFile.make(name: "plain", at: folder + "/plain.key")
            try Data(try AccessList.empty.json).write(to: URL(fileURLWithPath: folder + "/access.json"))
            func refusal(_ words: String...) -> String {
                do {
                    _ = try NodePlace<Shop>.parse(["--data", folder + "/plain", "--listen", Self.address] + words)
                        .configuration()
                } catch { return CommandFailure(describing: error)?.message ?? "\(error)" }
                return "not refused"
            }
            #expect(refusal("--keys", folder + "/plain.key").contains("no access list"))
            #expect(refusal("--access", folder + "/access.json").contains("no keys"))
            #expect(refusal("--keys", folder + "/plain.key", "--access", folder + "/access.json") == "not refused")
            for words in [["--keys", "x"], ["--address", Self.address]] {
                #expect(throws: (any Error).self) { try Shop.parseAsRoot(["init", "--data", folder + "/y"] + words) }
            }
        }
    }
}
