import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepServer
import LockstepSQLite
import Testing

/// What commands do with the journals of a stopped node, and what they leave alone (PROTOCOL R-47, R-49, R-85).
@Suite(.timeLimit(.minutes(5)))
struct StoppedFolderTests {
    /// A folder with one store, as `init` makes it, and what a test does to its files.
    private struct StoppedFolder {
        let path: String

        /// What the journal says.
        struct Content: Equatable {
            var end: Position
            var role: String?
            var mark: SideMark?
            var keptAside: Int
        }

        init(_ path: String, role: JournalRole) throws {
            self.path = path
            var command = try Shop.parseAsRoot(["init", "--data", path, "--node", "node-1", "--store", "stock"])
            try command.run()
            let journal = try opened()
            defer { journal.close() }
            try journal.setNote(.role, to: role.rawValue)
        }

        private func opened() throws -> SQLiteJournal {
            let request = JournalRequest(cluster: nil, storeName: "stock", nodeName: "node-1")
            let journal = try SQLiteJournal(folder: path, request: request, create: false)
            try journal.openForRepair()
            return journal
        }

        /// Appends a batch, as a node would: it opens the epoch if that is a new one, and may tell something.
        func append(epoch number: UInt64, tells: Bool = true) throws {
            let journal = try opened()
            defer { journal.close() }
            let (epoch, end) = (Epoch(rawValue: number), journal.head)
            var builder = BatchBuilder(
                store: journal.identity.store, epoch: epoch, after: end, time: LogTime(rawValue: 1_000))
            if epoch > end.epoch {
                builder.append(
                    .epochOpen(
                        node: "node-1", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: UInt128(number))))
            }
            if tells {
                builder.append(.sessionExpire([SessionID(epoch: epoch, sequence: SequenceNumber(rawValue: 1))]))
            }
            try journal.appendRecovered([builder.sealed()])
        }

        /// Makes the journal end before what was acknowledged, which the side mark has: an older copy is put back.
        ///
        /// What is there ends with an epoch that looks as if nobody had been told anything.
        func cut() throws {
            try append(epoch: 1)
            try append(epoch: 2, tells: false)
            let database = URL(fileURLWithPath: path + "/stock.sqlite")
            let older = try Data(contentsOf: database)
            try append(epoch: 2)
            try older.write(to: database)
        }

        func content() throws -> Content {
            let reader = try SQLiteJournalReader(folder: path, storeName: "stock")
            defer { try? reader.close() }  // Nothing was written.
            return Content(
                end: try reader.end(), role: reader.note(.role), mark: reader.mark,
                keptAside: try reader.quarantined().count)
        }

