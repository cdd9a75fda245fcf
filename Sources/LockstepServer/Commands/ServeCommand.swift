/// `serve`: runs a primary, or a replica of one.
public struct ServeCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve", abstract: "Runs a node until it is told to stop (SIGTERM, SIGINT).",
            discussion: """
                A node listens on its port and the two after it, a data node on the three after it.

                  \(Server.name) serve --data data/primary --listen tcp://127.0.0.1:7400
                  \(Server.name) serve --data data/replica-1 --replica-of tcp://127.0.0.1:7400 --listen tcp://127.0.0.1:7410
                """)
    }

    @OptionGroup var node: ServedNode<Server>

    /// Read from the command line.
    public init() {}

    /// Serves until the process is told to stop.
    public func run() async throws { try await node.run() }
}
