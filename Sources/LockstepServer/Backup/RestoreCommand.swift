import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite
import ZeroMQ

/// `restore`: makes a node's folder from a backup and its increments.
public struct RestoreCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example of each use.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore", abstract: "Makes a node's folder from a backup and its increments.",
            discussion: """
                --from names the full backup, and then each increment, the oldest first. The folder must be empty or not there. \
                Everything is checked: hashes, the chain, digests, and then the new journals. The folder has the name and the \
                role of the node that was backed up; it stands for that node, which must not be served from another folder \
                any more. A node beside it needs --node with a name that was never used, and --as-replica. Of a primary that wrote \
                on after the backup, replicas tell it at its start: it says PRIMARY_BEHIND, and "\(Server.name) recover" helps.

                The backup of a data node is restored with --etcd, as "init" takes it: another member, which fetches what it \
                lacks. If no member is left, it waits for "\(Server.name) cluster promote"; if etcd has no record any more, \
                for "\(Server.name) cluster rebind". Or with --as-replica and --node, as a replica beside the data nodes.

                A backup has no keys. Where the nodes have some, name the node's key file and the access list: the \
                folder notes both, as one that "init" makes.

                  \(Server.name) restore --from monday.backup --from tuesday.backup --data data/primary
                  \(Server.name) restore --from monday.backup --from tuesday.backup --check
                  \(Server.name) restore --from node-a.backup --data data/node-a --etcd http://127.0.0.1:2379
                  \(Server.name) restore --from monday.backup --data data/primary --keys node-a.key --access access.json
                """)
    }

    /// Read from the command line.
    public init() {}

    @Option(help: "A full backup, then its increments in their order; repeated.")
    var from: [String]
    @Option(help: "The node's new folder.")
    var data: String?
    @Option(help: "The node's name. Default: that of the node that was backed up.")
    var node: String?
    @Flag(help: "Make a replica's folder of a primary's or a data node's backup.")
    var asReplica = false
    @Option(
        help: "The node's key file, which is made if it is not there. Default, with --access: node.key in the folder.")
    var keys: String?
    @Option(help: "The access list of the cluster, with which the node gets keys.")
    var access: String?
    @OptionGroup(title: "Data nodes") var etcd: EtcdOptions
    @Flag(help: "Check the files, and write nothing.")
    var check = false
    @Flag(help: "Print JSON.")
    var json = false

    /// Asks for a backup, and for a folder or `--check`.
    public func validate() throws {
        if from.isEmpty { throw ValidationError("name a backup: --from FILE") }
        if etcd.etcd != nil, check || asReplica {
            throw ValidationError("--etcd makes a data node's folder: leave --check and --as-replica out")
        }
        guard access != nil || keys == nil else {
            throw ValidationError("a node with keys needs the access list of its cluster: name it with --access")
        }
        if access != nil, check { throw ValidationError("--check makes no folder: leave --keys and --access out") }
        if check == (data != nil) { throw ValidationError("name either --data FOLDER or --check") }
    }

    /// Restores, or checks only.
    public func run() throws {
        let series = try BackupSeries(from)
        let manifest = series.manifest
        let name = try parseNode(node ?? manifest.node)
        let role = asReplica ? .replica : manifest.role.flatMap(JournalRole.init(rawValue:))
        var report = RestoreReport(
            data: data, node: name.name, role: role?.rawValue, cluster: manifest.cluster, stores: [])
        var key: PublicKeyLine?
        if let data {
            let folder = NodeFolder(data)
            let noted = try noted(in: folder, of: manifest)
            let restore = JournalRestore(
                series, to: folder.path, node: name.name, cluster: try parseCluster(manifest.cluster),
                role: role, isDataNode: noted != nil)
            let identity = NodeFolder.Identity(
                node: restore.node, cluster: "\(restore.cluster)", stores: series.stores, etcd: noted)
            try checkKeys(of: identity, in: folder)
            let made = try Self.make(
                restore, as: identity,
                access.map { NewNodeKeys(folder: folder, file: keys, access: $0, address: nil) })
            key = made.key
            report.isDataNode = noted != nil
            report.stores = made.stores
            report.publicKey = key?.key.z85
        } else {
            for store in series.stores {
                Output.progress("checking \(store)")
                let log = try series.fold(store, state: try Server.stores.detached(store))
                report.stores.append(RestoreReport.Store(name: store, end: "\(log.position)"))
            }
            Output.progress("")
        }
        if json { return try Output.json(report) }
        let stores = report.stores.map { "\($0.name) through \($0.end)" }.joined(separator: ", ")
        let kind = report.isDataNode ? "data node" : report.role
        let what = report.data.map { "\($0): \(report.node)" + (kind.map { ", a \($0)" } ?? "") }
        Output.line("\(what ?? "whole"), \(stores)")
        if let key { Output.line("key \(key)") }
    }

    /// Refuses what cannot be used, before anything is written; a key file that is not there is made later.
    private func checkKeys(of identity: NodeFolder.Identity, in folder: NodeFolder) throws {
        guard let access else { return }
        guard let keys, FileManager.default.fileExists(atPath: keys) else {
            let cluster = try AccessFile(path: access).read().cluster.map { "\($0)" }
            guard cluster == nil || cluster == identity.cluster else {
                throw CommandFailure("\(access) is the list of another cluster than the backup's", status: .usage)
            }
            return
        }
        _ = try folder.keys(of: identity, keys: keys, access: access)
    }

    /// The etcd of a data node that is restored as one; a data node's log is nothing that a primary goes on from unasked.
    private func noted(in folder: NodeFolder, of manifest: BackupManifest) throws -> NodeFolder.Identity.Etcd? {
        let noted = try etcd.noted(in: folder)
        guard manifest.isDataNode == true else {
            guard noted == nil else {
                throw CommandFailure(
                    "the backup is no data node's: restore it without --etcd, and see \"cluster adopt\"", status: .usage
                )
            }
            return nil
        }
        guard noted != nil || asReplica else {
            throw CommandFailure(
                "the backup is of the data node \(manifest.node), whose role etcd gives: say --etcd URL for a data node, "
                    + "or --as-replica --node NAME for a replica beside the data nodes; nothing was made",
                status: .usage)
        }
        return noted
    }

    /// Makes the folder: `node.json` comes last, and no node starts without it.
    private static func make(
        _ restore: JournalRestore, as identity: NodeFolder.Identity, _ keys: NewNodeKeys?
    ) throws -> (stores: [RestoreReport.Store], key: PublicKeyLine?) {
        let folder = NodeFolder(restore.folder)
        let wasThere = try isThere(folder.path)
        var identity = identity
        do {
            var stores: [RestoreReport.Store] = []
            for store in restore.series.stores {
                Output.progress("writing \(store)")
                let end = try restore.make(store, state: try Server.stores.detached(store))
                stores.append(RestoreReport.Store(name: store, end: "\(end)"))
            }
            let key = try keys?.make(&identity, restore.cluster)
            // A node whose folder notes keys is never served without, so what is noted must be usable.
            _ = try folder.keys(of: identity)
            try folder.write(identity)
            Output.progress("")
            return (stores, key)
        } catch {
            try remove(folder.path, itself: !wasThere)
            throw error
        }
    }

    /// Whether an empty folder is there; anything else there is an error.
    private static func isThere(_ path: String) throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandFailure("\(path) is there and is no folder; name another", status: .usage)
        }
        guard try FileManager.default.contentsOfDirectory(atPath: path).isEmpty else {
            throw CommandFailure(
                "\(path) is not empty: name a new folder, or move this one away; what an interrupted restore has left can be "
                    + "removed", status: .usage)
        }
        return true
    }

    /// Takes away what was made in a folder that was empty.
    private static func remove(_ path: String, itself: Bool) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { return }
        if itself { return try files.removeItem(atPath: path) }
        for name in try files.contentsOfDirectory(atPath: path) { try files.removeItem(atPath: path + "/" + name) }
    }
}

/// What `restore` prints.
private struct RestoreReport: Encodable {
    struct Store: Encodable {
        var name: String
        var end: String
    }
    /// Nil if nothing was written.
    var data: String?
    var node: String
    var role: String?
    var isDataNode = false
    var cluster: String
    var stores: [Store]
    /// The public key of the node; nil if it was given no keys.
    var publicKey: String?
}
