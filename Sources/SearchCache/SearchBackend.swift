/// Where answers come from when nobody has them yet: GitHub, an index of files, a test.
///
/// The primary asks it once for all nodes. It may be called from several tasks at once, as many as
/// ``SearchCache/Settings/concurrentRequests`` says, and should react to cancellation.
public protocol SearchBackend: Sendable {
    /// What it is called in messages, such as `github`.
    var name: String { get }

    /// Asks for one page.
    ///
    /// - Throws: ``SearchError`` for what can be told apart; any other error counts as ``SearchFailure/Kind/server``.
    func search(_ request: SearchRequest) async throws -> SearchResult
}

/// What a backend is asked for.
public struct SearchRequest: Hashable, Sendable {
    /// The words, as ``SearchCache/normalized(_:)`` makes them; never empty.
    public var query: String
    /// From 1.
    public var page: Int
    /// The entity tag of what the cache has of this page, for a conditional request.
    public var etag: String?

    /// Asks for a page.
    public init(query: String, page: Int = 1, etag: String? = nil) {
        self.query = query
        self.page = page
        self.etag = etag
    }
}

/// What a backend answers.
public enum SearchResult: Hashable, Sendable {
    /// A page of hits, the best first.
    ///
    /// - Parameters:
    ///   - hits: None for a query that finds nothing; at most ``SearchCache/hitsPerPage`` are taken.
    ///   - hasNext: Whether there is a page after it.
    ///   - total: How many hits there are on all pages, if that is known.
    ///   - etag: What names this version of the page in a later request.
    case page(_ hits: [SearchHit], hasNext: Bool, total: Int? = nil, etag: String? = nil)
    /// The page that has the request's entity tag is still right.
    case unchanged
}

/// Why a backend has no answer.
public struct SearchError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public var kind: SearchFailure.Kind
    /// In words for a person; nothing secret.
    public var message: String
    /// How long not to ask again, if the backend says so.
    public var retryAfter: Duration?

    /// Says what went wrong.
    public init(_ kind: SearchFailure.Kind, _ message: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.message = message
        self.retryAfter = retryAfter
    }

    /// The kind and the message.
    public var description: String { "\(kind.rawValue): \(message)" }
}
