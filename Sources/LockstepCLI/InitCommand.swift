import ArgumentParser
import Foundation
import Lockstep
import LockstepHarness
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
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let folder = NodeFolder(data)
        guard !FileManager.default.fileExists(atPath: folder.identityPath) else {
            throw CommandFailure("\(folder.path) is a node's folder already; choose another, or serve it")
        }
        let name = try parseNode(node ?? URL(fileURLWithPath: folder.path).lastPathComponent)
        var generator = SystemRandomNumberGenerator()
        let clusterID = try cluster.map(parseCluster) ?? ClusterID(using: &generator)
        let source = JournalSource.sqlite(at: folder.path, create: true)
        let journal = try source.open(
            JournalRequest(cluster: clusterID, storeName: Hosted.counters, nodeName: name.name))
        journal.close()
        try folder.write(
            NodeFolder.Identity(node: name.name, cluster: "\(clusterID)", stores: [Hosted.counters]))
        if json {
            try Output.json(["cluster": "\(clusterID)", "node": name.name, "data": folder.path])
        } else {
            Output.line("cluster \(clusterID)")
            Output.line("node    \(name) in \(folder.path)")
        }
    }
}

/// The stores that the program hosts, by name.
enum Hosted {
    static let counters = "counters"
}
