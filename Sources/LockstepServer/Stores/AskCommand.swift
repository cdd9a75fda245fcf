/// `ask`: asks a store a query, given as JSON.
public struct AskCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ask",
            abstract: "Asks a store a query, and prints the answer and of which state it is as JSON.",
            discussion: """
                The query is the JSON of the store's own type, as for "send". A node answers from the state that it has; \
                with --linearizable the answer includes everything that was acknowledged to anybody before.

                  \(Server.name) ask \(Server.stores.usual) '{"CASE":{"_0":"VALUE"}}'
                """)
    }

    @Argument(help: "The store: \(Server.stores.names.joined(separator: ", ")).")
    var store: String
    @Argument(help: "The query, as JSON.")
    var query: String
    @Flag(help: "Ask the primary for everything acknowledged until now.")
    var linearizable = false
    @OptionGroup var asked: AskedNode

    /// Read from the command line.
    public init() {}

    /// Asks, and prints the answer.
    public func run() async throws { try await ask(try Server.stores.store(store).type) }

    private func ask<R: Reactor>(_ reactor: R.Type) async throws {
        let query = try StoreQuery<R>.read(query, of: store)
        let patience = asked.patience
        let read = try await asked.withOneAnswer(reactor, named: store) {
            try await $0.ask(query, linearizable ? .linearizable : .local, timeout: patience)
        }
        try Output.json(ReadLine(["answer": read.answer], place: read.place, time: read.time))
    }
}

/// A query of a store on the command line.
enum StoreQuery<R: Reactor> {
    static func read(_ text: String, of store: String) throws -> R.Query {
        guard R.Query.self != NoQuery.self else {
            throw CommandFailure("the store \(store) answers no queries", status: .usage)
        }
        return try JSONArgument.read(text, as: "the query of \(store)")
    }
}
