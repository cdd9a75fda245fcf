#if Web
    import Foundation
    import Lockstep
    import Logging
    import NIOCore
    import NIOPosix
    import SearchCache
    import SearchCacheWeb
    import Synchronization
    import Testing

    /// A backend that does what a test says, and counts.
    final class ScriptedBackend: SearchBackend {
        let name = "script"
        private let requests = Mutex<[SearchRequest]>([])
        private let script: @Sendable (SearchRequest) async throws -> SearchResult

        init(_ script: @escaping @Sendable (SearchRequest) async throws -> SearchResult) { self.script = script }

        var calls: [SearchRequest] { requests.withLock { $0 } }

        func search(_ request: SearchRequest) async throws -> SearchResult {
            requests.withLock { $0.append(request) }
            return try await script(request)
        }

        /// Two pages of two hits for whatever is asked.
        static var plain: ScriptedBackend {
            ScriptedBackend { request in
                let hits = (1...2).map { number in
                    SearchHit(
                        title: "\(request.query) \(request.page).\(number)", url: "https://example.org/\(number)",
                        snippet: "about \(request.query)")
                }
                return .page(hits, hasNext: request.page < 2, total: 4)
            }
        }

        /// Fails always in the same way.
        static func failing(_ kind: SearchFailure.Kind, retryAfter: Duration? = nil) -> ScriptedBackend {
            ScriptedBackend { _ in throw SearchError(kind, "as the script says", retryAfter: retryAfter) }
        }
    }

    /// Something that is waited for until it is opened, once.
    final class Latch: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func open() { continuation.finish() }

        func wait() async { for await _ in stream {} }
    }

    /// What came back for a request.
    struct WebAnswer {
        var status: Int
        var headers: [String: String]
        var body: String

        /// Reads a whole answer.
        init(_ text: String) throws {
            let halves = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let lines = (halves.first ?? "").split(separator: "\r\n")
            status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "\(text)")
            headers = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
            }
            body = halves.count > 1 ? String(halves[1]) : ""
        }

        /// The body as JSON.
        var json: [String: Any] {
            get throws {
                let object = try JSONSerialization.jsonObject(with: Data(body.utf8))
                return try #require(object as? [String: Any])
            }
        }

        /// The word of a problem.
        var problem: String? { get throws { try json["error"] as? String } }

        /// The hits' titles.
        var titles: [String] {
            get throws { try #require(json["hits"] as? [[String: String]]).compactMap { $0["title"] } }
        }
    }

    /// A face that runs, and what is behind it.
    struct RunningFace: Sendable {
        let port: Int
        let search: CachedSearch

        /// Asks on a connection of its own, and reads to its end.
        func get(
            _ target: String, method: String = "GET", _ headers: [String] = [], body: String = ""
        ) async throws -> WebAnswer {
            let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + headers
            return try WebAnswer(try await exchange(lines.joined(separator: "\r\n") + "\r\n\r\n" + body))
        }

        /// Sends a text and reads what comes until the face ends the connection.
        func exchange(_ text: String) async throws -> String {
            try await connected { inbound, outbound in
                try await outbound.write(ByteBuffer(string: text))
                var whole = ""
                for try await part in inbound { whole += String(buffer: part) }
                return whole
            }
        }

        /// Does something with a connection.
        func connected<Result>(
            readsByItself: Bool = true,
            _ body: (NIOAsyncChannelInboundStream<ByteBuffer>, NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws
                ->
                Result
        ) async throws -> Result {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: readsByItself)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await channel.executeThenClose { try await body($0, $1) }
        }

        /// The value of a metric; nil if it is not there.
        func metric(_ name: String) async throws -> Double? {
            let lines = try await get("/metrics").body.split(separator: "\n")
            return lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
        }

        /// Asks for a metric until it has the value.
        func wait(for name: String, _ value: Double) async throws {
            while try await metric(name) != value { try await Task.sleep(for: .milliseconds(5)) }
        }

        /// Waits until the state is as wanted.
        func wait(_ isWanted: (SearchCache.State) -> Bool) async {
            for await snapshot in search.store.states where isWanted(snapshot.state) { return }
        }
    }

    /// Runs a node of its own with a search cache, and a face on a free port, for as long as `body` takes.
    func withFace<Result: Sendable>(
        _ backend: some SearchBackend, cache: SearchCache.Settings = SearchCache.Settings(),
        settings: SearchFace.Settings = SearchFace.Settings(), runsNode: Bool = true,
        now: (@Sendable () -> LogTime)? = nil, _ body: (RunningFace) async throws -> Result
    ) async throws -> Result {
        var configuration = NodeConfiguration.local()
        configuration.node = try #require(NodeID("here"))
        let node = try Node(configuration)
        let search = CachedSearch(try node.store(try SearchCache(backend, settings: cache), named: "search"))
        return try await withFace(
            of: search, configuration, settings: settings, beside: runsNode ? node : nil, now: now, body)
    }

    /// Runs a face on a free port, beside its node if that is given, for as long as `body` takes.
    func withFace<Result: Sendable>(
        of search: CachedSearch, _ configuration: NodeConfiguration,
        settings: SearchFace.Settings = SearchFace.Settings(), beside node: Node?,
        now: (@Sendable () -> LogTime)? = nil, _ body: (RunningFace) async throws -> Result
    ) async throws -> Result {
        let (ports, port) = AsyncStream<Int>.makeStream()
        let clock = now ?? { LogTime(rawValue: Int64(Date().timeIntervalSince1970 * 1_000_000)) }
        let face = try SearchFace(
            search, node: configuration, host: "127.0.0.1", port: 0, settings: settings,
            logger: Logger(label: "face", factory: { _ in SwiftLogNoOpLogHandler() }), now: clock,
            onRunning: { port.yield($0) })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if let node {
                group.addTask { try await node.run() }
                try await search.store.whenReady()
            }
            group.addTask { try await face.run() }
            var iterator = ports.makeAsyncIterator()
            let running = RunningFace(port: try #require(await iterator.next()), search: search)
            return try await body(running)
        }
    }
#endif
