import Foundation
import LockstepFolders
import LockstepNode
import LockstepServer
import Synchronization
import Testing
import ZeroMQ

/// `keys`: what its commands make of files, and what they refuse.
@Suite struct KeysCommandTests {
    /// Runs a command of a program, with its errors as they are.
    static func run(_ words: String...) throws { try run(words) }

    static func run(_ words: [String]) throws {
        var command = try Shop.parseAsRoot(["keys"] + words)
        try command.run()
    }

    /// The line with which a command is refused; nil if it is not.
    static func refusal(_ words: String...) -> String? {
        do { try run(words) } catch {
            return CommandFailure(describing: error)?.message ?? Shop.message(for: error)
        }
        return nil
    }

    private static func list(_ path: String) throws -> AccessList { try AccessFile(path: path).read() }

    /// A name is let in by its key file, by the line that its owner sends, or by the key itself; what is given is changed.
    @Test func aNameIsLetInAndChanged() async throws {
        try await withKeyFolder { folder in
            let (list, key) = (folder + "/access.json", folder + "/web-1.key")
            try Self.run("new", "web-1", "--to", key)
            let file = try KeyFile(reading: key)
            try Self.run("allow", "web-1", "--key", key, "--role", "writer", "--access", list)
            #expect(try mode(of: list) == 0o644)
            let first = try #require(try Self.list(list).entries.first)
            #expect(first == AccessList.Entry(name: "web-1", keys: [file.pair.publicKey], roles: [.writer]))
            // The same once more changes nothing, and a second key stands beside the first.
            try Self.run("allow", "web-1", "--key", file.pair.publicKey.z85, "--access", list)
            #expect(try Self.list(list).entries == [first])
            let next = try KeyFile.make(name: "web-1", at: folder + "/next.key")
            try Data("\(PublicKeyLine(next))\n".utf8).write(to: URL(fileURLWithPath: folder + "/next.pub"))
            try Self.run("allow", "web-1", "--key", folder + "/next.pub", "--store", "stock", "--access", list)
            let both = try #require(try Self.list(list).entries.first)
            #expect(both.keys == [file.pair.publicKey, next.pair.publicKey])
            #expect(both.roles == [.writer] && both.stores == ["stock"])
            try Self.run("allow", "web-1", "--role", "reader", "--role", "replica", "--all-stores", "--access", list)
            let changed = try #require(try Self.list(list).entries.first)
            #expect(changed.roles == [.reader, .replica] && changed.stores == nil && changed.keys == both.keys)
            try Self.run("revoke", "web-1", "--key", key, "--access", list)
            #expect(try Self.list(list).entries.map(\.keys) == [[next.pair.publicKey]])
            try Self.run("revoke", "web-1", "--access", list)
            #expect(try Self.list(list).entries.isEmpty)
        }
    }

    /// A key that begins with a dash is a key.
    @Test func aKeyMayBeginWithADash() async throws {
        try await withKeyFolder { folder in
            let key = "-" + String(repeating: "a", count: 39)
            try Self.run("allow", "web-1", "--key", key, "--role", "writer", "--access", folder + "/list")
            #expect(try Self.list(folder + "/list").entries.map(\.keys.first?.z85) == [key])
        }
    }

    /// A path of 40 characters, each of which a key may have, is a path; also a mistyped one.
    @Test func aPathIsNoKey() async throws {
        try await withKeyFolder { folder in
            let file = try KeyFile.make(name: "web-1", at: folder + "/web-1.key")
            let name = String(repeating: "a", count: max(1, 40 - folder.count - 5))
            for path in ["\(folder)/\(name).pub", "\(folder)/\(name)wxyz"] {
                try Data("\(PublicKeyLine(file))\n".utf8).write(to: URL(fileURLWithPath: path))
                try Self.run("allow", "web-1", "--key", path, "--role", "writer", "--access", folder + "/list")
                #expect(try Self.list(folder + "/list").entries.map(\.keys) == [[file.pair.publicKey]])
            }
            let wrong = Self.refusal(
                "allow", "web-2", "--key", String(repeating: "a", count: 36) + ".pub", "--role", "writer", "--access",
                folder + "/list")
            #expect(wrong?.contains("neither a public key") == true, "\(wrong ?? "")")
        }
    }

