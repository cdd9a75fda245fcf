import Foundation
import LockstepCommands
import LockstepNode
import LockstepServer
import SearchCache

/// `lockstep search`: the search cache of a running cluster, and the index that it searches.
struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Searches through the cache of a cluster.",
        discussion: """
            The primary asks its backend once for all nodes; what is known comes from the memory of the node that is asked.

              lockstep search index /usr/share/doc --index data/doc.index
              lockstep serve --data data/primary --listen tcp://127.0.0.1:7400 --search-index data/doc.index
              lockstep search query "shared library"
            """,
        subcommands: [
            Index.self, SearchQueryCommand.self, Stats.self, Watch.self, Refresh.self, Evict.self, Clear.self,
        ])

    /// Which node is asked, and how the answer is printed.
    struct Options: ParsableArguments {
        @Option(
            help: """
                A node: tcp://HOST:PORT, or several with commas between them; also LOCKSTEP_NODE. A replica answers from its \
                memory.
                """)
        var node: String = AskedNode.usual
        @Option(help: "Seconds to wait for the answer: 0.001 to 86400.", transform: Within.patience)
        var timeout: Double = 30
        @Flag(help: "Allow plain text to other hosts.")
        var insecure = false
        @OptionGroup var keyOptions: KeyOptions
        @Flag(help: "Print JSON.")
        var json = false

        var patience: Duration { Within.duration(timeout) }

        /// Runs a client node for as long as `body` runs.
        func withSearch<Value>(_ body: (RemoteStore<SearchCache>) async throws -> Value) async throws -> Value {
            var configuration = NodeConfiguration.client(of: parseNodes(node))
            configuration.allowsPlaintext = insecure
            configuration.sessionTimeToLive = Program.sessionTimeToLive
            try keyOptions.apply(to: &configuration)
            return try await Program.withRemote(SearchCache.self, named: Hosted.search, configuration, body)
        }

        /// Sends an action that has no page to show.
        func send(_ action: SearchCache.Action) async throws {
            let patience = patience
            let reply = try await OutcomeCommand<LockstepCommand>.naming(
                node: node, store: Hosted.search, insecure: insecure, keys: keyOptions
            ) {
                try await withSearch { try await $0.send(action, timeout: patience).reply }
            }
            if json { try Output.json(reply) }
            switch reply {
            case .failed(let failure): throw CommandFailure(SearchText.line(failure))
            case _ where json: break
            case .asked: Output.line("the backend is asked")
            case .joined: Output.line("the backend is asked already")
            case .nothing: Output.line("there is nothing to ask")
            case .present, .done: Output.line("done")
            }
        }
    }

    struct Stats: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints what the cache did, and what it keeps.", discussion: "  lockstep search stats")
        @OptionGroup var options: Options

        func run() async throws {
            let patience = options.patience
            let read = try await options.withSearch { try await $0.ask(.statistics, .local, timeout: patience) }
            guard case .statistics(let statistics, let queries, let bytes) = read.answer else {
                throw CommandFailure("the node gave another answer than statistics")
            }
            let figures = SearchFigures(statistics, queries: queries, bytes: bytes)
            if options.json {
                try Output.json(ReadLine(figures, place: read.place, time: read.time))
            } else {
                figures.lines.forEach(Output.line)
            }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints what happens in the cache, until Ctrl-C: the command is a replica for that time.",
            discussion: "  lockstep search watch")
        @OptionGroup var options: Options

        func run() async throws {
            var configuration = NodeConfiguration.replica(of: parseNodes(options.node))
            configuration.allowsPlaintext = options.insecure
            try options.keyOptions.apply(to: &configuration)
            let json = options.json
            try await Program.followAsReplica(of: try SearchCache(NoBackend()), named: Hosted.search, configuration) {
                store in
                let start = try await store.snapshot(.linearizable).place.sequence
                for try await entry in store.entries(after: start) {
                    for mutation in entry.mutations {
                        if json { try Output.json(mutation) } else { Output.line(SearchText.line(mutation)) }
                    }
                }
            }
        }
    }

    struct Refresh: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Asks the backend anew for the first page of a query.",
            discussion: "  lockstep search refresh swift")
        @Argument(help: "The query.") var query: String
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.refresh(query)) }
    }

    struct Evict: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forgets a query, and gives up what is asked for it.", discussion: "  lockstep search evict swift"
        )
        @Argument(help: "The query.") var query: String
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.evict(query)) }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forgets everything but the statistics.", discussion: "  lockstep search clear")
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.clear) }
    }
}

/// `lockstep search query`.
struct SearchQueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Prints a page of what a query finds, and where the answer came from.",
        discussion: """
            Exit status 1 if the backend failed and nothing is known.

              lockstep search query "shared library" --page 2 --node tcp://127.0.0.1:7410
            """)
    @Argument(help: "What to search for: up to 256 bytes of UTF-8.")
    var text: String
    @Option(help: "Which page, from 1.", transform: Within.whole(1...1_000_000))
    var page: Int = 1
    @OptionGroup var options: SearchCommand.Options

    func run() async throws {
        let (text, page, patience) = (text, page, options.patience)
        let (answer, took) = try await options.withSearch { search in
            // The question is timed, and not the way to the node.
            _ = try await search.ask(.statistics, .local, timeout: patience)
            let clock = ContinuousClock()
            let start = clock.now
            let answer = try await search.search(text, page: page, timeout: patience)
            return (answer, start.duration(to: clock.now))
        }
        let line = SearchLine(answer, took: took, now: Date())
        if options.json { try Output.json(line) } else { line.lines.forEach(Output.line) }
        if answer.page == nil, let failure = answer.failure { throw CommandFailure(SearchText.line(failure)) }
    }
}
