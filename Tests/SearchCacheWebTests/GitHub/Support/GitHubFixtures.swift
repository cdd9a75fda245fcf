#if Web
    import Foundation
    import Logging
    import SearchCache
    import SearchCacheWeb
    import Synchronization
    import Testing

    /// A page as GitHub writes it, with more in it than anybody reads.
    func pageOfRepositories(_ names: [String], total: Int? = nil) -> String {
        let items = names.map { name in
            """
            {"id": 1, "name": "\(name)", "full_name": "somebody/\(name)", "owner": {"login": "somebody"},
            "html_url": "https://github.com/somebody/\(name)", "description": "About \(name)", "score": 1.0}
            """
        }
        return """
            {"total_count": \(total ?? names.count), "incomplete_results": false, "items": [\(items.joined(separator: ","))]}
            """
    }

    /// A backend on a server, closed at the end.
    func withBackend<Value>(
        _ server: ScriptedServer, token: String? = nil, time: GitHubTime = .system, logger: Logger? = nil,
        _ change: (inout GitHubBackend.Configuration) -> Void = { _ in },
        _ body: (GitHubBackend) async throws -> Value
    ) async throws -> Value {
        var configuration = GitHubBackend.Configuration()
        configuration.baseURL = server.url
        // A test that is not about time does not fail on a machine that has none.
        configuration.timeLimit = .seconds(50)
        change(&configuration)
        let file = try token.map { try TokenFile($0) }
        if let file { configuration.tokenFile = file.path }
        let backend = try GitHubBackend(configuration, logger: logger, time: time)
        do {
            let value = try await body(backend)
            await backend.close()
            return value
        } catch {
            await backend.close()
            throw error
        }
    }

    /// What a backend makes of an answer of the server.
    func outcome(
        of answer: ServerAnswer, _ request: SearchRequest = SearchRequest(query: "swift"),
        _ change: (inout GitHubBackend.Configuration) -> Void = { _ in }
    ) async throws -> Result<SearchResult, SearchError> {
        try await ScriptedServer.with({ _ in answer }) { server in
            try await withBackend(server, change) { backend in
                do { return .success(try await backend.search(request)) } catch let error as SearchError {
                    return .failure(error)
                }
            }
        }
    }

    extension Result where Success == SearchResult, Failure == SearchError {
        var error: SearchError? {
            guard case .failure(let error) = self else { return nil }
            return error
        }
    }

    /// A file with a token, which ends with the value.
    final class TokenFile: Sendable {
        let path: String

        init(_ text: String, mode: Int = 0o600) throws {
            path = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)").path
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        // What remains in the folder for temporary files harms nobody.
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Clocks that go where a test wants.
    final class TestTime: Sendable {
        private let start = ContinuousClock.now
        private let seconds = Mutex<Int64>(0)

        /// What the wall clock shows at the beginning: 2026-01-01 00:00:00.
        static let epoch: Int64 = 1_767_225_600

        func advance(_ by: Int64) { seconds.withLock { $0 += by } }

        var time: GitHubTime {
            GitHubTime(
                now: { self.start.advanced(by: .seconds(self.seconds.withLock { $0 })) },
                wallClock: { Self.epoch + self.seconds.withLock { $0 } })
        }
    }

    /// Everything that was logged, as text.
    final class LogRecord: Sendable {
        private let lines = Mutex<[String]>([])

        var text: String { lines.withLock { $0.joined(separator: "\n") } }

        var logger: Logger {
            var logger = Logger(label: "test") { _ in Handler(record: self) }
            logger.logLevel = .trace
            return logger
        }

        private struct Handler: LogHandler {
            var record: LogRecord
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                let line = "\(event.level) \(event.message) \(event.metadata ?? [:])"
                record.lines.withLock { $0.append(line) }
            }
        }
    }
#endif
