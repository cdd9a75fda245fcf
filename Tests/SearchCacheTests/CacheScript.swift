import Lockstep
import SearchCache
import Testing

/// A cache without a node: actions are decided and reduced at a time of the script's own, and the script answers the
/// requests.
struct CacheScript {
    let cache: SearchCache
    var state: SearchCache.State
    var time = LogTime(rawValue: 1_000_000_000)
    private var sequence = SequenceNumber(rawValue: 1)
    let bounds: SearchCache.Bounds

    init(bytes: Int = 1 << 20, fresh: Int64 = 60_000_000, live: Int64 = 600_000_000) throws {
        cache = try SearchCache(Silence())
        state = cache.initialState
        bounds = SearchCache.Bounds(fresh: fresh, live: live, bytes: bytes)
    }

    private struct Silence: SearchBackend {
        var name: String { "silence" }
        func search(_ request: SearchRequest) async throws -> SearchResult { .page([], hasNext: false) }
    }

    mutating func reduce(_ mutation: SearchCache.Mutation) {
        sequence = sequence.next
        SearchCache.reduce(
            into: &state, mutation, ReduceContext(time: time, epoch: Epoch(rawValue: 1), sequence: sequence))
    }

    /// Decides an action and reduces what it emits.
    @discardableResult
    mutating func act(_ action: SearchCache.Action) throws -> SearchCache.Reply {
        let context = MutateContext<SearchCache>(
            state: state, time: time, session: SessionID(epoch: Epoch(rawValue: 1), sequence: sequence), request: 1)
        let effect = try cache.mutate(action, context)
        for mutation in effect.emitted { reduce(mutation) }
        return try #require(effect.reply)
    }

    /// The backend answers what is wanted of a query.
    mutating func answer(
        _ key: String, _ titles: [String], hasNext: Bool = false, total: Int? = nil, etag: String? = nil,
        to number: UInt64? = nil
    ) throws {
        let request = try number ?? #require(state.wanted[key]).number
        let hits = titles.map { SearchHit(title: $0, url: "u/\($0)") }
        let content = SearchCache.SearchContent.page(hits, hasNext: hasNext, total: total, etag: etag)
        reduce(.answered(key, request: request, content, bounds))
    }

    mutating func unchanged(_ key: String) throws {
        let request = try #require(state.wanted[key]).number
        reduce(.answered(key, request: request, .unchanged, bounds))
    }

    mutating func fail(
        _ key: String, _ kind: SearchFailure.Kind, for seconds: Int64 = 5, isRetried: Bool = false
    ) throws {
        let request = try #require(state.wanted[key]).number
        reduce(
            .failed(
                key, request: request, kind, message: "no", silentFor: seconds * 1_000_000, isRetried: isRetried, bounds
            ))
    }

    /// Lets time pass, with what it brings.
    mutating func pass(seconds: Int64) {
        let end = time.advanced(by: .seconds(seconds))
        while let next = SearchCache.nextDue(in: state), next <= end {
            time = max(time, next)
            for mutation in SearchCache.mutationsDue(in: state, at: time, limit: 100) { reduce(mutation) }
        }
        time = end
    }

    func titles(_ key: String, _ page: Int = 1) -> [String]? { state.entries[key]?.page(page)?.hits.map(\.title) }
    func isFresh(_ key: String, _ page: Int = 1) -> Bool { state.look(key, page: page).isFresh }
}
