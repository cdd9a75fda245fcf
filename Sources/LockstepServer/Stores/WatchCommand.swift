/// `watch`: prints a store's state, or the answer to a query, whenever it changes.
public struct WatchCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "watch",
            abstract: "Prints a store's state, or the answer to a query, whenever it changes, until Ctrl-C.",
            discussion: """
                Each line is one JSON object, as "ask" prints it. The command holds the store's state for that time, as a \
                replica does; of changes that follow each other fast it shows the newest.

                  \(Server.name) watch \(Server.stores.usual)
                  \(Server.name) watch \(Server.stores.usual) '{"CASE":{"_0":"VALUE"}}' --node tcp://127.0.0.1:7410
                """)
    }

    @Argument(help: "The store: \(Server.stores.names.joined(separator: ", ")).")
    var store: String
    @Argument(help: "The query, as JSON. Default: the whole state.")
    var query: String?
    @Option(help: "A node: tcp://HOST:PORT; also LOCKSTEP_NODE.")
    var node: String = AskedNode.usual
    @Flag(help: "Allow plain text to other hosts.")
    var insecure = false

    /// Read from the command line.
    public init() {}

    /// Prints until the process ends.
    public func run() async throws { try await watch(try Server.stores.store(store).makeReader()) }

    private func watch<R: Reactor>(_ reactor: R) async throws {
        guard let query else {
            return try await watch(reactor) { ["state": $0] }
        }
        let asked = try StoreQuery<R>.read(query, of: store)
        try await watch(reactor) { ["answer": try R.answer(asked, in: $0)] }
    }

    /// Prints what `view` makes of each state that differs in it from the one before: the one place that knows how changes
    /// come.
    private func watch<R: Reactor, View: Encodable>(_ reactor: R, view: (R.State) throws -> View) async throws {
        var configuration = NodeConfiguration.replica(of: node)
        configuration.allowsPlaintext = insecure
        try await Program.withReplica(of: reactor, named: store, configuration) { store in
            var last: JSONValue?
            for await snapshot in store.states {
                let shown = try JSONValue(of: try view(snapshot.state))
                guard shown != last else { continue }
                last = shown
                try Output.json(ReadLine(shown, place: snapshot.place, time: snapshot.time))
            }
        }
    }
}
