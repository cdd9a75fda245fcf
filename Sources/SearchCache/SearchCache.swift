public import Lockstep

/// A cache of searches that all nodes share: one request goes out, every node answers.
///
/// Each process holds a replica and answers from memory, see ``CachedSearch``. The first that misses sends an action;
/// the primary asks the backend once, however many ask meanwhile, and every node gets the page. What is asked for is a
/// part of the state, so the next primary goes on where one died. What is fresh, what is kept and what is thrown out is
/// decided by entries of the log: no node looks at its clock for it, and all have the same at the same place.
public struct SearchCache: Reactor {
    /// The most bytes of UTF-8 of a normalised query.
    public static let queryBytes = 256
    /// The highest number of a page.
    public static let lastPageNumber = 1_000
    /// The most hits of a page; a backend's further ones are left out.
    public static let hitsPerPage = 100
    /// The most pages of a query that wait after the one that is asked for.
    public static let waitingPages = 16
    /// The most queries in one report of reads.
    public static let queriesPerReport = 512

    /// What a primary may be set to; a change holds for what is answered from then on.
    public struct Settings: Hashable, Sendable {
        /// How long a page is fresh: 1 s to 30 days.
        public var fresh: Duration = .seconds(60)
        /// How long an entry is kept after its newest answer: 1 s to 365 days.
        public var timeToLive: Duration = .seconds(3_600)
        /// The most bytes of all entries: at least 1 MiB, so that any page fits.
        public var bytes = 64 << 20
        /// How often a request that failed is tried, and how far apart.
        public var retry = RetryPolicy(
            attempts: 3, backoff: .exponential(first: .seconds(1), factor: 2, limit: .seconds(30)))
        /// How long a failed query is not asked again, unless the backend says so: 0 s to 1 day.
        public var failureKept: Duration = .seconds(5)
        /// How long the backend has for one request, 1 s to 1 h; what takes longer counts as offline.
        public var requestTimeout: Duration = .seconds(30)
        /// Requests that run at once: 1 to 256.
        public var concurrentRequests = 8
        /// Queries that may wait for the backend; a further one is rejected.
        public var waitingQueries = 10_000

        /// The defaults.
        public init() {}

        /// Says what is wrong, if anything is.
        func check() throws {
            func demand(_ isRight: Bool, _ what: String) throws {
                if !isRight { throw LockstepError(.invalidConfiguration, "a search cache needs \(what)") }
            }
            try demand(fresh >= .seconds(1) && fresh <= .seconds(30 * 86_400), "pages fresh for 1 s to 30 days")
            try demand(timeToLive >= .seconds(1) && timeToLive <= .seconds(365 * 86_400), "a life of 1 s to 365 days")
            try demand(bytes >= 1 << 20, "a bound of at least 1 MiB")
            try demand(failureKept >= .zero && failureKept <= .seconds(86_400), "failures kept for at most 1 day")
            try demand(requestTimeout >= .seconds(1) && requestTimeout <= .seconds(3_600), "1 s to 1 h for a request")
            try demand((1...256).contains(concurrentRequests), "1 to 256 requests at once")
            try demand(waitingQueries >= 1, "room for a query that waits")
        }

        var bounds: Bounds {
            Bounds(fresh: fresh.microseconds, live: timeToLive.microseconds, bytes: bytes)
        }
    }

    /// Who is asked.
    let backend: any SearchBackend
    /// What holds for new answers.
    let settings: Settings

    /// Makes the reactor; on a replica the backend is not asked, and is there for the day on which it is the primary.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`.
    public init(_ backend: any SearchBackend, settings: Settings = Settings()) throws {
        try settings.check()
        self.backend = backend
        self.settings = settings
    }

    /// Nothing.
    public var initialState: State { State() }

    /// The form of a query under which equal ones share an entry: lower case, words apart by one space, and nothing
    /// around them; `AND`, `OR` and `NOT` stay as they are, since backends take them for operators.
    public static func normalized(_ text: String) -> String {
        if isNormal(text) { return text }
        return text.split(whereSeparator: \.isWhitespace)
            .map { ["AND", "OR", "NOT"].contains($0) ? String($0) : $0.lowercased() }
            .joined(separator: " ")
    }

    /// Whether a text is certainly in that form; most are.
    private static func isNormal(_ text: String) -> Bool {
        var previous = UInt8(ascii: " ")
        for byte in text.utf8 {
            let isSpace = byte == UInt8(ascii: " ")
            guard (0x21...0x7E).contains(byte) || isSpace, !(0x41...0x5A).contains(byte),
                !isSpace || previous != byte
            else { return false }
            previous = byte
        }
        return previous != UInt8(ascii: " ") || text.isEmpty
    }

