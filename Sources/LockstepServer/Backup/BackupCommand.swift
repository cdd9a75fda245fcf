import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// `backup`: puts all stores of a node into one file, while it runs or when it is stopped (decision 0027).
public struct BackupCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example of each use.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup", abstract: "Copies a node's stores into one file, also while it runs.",
            discussion: """
                Of a node that runs it takes what has committed, over the node's own port, as a replica that joins does; of a \
                stopped one it reads the journals. The file is read back and checked before it gets its name. --since makes an \
                increment: it holds what came after an earlier backup, or after an earlier increment. A store whose entries since \
                then are no longer kept, or take more room than its state, is in it as a whole. \
                "\(Server.name) restore" puts a backup and its increments into a new folder. A node that runs is asked \
                by its own keys; if its configuration names them and not its folder, say --keys and --access.

                  \(Server.name) backup --data data/primary --to monday.backup
                  \(Server.name) backup --data data/primary --to tuesday.backup --since monday.backup
                  \(Server.name) backup show tuesday.backup
                """,
            subcommands: [Make.self, Show.self], defaultSubcommand: Make.self)
    }

    /// Read from the command line.
    public init() {}

    struct Make: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "make", abstract: "Makes a backup; it is what \"backup\" does.",
                discussion: "  \(Server.name) backup --data data/primary --to monday.backup")
        }

        @Option(help: "The node's folder.")
        var data: String
        @Option(help: "The file to write; until it is whole, its name ends with .part.")
        var to: String
        @Option(help: "An earlier backup or increment: only what came after it is written.")
        var since: String?
        @Option(help: "The store. Default: all of the folder.")
        var store: String?
        @OptionGroup var nodeKeys: NodeKeyOptions<Server>
        @Flag(help: "Replace the file if it is there.")
        var overwrite = false
        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let folder = NodeFolder(data)
            let identity = try folder.identity()
            try identity.check(store: store, in: data)
            if let since, BackupWriter.replaces(since, at: to) {
                throw CommandFailure(
                    "\(to) would take the place of \(since), which it goes on from and is not restored without: name "
                        + "another file with --to; nothing was written", status: .usage)
            }
            let earlier = try since.map(BackupReader.init(path:))
            if let earlier, earlier.manifest.cluster != identity.cluster {
                throw CommandFailure(
                    "\(earlier.path) is of cluster \(earlier.manifest.cluster), \(data) of \(identity.cluster)")
            }
            if let earlier, let taken = earlier.needed(at: to) {
                throw CommandFailure(
                    "\(taken) is a backup that \(earlier.path) goes back to and is not restored without: name another "
                        + "file with --to; nothing was written", status: .usage)
            }
            let source = try await BackupSource.found(
                in: folder, identity, stores: store.map { [$0] }, keys: nodeKeys.keys, access: nodeKeys.access)
            let writer = try BackupWriter(path: to, overwrites: overwrite)
            for name in source.stores { try source.write(name, to: writer, since: earlier) }
            var generator = SystemRandomNumberGenerator()
            let manifest = try writer.seal(
                BackupManifest(
                    id: "\(BackupID(using: &generator))", since: earlier?.manifest.id,
                    chain: earlier?.manifest.needed, cluster: identity.cluster, node: identity.node,
                    role: source.role?.rawValue, isDataNode: source.isDataNode,
                    made: Int64(Date().timeIntervalSince1970)))
            Output.progress("checking \(writer.part)")
            let reader = try BackupReader(path: writer.part)
            try reader.check(state: Server.stores.detached)
            try writer.publish()
            Output.progress("")
            try BackupReport(file: to, bytes: reader.byteCount, backup: manifest).print(json: json)
        }
    }

    struct Show: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "show", abstract: "Checks a backup and shows what it holds; nothing is restored.",
                discussion: """
                    It exits with 65 if the file is damaged. The digests of an increment's entries are compared when it is \
                    restored, or by "\(Server.name) restore --check" with all files.

                      \(Server.name) backup show monday.backup
                    """)
        }

        @Argument(help: "The file.")
        var file: String
        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let reader = try BackupReader(path: file)
            try reader.check(state: Server.stores.detached)
            let report = BackupReport(file: file, bytes: reader.byteCount, backup: reader.manifest)
            if json { return try report.print(json: true) }
            report.lines.forEach(Output.line)
        }
    }
}

/// What `backup` and `backup show` print.
struct BackupReport: Encodable {
    var file: String
    var bytes: Int
    var backup: BackupManifest

    func print(json: Bool) throws {
        if json { return try Output.json(self) }
        let stores = backup.stores.map { store in
            let part = store.since.map { "since \($0)" } ?? (backup.since == nil ? "" : "whole")
            return "\(store.name) through \(store.end)" + (part.isEmpty ? "" : " (\(part))")
        }
        Output.line("\(file): \(bytes) bytes, \(stores.joined(separator: ", "))")
    }

    var lines: [String] {
        var lines = [
            "backup       \(backup.id), " + (backup.since.map { "goes on from \($0)" } ?? "full"),
            "made         \(Date(timeIntervalSince1970: Double(backup.made)).formatted(.iso8601)), \(bytes) bytes",
            "node         \(backup.node)" + (backup.kind.map { ", a \($0)" } ?? ""), "cluster      \(backup.cluster)",
        ]
        for store in backup.stores {
            let name = store.name.padding(toLength: max(12, store.name.count), withPad: " ", startingAt: 0)
            let snapshot = store.snapshot.map { "snapshot at \($0) of \(store.snapshotBytes) bytes, " } ?? ""
            let since = store.since.map { "after \($0): " } ?? "whole: "
            lines.append(
                "\(name) through \(store.end), \(since)\(snapshot)\(store.batches) batches of \(store.batchBytes) bytes"
            )
        }
        return lines
    }
}

extension BackupManifest {
    /// What the node was, in words; nil if it was never served.
    var kind: String? { isDataNode == true ? "data node" : role }
}

/// Names a backup.
struct BackupID: Identifier128 {
    let rawValue: UInt128
    init(rawValue: UInt128) { self.rawValue = rawValue }
}
