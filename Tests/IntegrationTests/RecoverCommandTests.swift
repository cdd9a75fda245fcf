import Counters
import Foundation
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// What is done to a file of a node's folder.
    enum Harm: CaseIterable, Sendable {
        case header, version, pages, batch, half, empty, removed, gone, log, halfLog, mark, marks, otherMark, otherStore

        func apply(in folder: String) throws {
            let database = folder + "/counters.sqlite"
            switch self {
            case .header: try edit(database) { for index in 0..<100 { $0[index] = 0 } }
            case .version: try edit(database) { $0[63] ^= 0x40 }
            case .pages:
                try edit(database) { for index in stride(from: 4_300, to: $0.count, by: 4_096) { $0[index] ^= 4 } }
            case .batch:
                let last = "WHERE first = (SELECT max(first) FROM batches)"
                _ = try ChildProcess.output(
                    "sqlite3", [database, "UPDATE batches SET bytes = zeroblob(length(bytes)) \(last)"])
            case .half: try edit(database) { $0.removeLast($0.count / 2) }
            case .empty: try edit(database) { $0.removeAll() }
            case .removed: try FileManager.default.removeItem(atPath: database)
            case .gone:
                for path in [database, folder + "/counters.mark"] { try FileManager.default.removeItem(atPath: path) }
            case .log: try FileManager.default.removeItem(atPath: database + "-wal")
            case .halfLog: try edit(database + "-wal") { $0.removeLast($0.count / 2) }
            case .mark: try FileManager.default.removeItem(atPath: folder + "/counters.mark")
            case .marks: try edit(folder + "/counters.mark") { ($0[40], $0[552]) = (~$0[40], ~$0[552]) }
            case .otherMark:
                try FileManager.default.removeItem(atPath: folder + "/counters.mark")
                try FileManager.default.copyItem(atPath: folder + "/search.mark", toPath: folder + "/counters.mark")
            case .otherStore: try FileManager.default.removeItem(atPath: folder + "/search.mark")
            }
        }

        /// Whether the node was killed before, so that its write-ahead log is there, or stopped.
        var isOfKilled: Bool { self == .log || self == .halfLog }

        private func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            change(&bytes)
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }
    }

    /// Copies a node's files, without its sockets.
    private static func copyNode(_ folder: String, to copy: String) throws {
        try FileManager.default.createDirectory(
            atPath: copy, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "admin" {
            try FileManager.default.copyItem(atPath: folder + "/" + name, toPath: copy + "/" + name)
        }
    }

    /// Whatever is damaged so that a primary refuses to start, the command that its message names works, keeps the old
    /// files, and the node then starts with what the replica has (PROTOCOL ).
    @Test func recoverLeadsOutOfEveryDamage() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let (node, replica) = (cluster.node(0), cluster.endpoint(1))
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(3_000, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGKILL)
            let (killed, stopped) = (cluster.folder + "/killed", cluster.folder + "/stopped")
            try Self.copyNode(node.path, to: killed)
            try cluster.start(0)
            try await cluster.waitUntilReady()
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGTERM)
            try Self.copyNode(node.path, to: stopped)
            var (refusals, keeping) = (0, 0)
            for harm in Harm.allCases {
                try FileManager.default.removeItem(atPath: node.path)
                try Self.copyNode(harm.isOfKilled ? killed : stopped, to: node.path)
                try harm.apply(in: node.path)
                let log = cluster.folder + "/\(harm).log"
                let first = try ChildProcess(
                    "\(harm)", Bench.program, ["serve", "--data", node.path, "--listen", cluster.endpoint(0)], log: log)
                try await Bench.wait("\(harm): a start, or its refusal") {
                    if !first.isRunning { return true }
                    // Not up yet: asked again.
                    return (try? await node.decodedStatus()) != nil
                }
                guard !first.isRunning else {
                    first.end(SIGKILL)
                    continue
                }
                refusals += 1
                // After neither does systemd start it again.
                #expect(first.exitStatus == ([.version, .gone].contains(harm) ? 64 : 65), "\(harm)")
                let message = try String(contentsOfFile: log, encoding: .utf8)
                #expect(message.contains("lockstep recover --from NODE"), "\(harm): \(message)")
                let anew = message.contains("--anew") ? ["--anew"] : []
                let harmed = try Self.files(of: node.path)
                let recovered = try ChildProcess.run(
                    Bench.program, ["recover", "--data", node.path, "--from", replica] + anew)
                #expect(recovered.status == 0, "\(harm): \(message) \(recovered)")
                if try Self.checkKept(node.path, harmed, "\(harm)") { keeping += 1 }
                let verified = try Bench.lockstep("journal", "verify", "--data", node.path)
                #expect(verified.status == 0, "\(harm): \(verified)")
                try cluster.start(0)
                try await cluster.waitUntilReady()
                _ = try await cluster.waitUntilEqual()
                let sum = try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.sum($0, prefix: "a/") }
                #expect(sum == 3_000, "\(harm)")
                let alarms = try await cluster.node(0).decodedStatus().stores.flatMap(\.alarms)
                #expect(alarms.isEmpty, "\(harm): \(alarms)")
                cluster.end(0, signal: SIGKILL)
            }
            #expect(refusals >= 10 && keeping >= 5, "\(refusals) \(keeping)")
        }
    }

    /// The bytes of a folder's files.
    private static func files(of folder: String) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let url = URL(fileURLWithPath: folder + "/" + name)
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            files[name] = try Data(contentsOf: url)
        }
        return files
    }

    /// Checks that what a recovery kept of a store is what the folder had, byte by byte; false if it kept nothing.
    ///
    /// SQLite may copy its write-ahead log when it opens the database, so that is judged only where there is none.
    private static func checkKept(_ folder: String, _ harmed: [String: Data], _ harm: String) throws -> Bool {
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("kept-") }
        for name in kept {
            let store = try #require(name.split(separator: "-").dropFirst().first)
            let old = harmed.filter { $0.key.hasPrefix(store + ".") }
            let files = try files(of: folder + "/" + name)
            // Besides what SQLite makes anew when it opens a database.
            let isLogged = old.contains { $0.key.hasSuffix("-wal") && !$0.value.isEmpty }
            for (file, bytes) in old where !isLogged && !file.hasSuffix("-wal") && !file.hasSuffix("-shm") {
                #expect(files[file] == bytes, "\(harm): \(name)/\(file)")
            }
        }
        return !kept.isEmpty
    }

    /// A journal that is made anew says what only the old one had, and knows the replicas that a start waits for
    /// (PROTOCOL ).
    @Test func aJournalMadeAnewSaysWhatIsLost() async throws {
        struct Report: Decodable {
            var lost: String?
            var oldFiles: String?
        }
        try await Bench.withCluster(replicas: 1) { cluster in
            let path = cluster.node(0).path
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(1, signal: SIGTERM)
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "b/") }
            cluster.end(0, signal: SIGKILL)
            let mark = try #require(SQLiteJournalReader.mark(folder: path, storeName: "counters")?.position)
            // The replica had left in good order; now it is known to have what the journal has.
            #expect(try Self.note(.audience, of: path) == "")
            try cluster.start(1)
            let recovered = try Bench.lockstep(
                "recover", "--data", path, "--from", cluster.endpoint(1), "--anew", "--store", "counters", "--json")
            #expect(recovered.status == 0, "\(recovered)")
            let report = try JSONDecoder().decode(Report.self, from: Data(recovered.output.utf8))
            #expect(report.lost == "\(mark)" && report.oldFiles != nil)
            #expect(try Self.note(.audience, of: path) == "replica-1")
            #expect(try Self.note(.role, of: path) == "primary")
        }
    }

    private static func note(_ note: JournalNote, of folder: String) throws -> String? {
        let reader = try SQLiteJournalReader(folder: folder, storeName: "counters")
        defer { try? reader.close() }  // Nothing was written.
        return reader.note(note)
    }

    /// A replica's folder that is made anew stays a replica's, and a promoted one the primary's: a forgotten flag makes no
    /// second primary (PROTOCOL R-49).
    @Test func aFolderMadeAnewKeepsItsRole() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let path = cluster.node(1).path
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(1, signal: SIGTERM)
            func makeAnew() throws {
                let made = try Bench.lockstep("recover", "--data", path, "--from", cluster.endpoint(0), "--anew")
                #expect(made.status == 0, "\(made)")
            }
            try makeAnew()
            #expect(try Self.note(.role, of: path) == "replica")
            // A replica waits for nobody.
            #expect(try Self.note(.audience, of: path) == nil)
            let refused = try Bench.lockstep("serve", "--data", path, "--listen", cluster.endpoint(1))
            #expect(refused.status == 64 && refused.errors.contains("lockstep promote"), "\(refused)")
            try cluster.start(1)
            try await cluster.waitUntilReady()
            cluster.end(1, signal: SIGTERM)
            #expect(try Bench.lockstep("promote", "--data", path, "--yes").status == 0)
            try makeAnew()
            #expect(try Self.note(.role, of: path) == "primary")
        }
    }

    /// A replica that is ahead, and whose loss was accepted, does not stop a primary whose journal was made anew since
    /// (PROTOCOL R-41).
    @Test func whatWasGivenUpStaysGivenUpInAJournalMadeAnew() async throws {
        try await Bench.withCluster(replicas: 2) { cluster in
            let (node, path) = (cluster.node(0), cluster.node(0).path)
            _ = try await cluster.waitUntilEqual()
            for index in [2, 0] { cluster.end(index, signal: SIGTERM) }
            let copy = cluster.folder + "/copy"
            try Self.copyNode(path, to: copy)
            try cluster.start(0)
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(100, to: $0, prefix: "a/") }
            func counters(_ index: Int) async -> StoreStatus? {
                // Asked again.
                try? await cluster.node(index).decodedStatus().stores.first { $0.name == "counters" }
            }
            let written = await counters(0)?.commit
            let end = try #require(written)
            try await Bench.wait("the replica") { await counters(1)?.sequence ?? 0 >= end }
            cluster.end(0, signal: SIGKILL)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: copy, toPath: path)
            try cluster.start(0)
            var alarm = ""
            try await Bench.wait("the alarm") {
                alarm = await counters(0)?.alarms.first { $0.kind == .primaryBehind }?.text ?? ""
                return !alarm.isEmpty
            }
            let named = try #require(alarm.firstMatch(of: /knows ([0-9]+:[0-9]+):/)).1
            cluster.end(0, signal: SIGTERM)
            #expect(try Bench.lockstep("recover", "--data", path, "--accept-loss", String(named)).status == 0)
            for index in [0, 2] { try cluster.start(index) }
            try await Bench.wait("a primary that goes on, and a replica of it") {
                let (primary, follower) = (await counters(0)?.phase, await counters(2)?.phase)
                return primary == .admitting && follower == .live
            }
            cluster.end(0, signal: SIGTERM)
            let made = try Bench.lockstep(
                "recover", "--data", path, "--from", cluster.endpoint(2), "--anew", "--store", "counters")
            #expect(made.status == 0, "\(made)")
            // The replica that is ahead is awaited, so it was heard when the primary admits, or has stopped it.
            let awaited = try #require(try Self.note(.audience, of: path)).split(separator: ",")
            #expect(Set(awaited) == ["replica-1", "replica-2"])
            try cluster.start(0)
            try await Bench.wait("the primary") {
                let stores = try? await node.decodedStatus().stores  // Asked again.
                return stores?.allSatisfy { $0.phase == .admitting || $0.phase == .behind } ?? false
            }
            let stores = try await node.decodedStatus().stores
            #expect(stores.allSatisfy { $0.phase == .admitting && $0.alarms.isEmpty }, "\(stores.map(\.alarms))")
        }
    }

    /// A recovery that was begun and killed is run again, not taken for whole (PROTOCOL R-47).
    @Test func anInterruptedRecoveryIsRepeated() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let path = cluster.node(0).path
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(300, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGTERM)
            let reader = try SQLiteJournalReader(folder: path, storeName: "counters")
            let request = JournalRequest(
                cluster: reader.identity.cluster, storeName: "counters",
                nodeName: try NodeFolder(path).identity().node)
            try reader.close()
            let journal = try SQLiteJournal(folder: path, request: request, create: false)
            try journal.openForRepair()
            try journal.setNote(
                .recovering, to: KnownPosition(position: journal.head, boot: BootID(rawValue: 0)).noteText)
            journal.close()
            let refused = try Bench.lockstep("serve", "--data", path, "--listen", cluster.endpoint(0))
            #expect(refused.status == 65 && refused.errors.contains("lockstep recover --from"), "\(refused)")
            let recovered = try Bench.lockstep("recover", "--data", path, "--from", cluster.endpoint(1))
            #expect(recovered.status == 0, "\(recovered)")
            try cluster.start(0)
            try await cluster.waitUntilReady()
            _ = try await cluster.waitUntilEqual()
        }
    }
}