    // MARK: - Actions

    /// Decides an action; refuses queries that are too long, wrong page numbers, and too many at once.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .search(let text, let page): return try search(try Self.key(of: text), page, context)
        case .loadNextPage(let text):
            let key = try Self.key(of: text)
            if let wanted = context.state.wanted[key] { return .none(reply: .joined(wanted.number)) }
            let entry = context.state.entries[key] ?? SearchEntry()
            guard let next = entry.nextPage else { return .none(reply: .nothing) }
            return try search(key, next, context)
        case .refresh(let text):
            let key = try Self.key(of: text)
            guard !key.isEmpty else { return .none(reply: .nothing) }
            if let limit = context.state.limit, limit.until > context.time { return .none(reply: .failed(limit)) }
            return try want(key, 1, isAnew: true, context)
        case .evict(let text): return .emit(.evicted(try Self.key(of: text)), reply: .done)
        case .clear: return .emit(.cleared, reply: .done)
        case .report(let report):
            guard report.queries.count <= Self.queriesPerReport else {
                throw Rejection("a report has at most \(Self.queriesPerReport) queries")
            }
            return .emit(.read(report), reply: .done)
        }
    }

    private func search(_ key: String, _ page: Int, _ context: Context) throws -> Effect<Self> {
        guard (1...Self.lastPageNumber).contains(page) else {
            throw Rejection("pages have the numbers 1 to \(Self.lastPageNumber)")
        }
        guard !key.isEmpty else { return .none(reply: .nothing) }
        let look = context.state.look(key, page: page)
        if look.isFresh { return .none(reply: .present) }
        if let wanted = context.state.wanted[key], look.isWanted { return .none(reply: .joined(wanted.number)) }
        // What is known of the end is known no longer than a page is fresh.
        if let last = look.lastPage, page > last, knowsLast(last, of: key, context) { return .none(reply: .nothing) }
        for failure in [look.failure, context.state.limit].compactMap({ $0 }) where failure.until > context.time {
            // It is asked again by itself, or not before that time.
            return .none(reply: .failed(failure))
        }
        return try want(key, page, isAnew: false, context)
    }

    /// Whether the number of the last page is as new as a fresh page: that page is, or, where it is not here, the
    /// newest answer is.
    private func knowsLast(_ last: Int, of key: String, _ context: Context) -> Bool {
        if let page = context.state.entries[key]?.page(last) { return page.isFresh }
        // The entry is forgotten so long after that answer.
        let end = context.state.timers[TimerID(key: key, kind: .expire)]?.deadline
        return end.map { context.time < $0.advanced(by: settings.fresh - settings.timeToLive) } ?? false
    }

    private func want(_ key: String, _ page: Int, isAnew: Bool, _ context: Context) throws -> Effect<Self> {
        let state = context.state
        var number = state.lastRequest + 1
        if let wanted = state.wanted[key], !isAnew {
            // Its own number comes when its turn does.
            number = wanted.number
            guard wanted.next.count < Self.waitingPages else {
                throw Rejection("\(Self.waitingPages) pages of this query wait already; ask again when they are here")
            }
        } else {
            guard state.wanted.count < settings.waitingQueries else {
                throw Rejection("\(settings.waitingQueries) queries wait for the backend already; ask again later")
            }
        }
        let wish = Mutation.wanted(key, page: page, isAnew: isAnew)
        // After what was the last page that one comes first: where it still is, nobody asks for more, and all know it
        // again for as long as it is fresh.
        if !isAnew, state.wanted[key] == nil, let entry = state.entries[key], let last = entry.lastPage, page > last,
            entry.page(last) != nil
        {
            return .emit([.wanted(key, page: last, isAnew: false), wish], reply: .asked(number))
        }
        return .emit(wish, reply: .asked(number))
    }

    /// The key of a query.
    static func key(of text: String) throws -> String {
        // Normalising is not for free, so what is far too long is not even looked at.
        guard text.utf8.count <= 16 * queryBytes else { throw Rejection("a query has at most \(queryBytes) bytes") }
        let key = normalized(text)
        guard key.utf8.count <= queryBytes else { throw Rejection("a query has at most \(queryBytes) bytes") }
        return key
    }

    // MARK: - The backend

    /// The requests that may run, each an effect of its own; a function of the state.
    public var feedback: [Feedback<Self>] {
        let limit = settings.concurrentRequests
        return [
            .react("backend", toEach: { $0.ready(limit) }) { [self] number, request, _, emit in
                try await ask(request, number, emit)
            }
        ]
    }

    /// Asks, and brings the answer to the log, whatever it is.
    private func ask(_ ready: ReadyRequest, _ number: UInt64, _ emit: Emitter<Self>) async throws {
        let outcome: Mutation
        do {
            let result = try await answer(to: ready.request, emit)
            // Cancelled for this request's end: what the backend returned in spite of that counts for nothing.
            try Task.checkCancellation()
            outcome = try mutation(for: result, ready, number)
        } catch {
            // A backend may throw a cancellation of its own; that is a failure like others, and the request ends by it.
            try Task.checkCancellation()
            outcome = mutation(for: error, ready, number)
        }
        do {
            try await emit(outcome)
        } catch let error as LockstepError where error.code == .tooLarge || error.code == .refused {
            try await emit(mutation(for: SearchError(.badAnswer, "\(backend.name): \(error.message)"), ready, number))
        }
    }

    /// Asks, for a limited time: a request that never ended would keep its query, and its place among those that run.
    private func answer(to request: SearchRequest, _ emit: Emitter<Self>) async throws -> SearchResult {
        try await withThrowingTaskGroup(of: SearchResult.self) { group in
            group.addTask { try await backend.search(request) }
            group.addTask {
                try await emit.sleep(for: settings.requestTimeout)
                throw SearchError(.offline, "\(backend.name) did not answer within \(settings.requestTimeout)")
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }

    private func mutation(for result: SearchResult, _ ready: ReadyRequest, _ number: UInt64) throws -> Mutation {
        let content: SearchContent
        switch result {
        case .unchanged:
            guard ready.request.etag != nil else {
                throw SearchError(.badAnswer, "\(backend.name) says that a page is unchanged that is not here")
            }
            content = .unchanged
        case .page(let hits, let hasNext, let total, let etag):
            content = .page(
                hits.prefix(Self.hitsPerPage).map(\.bounded), hasNext: hasNext, total: total,
                etag: etag.flatMap { $0.utf8.count <= 256 ? $0 : nil })
        }
        return .answered(ready.request.query, request: number, content, settings.bounds)
    }

    private func mutation(for error: any Error, _ ready: ReadyRequest, _ number: UInt64) -> Mutation {
        let failure = error as? SearchError ?? SearchError(.server, "\(error)")
        var generator = SystemRandomNumberGenerator()
        let delay = settings.retry.delay(beforeAttempt: ready.attempt + 1, using: &generator)
        // Nobody waits for a backend that wants to be left alone for long: the failure is the answer until then.
        let asksForLong = (failure.retryAfter ?? .zero) > max(settings.failureKept, delay ?? .zero)
        let isRetried = failure.kind.isTransient && delay != nil && !asksForLong
        let silence = isRetried ? max(delay ?? .zero, failure.retryAfter ?? .zero) : failure.retryAfter
        return .failed(
            ready.request.query, request: number, failure.kind, message: failure.message.prefix(bytes: 256),
            silentFor: min(silence ?? settings.failureKept, .seconds(7 * 86_400)).microseconds,
            isRetried: isRetried, settings.bounds)
    }

    // MARK: - Questions

    /// Answers from a node's state.
    public static func answer(_ query: Query, in state: State) throws -> Answer {
        switch query {
        case .look(let text, let page): .look(state.look(try key(of: text), page: page))
        case .statistics: .statistics(state.statistics, queries: state.entries.count, bytes: state.bytes)
        }
    }

    // MARK: - Time

    /// When a page becomes stale, an entry old, or a request is tried again.
    public static func nextDue(in state: State) -> LogTime? { state.timers.next }

    /// What became due.
    public static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        state.timers.due(at: time, limit: limit).map { .due($0.id, $0.deadline) }
    }
}

/// A request that may run.
struct ReadyRequest: Equatable, Sendable {
    var request: SearchRequest
    var attempt: Int
}

extension SearchCache.State {
    /// The first of the requests that may run, by their numbers: O(limit · log n).
    func ready(_ limit: Int) -> [UInt64: ReadyRequest] {
        var ready: [UInt64: ReadyRequest] = [:]
        for (number, _, key) in queue.due(at: LogTime(rawValue: .max), limit: limit) {
            guard let wanted = wanted[key] else { continue }
            let etag = entries[key]?.page(wanted.page)?.etag
            ready[number] = ReadyRequest(
                request: SearchRequest(query: key, page: wanted.page, etag: etag), attempt: wanted.attempt)
        }
        return ready
    }
}

extension Duration {
    /// Whole microseconds, rounded down.
    var microseconds: Int64 { Int64(self / .microseconds(1)) }
}
