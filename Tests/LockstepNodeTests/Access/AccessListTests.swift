import Foundation
import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// The access list and its file (PROTOCOL R-67, R-70).
@Suite struct AccessListTests {
    // A test that lacks keys fails by its first index.
    private static let keys = (0..<4).compactMap { _ in try? CurveKeyPair.generate().publicKey }

    private static func entry(
        _ name: String = "web-1", keys: [CurvePublicKey]? = nil, roles: Set<AccessRole> = [.writer],
        stores: Set<String>? = nil, actions: [String: Set<String>] = [:], quota: AccessQuota = AccessQuota(),
        address: String? = nil
    ) -> AccessList.Entry {
        AccessList.Entry(
            name: name, keys: keys ?? [Self.keys[0]], roles: roles, stores: stores, actions: actions, quota: quota,
            address: address)
    }

    private static func problem(_ body: () throws -> AccessList) -> String? {
        do {
            _ = try body()
            return nil
        } catch let error as LockstepError {
            return error.code == .invalidConfiguration ? error.message : "another code: \(error)"
        } catch {
            return "another error: \(error)"
        }
    }

    /// A key stands for a name, with its roles and stores; one that is not there for nobody.
    @Test func aKeyStandsForAName() throws {
        let list = try AccessList([
            Self.entry("b", keys: [Self.keys[0], Self.keys[1]], roles: [.reader, .writer], stores: ["sum"]),
            Self.entry("a", keys: [Self.keys[2]], roles: [.node], address: "tcp://10.0.0.1:7400"),
        ])
        let expected = Principal(name: "b", roles: [.reader, .writer], stores: ["sum"])
        #expect(list.principal(of: Self.keys[0]) == expected)
        #expect(list.principal(of: Self.keys[1]) == expected)
        #expect(list.principal(of: Self.keys[3]) == nil)
        #expect(list.entries.map(\.name) == ["a", "b"])
        #expect(list.keys(at: "tcp://10.0.0.1:7400") == [Self.keys[2]])
        #expect(list.keys(at: "tcp://10.0.0.1:7401").isEmpty && list.keys(at: "nowhere").isEmpty)
        #expect(list.contains(name: "a") && !list.contains(name: "c"))
    }

    /// A node has the roles of replicas, writers and readers, and not an administrator's.
    @Test func aNodeHasTheRolesOfOthers() {
        let node = Principal(name: "a", roles: [.node])
        #expect(AccessRole.allCases.filter { node.has($0) } == [.node, .replica, .writer, .reader])
        for role in [AccessRole.replica, .writer, .reader, .admin] {
            #expect(AccessRole.allCases.filter { Principal(name: "a", roles: [role]).has($0) } == [role])
        }
        #expect(node.mayUse(store: "sum"))
        #expect(!Principal(name: "a", roles: [.node], stores: ["other"]).mayUse(store: "sum"))
    }

    /// A store's machine knows a sender by its name, its kinds for that store, and its quota.
    @Test func aSenderHasItsKindsForAStore() {
        let principal = Principal(
            name: "web-1", roles: [.writer], actions: ["sum": ["add"]],
            quota: AccessQuota(sessions: 2, inFlight: 3, bytesPerSecond: 4, connections: 5))
        let quota = SenderQuota(sessions: 2, inFlight: 3, bytesPerSecond: 4)
        #expect(principal.sender(to: "sum") == Sender(name: "web-1", kinds: ["add"], quota: quota))
        #expect(principal.sender(to: "other") == Sender(name: "web-1", quota: quota))
    }

    /// Whatever would be read in two ways, or opens what was not meant, is refused with a line that names it.
    @Test func aListThatCannotBeMeantIsRefused() throws {
        let zero = try #require(CurvePublicKey(z85: String(repeating: "0", count: 40)))
        let wrong: [([AccessList.Entry], String)] = [
            ([Self.entry(), Self.entry(keys: [Self.keys[1]])], "web-1 is there twice"),
            ([Self.entry(), Self.entry("web-2")], "web-1 and web-2 have the same key"),
            ([Self.entry(keys: [Self.keys[0], Self.keys[0]])], "the same key"),
            ([Self.entry(keys: [])], "0 keys"),
            ([Self.entry(keys: Array(Self.keys.prefix(3)))], "3 keys"),
            ([Self.entry(keys: [zero])], "a key of zeros"),
            ([Self.entry("")], "is not 1 to 64"),
            ([Self.entry(String(repeating: "x", count: 65))], "is not 1 to 64"),
            ([Self.entry("a\nb")], "\"a\\u{a}b\" is not"),
            ([Self.entry(roles: [])], "no role"),
            ([Self.entry(stores: [])], "no store"),
            ([Self.entry(stores: [""])], "not 1 to 64 bytes"),
            ([Self.entry(actions: ["sum": []])], "0 kinds of actions for sum"),
            ([Self.entry(actions: ["sum": [""]])], "the kind \"\" for sum"),
            ([Self.entry(actions: ["sum": [String(repeating: "k", count: 65)]])], "not 1 to 64 bytes"),
            ([Self.entry(stores: ["other"], actions: ["sum": ["add"]])], "not among its stores"),
            ([Self.entry(quota: AccessQuota(sessions: 0))], "the quota 0 for sessions"),
            ([Self.entry(quota: AccessQuota(bytesPerSecond: -1))], "the quota -1 for bytesPerSecond"),
            ([Self.entry(quota: AccessQuota(inFlight: 1 << 41))], "not 1 to 2^40"),
            ([Self.entry(address: "10.0.0.1")], "write it as tcp://"),
            ([Self.entry(address: "tcp://*:7400")], "cannot connect"),
            (
                [
                    Self.entry(address: "tcp://h:7400"),
                    Self.entry("web-2", keys: [Self.keys[1]], address: "tcp://h:7400"),
                ], "the same address"
            ),
        ]
        for (entries, text) in wrong {
            let problem = Self.problem { try AccessList(entries) }
            #expect(problem?.contains(text) == true, "\(problem ?? "none") instead of \(text)")
        }
    }

