import LockstepServer

@main struct Tokens: LockstepServer {
    static let about = "Gives out tokens with numbers, each number once."
    static var stores: Stores { HostedStore("tokens", TokenRoll()) }
    static var commands: [any ParsableCommand.Type] { [TakeCommand.self] }
}
