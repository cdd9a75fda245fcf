import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// Commands on the folders of nodes that do not run, made by `lockstep init`: what is wrong is said in one line, with
    /// the exit status that deploy/README.md names.
    @Suite(.serialized, .timeLimit(.minutes(5))) struct OperatorFolderTests {
        /// Makes a folder with some entries in both stores, beside a copy of it that a test may harm.
        private func withFolders(_ body: (_ whole: String, _ harmed: String) async throws -> Void) async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
                cluster.end(0, signal: SIGTERM)
                let harmed = cluster.folder + "/harmed"
                try FileManager.default.copyItem(atPath: cluster.node(0).path, toPath: harmed)
                try await body(cluster.node(0).path, harmed)
            }
        }

        /// `journal verify` certifies a folder only if all of it is whole: damage in any store, in the node's file, or a
        /// missing journal is found and named (PROTOCOL R-46).
        @Test func verifyTakesAllStores() async throws {
            try await withFolders { whole, harmed in
                let fine = try Bench.lockstep("journal", "verify", "--data", whole)
                #expect(fine.status == 0 && fine.errors.isEmpty, "\(fine)")
                for part in ["counters: whole, through", "search: whole, through", "node.json: whole"] {
                    #expect(fine.output.contains(part), "\(fine.output)")
                }
                try Self.overwrite(harmed + "/search.sqlite", with: "no database at all, but long enough to be read")
                let broken = try Bench.lockstep("journal", "verify", "--data", harmed)
                #expect(broken.status == 65 && broken.errors.contains("search"), "\(broken)")
                #expect(broken.output.contains("counters: whole"), "the other store is checked too: \(broken.output)")
                #expect(try Bench.lockstep("journal", "verify", "--data", harmed, "--store", "counters").status == 0)

                try FileManager.default.removeItem(atPath: harmed + "/search.sqlite")
                let missing = try Bench.lockstep("journal", "verify", "--data", harmed, "--json")
                #expect(missing.status == 65 && missing.errors.contains("search"), "\(missing)")
                #expect(missing.output.split(separator: "\n").count == 3, "\(missing.output)")
                try FileManager.default.copyItem(atPath: whole + "/search.sqlite", toPath: harmed + "/search.sqlite")
                try Self.overwrite(harmed + "/node.json", with: "{")
                let unnamed = try Bench.lockstep("journal", "verify", "--data", harmed)
                #expect(unnamed.status == 65 && unnamed.errors.contains("node.json"), "\(unnamed)")
            }
        }

        /// `inspect` and `dump` take all stores, or the one that is named.
        @Test func inspectAndDumpTakeAllStores() async throws {
            try await withFolders { whole, harmed in
                let inspect = try Bench.lockstep("journal", "inspect", "--data", whole, "--json")
                #expect(inspect.status == 0 && inspect.output.split(separator: "\n").count == 2, "\(inspect)")
                let dump = try Bench.lockstep("journal", "dump", "--data", whole)
                #expect(dump.status == 0)
                for store in ["counters", "search"] {
                    #expect(
                        dump.output.contains("\"kind\":\"epochOpen\",\"sequence\":1,\"store\":\"\(store)\""), "\(store)"
                    )
                }
                #expect(dump.output.contains("a/299"))
                let one = try Bench.lockstep("journal", "dump", "--data", whole, "--store", "search")
                #expect(!one.output.contains("\"store\":\"counters\"") && one.output.contains("\"store\":\"search\""))
                #expect(try Bench.lockstep("journal", "dump", "--data", whole, "--kept-aside").output.isEmpty)
                // One that cannot be read does not keep the other back.
                try Self.overwrite(harmed + "/counters.sqlite", with: "no database at all, but long enough to be read")
                let rest = try Bench.lockstep("journal", "inspect", "--data", harmed)
                #expect(rest.status == 65 && rest.output.contains("store        search"), "\(rest)")
                #expect(rest.errors.contains("counters: ") && rest.errors.split(separator: "\n").count == 1, "\(rest)")
            }
        }

        /// A journal that is no longer one is damage: the node ends with the status after which its unit does not start it
        /// again, and the line names the way out (PROTOCOL R-46).
        @Test func aDestroyedHeaderIsDamage() async throws {
            try await withFolders { _, harmed in
                try Harm.header.apply(in: harmed)
                let served = try Bench.lockstep(
                    "serve", "--data", harmed, "--listen", "tcp://127.0.0.1:\(Bench.ports(10))")
                #expect(served.status == 65, "\(served)")
                expectOneLine(served.errors, "\(served)")
                for word in [harmed, "lockstep recover --from"] { #expect(served.errors.contains(word), "\(served)") }
            }
        }

        /// Every command on a folder that is not what it should be: one line, no names of types, the documented status.
        @Test func whatIsWrongWithAFolderIsOneLine() async throws {
            try await withFolders { whole, harmed in
                for fault in Fault.allCases {
                    let path = try fault.make(of: whole, at: harmed)
                    for command in Self.commands(on: path) {
                        let outcome = try ChildProcess.run(Bench.program, command)
                        let told = "\(fault) \(command): \(outcome)"
                        let status = fault.status(of: command)
                        #expect(outcome.status == status, "\(told)")
                        guard status != 0 else { continue }
                        expectOneLine(outcome.errors, told)
                        #expect(outcome.errors.contains(path), "\(told)")
                    }
                    guard fault == .file || fault == .partIsFile else { continue }
                    let made = try Bench.lockstep("init", "--data", path)
                    #expect(made.status == 1)
                    expectOneLine(made.errors, "\(made)")
                }
            }
        }

        /// What a user may not read is called that, whichever command is asked, and never "run init".
        @Test(.enabled(if: geteuid() == 0)) func aMissingPermissionIsSaid() async throws {
            try await withFolders { _, harmed in
                for path in [harmed + "/node.json", harmed] {
                    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: harmed)
                    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
                    let commands = Self.commands(on: harmed).filter { command in
                        // A journal can be read without the node's file.
                        path == harmed || command[0] != "journal" || command[1] == "verify"
                    }
                    for command in commands where !Self.asks(command) {
                        let outcome = try ChildProcess.run("/usr/bin/setpriv", Bench.asNobody + command)
                        let told = "\(command): \(outcome)"
                        #expect(outcome.status == 1, "\(told)")
                        expectOneLine(outcome.errors, told)
                        #expect(outcome.errors.lowercased().contains("permi"), "\(told)")
                        for wrong in ["lockstep init", "sudo -u root"] {
                            #expect(!outcome.errors.contains(wrong), "\(told)")
                        }
                    }
                }
                let arguments = Bench.asNobody + ["init", "--data", harmed + "/node"]
                let made = try ChildProcess.run("/usr/bin/setpriv", arguments)
                #expect(made.status == 1 && made.errors.lowercased().contains("permi"))
                expectOneLine(made.errors, "\(made)")
            }
        }

        private func expectOneLine(_ errors: String, _ told: String) {
            #expect(errors.split(separator: "\n").count == 1, "\(told)")
            for word in [
                "Error Domain", "NSError", "NSCocoa", "DecodingError", "CodingKeys", "debugDescription", "Optional(",
            ]
            where errors.contains(word) {
                Issue.record("\(word) in \(told)")
            }
        }

        private static func commands(on folder: String) -> [[String]] {
            let options = [
                ["serve", "--listen", "tcp://127.0.0.1:\(Bench.ports(10))"], ["status"], ["actions", "list"],
                ["sessions", "list"], ["sessions", "close", "--unused"], ["recover", "--from", "tcp://127.0.0.1:9"],
                ["clock", "accept"], ["journal", "inspect"],
                ["journal", "verify"], ["journal", "dump"], ["journal", "state-at"],
            ]
            return options.map { $0 + ["--data", folder] }
        }

        /// Whether a command is for a node that runs.
        private static func asks(_ command: [String]) -> Bool {
            ["status", "actions", "sessions"].contains(command[0])
        }

        private static func overwrite(_ path: String, with text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }

        /// What a user may have named, and what may have become of a folder.
        private enum Fault: CaseIterable {
            case missing, parentMissing, file, partIsFile, empty, garbage, otherForm, lackingField, folderInPlace

            /// 64 where nothing is that could be a node's folder, 65 where its file is damaged, 69 where it could be asked
            /// and does not run; 0 of what does not need the damaged file.
            func status(of command: [String]) -> Int32 {
                let asks = OperatorFolderTests.asks(command)
                switch self {
                case .missing, .parentMissing, .file, .partIsFile: return 64
                case .empty: return asks ? 69 : 64
                case .garbage, .otherForm, .lackingField, .folderInPlace:
                    if asks { return 69 }
                    return command[0] == "journal" && command[1] != "verify" ? 0 : 65
                }
            }

            func make(of whole: String, at folder: String) throws -> String {
                let (files, path) = (FileManager.default, folder + "-\(self)")
                func damaged(_ text: String) throws -> String {
                    try files.copyItem(atPath: whole, toPath: path)
                    try OperatorFolderTests.overwrite(path + "/node.json", with: text)
                    return path
                }
                switch self {
                case .missing: return path
                case .parentMissing: return path + "/further/down"
                case .file:
                    try Data().write(to: URL(fileURLWithPath: path))
                    return path
                case .partIsFile:
                    try Data().write(to: URL(fileURLWithPath: path))
                    return path + "/node"
                case .empty:
                    try files.createDirectory(atPath: path, withIntermediateDirectories: true)
                    return path
                case .garbage: return try damaged("\u{1}\u{2} not JSON")
                case .otherForm: return try damaged("[1, 2]")
                case .lackingField: return try damaged(#"{"node": "primary", "stores": ["counters"]}"#)
                case .folderInPlace:
                    try files.copyItem(atPath: whole, toPath: path)
                    try files.removeItem(atPath: path + "/node.json")
                    try files.createDirectory(atPath: path + "/node.json", withIntermediateDirectories: true)
                    return path
                }
            }
        }
    }
}
