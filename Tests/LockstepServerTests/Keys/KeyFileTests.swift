import Foundation
import LockstepNode
import LockstepServer
import Testing
import ZeroMQ

/// Files of keys: who may read them, and what a damaged one is taken for.
@Suite struct KeyFileTests {
    /// A file of 0600, whatever the process's mask; it is read as it was made.
    @Test func aKeyFileIsReadAsItWasMade() async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            let made = try KeyFile.make(name: "web-1", at: path)
            #expect(try KeyFile(reading: path) == made)
            #expect(try mode(of: path) == 0o600)
            let another = try KeyFile.make(name: "web-1", at: folder + "/other.key")
            #expect(another.pair.publicKey != made.pair.publicKey)
        }
    }

    /// What a killed command has left beside the file is in nobody's way, and who could read that reads no secret.
    @Test func whatAKilledCommandLeftIsInNobodysWay() async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            try Data("left".utf8).write(to: URL(fileURLWithPath: path + ".part"))
            #expect(chmod(path + ".part", 0o644) == 0)
            let made = try KeyFile.make(name: "web-1", at: path)
            #expect(try KeyFile(reading: path) == made)
            #expect(try mode(of: path) == 0o600)
            let again = #expect(throws: LockstepError.self) { try KeyFile.make(name: "web-1", at: path) }
            #expect(again?.message.contains("no key is written over") == true, "\(again?.message ?? "")")
            #expect(try KeyFile(reading: path) == made)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["web-1.key"])
        }
    }

    /// A new key can be written after an option: `--key -=67…` would be refused.
    @Test func noPublicKeyBeginsAsAnOption() throws {
        for _ in 0..<1_000 { #expect(try !KeyFile.newPair().publicKey.z85.hasPrefix("-")) }
    }

    /// No way in which a value is shown has the secret.
    @Test func nothingThatIsShownHasTheSecret() async throws {
        try await withKeyFolder { folder in
            let file = try KeyFile.make(name: "web-1", at: folder + "/web-1.key")
            let keys = NodeKeys(own: file.pair, access: AccessFile(path: "x"))
            var dumped = ""
            dump(file, to: &dumped)
            dump(keys, to: &dumped)
            var configuration = NodeConfiguration.client(of: "tcp://127.0.0.1:1")
            configuration.keys = keys
            dump(configuration, to: &dumped)
            let shown =
                "\(file) \(String(reflecting: file)) \(keys) \(String(reflecting: keys)) \(configuration) "
                + "\(String(reflecting: configuration)) \(PublicKeyLine(file)) \(dumped)"
            #expect(shown.contains(file.pair.publicKey.z85))
            #expect(!shown.contains(file.pair.secretKey.z85))
        }
    }

    /// No key is written over, also not through a link that leads nowhere.
    @Test func nothingIsWrittenOver() async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            let made = try KeyFile.make(name: "web-1", at: path)
            let error = #expect(throws: LockstepError.self) { try KeyFile.make(name: "web-1", at: path) }
            #expect(error?.message.contains("no key is written over") == true)
            #expect(try KeyFile(reading: path) == made)
            #expect(symlink(folder + "/elsewhere", folder + "/link.key") == 0)
            #expect(throws: LockstepError.self) { try KeyFile.make(name: "web-1", at: folder + "/link.key") }
            #expect(!FileManager.default.fileExists(atPath: folder + "/elsewhere"))
            #expect(throws: LockstepError.self) { try KeyFile.make(name: "web 1", at: folder + "/bad.key") }
            #expect(throws: LockstepError.self) { try KeyFile.make(name: "web-1", at: folder + "/nowhere/web-1.key") }
            #expect(!FileManager.default.fileExists(atPath: folder + "/bad.key"))
        }
    }

    /// Any bit for others is too much; the error names the file and its mode, and nothing of what is in it.
    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666, 0o644] as [mode_t])
    func aFileThatOthersMayUseIsRefused(mode: mode_t) async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            let made = try KeyFile.make(name: "web-1", at: path)
            #expect(chmod(path, mode) == 0)
            let error = #expect(throws: LockstepError.self) { try KeyFile(reading: path) }
            let text = error?.message ?? ""
            #expect(text.contains(path) && text.contains(String(mode, radix: 8)), "\(text)")
            #expect(!text.contains(made.pair.secretKey.z85) && error?.code == .invalidConfiguration)
            #expect(symlink(path, folder + "/link.key") == 0)
            #expect(throws: LockstepError.self) { try KeyFile(reading: folder + "/link.key") }
            #expect(chmod(path, 0o400) == 0)
            #expect(try KeyFile(reading: path) == made, "the owner alone")
            #expect(try KeyFile(reading: folder + "/link.key") == made, "a link of the same user")
        }
    }

    /// Who else owns a file, or the link to it, can put another one there.
    @Test(.enabled(if: geteuid() == 0)) func aFileOrALinkOfSomebodyElseIsRefused() async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            _ = try KeyFile.make(name: "web-1", at: path)
            #expect(symlink(path, folder + "/link.key") == 0)
            #expect(lchown(folder + "/link.key", 65_534, 65_534) == 0)
            let link = #expect(throws: LockstepError.self) { try KeyFile(reading: folder + "/link.key") }
            #expect(link?.message.contains("symbolic link of nobody") == true, "\(link?.message ?? "")")
            #expect(chown(path, 65_534, 65_534) == 0)
            let file = #expect(throws: LockstepError.self) { try KeyFile(reading: path) }
            // Who gave it to root would keep it from the node that has it.
            #expect(file?.message == "\(path): it belongs to nobody: run this as that user")
        }
    }

    /// A folder, a pipe that nobody writes to, a file that is not there and one that is too large are told apart from keys.
    @Test func whatIsNoFileIsRefused() async throws {
        try await withKeyFolder { folder in
            #expect(mkfifo(folder + "/pipe", 0o600) == 0)
            #expect(FileManager.default.createFile(atPath: folder + "/large", contents: Data(count: 1_000)))
            #expect(chmod(folder + "/large", 0o600) == 0)
            for (name, word) in [
                ("", "no regular file"), ("/pipe", "no regular file"), ("/large", "more than"),
                ("/none", "No such file"),
            ] {
                let error = #expect(throws: LockstepError.self) { try KeyFile(reading: folder + name) }
                #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
            }
        }
    }

    /// Cut at every place and flipped at every bit, a file is no key file; nor is one with bytes after its end.
    @Test func damagedFilesAreRefused() async throws {
        try await withKeyFolder { folder in
            let path = folder + "/web-1.key"
            _ = try KeyFile.make(name: "web-1", at: path)
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            func isRead(_ bytes: some Collection<UInt8>) -> Bool {
                KeyFile(text: String(decoding: bytes, as: UTF8.self)) != nil
            }
            #expect(isRead(bytes))
            for count in bytes.indices { #expect(!isRead(bytes.prefix(count)), "cut at \(count)") }
            for place in bytes.indices {
                for bit in 0..<8 {
                    var flipped = bytes
                    flipped[place] ^= 1 << UInt8(bit)
                    #expect(!isRead(flipped), "byte \(place), bit \(bit)")
                }
            }
            #expect(!isRead(bytes + bytes))
            try Data(bytes.dropLast(3)).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: LockstepError.self) { try KeyFile(reading: path) }
            #expect(error?.message.contains("no key file of version 1, or is damaged") == true)
        }
    }

    /// The line that hosts exchange is read as it is printed, and nothing else is.
    @Test func theLineOfAPublicKeyIsReadAsItIsPrinted() async throws {
        try await withKeyFolder { folder in
            let line = PublicKeyLine(try KeyFile.make(name: "web-1", at: folder + "/web-1.key"))
            #expect(PublicKeyLine("\(line)\n") == line)
            for wrong in [
                "", line.key.z85, "web-1 \(line.key)", "\(line) x", "lockstep-public 2 web-1 \(line.key)",
                "lockstep-public 1 web/1 \(line.key)", "lockstep-public 1 web-1 \(line.key.z85.dropLast())",
            ] { #expect(PublicKeyLine(wrong) == nil, "\(wrong)") }
        }
    }
}

/// A folder that is there for as long as `body` takes.
func withKeyFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    try await withFolder { folder in
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try await body(folder)
    }
}

/// The bits of a file's mode that say who may do what.
func mode(of path: String) throws -> mode_t {
    var about = stat()
    guard stat(path, &about) == 0 else { throw CommandFailure("\(path) cannot be looked at") }
    return about.st_mode & 0o777
}
