package import ArgumentParser
package import LockstepFolders
package import LockstepNode
import LockstepSQLite

/// Where a node of this program keeps its journals, and with whom it talks.
package struct NodePlace: ParsableArguments {
    @Option(help: "The node's folder, as \"lockstep init\" made it.")
    package var data: String
    @Option(help: "Where the node listens: tcp://HOST:PORT. A replica may go without.")
    package var listen: String?
    @Option(
        help: "The primary's tcp://HOST:PORT; without it the node is the primary. A folder keeps its role: see promote."
    )
    package var replicaOf: String?
    @Option(
        help: "A snapshot is taken when the batches after the last one have so many bytes. Default: 67108864, 64 MiB.",
        transform: Within.whole((1 << 20)...Int.max))
    package var snapshotAfter: Int?

    package init() {}

    /// The node's configuration; `create` makes journals that "lockstep init" did not.
    package func configuration(_ identity: NodeFolder.Identity, create: Bool = false) throws -> NodeConfiguration {
        let folder = NodeFolder(data)
        let journal = JournalSource.sqlite(at: folder.path, create: create)
        var configuration: NodeConfiguration
        if let replicaOf {
            configuration = .replica(of: replicaOf, listen: listen, journal: journal)
        } else {
            guard let listen else { throw ValidationError("a primary needs --listen tcp://HOST:PORT") }
            configuration = .primary(listen: listen, journal: journal)
        }
        configuration.node = try parseNode(identity.node)
        configuration.cluster = try parseCluster(identity.cluster)
        configuration.administrationFolder = folder.administration
        if let snapshotAfter { configuration.snapshotAfterBytes = snapshotAfter }
        return configuration
    }
}
