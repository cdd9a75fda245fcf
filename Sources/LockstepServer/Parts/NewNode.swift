import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// What `init` is told, and how it makes a node's folder, and a cluster if none is named.
public struct NewNode<Server: LockstepServer>: ParsableArguments {
    @Option(help: "The node's folder.")
    var data: String
    @Option(help: "The node's name, never used again in this cluster. Default: the folder's name.")
    var node: String?
    @Option(help: "The ID of the cluster that the node joins. Default: a new cluster.")
    var cluster: String?
    @Option(
        name: .customLong("store"),
        help: "A store to host; may be repeated. Default: \(Server.stores.initialText).")
    var stores: [String] = Server.stores.initialNames
    @Flag(help: "Print JSON.")
    var json = false

    /// Read from the command line.
    public init() {}

    /// Makes the folder.
    ///
    /// - Throws: ``CommandFailure``, or what the journal throws, if there is a node already or a file cannot be made.
    public func run() throws {
        try Server.stores.check()
        let known = Server.stores.names
        let folder = NodeFolder(data)
        guard !stores.isEmpty, Set(stores).isSubset(of: known), Set(stores).count == stores.count else {
            throw ValidationError("--store is one of \(known.joined(separator: ", ")), each at most once")
        }
        guard !FileManager.default.fileExists(atPath: folder.identityPath) else {
            throw CommandFailure("\(folder.path) is a node's folder already; choose another, or serve it")
        }
        let name = try parseNode(node ?? URL(fileURLWithPath: folder.path).lastPathComponent)
        var generator = SystemRandomNumberGenerator()
        let clusterID = try cluster.map(parseCluster) ?? begunCluster(folder) ?? ClusterID(using: &generator)
        let source = JournalSource.sqlite(at: folder.path, create: true)
        // A store's channel is the same on all nodes, whichever of the stores they host.
        for (channel, store) in known.enumerated() where stores.contains(store) {
            let request = JournalRequest(
                cluster: clusterID, storeName: store, nodeName: name.name, channel: Channel(rawValue: UInt16(channel)))
            try source.open(request).close()
        }
        try folder.write(
            NodeFolder.Identity(node: name.name, cluster: "\(clusterID)", stores: known.filter(stores.contains)))
        if json {
            try Output.json(["cluster": "\(clusterID)", "node": name.name, "data": folder.path])
        } else {
            Output.line("cluster \(clusterID)")
            Output.line("node    \(name) in \(folder.path)")
        }
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