    /// Each mistake has one line, and leaves the list as it was.
    @Test func mistakesChangeNothing() async throws {
        try await withKeyFolder { folder in
            let list = folder + "/access.json"
            for name in ["web-1", "web-2", "web-3", "web-4"] {
                _ = try KeyFile.make(name: name, at: folder + "/" + name)
            }
            try Self.run("allow", "web-1", "--key", folder + "/web-1", "--role", "writer", "--access", list)
            let second = try KeyFile.make(name: "web-1", at: folder + "/second")
            let third = try KeyFile.make(name: "web-1", at: folder + "/third")
            try Self.run("allow", "web-1", "--key", second.pair.publicKey.z85, "--access", list)
            let before = try Data(contentsOf: URL(fileURLWithPath: list))
            func check(_ word: String, _ refusal: String?) throws {
                #expect(refusal?.contains(word) == true, "\(refusal ?? "it was not refused")")
                #expect(try Data(contentsOf: URL(fileURLWithPath: list)) == before)
            }
            let (web2, access) = (folder + "/web-2", ["--access", list])
            try check(
                "has two keys already", Self.refusal("allow", "web-1", "--key", folder + "/third", "--access", list))
            try check("needs --key and --role", Self.refusal("allow", "web-2", "--role", "reader", "--access", list))
            try check("needs --key and --role", Self.refusal("allow", "web-2", "--key", web2, "--access", list))
            try check(
                "has the key of web-2",
                Self.refusal("allow", "web-3", "--key", web2, "--role", "reader", access[0], list))
            try check(
                "one of node, replica", Self.refusal("allow", "web-2", "--key", web2, "--role", "king", access[0], list)
            )
            try check(
                "neither a public key",
                Self.refusal("allow", "web-2", "--key", "x", "--role", "reader", access[0], list))
            try check("not in the list", Self.refusal("revoke", "web-2", "--access", list))
            try check(
                "does not have this key",
                Self.refusal("revoke", "web-1", "--key", third.pair.publicKey.z85, access[0], list))
            try check("not a node's name", Self.refusal("revoke", "web 1", "--access", list))
            try check("--access", Self.refusal("revoke", "web-1"))
            let key = second.pair.publicKey.z85
            try check("same key", Self.refusal("allow", "web-2", "--key", key, "--role", "reader", "--access", list))
            #expect(
                Self.refusal("revoke", "web-1", "--access", folder + "/nowhere")?.contains("no access list") == true)
            #expect(!FileManager.default.fileExists(atPath: folder + "/nowhere"), "only allow makes a list")
            #expect(!FileManager.default.fileExists(atPath: list + ".part"))
            try Data("{}".utf8).write(to: URL(fileURLWithPath: list))
            #expect(Self.refusal("revoke", "web-1", "--access", list)?.contains("version") == true)
            #expect(try Data(contentsOf: URL(fileURLWithPath: list)) == Data("{}".utf8))
        }
    }

    /// Commands that edit one list at once lose nothing of each other.
    @Test(.timeLimit(.minutes(5))) func concurrentEditsAreAllThere() async throws {
        try await withKeyFolder { folder in
            let list = folder + "/access.json"
            let keys = try (0..<48).map { try KeyFile.make(name: "web-\($0)", at: folder + "/\($0).key") }
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: keys.count) { index in
                do {
                    try Self.run(
                        "allow", "web-\(index)", "--key", keys[index].pair.publicKey.z85, "--role", "writer",
                        "--access",
                        list)
                } catch { failures.withLock { $0.append("\(error)") } }
            }
            #expect(failures.withLock { $0 } == [])
            #expect(Set(try Self.list(list).entries.map(\.name)) == Set(keys.map(\.name)))
        }
    }

    /// While another command has the folder, an edit waits and then gives up.
    @Test func anEditDoesNotWaitForEver() async throws {
        try await withKeyFolder { folder in
            let other = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            defer { close(other) }
            #expect(flock(other, LOCK_EX) == 0)
            let error = #expect(throws: LockstepError.self) {
                try EditedFile.change(folder + "/list", patience: .milliseconds(50)) { _ in Data("x".utf8) }
            }
            #expect(error?.message.contains("another command edits") == true)
            #expect(flock(other, LOCK_UN) == 0)
            try EditedFile.change(folder + "/list", patience: .milliseconds(50)) { _ in Data("x".utf8) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/list")) == Data("x".utf8))
        }
    }

    /// The file that a link leads to is replaced, with the mode that it had; what an interrupted command left is in nobody's way.
    @Test func aLinkStaysAndTheModeToo() async throws {
        try await withKeyFolder { folder in
            let (file, link) = (folder + "/list", folder + "/link")
            try Data("a".utf8).write(to: URL(fileURLWithPath: file))
            #expect(chmod(file, 0o640) == 0 && symlink(file, link) == 0)
            try Data("left".utf8).write(to: URL(fileURLWithPath: file + ".part"))
            try EditedFile.change(link) { old in
                #expect(old == Data("a".utf8))
                return Data("b".utf8)
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("b".utf8))
            #expect(try mode(of: file) == 0o640)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder)) == ["list", "link"])
        }
    }

    /// The three steps of a rotation: both keys, the other file, one key; each can be repeated.
    @Test func aRotationHasThreeSteps() async throws {
        try await withKeyFolder { folder in
            let (list, key) = (folder + "/access.json", folder + "/web-1.key")
            let old = try KeyFile.make(name: "web-1", at: key)
            func rotate(_ step: String) throws {
                try Self.run("rotate", "web-1", step, "--keys", key, "--access", list)
            }
            #expect(
                Self.refusal("rotate", "web-1", "--begin", "--keys", key, "--access", list)?.contains("no access list")
                    == true)
            try Self.run("allow", "web-1", "--key", key, "--role", "writer", "--access", list)
            try rotate("--begin")
            let next = try KeyFile(reading: key + ".next")
            let both = [old.pair.publicKey, next.pair.publicKey]
            #expect(try Self.list(list).entries.map(\.keys) == [both])
            try rotate("--begin")
            #expect(try KeyFile(reading: key + ".next") == next)
            #expect(try Self.list(list).entries.map(\.keys) == [both], "the same once more is no third key")
            #expect(try KeyFile(reading: key) == old, "nobody who starts now has the next one")
            try rotate("--use")
            #expect(try KeyFile(reading: key) == next)
            #expect(!FileManager.default.fileExists(atPath: key + ".next"))
            #expect(try Self.list(list).entries.map(\.keys) == [both])
            try rotate("--end")
            #expect(try Self.list(list).entries.map(\.keys) == [[next.pair.publicKey]])
            #expect(try Self.list(list).entries.map(\.roles) == [[.writer]])
            #expect(
                Self.refusal("rotate", "web-2", "--begin", "--keys", key, "--access", list)?.contains("not of web-2")
                    == true)
            #expect(Self.refusal("rotate", "web-1", "--keys", key) != nil, "a step is named")
        }
    }

    /// Clients get the nodes that have an address, and nothing of anybody else.
    @Test func anExportHasTheNodesOnly() async throws {
        try await withKeyFolder { folder in
            let (list, export) = (folder + "/access.json", folder + "/nodes.json")
            for name in ["node-a", "node-b", "web-1"] { _ = try KeyFile.make(name: name, at: folder + "/" + name) }
            try Self.run("allow", "web-1", "--key", folder + "/web-1", "--role", "writer", "--access", list)
            try Self.run("allow", "node-b", "--key", folder + "/node-b", "--role", "node", "--access", list)
            #expect(Self.refusal("export", "--access", list, "--to", export)?.contains("has an address") == true)
            try Self.run(
                "allow", "node-a", "--key", folder + "/node-a", "--role", "node", "--address", "tcp://10.0.0.1:7400",
                "--access", list)
            let cluster = "0123456789abcdef0123456789abcdef"
            try Self.run("export", "--access", list, "--cluster", cluster, "--to", export)
            let nodes = try Self.list(export)
            #expect(nodes.entries.map(\.name) == ["node-a"] && nodes.cluster.map { "\($0)" } == cluster)
            let key = try KeyFile(reading: folder + "/node-a").pair.publicKey
            #expect(nodes.keys(at: "tcp://10.0.0.1:7400") == [key])
            #expect(Self.refusal("export", "--access", list, "--cluster", "12", "--to", export)?.contains("32") == true)
        }
    }
}