        /// The files by name, but those without bytes, which readers and locks make.
        func files() throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
                if !data.isEmpty { files[name] = data }
            }
            return files
        }
    }

    /// The failure with which a command ends; nil if it has done its work.
    private func failure(of words: [String]) async -> CommandFailure? {
        do {
            var command = try Shop.parseAsRoot(words)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return nil
        } catch { return CommandFailure(describing: error) ?? CommandFailure("\(error)", status: .usage) }
    }

    /// Goal: `demote`, which writes the side mark anew, refuses a journal that lacks what was acknowledged, as a start
    /// does.
    @Test func aCutJournalIsNotDemoted() async throws {
        try await withFolder { path in
            let folder = try StoppedFolder(path, role: .primary)
            try folder.cut()
            let before = try folder.files()
            let refused = await failure(of: ["demote", "--data", path, "--yes"])
            #expect(refused?.status == .damaged)
            #expect(try folder.files() == before)
        }
    }

    /// Goal: what is said of a journal that is gone does not lead back to where it was said, and has the status after
    /// which no unit starts its node again.
    @Test func aJournalThatIsGoneHasAWayOut() async throws {
        try await withFolder { path in
            _ = try StoppedFolder(path, role: .primary)
            for name in ["stock.sqlite", "stock.mark"] {
                try FileManager.default.removeItem(atPath: path + "/" + name)
            }
            let commands = [
                ["clock", "accept"], ["journal", "inspect", "--store", "stock"], ["init", "--add", "--store", "stock"],
            ]
            for command in commands {
                let refused = await failure(of: command + ["--data", path])
                #expect(refused?.status == .usage, "\(command): \(refused?.message ?? "")")
                let text = refused?.message ?? ""
                #expect(text.contains(" recover --from NODE` makes a primary's journal anew"), "\(command): \(text)")
            }
        }
    }

    /// Goal: no increment takes the place of a backup that it goes back to: what came since would be lost with it.
    @Test func anIncrementReplacesNothingThatItGoesBackTo() async throws {
        try await withFolder { path in
            let folder = try StoppedFolder(path, role: .primary)
            try folder.append(epoch: 1, tells: false)
            func backUp(_ name: String, since: String? = nil) async -> CommandFailure? {
                let earlier = since.map { ["--since", path + "/" + $0] } ?? []
                let options = ["backup", "--data", path, "--to", path + "/" + name, "--overwrite"]
                return await failure(of: options + earlier)
            }
            let series: [(String, String?)] = [("monday", nil), ("tuesday", "monday"), ("wednesday", "tuesday")]
            for (name, since) in series {
                let refused = await backUp(name, since: since)
                #expect(refused?.message == nil, "\(name)")
            }
            for name in ["monday", "tuesday", "wednesday"] {
                let whole = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
                let refused = await backUp(name, since: "wednesday")
                #expect(refused?.status == .usage && refused?.message.contains("/\(name)") == true, "\(name)")
                #expect(refused?.message.contains("name another file with --to") == true, "\(name)")
                #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)) == whole, "\(name)")
            }
            // What it does not go back to is replaced, as it is told.
            for since in ["tuesday", "wednesday"] {
                let refused = await backUp("thursday", since: since)
                #expect(refused?.message == nil, "\(since)")
            }
        }
    }

    #if Etcd
        /// Goal: so do the commands that make the folder a data node's; the one that accepts a loss says it and goes on.
        ///
        /// Nobody answers as etcd, which is not needed for that.
        @Test func aCutJournalGetsNoOtherMark() async throws {
            let etcd = ["--etcd", "http://127.0.0.1:1"]
            try await withFolder { path in
                let folder = try StoppedFolder(path, role: .primary)
                try folder.cut()
                let alone = try folder.files()
                let adopted = await failure(of: ["cluster", "adopt", "--data", path] + etcd)
                #expect(adopted?.status == .damaged)
                #expect(try folder.files() == alone)

                let node = NodeFolder(path)
                var identity = try node.identity()
                identity.etcd = NodeFolder.Identity.Etcd(endpoints: ["http://127.0.0.1:1"])
                try node.write(identity)
                try FileManager.default.removeItem(atPath: node.identityPath)
                let lost = try folder.files()
                let made = await failure(
                    of: ["init", "--data", path, "--node", "node-1", "--cluster", identity.cluster, "--store", "stock"]
                        + etcd)
                #expect(made?.status == .damaged)
                #expect(try folder.files() == lost)

                try node.write(identity)
                let left = await failure(of: ["cluster", "leave", "--data", path, "--accept-loss"])
                #expect(try left == nil && node.identity().etcd == nil)
            }
        }
    #endif

    /// Goal: `demote` does not cut where it looked before the question, if a node has acknowledged something meanwhile.
    @Test func whatWasWrittenBeforeTheAnswerIsNotCut() async throws {
        try await withFolder { path in
            let folder = try StoppedFolder(path, role: .primary)
            try folder.append(epoch: 1)
            try folder.append(epoch: 2, tells: false)
            let demote = try #require(try Shop.parseAsRoot(["demote", "--data", path]) as? DemoteCommand<Shop>)
            var written: StoppedFolder.Content?
            var failure: CommandFailure?
            do {
                try demote.run { _ in
                    try folder.append(epoch: 2)
                    written = try folder.content()
                }
            } catch let error as CommandFailure { failure = error }
            #expect(failure?.message.contains("has changed meanwhile; nothing was changed") == true)
            #expect(try folder.content() == written)

            // Asked again, it finds no empty end.
            try demote.run { _ in }
            written?.role = "replica"
            #expect(try folder.content() == written)
        }
    }

    /// Goal: an empty end is kept aside if nothing has changed, and the mark follows.
    @Test func anEmptyEndIsKeptAside() async throws {
        try await withFolder { path in
            let folder = try StoppedFolder(path, role: .primary)
            try folder.append(epoch: 1)
            let told = try folder.content().end
            try folder.append(epoch: 2, tells: false)
            let demote = try #require(try Shop.parseAsRoot(["demote", "--data", path]) as? DemoteCommand<Shop>)
            try demote.run { _ in }
            let content = try folder.content()
            #expect(content.end == told && content.mark?.position == told)
            #expect(content.role == "replica" && content.keptAside == 1)
        }
    }

    /// Goal: `promote` does not make another journal the primary's than the one whose end it has shown.
    @Test func whatWasNotShownIsNotPromoted() async throws {
        try await withFolder { path in
            let folder = try StoppedFolder(path, role: .replica)
            try folder.append(epoch: 1)
            let promote = try #require(try Shop.parseAsRoot(["promote", "--data", path]) as? PromoteCommand<Shop>)
            var written: StoppedFolder.Content?
            var failure: CommandFailure?
            do {
                try promote.run { _ in
                    try folder.append(epoch: 1)
                    written = try folder.content()
                }
            } catch let error as CommandFailure { failure = error }
            #expect(failure?.message.contains("has changed meanwhile; nothing was changed") == true)
            #expect(try folder.content() == written)
            try promote.run { _ in }
            written?.role = "primary"
            #expect(try folder.content() == written)
        }
    }
}
