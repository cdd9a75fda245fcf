import Foundation
import Lockstep
import SearchCache

/// The search cache as a part of a reactor that watches each of its mutations: what it finds is in the state.
///
/// It can be given a defect, to see that the checks find it.
struct WatchedCache: Reactor {
    typealias Action = SearchCache.Action
    typealias Mutation = SearchCache.Mutation
    typealias Reply = SearchCache.Reply

    enum Defect: String, CaseIterable, Codable, Sendable {
        case diverges, neverAsks, neverAnswers, ignoresBound, losesBytes, answersTwice, asksTwice, asksAgain
        case answersOld, countsTwice
    }

    struct State: Codable, Sendable {
        var cache: SearchCache.State
        var ledger = Ledger()
        /// The bound in bytes, smaller than a user may set it.
        var bound: Int
        var defect: Defect?
    }

    static let cache = Scope<WatchedCache, SearchCache>("cache", state: .property(\.cache)) {
        $0
    } action: {
        $0
    }

    let child: SearchCache
    let backend: ModelBackend
    var bound = 64 << 20
    var defect: Defect?

    var initialState: State { State(cache: child.initialState, bound: bound, defect: defect) }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        if defect == .answersTwice, case .report = action {
            let bounds = SearchCache.Bounds(fresh: 1, live: 1, bytes: 1 << 20)
            return .emit(.answered("none", request: 1, .unchanged, bounds), reply: .done)
        }
        return try Self.cache.mutate(action, by: child, context)
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        let mutation = bounded(mutation, state.defect == .ignoresBound ? .max : state.bound)
        let before = state.cache
        cache.reduce(into: &state, mutation, context)
        switch (state.defect, mutation) {
        case (.countsTwice, .read): cache.reduce(into: &state, mutation, context)
        case (.losesBytes, .evicted): state.cache = withoutBytes(state.cache)
        case (.diverges, .read): state.ledger.requests &+= UInt64.random(in: 1...1_000_000)
        default: break
        }
        state.ledger.note(mutation, before, state.cache, bound: state.bound)
    }

    private static func bounded(_ mutation: Mutation, _ bytes: Int) -> Mutation {
        switch mutation {
        case .answered(let key, let request, let content, var bounds):
            bounds.bytes = bytes
            return .answered(key, request: request, content, bounds)
        case .failed(let key, let request, let kind, let message, let silence, let isRetried, var bounds):
            bounds.bytes = bytes
            return .failed(
                key, request: request, kind, message: message, silentFor: silence, isRetried: isRetried, bounds)
        default: return mutation
        }
    }

    /// A cache that counts one byte more than it has.
    private static func withoutBytes(_ state: SearchCache.State) -> SearchCache.State {
        guard let text = try? JSONEncoder().encode(state),
            var fields = try? JSONSerialization.jsonObject(with: text) as? [String: Any]
        else { return state }
        fields["bytes"] = state.bytes + 1
        guard let text = try? JSONSerialization.data(withJSONObject: fields) else { return state }
        return (try? JSONDecoder().decode(SearchCache.State.self, from: text)) ?? state
    }

    var feedback: [Feedback<Self>] {
        let own = defect == .neverAsks ? [] : Self.cache.feedback(of: child)
        guard defect == .asksTwice || defect == .asksAgain else { return own }
        let again = Feedback<Self>.react("again", to: { $0.cache.wanted.sorted().first?.key }) { [backend] key, _ in
            _ = try await backend.search(SearchRequest(query: key))
        }
        return own + [again]
    }

    static func nextDue(in state: State) -> LogTime? { cache.nextDue(in: state) }

    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        cache.mutationsDue(in: state, at: time, limit: limit)
    }
}

/// A second account of what a cache does, kept from its mutations alone.
struct Ledger: Codable, Sendable {
    /// How often each request was answered in the log, well or not.
    var answers: [UInt64: Int] = [:]
    /// The highest serial number that each page had.
    var highest: [String: UInt64] = [:]
    var problems: [String] = []
    var hits: UInt64 = 0
    var joined: UInt64 = 0
    var misses: UInt64 = 0
    var requests: UInt64 = 0
    var failures: UInt64 = 0
    var expirations: UInt64 = 0
    /// Entries that an answer to another query threw out.
    var thrownOut: UInt64 = 0

