import LockstepServer

/// `lockstep-lab init`: as `lockstep init`, for nodes that can host the store `workbench` too.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "As \"lockstep init\", which does not know the store workbench.",
        discussion: "  lockstep-lab init --data data/primary --store counters --store search --store workbench")

    @OptionGroup var node: NewNode<LabCommand>

    func run() throws { try node.run() }
}

/// `lockstep-lab serve`: as `lockstep serve`, for nodes that can host the store `workbench` too.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "As \"lockstep serve\", which does not know the store workbench.",
        discussion: "  lockstep-lab serve --data data/primary --listen tcp://127.0.0.1:7400")

    @OptionGroup var node: ServedNode<LabCommand>

    func run() async throws {
        try DefectSwitch.apply()
        try await node.run()
    }
}
