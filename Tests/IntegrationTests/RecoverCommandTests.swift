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
        case header, version, pages, half, empty, removed, log, halfLog, mark, marks, otherMark, otherStore

        func apply(in folder: String) throws {
            let database = folder + "/counters.sqlite"
            switch self {
            case .header: try edit(database) { for index in 0..<100 { $0[index] = 0 } }
            case .version: try edit(database) { $0[63] ^= 0x40 }
            case .pages:
                try edit(database) { for index in stride(from: 4_300, to: $0.count, by: 4_096) { $0[index] ^= 4 } }
            case .half: try edit(database) { $0.removeLast($0.count / 2) }
            case .empty: try edit(database) { $0.removeAll() }
            case .removed: try FileManager.default.removeItem(atPath: database)
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
            var refusals = 0
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
                let message = try String(contentsOfFile: log, encoding: .utf8)
                #expect(message.contains("lockstep recover --from NODE"), "\(harm): \(message)")
                let anew = message.contains("--anew") ? ["--anew"] : []
                let recovered = try ChildProcess.run(
                    Bench.program, ["recover", "--data", node.path, "--from", replica] + anew)
                #expect(recovered.status == 0, "\(harm): \(message) \(recovered)")
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
            #expect(refusals >= 10)
        }
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
            let audience = try #require(try Self.audience(of: path))
            try cluster.start(1)
            let recovered = try Bench.lockstep(
                "recover", "--data", path, "--from", cluster.endpoint(1), "--anew", "--store", "counters", "--json")
            #expect(recovered.status == 0, "\(recovered)")
            let report = try JSONDecoder().decode(Report.self, from: Data(recovered.output.utf8))
            #expect(report.lost == "\(mark)" && report.oldFiles != nil)
            #expect(try Self.audience(of: path) == audience)
        }
    }

    private static func audience(of folder: String) throws -> String? {
        let reader = try SQLiteJournalReader(folder: folder, storeName: "counters")
        defer { try? reader.close() }  // Nothing was written.
        return reader.note(.audience)
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
