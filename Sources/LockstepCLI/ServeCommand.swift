import ArgumentParser
import LockstepCommands

/// `lockstep serve`: runs a primary, or a replica of one.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Runs a node until it is told to stop (SIGTERM, SIGINT).",
        discussion: """
            A node listens on its port and the two after it.

              lockstep serve --data data/primary --listen tcp://127.0.0.1:7400
              lockstep serve --data data/replica-1 --replica-of tcp://127.0.0.1:7400 --listen tcp://127.0.0.1:7410
            """)

    @OptionGroup var node: ServedNode

    func run() async throws { try await node.run() }
}
