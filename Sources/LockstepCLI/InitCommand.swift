import ArgumentParser
import Foundation
import Lockstep
import LockstepCore
import LockstepHarness
import LockstepLaboratory
import LockstepNode
import LockstepSQLite

/// `lockstep init`: makes a node's folder, and a cluster if none is named (nothing else makes a journal).
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Makes the folder and the journal of a node.",
        discussion: """
            Without --cluster a new cluster is born; every further node gets its ID by --cluster.

              lockstep init --data data/primary --node primary
              lockstep init --data data/replica-1 --node replica-1 --cluster 0123456789abcdef0123456789abcdef
            """)

    @Option(help: "The node's folder.")
    var data: String
    @Option(help: "The node's name, never used again in this cluster. Default: the folder's name.")
    var node: String?
    @Option(help: "The ID of the cluster that the node joins. Default: a new cluster.")
    var cluster: String?
    @Option(name: .customLong("store"), help: "A store to host; may be repeated. Default: counters and search.")
    var stores: [String] = Hosted.usual
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let folder = NodeFolder(data)
        guard !stores.isEmpty, Set(stores).isSubset(of: Hosted.all), Set(stores).count == stores.count else {
            throw ValidationError("--store is one of \(Hosted.all.joined(separator: ", ")), each at most once")
        }
        guard !FileManager.default.fileExists(atPath: folder.identityPath) else {
            throw CommandFailure("\(folder.path) is a node's folder already; choose another, or serve it")
        }
        let name = try parseNode(node ?? URL(fileURLWithPath: folder.path).lastPathComponent)
        var generator = SystemRandomNumberGenerator()
        let clusterID = try cluster.map(parseCluster) ?? begunCluster(folder) ?? ClusterID(using: &generator)
        let source = JournalSource.sqlite(at: folder.path, create: true)
        // A store's channel is the same on all nodes, whichever of the stores they host.
        for (channel, store) in Hosted.all.enumerated() where stores.contains(store) {
            let request = JournalRequest(
                cluster: clusterID, storeName: store, nodeName: name.name, channel: Channel(rawValue: UInt16(channel)))
            try source.open(request).close()
        }
        try folder.write(
            NodeFolder.Identity(node: name.name, cluster: "\(clusterID)", stores: Hosted.all.filter(stores.contains)))
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

/// The stores that the program hosts, by name.
enum Hosted {
    static let counters = "counters"
    static let search = "search"
    /// What the workloads of a laboratory use; only on request.
    static let workbench = Workbench.store
    /// In the order in which a node shows them; a place is a channel, so new ones come last.
    static let all = [counters, search, workbench]
    /// Those of a node that was not told otherwise.
    static let usual = [counters, search]
}
