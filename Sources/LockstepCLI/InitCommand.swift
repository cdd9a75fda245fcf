import ArgumentParser
import LockstepCommands

/// `lockstep init`: makes a node's folder, and a cluster if none is named (nothing else makes a journal).
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Makes the folder and the journal of a node.",
        discussion: """
            Without --cluster a new cluster is born; every further node gets its ID by --cluster.

              lockstep init --data data/primary --node primary
              lockstep init --data data/replica-1 --node replica-1 --cluster 0123456789abcdef0123456789abcdef
            """)

    @OptionGroup var node: NewNode

    func run() throws { try node.run() }
}