    /// 10,000 entries are a list, one more is none.
    @Test func aListHasItsMostEntries() throws {
        func entries(_ count: Int) throws -> [AccessList.Entry] {
            try (0..<count).map { number in
                var bytes = [UInt8](repeating: 1, count: 32)
                (bytes[0], bytes[1]) = (UInt8(number & 255), UInt8(number >> 8))
                return Self.entry("n\(number)", keys: [try #require(CurvePublicKey(bytes: bytes))])
            }
        }
        let most = AccessList.largestCount
        #expect(try AccessList(try entries(most)).entries.count == most)
        let many = try entries(most + 1)
        #expect(Self.problem { try AccessList(many) }?.contains("at most 10000") == true)
    }

    /// A list has one text, whatever the order in which it was made, and comes back from it.
    @Test func aListHasOneText() throws {
        let entries = [
            Self.entry("b", keys: [Self.keys[1], Self.keys[0]], roles: [.writer, .reader], stores: ["y", "x"]),
            Self.entry("a", keys: [Self.keys[2]], roles: [.node], address: "tcp://10.0.0.1:7400"),
            Self.entry(
                "c", keys: [Self.keys[3]], actions: ["sum": ["take", "add"], "other": ["x"]],
                quota: AccessQuota(sessions: 2, inFlight: 3, bytesPerSecond: 4, connections: 5)),
        ]
        let list = try AccessList(entries)
        #expect(try AccessList(entries.reversed()).json == list.json)
        #expect(try AccessList(json: list.json) == list)
        #expect(try AccessList(json: list.json).json == list.json)
        let text = String(decoding: try list.json, as: UTF8.self)
        #expect(text.hasSuffix("}\n") && text.contains("tcp://10.0.0.1:7400"))
    }

    /// What a text has and the list does not know is refused, and so is what it lacks.
    @Test func aTextIsReadStrictly() {
        let key = Self.keys[0].z85
        func text(_ entry: String, version: String = "1") -> [UInt8] {
            Array("{\"version\": \(version), \"entries\": [{\(entry)}]}".utf8)
        }
        let good = "\"name\": \"a\", \"keys\": [\"\(key)\"], \"roles\": [\"reader\"]"
        #expect(Self.problem { try AccessList(json: text(good)) } == nil)
        let wrong: [([UInt8], String)] = [
            (text(good + ", \"store\": [\"x\"]"), "the field \"store\""),
            (text(good.replacing("reader", with: "root")), "\"root\" of a is no role"),
            (text(good.replacing("\"reader\"", with: "\"reader\", \"reader\"")), "a role twice"),
            (text(good + ", \"stores\": [\"x\", \"x\"]"), "a store twice"),
            (text(good.replacing(key, with: "short")), "no public key"),
            (text(good.replacing("\"name\": \"a\", ", with: "")), "no field \"name\""),
            (text(good.replacing(", \"roles\": [\"reader\"]", with: "")), "no field \"roles\""),
            (text(good + ", \"stores\": null"), "stores"),
            (text(good + ", \"actions\": {\"x\": [\"add\", \"add\"]}"), "a kind of action twice"),
            (text(good + ", \"actions\": [\"add\"]"), "actions"),
            (text(good + ", \"quota\": {\"session\": 1}"), "the quota of a has the field \"session\""),
            (text(good + ", \"quota\": {\"sessions\": \"1\"}"), "quota"),
            (text(good, version: "2"), "version 2"),
            (Array("{\"version\": 1, \"entries\": [], \"allow\": true}".utf8), "the field \"allow\""),
            (Array("{\"entries\": []}".utf8), "no field \"version\""),
            (Array("[]".utf8), "cannot be read"),
            (Array("{".utf8), "cannot be read"), ([], "cannot be read"),
        ]
        for (text, expected) in wrong {
            let problem = Self.problem { try AccessList(json: text) }
            #expect(problem?.contains(expected) == true, "\(problem ?? "none") instead of \(expected)")
            #expect(problem?.contains("\n") != true)
        }
    }

    /// A file that is not there, or that everybody may write, is not used; the line names it.
    @Test func aFileThatAnybodyMayWriteIsNotUsed() throws {
        let ring = try Keyring()
        #expect(try ring.file.read().entries.count == ring.entries.count)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: ring.file.path)
        let open = Self.problem { try ring.file.read() }
        #expect(open?.contains("everybody") == true && open?.contains(ring.file.path) == true)
        let missing = AccessFile(path: ring.file.path + ".not")
        #expect(Self.problem { try missing.read() }?.contains("No such file") == true)
        #expect(Self.problem { try AccessFile(path: "/").read() }?.contains("no file") == true)
    }
}
