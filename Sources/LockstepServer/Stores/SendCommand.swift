/// `send`: sends an action, given as JSON, to a store.
public struct SendCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "send", abstract: "Sends an action to a store, and prints the reply and its place as JSON.",
            discussion: """
                The action is the JSON of the store's own type, as Swift's Codable writes it: the case of an enum is a key, \
                and a value without a name is "_0". It takes effect exactly once.

                  \(Server.name) send \(Server.stores.usual) '{"CASE":{"_0":"VALUE"}}'

                Exit status: 0 it took effect; 1 it was rejected, and has no effect; 64 the action cannot be read; 69 no \
                primary was reached, and it has no effect; 70 its effect failed or was cancelled, and what it had done \
                stays, or its reply cannot be read; 75 the outcome is unknown, or its effect goes on, and the error \
                names the command that asks.
                """)
    }

    @Argument(help: "The store: \(Server.stores.names.joined(separator: ", ")).")
    var store: String
    @Argument(help: "The action, as JSON.")
    var action: String
    @OptionGroup var asked: AskedNode

    /// Read from the command line.
    public init() {}

    /// Sends the action, and waits for its reply.
    public func run() async throws { try await send(to: try Server.stores.store(store).type) }

    private struct Line<Reply: Encodable>: Encodable {
        var reply: Reply
        var place: String
    }

    private func send<R: Reactor>(to reactor: R.Type) async throws {
        let action: R.Action = try JSONArgument.read(action, as: "the action of \(store)")
        let patience = asked.patience
        let receipt = try await asked.naming(Server.self, store: store) {
            try await asked.withOneAnswer(reactor, named: store) { try await $0.send(action, timeout: patience) }
        }
        try Output.json(Line(reply: receipt.reply, place: "\(receipt.place)"))
    }
}
