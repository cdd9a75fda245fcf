/// `init`: makes a node's folder, and a cluster if none is named (nothing else makes a journal).
public struct InitCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init", abstract: "Makes the folder and the journal of a node.",
            discussion: """
                Without --cluster a new cluster is born; every further node gets its ID by --cluster.

                  \(Server.name) init --data data/primary --node primary
                  \(Server.name) init --data data/replica-1 --node replica-1 --cluster 0123456789abcdef0123456789abcdef
                  \(Server.name) init --data data/primary --add
                """)
    }

    @OptionGroup var node: NewNode<Server>

    /// Read from the command line.
    public init() {}

    /// Makes the folder.
    public func run() throws { try node.run() }
}
