#if Web
    public import Logging
    public import SearchCache
    public import ServiceLifecycle

    /// GitHub's repository search, one `GET /search/repositories` for a page.
    ///
    /// It asks for what the cache has with its entity tag, keeps GitHub's limits (while one is in force it answers at
    /// once, without a request), and gives up on what is slow, too large or wrong; see ``SearchError`` for the kinds.
    /// It may be called from any number of tasks; ``Configuration-swift.struct/concurrentRequests`` of them are served at
    /// once, the others in the order in which they came.
    ///
    /// It has an HTTP client of its own, whose connections live until ``close()``, which ``run()`` calls when the
    /// service group that it is in ends; put it before the node there, so that it is stopped after it. A backend that
    /// is merely let go closes its connections too, but nobody can wait for that.
    public struct GitHubBackend: SearchBackend, Service {
        /// `github`.
        public let name = "github"

        private let client: GitHubClient

        /// Makes the backend, and reads the token if there is one; nothing is sent yet.
        ///
        /// - Parameters:
        ///   - configuration: Whom to ask, and how.
        ///   - logger: Where it tells of limits and a refused token, and at `debug` of each request; never of the token
        ///     or the words of a query.
        /// - Throws: ``LockstepError`` of code `invalidConfiguration`: a value out of its range, or a token file that
        ///   cannot be read, can be read by others, or holds something else than a token.
        public init(_ configuration: Configuration = Configuration(), logger: Logger? = nil) throws {
            try self.init(configuration, logger: logger, time: .system)
        }

        /// The same with clocks of a test's own.
        package init(_ configuration: Configuration, logger: Logger?, time: GitHubTime) throws {
            client = GitHubClient(try configuration.checked(), logger: logger, time: time)
        }

        /// Asks for one page: one request, and one more for each redirect on the same host.
        ///
        /// Pages after GitHub's 1,000th result are empty, and nobody is asked for them. A result that GitHub calls
        /// incomplete, because its search took too long, is a page as any other.
        ///
        /// - Throws: ``SearchError``, or `CancellationError` if the task was cancelled, which ends the request.
        public func search(_ request: SearchRequest) async throws -> SearchResult {
            try await client.search(request)
        }

        /// Waits until the service group shuts down, or the task is cancelled, and closes the connections.
        public func run() async throws {
            // Both ends of the wait mean the same.
            try? await gracefulShutdown()
            await close()
        }

        /// Closes the connections; requests under way, and later ones, fail as ``SearchFailure/Kind/offline``.
        ///
        /// It returns when all are closed, may be called again, and ends for all copies of this value.
        public func close() async { await client.close() }
    }
#endif
