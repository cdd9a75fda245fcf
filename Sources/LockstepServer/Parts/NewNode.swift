import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite
import ZeroMQ

/// What `init` is told, and how it makes a node's folder, and a cluster if none is named; or adds stores to a folder.
public struct NewNode<Server: LockstepServer>: ParsableArguments {
    @Option(help: "The node's folder.")
    var data: String
    @Option(help: "The node's name, never used again in this cluster. Default: the folder's name.")
    var node: String?
    @Option(help: "The ID of the cluster that the node joins, without --etcd as a replica. Default: a new cluster.")
    var cluster: String?
    @Option(
        name: .customLong("store"),
        help: "A store to host; may be repeated. Default: \(Server.stores.initialText).")
    var stores: [String] = Server.stores.initialNames
    @Flag(help: "Add stores to the folder of a node that is there; without --store those that it lacks.")
    var add = false
    @Option(
        help: "The node's key file, which is made if it is not there. Default, with --access: node.key in the folder.")
    var keys: String?
    @Option(help: "The access list, with which the node gets keys; see keys.")
    var access: String?
    @Option(help: "Where the node will listen, as others reach it: puts it into the access list.")
    var address: String?
    @OptionGroup(title: "Data nodes") var etcd: EtcdOptions
    @Flag(help: "Print JSON.")
    var json = false

    /// Read from the command line.
    public init() {}

    /// Checks what goes together.
    public func validate() throws {
        guard !add || (node == nil && cluster == nil && keys == nil && access == nil && etcd.etcd == nil) else {
            throw ValidationError(
                "--add keeps the node's name, cluster, keys and etcd: leave --node, --cluster, --keys, --access and "
                    + "--etcd out")
        }
        guard access != nil || (keys == nil && address == nil) else {
            throw ValidationError("a node with keys needs an access list: name it with --access, also one to be made")
        }
    }

    /// Makes the folder, or adds stores to it.
    ///
    /// - Throws: ``CommandFailure``, or what the journal throws, if there is a node already, or with `--add` none, or a
    ///   file cannot be made.
    public func run() throws {
        try Server.stores.check()
        let known = Server.stores.names
        let folder = NodeFolder(data)
        if let problem = folder.nameProblem { throw problem }
        guard !stores.isEmpty, Set(stores).isSubset(of: known), Set(stores).count == stores.count else {
            throw ValidationError("--store is one of \(known.joined(separator: ", ")), each at most once")
        }
        if add { return try addStores(to: folder) }
        guard !FileManager.default.fileExists(atPath: folder.identityPath) else {
            throw CommandFailure(
                "\(folder.path) is a node's folder already; choose another, serve it, or add stores to it with --add")
        }
        let noted = try etcd.noted(in: folder)
        let name = try parseNode(node ?? URL(fileURLWithPath: folder.path).lastPathComponent)
        var generator = SystemRandomNumberGenerator()
        let clusterID = try cluster.map(parseCluster) ?? begunCluster(folder) ?? ClusterID(using: &generator)
        try makeJournals(of: stores, in: folder, clusterID, name, isForDataNode: noted != nil)
        var identity = NodeFolder.Identity(
            node: name.name, cluster: "\(clusterID)", stores: known.filter(stores.contains), etcd: noted)
        let key = try access.map {
            try NewNodeKeys(folder: folder, file: keys, access: $0, address: address).make(&identity, clusterID)
        }
        try folder.write(identity)
        if json {
            var fields = ["cluster": "\(clusterID)", "node": name.name, "data": folder.path]
            fields["publicKey"] = key?.key.z85
            try Output.json(fields)
        } else {
            Output.line("cluster \(clusterID)")
            Output.line("node    \(name) in \(folder.path)")
            if let key { Output.line("key     \(key)") }
        }
    }

