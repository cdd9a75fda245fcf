package import LockstepFolders
public import LockstepNode
import LockstepSQLite

/// Where a node of a program keeps its journals, and with whom it talks.
public struct NodePlace<Server: LockstepServer>: ParsableArguments {
    /// The node's folder.
    @Option(help: "The node's folder, as \"\(Server.name) init\" made it.")
    public var data: String
    /// Where the node listens.
    @Option(help: "Where the node listens: tcp://HOST:PORT. A replica may go without.")
    public var listen: String?
    /// The primary of a replica, or the nodes that may be it, with commas between them; nil at a primary.
    @Option(
        help: """
            The primary's tcp://HOST:PORT, or those of several nodes that may be the primary, with commas between them; \
            without it the node is the primary. A folder keeps its role: see promote.
            """)
    public var replicaOf: String?
    /// The node's key file; nil: the one that its folder notes, if it notes one.
    @Option(help: "The node's key file. Default: the one that \"\(Server.name) init\" noted, if it noted one.")
    public var keys: String?
    /// Who may talk to the node; nil: the list that its folder notes, if it notes one.
    @Option(
        help:
            "The access list, which says who may talk to a node with keys. Default: the one that \"\(Server.name) init\" noted."
    )
    public var access: String?
    /// How many bytes of batches a snapshot comes after; as many as ``NodeConfiguration`` says, unless it is told.
    @Option(
        help: "A snapshot is taken when the batches after the last one have so many bytes. (default: 67108864)",
        transform: Within.whole((1 << 20)...Int.max))
    public var snapshotAfter = NodeConfiguration.local().snapshotAfterBytes

    /// Read from the command line.
    public init() {}

    /// The node's configuration.
    ///
    /// - Throws: ``CommandFailure``, `ValidationError` or ``LockstepError`` if the folder is no node's, or an option is
    ///   missing.
    public func configuration() throws -> NodeConfiguration {
        try configuration(try NodeFolder(data).identity())
    }

    /// The node's configuration; `create` makes journals that "init" did not.
    package func configuration(_ identity: NodeFolder.Identity, create: Bool = false) throws -> NodeConfiguration {
        let folder = NodeFolder(data)
        let journal = JournalSource.sqlite(at: folder.path, create: create)
        var configuration: NodeConfiguration
        if let etcd = identity.etcd {
            guard replicaOf == nil else {
                throw CommandFailure(
                    "\(folder.path) is a data node's folder: its etcd says who is the primary; leave --replica-of out",
                    status: .usage)
            }
            guard let listen else {
                throw ValidationError("a data node needs --listen tcp://HOST:PORT, which the other nodes reach")
            }
            configuration = try folder.dataNode(
                try parseNode(identity.node), etcd, listen: listen, journal: journal)
        } else if let replicaOf {
            configuration = .replica(of: parseNodes(replicaOf), listen: listen, journal: journal)
        } else {
            guard let listen else { throw ValidationError("a primary needs --listen tcp://HOST:PORT") }
            configuration = .primary(listen: listen, journal: journal)
        }
        configuration.node = try parseNode(identity.node)
        configuration.cluster = try parseCluster(identity.cluster)
        configuration.administrationFolder = folder.administration
        configuration.snapshotAfterBytes = snapshotAfter
        configuration.keys = try folder.keys(of: identity, keys: keys, access: access)
        return configuration
    }
}
