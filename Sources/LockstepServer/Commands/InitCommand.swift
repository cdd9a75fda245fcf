/// `init`: makes a node's folder, and a cluster if none is named (nothing else makes a journal).
public struct InitCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init", abstract: "Makes the folder and the journal of a node.",
            discussion: """
                Without --cluster a new cluster is born; every further node gets its ID by --cluster. With --access the node \
                gets keys, in a file of its folder that only its user may read, and "serve" then uses them; with --address it \
                is also let into that list, which is made if it is not there.

                  \(Server.name) init --data data/primary --node primary
                  \(Server.name) init --data data/replica-1 --node replica-1 --cluster 0123456789abcdef0123456789abcdef
                  \(Server.name) init --data data/node-a --access access.json --address tcp://10.0.0.1:7400
                  \(Server.name) init --data data/primary --add

                With --etcd the node is a data node, which may become the primary when another one fails; its records are made \
                with "cluster create".

                  \(Server.name) init --data data/node-a --etcd http://127.0.0.1:2379
                """)
    }

    @OptionGroup var node: NewNode<Server>

    /// Read from the command line.
    public init() {}

    /// Makes the folder.
    public func run() throws { try node.run() }
}