    mutating func note(
        _ mutation: SearchCache.Mutation, _ before: SearchCache.State, _ after: SearchCache.State, bound: Int
    ) {
        switch mutation {
        case .wanted(let key, let page, let isAnew):
            let wanted = before.wanted[key]
            if isAnew || wanted.map({ $0.page != page && !$0.next.contains(page) }) ?? true { misses += 1 }
        case .answered(let key, let request, let content, _):
            answered(key, request, before, after)
            guard let wanted = before.wanted[key], wanted.number == request else { return }
            if case .page(let hits, _, _, _) = content { shown(hits, "\(key)/\(wanted.page)") }
        case .failed(let key, let request, _, _, _, _, _):
            if before.wanted[key]?.number == request { failures += 1 }
            answered(key, request, before, after)
        case .due(let id, _):
            if id.kind == .expire, before.entries[id.key] != nil, after.entries[id.key] == nil { expirations += 1 }
        case .read(let report):
            hits += report.hits
            joined += report.joined
        case .evicted, .cleared: break
        }
        if after.bytes > bound { problem("\(after.bytes) bytes are above the bound of \(bound), after \(mutation)") }
        let recount = after.recountedBytes
        if after.bytes != recount { problem("\(after.bytes) bytes are counted, and \(recount) are there") }
    }

    private mutating func answered(
        _ key: String, _ request: UInt64, _ before: SearchCache.State, _ after: SearchCache.State
    ) {
        answers[request, default: 0] += 1
        if answers[request] != 1 { problem("request \(request) is answered twice in the log") }
        if before.wanted[key]?.number == request { requests += 1 }
        thrownOut += UInt64(before.entries.sorted().count { after.entries[$0.key] == nil })
    }

    private mutating func shown(_ hits: [SearchHit], _ page: String) {
        guard let serial = hits.first.flatMap({ UInt64($0.url.dropFirst("serial/".count)) }) else { return }
        if let highest = highest[page], serial < highest {
            problem("page \(page) shows the answer to request \(serial) after that to \(highest)")
        }
        highest[page] = max(serial, highest[page] ?? 0)
    }

    private mutating func problem(_ text: String) { if problems.count < 5 { problems.append(text) } }

    /// What does not add up.
    func differences(from statistics: SearchCache.Statistics, asked: Int) -> [String] {
        let pairs: [(String, UInt64, UInt64)] = [
            ("hits", statistics.hits, hits), ("joined", statistics.joined, joined),
            ("misses", statistics.misses, misses), ("requests", statistics.requests, requests),
            ("failures", statistics.failures, failures), ("expirations", statistics.expirations, expirations),
            ("saved", statistics.saved, hits + joined),
        ]
        var found = pairs.filter { $0.1 != $0.2 }.map { "the statistics have \($0.1) \($0.0), the log gives \($0.2)" }
        if statistics.evictions < thrownOut || statistics.evictions > thrownOut + requests {
            found.append("the statistics have \(statistics.evictions) evictions, the log gives \(thrownOut)")
        }
        if statistics.requests > asked {
            found.append(
                "the statistics have \(statistics.requests) requests, and the backend was asked \(asked) times")
        }
        return found
    }
}

extension SearchCache.State {
    /// What the entries are counted as, counted anew.
    var recountedBytes: Int {
        let total = entries.total { key, entry in
            let pages = entry.pages.reduce(0) { sum, page in
                sum + 64 + (page.etag?.utf8.count ?? 0)
                    + page.hits.reduce(0) { $0 + 48 + $1.title.utf8.count + $1.url.utf8.count + $1.snippet.utf8.count }
            }
            return Int64(256 + 2 * key.utf8.count + (entry.failure?.message.utf8.count ?? 0) + pages)
        }
        return Int(total)
    }
}
