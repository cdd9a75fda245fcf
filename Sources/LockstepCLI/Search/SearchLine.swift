import Foundation
import Lockstep
import LockstepServer
import SearchCache

/// An answer as `lockstep search query` prints it.
struct SearchLine: Encodable {
    var query: String
    var page: Int
    var hits: [SearchHit]
    var total: Int?
    var lastPage: Int?
    /// `memory`, `backend`, `joined` or `nothing`.
    var source: String
    var isFresh: Bool
    /// Seconds since the backend gave the page, by this host's clock.
    var age: Double?
    var failure: SearchFailure?
    /// Microseconds from the question to the answer.
    var took: Int64

    init(_ answer: SearchAnswer, took: Duration, now: Date) {
        query = answer.query
        page = answer.number
        hits = answer.page?.hits ?? []
        total = answer.total
        lastPage = answer.lastPage
        source = answer.source.rawValue
        isFresh = answer.page?.isFresh ?? false
        age = answer.page.map { max(0, now.timeIntervalSince1970 - Double($0.fetchedAt.rawValue) / 1_000_000) }
        failure = answer.failure
        self.took = Int64(took / .microseconds(1))
    }

    var lines: [String] {
        var lines: [String] = []
        for (index, hit) in hits.enumerated() {
            lines.append("\(index + 1). \(Output.printable(hit.title))")
            lines.append("   \(Output.printable(hit.url))")
            if !hit.snippet.isEmpty { lines.append("   \(Output.printable(hit.snippet))") }
        }
        if hits.isEmpty, failure == nil { lines.append("nothing was found") }
        lines.append(summary)
        if let failure { lines.append(SearchText.line(failure)) }
        return lines
    }

    private var summary: String {
        var parts = ["page \(page)" + (lastPage.map { " of \($0)" } ?? "")]
        if let total { parts.append("\(total) found") }
        switch source {
        case "memory": parts.append("from memory")
        case "backend": parts.append("from the backend")
        case "joined": parts.append("from the backend, which was asked already")
        default: parts.append("without asking")
        }
        if let age { parts.append(String(format: "%.1f s old", age) + (isFresh ? "" : ", not fresh")) }
        parts.append(took < 10_000 ? "took \(took) µs" : "took \(took / 1_000) ms")
        return "-- " + parts.joined(separator: ", ")
    }
}

/// What `lockstep search stats` prints.
struct SearchFigures: Encodable {
    var hits: UInt64
    var misses: UInt64
    var joined: UInt64
    var requests: UInt64
    var saved: UInt64
    var failures: UInt64
    var evictions: UInt64
    var expirations: UInt64
    var queries: Int
    var bytes: Int

    init(_ statistics: SearchCache.Statistics, queries: Int, bytes: Int) {
        hits = statistics.hits
        misses = statistics.misses
        joined = statistics.joined
        requests = statistics.requests
        saved = statistics.saved
        failures = statistics.failures
        evictions = statistics.evictions
        expirations = statistics.expirations
        self.queries = queries
        self.bytes = bytes
    }

    var lines: [String] {
        [
            "answered from memory        \(hits)", "waited for another's request \(joined)",
            "misses                      \(misses)", "requests to the backend     \(requests)",
            "  of them failed            \(failures)", "requests saved              \(saved)",
            "queries kept                \(queries)", "bytes kept                  \(bytes)",
            "forgotten for room          \(evictions)", "forgotten for age           \(expirations)",
        ]
    }
}

/// Words for a terminal.
enum SearchText {
    private static func clean(_ text: String) -> String { Output.printable(text) }

    static func line(_ failure: SearchFailure) -> String {
        let until = Date(timeIntervalSince1970: Double(failure.until.rawValue) / 1_000_000)
        let what =
            switch failure.kind {
            case .offline: "the backend cannot be reached"
            case .rateLimited: "the backend takes no more requests"
            case .badAnswer: "the backend's answer cannot be read"
            case .server: "the backend failed"
            case .refused: "the backend refuses the query"
            }
        let next = failure.isRetried ? "it is asked again at" : "it is not asked before"
        return "\(what): \(clean(failure.message)); \(next) \(until.formatted(.iso8601))"
    }

    static func line(_ mutation: SearchCache.Mutation) -> String {
        switch mutation {
        case .wanted(let key, let page, let isAnew):
            return "wanted    \(clean(key)), page \(page)\(isAnew ? ", anew" : "")"
        case .answered(let key, let request, let content, _):
            guard case .page(let hits, let hasNext, _, _) = content else {
                return "unchanged \(clean(key)), request \(request)"
            }
            return "answered  \(clean(key)), request \(request): \(hits.count) hits\(hasNext ? ", and more" : "")"
        case .failed(let key, let request, let kind, let message, _, let isRetried, _):
            let again = isRetried ? ", it is tried again" : ""
            return "failed    \(clean(key)), request \(request): \(kind.rawValue), \(clean(message))\(again)"
        case .due(let id, _):
            switch id.kind {
            case .stale: return "stale     \(clean(id.key)), page \(id.page)"
            case .expire: return "expired   \(clean(id.key))"
            case .retry: return "retried   \(clean(id.key))"
            }
        case .evicted(let key): return "evicted   \(clean(key))"
        case .cleared: return "cleared"
        case .read(let report): return "read      \(report.hits) answers from memory, \(report.queries.count) queries"
        }
    }
}
