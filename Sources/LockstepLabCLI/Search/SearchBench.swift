#if Web
    import ArgumentParser
    import Foundation
    import Lockstep
    import LockstepCommands
    import LockstepHarness
    import LockstepNode
    import LockstepServer
    import SearchCache
    import SearchCacheSQLite
    import SearchCacheWeb
    import ServiceLifecycle

    /// `lockstep-lab search`: what is measured of searches.
    struct SearchCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "search", abstract: "Measures searches; \"lockstep search\" searches.",
            subcommands: [Bench.self])

        /// `lockstep-lab search bench`.
        struct Bench: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Measures a hit: in process, over HTTP, and what Redis and the index itself take.",
                discussion: """
                    A primary and a replica in this process, their cache filled from the index; one question at a time, all \
                    from one thread. Redis holds the same answers as strings. Build with -c release; let nothing else run.

                      lockstep search index /usr/share/doc --index data/doc.index
                      lockstep-lab search bench --index data/doc.index
                    """)
            @Option(help: "The index.")
            var index: String
            @Option(help: "How often each is measured; medians are printed.", transform: Within.whole(1...100))
            var rounds = 5
            @Option(help: "The first of 40 ports.", transform: Within.whole(1_024...60_000))
            var port = 7_900
            @Flag(help: "Print JSON.")
            var json = false

            func run() async throws {
                #if DEBUG
                    Output.error("this is a debug build; its figures mean nothing")
                #endif
                let file = try FolderIndex(path: index, isReadOnly: true)
                let backend = FolderBackend(file)
                let primary = try Node(
                    .primary(listen: "tcp://127.0.0.1:\(port)", journal: .memory), logger: Program.quiet)
                _ = try primary.store(try SearchCache(backend, settings: Self.settings), named: Hosted.search)
                let configuration = NodeConfiguration.replica(of: "tcp://127.0.0.1:\(port)")
                let replica = try Node(configuration, logger: Program.quiet)
                let store = try replica.store(try SearchCache(backend, settings: Self.settings), named: Hosted.search)
                let search = CachedSearch(store)
                let face = try SearchFace(search, node: configuration, port: port + 20)
                let constant = SearchFace.constantHandler("constant", port: port + 21)
                let (rounds, redisPort) = (rounds, port + 22)
                let report = try await primary.whileRunning {
                    try await replica.whileRunning {
                        try await store.whenReady()
                        return try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await face.run() }
                            group.addTask { try await constant.run() }
                            defer { group.cancelAll() }
                            return try await SearchContest(
                                search: search, backend: backend, rounds: rounds, face: redisPort - 2,
                                constant: redisPort - 1, redis: redisPort
                            ).run()
                        }
                    }
                }
                try file.close()
                if json { return try Output.json(report) }
                Output.line("\(report.machine); \(report.versions)")
                report.lines.forEach(Output.line)
            }

            private static var settings: SearchCache.Settings {
                var settings = SearchCache.Settings()
                settings.fresh = .seconds(86_400)
                settings.timeToLive = .seconds(86_400)
                return settings
            }
        }
    }

    /// The same questions asked in five ways, in turns.
    private struct SearchContest {
        let search: CachedSearch
        let backend: FolderBackend
        let rounds: Int
        let face: Int
        let constant: Int
        let redis: Int

        /// Words that texts about programs have.
        static let words = [
            "library", "license", "copyright", "linux", "version", "file", "debian", "bug", "fix", "install", "config",
            "user", "group", "system", "network", "security", "python", "perl", "shell", "script", "kernel", "module",
            "device", "driver", "memory", "thread", "process", "signal", "socket", "buffer", "string", "number",
            "table",
            "index", "search", "query", "cache", "server", "client", "proxy", "protocol", "header", "format", "image",
            "sound", "video", "font", "color", "window", "screen", "key", "password", "token", "crypt", "hash",
            "random",
            "test", "example", "manual", "page", "source", "binary", "patch", "release",
        ]

        func run() async throws -> SearchReport {
            let server = try await startRedis()
            defer { server?.end(SIGKILL) }
            let redisClient = server == nil ? nil : try LoopbackClient(port: redis)
            for word in Self.words {
                let answer = try await search.search(word)
                guard let page = answer.page else { throw CommandFailure("\(word) has no answer: \(answer)") }
                try redisClient?.set(word, Array(try JSONEncoder().encode(page)))
            }
            let (faceClient, constantClient) = (try LoopbackClient(port: face), try LoopbackClient(port: constant))
            var report = SearchReport(redis: redisClient == nil ? "none" : RedisPeer.find()?.version ?? "redis")
            for _ in 0...rounds {
                var round = SearchReport.Round()
                round.memory = try await time(200_000) { word in
                    let answer = try await search.search(word)
                    guard answer.source == .memory else { throw CommandFailure("\(word) was not in memory") }
                }
                if let redisClient { round.redis = try await time(20_000) { word in _ = try redisClient.get(word) } }
                round.http = try await time(10_000) { word in _ = try faceClient.http("/search?q=\(word)") }
                round.constant = try await time(10_000) { _ in _ = try constantClient.http("/constant") }
                round.index = try await time(128) { word in
                    _ = try await backend.search(SearchRequest(query: word))
                }
                report.rounds.append(round)
            }
            // The first round warms everything up.
            report.rounds.removeFirst()
            return report
        }

        /// Microseconds for one question, in the mean over `count` of them.
        private func time(_ count: Int, _ ask: (String) async throws -> Void) async throws -> Double {
            let clock = ContinuousClock()
            let start = clock.now
            for number in 0..<count { try await ask(Self.words[number % Self.words.count]) }
            return start.duration(to: clock.now) / .microseconds(1) / Double(count)
        }

        private func startRedis() async throws -> ChildProcess? {
            guard RedisPeer.find() != nil else {
                Output.error("redis-server is not installed; measuring without it")
                return nil
            }
            let server = try ChildProcess(
                "redis", "/usr/bin/env",
                ["redis-server", "--port", "\(redis)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                log: "/dev/null")
            let deadline = ContinuousClock.now + .seconds(20)
            while true {
                do {
                    _ = try LoopbackClient(port: redis)
                    return server
                } catch {
                    guard ContinuousClock.now < deadline else { throw CommandFailure("redis-server does not start") }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }

    /// What a hit takes, in microseconds.
    private struct SearchReport: Encodable {
        struct Round: Encodable {
            var memory = 0.0
            var redis = 0.0
            var http = 0.0
            var constant = 0.0
            var index = 0.0
        }

        var machine = Machine.description
        var versions: String
        var rounds: [Round] = []

        init(redis: String) { versions = Version.description + ", " + redis }

        private func median(_ value: (Round) -> Double) -> Double { rounds.map(value).median }

        var lines: [String] {
            func line(_ name: String, _ value: Double, _ note: String) -> String {
                "\(name.padding(toLength: 44, withPad: " ", startingAt: 0))\(String(format: "%9.2f us", value))  \(note)"
            }
            let memory = median(\.memory)
            return [
                line("a hit in process, on a replica", memory, ""),
                line(
                    "GET of the same answer from Redis", median(\.redis),
                    String(format: "%.1f times a hit in process", median { $0.redis / $0.memory })),
                line(
                    "a hit over HTTP", median(\.http),
                    String(format: "%.2f times the constant handler", median { $0.http / $0.constant })),
                line("a handler of Hummingbird that is constant", median(\.constant), ""),
                line(
                    "asking the index each time", median(\.index),
                    String(format: "%.0f times a hit in process", median { $0.index / $0.memory })),
            ]
        }
    }
#endif