    /// Gives a node the stores that it lacks; a running one serves them after its next start.
    private func addStores(to folder: NodeFolder) throws {
        var identity = try folder.identity()
        let missing = stores.filter { !identity.stores.contains($0) }
        guard !missing.isEmpty else {
            let there = try SQLiteJournalReader.stores(in: folder.path)
            if let gone = stores.first(where: { !there.contains($0) }) {
                throw LockstepError(
                    .journalMissing,
                    "\(folder.path) has the store \(gone) already, and its journal is gone: "
                        + SQLiteJournalReader.wayOut)
            }
            throw CommandFailure("\(folder.path) has the store \(stores.joined(separator: ", ")) already")
        }
        try makeJournals(
            of: missing, in: folder, try parseCluster(identity.cluster), try parseNode(identity.node),
            isForDataNode: identity.etcd != nil)
        let all = Set(identity.stores + missing)
        // Those that this program does not know stay, so that nothing is lost to another version.
        let known = Server.stores.names
        identity.stores = known.filter(all.contains) + identity.stores.filter { !known.contains($0) }
        try folder.write(identity)
        if json {
            try Output.json(["data": folder.path, "added": missing.joined(separator: ",")])
        } else {
            let names = missing.joined(separator: ", ")
            Output.line("added \(names) to \(folder.path); serve has them from its next start")
        }
    }

    private func makeJournals(
        of stores: [String], in folder: NodeFolder, _ cluster: ClusterID, _ name: NodeID, isForDataNode: Bool
    ) throws {
        let source = JournalSource.sqlite(at: folder.path, create: true)
        var marked: [SQLiteJournal] = []
        defer { for journal in marked { journal.close() } }
        // A store's channel is the same on all nodes, whichever of the stores they host.
        for (channel, store) in Server.stores.names.enumerated() where stores.contains(store) {
            var request = JournalRequest(
                cluster: cluster, storeName: store, nodeName: name.name, channel: Channel(rawValue: UInt16(channel)))
            request.isForDataNode = isForDataNode
            let isReplicas = self.cluster != nil && !isForDataNode && !hasEntries(store, in: folder)
            let opened = try source.open(request)
            guard isForDataNode, let journal = opened as? SQLiteJournal else {
                defer { opened.close() }
                // Who joins a cluster is no second primary of it, not even by a forgotten flag (PROTOCOL, R-49).
                if isReplicas, let journal = opened as? SQLiteJournal {
                    try journal.openForRepair()
                    try JournalRole.replica.noteIfNone(in: journal)
                }
                continue
            }
            marked.append(journal)
        }
        // With --cluster one that was there before may have entries, and lack some that were acknowledged.
        try SQLiteJournal.openVerified(marked)
        for journal in marked { try journal.markArbitrated() }
    }

    /// Whether a journal of this store is there and is more than what an interrupted `init` has left.
    private func hasEntries(_ store: String, in folder: NodeFolder) -> Bool {
        guard let reader = try? SQLiteJournalReader(folder: folder.path, storeName: store) else { return false }
        defer { try? reader.close() }  // Nothing was written.
        return (try? reader.end().sequence > .zero) ?? true
    }

    /// The cluster of journals that an interrupted `init` has left, so that it can be repeated; nil if there is none.
    ///
    /// A journal that holds entries is no left-over: its folder has lost its `node.json`, and nothing is guessed.
    private func begunCluster(_ folder: NodeFolder) throws -> ClusterID? {
        // What cannot be listed is not there, or is no folder, which making the journal says better.
        for store in (try? SQLiteJournalReader.stores(in: folder.path)) ?? [] {
            // One that was not finished says nothing of its cluster, and is made anew.
            guard let reader = try? SQLiteJournalReader(folder: folder.path, storeName: store) else { continue }
            defer { try? reader.close() }  // Nothing was written.
            guard try reader.end().sequence == .zero else {
                throw CommandFailure(
                    "\(folder.path) has a journal with entries and no node.json: put the file back, or give --cluster "
                        + "\(reader.identity.cluster) and the name that the node had")
            }
            return reader.identity.cluster
        }
        return nil
    }
}
