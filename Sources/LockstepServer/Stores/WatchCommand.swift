/// `watch`: prints a store's state, or the answer to a query, whenever it changes.
public struct WatchCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "watch",
            abstract: "Prints a store's state, or the answer to a query, whenever it changes, until Ctrl-C.",
            discussion: """
                Each line is one JSON object, as "ask" prints it. The node sends the answer to a query whenever it is \
                another. Without a query the command holds the store's state for that time, as a replica does, which with keys \
                needs the role replica. Of changes \
                that follow each other fast, the newest is shown.

                  \(Server.name) watch \(Server.stores.usual)
                  \(Server.name) watch \(Server.stores.usual) '{"CASE":{"_0":"VALUE"}}' --node tcp://127.0.0.1:7410
                """)
    }

    @Argument(help: "The store: \(Server.stores.names.joined(separator: ", ")).")
    var store: String
    @Argument(help: "The query, as JSON. Default: the whole state.")
    var query: String?
    @Option(help: "A node: tcp://HOST:PORT, or several with commas between them; also LOCKSTEP_NODE.")
    var node: String = AskedNode.usual
    @Flag(help: "Allow plain text to other hosts.")
    var insecure = false
    @OptionGroup var keyOptions: KeyOptions

    /// Read from the command line.
    public init() {}

    /// Prints until the process ends.
    public func run() async throws { try await watch(try Server.stores.store(store).makeReader()) }

    private func watch<R: Reactor>(_ reactor: R) async throws {
        guard let query else { return try await watchState(of: reactor) }
        let asked = try StoreQuery<R>.read(query, of: store)
        var configuration = NodeConfiguration.client(of: parseNodes(node))
        configuration.allowsPlaintext = insecure
        try keyOptions.apply(to: &configuration)
        let client = try Node(configuration, logger: Program.quiet)
        let remote = try client.remote(R.self, named: store)
        try await client.whileRunning {
            try await WaitNotice.until("an answer of \(node)") { notice in
                for try await read in remote.watch(asked) where read.unavailable == nil {
                    notice.end()
                    try Output.json(ReadLine(["answer": read.answer], place: read.place, time: read.time))
                }
            }
        }
    }

    private func watchState<R: Reactor>(of reactor: R) async throws {
        var configuration = NodeConfiguration.replica(of: parseNodes(node))
        configuration.allowsPlaintext = insecure
        try keyOptions.apply(to: &configuration)
        try await Program.followAsReplica(of: reactor, named: store, configuration) { store in
            var last: JSONValue?
            for await snapshot in store.states {
                let shown = try JSONValue(of: ["state": snapshot.state])
                guard shown != last else { continue }
                last = shown
                try Output.json(ReadLine(shown, place: snapshot.place, time: snapshot.time))
            }
        }
    }
}
