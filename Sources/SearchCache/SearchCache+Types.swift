public import Lockstep

extension SearchCache {
    /// What a node asks for.
    public enum Action: Codable, Hashable, Sendable {
        /// A page of a query, unless a fresh one is there or on its way.
        case search(String, page: Int)
        /// The page after those that are here; without effect while one is on its way, or after the last.
        case loadNextPage(String)
        /// The first page anew, also if it is fresh; a request that is under way for the query is given up.
        case refresh(String)
        /// Forget a query, and give up what is asked for it.
        case evict(String)
        /// Forget everything but the statistics.
        case clear
        /// What a node answered from memory since its last report.
        case report(ReadReport)
    }

    /// What became of an action.
    public enum Reply: Codable, Hashable, Sendable {
        /// A fresh page is there.
        case present
        /// The backend is asked because of this action: under this number, or after the request of this number.
        case asked(UInt64)
        /// It was asked already.
        case joined(UInt64)
        /// The backend must not be asked now; what is there is what there is.
        case failed(SearchFailure)
        /// There is nothing to be asked: an empty query, or no such page.
        case nothing
        /// Done.
        case done
    }

    /// What happened.
    public enum Mutation: Codable, Hashable, Sendable {
        /// A page is wanted; `isAnew` gives up what was wanted before.
        case wanted(String, page: Int, isAnew: Bool)
        /// The backend answered a request.
        case answered(String, request: UInt64, SearchContent, Bounds)
        /// It did not; `retryAfter` microseconds later it is asked again, or nobody asks for `silentFor` microseconds.
        case failed(
            String, request: UInt64, SearchFailure.Kind, message: String, silentFor: Int64, isRetried: Bool, Bounds)
        /// A timer's time has come.
        case due(TimerID, LogTime)
        /// A query was forgotten.
        case evicted(String)
        /// Everything was forgotten.
        case cleared
        /// Nodes answered from memory.
        case read(ReadReport)
    }

    /// What a backend's answer is to the state.
    public enum SearchContent: Codable, Hashable, Sendable {
        /// A page.
        case page([SearchHit], hasNext: Bool, total: Int?, etag: String?)
        /// The page is still right.
        case unchanged
    }

    /// The settings of the primary that wrote an entry, so that every node reduces it alike.
    public struct Bounds: Codable, Hashable, Sendable {
        /// Microseconds for which a page is fresh.
        public var fresh: Int64
        /// Microseconds for which an entry is kept after its newest answer.
        public var live: Int64
        /// The most bytes of all entries.
        public var bytes: Int

        /// Makes bounds.
        public init(fresh: Int64, live: Int64, bytes: Int) {
            self.fresh = fresh
            self.live = live
            self.bytes = bytes
        }
    }

    /// What a timer is for.
    public struct TimerID: Codable, Hashable, Comparable, Sendable {
        /// What happens then.
        public enum Kind: UInt8, Codable, Sendable {
            /// A page is no longer fresh.
            case stale
            /// An entry is forgotten.
            case expire
            /// A request is tried again.
            case retry
        }

        /// The query.
        public var key: String
        /// What happens then.
        public var kind: Kind
        /// Of which page; 0 if it is about the query.
        public var page = 0

        /// By query, then by kind and page.
        public static func < (left: TimerID, right: TimerID) -> Bool {
            (left.key, left.kind.rawValue, left.page) < (right.key, right.kind.rawValue, right.page)
        }
    }

    /// Reads that a node answered from memory, so that eviction knows them without an entry for each.
    public struct ReadReport: Codable, Hashable, Sendable {
        /// The queries that were read, each once; at most ``SearchCache/queriesPerReport``.
        public var queries: [String]
        /// Answers from memory.
        public var hits: UInt64
        /// Answers for which somebody else's request was waited for.
        public var joined: UInt64

        /// Makes a report.
        public init(queries: [String], hits: UInt64, joined: UInt64) {
            self.queries = queries
            self.hits = hits
            self.joined = joined
        }
    }

    /// What the cache did since it was made.
    public struct Statistics: Codable, Hashable, Sendable {
        /// Answers from memory that nodes reported.
        public internal(set) var hits: UInt64 = 0
        /// Pages that were not there, or not fresh, and were asked for.
        public internal(set) var misses: UInt64 = 0
        /// Answers that waited for a request of somebody else.
        public internal(set) var joined: UInt64 = 0
        /// Requests that the backend answered, well or not.
        public internal(set) var requests: UInt64 = 0
        /// Those of them that failed.
        public internal(set) var failures: UInt64 = 0
        /// Queries that were forgotten because of the bound.
        public internal(set) var evictions: UInt64 = 0
        /// Queries that were forgotten because of their age.
        public internal(set) var expirations: UInt64 = 0

        /// Requests that each node would have made for itself.
        public var saved: UInt64 { hits &+ joined }
    }

    /// What every node has.
    public struct State: Codable, Sendable {
        /// By ``SearchCache/normalized(_:)``.
        public internal(set) var entries = ReplicatedMap<String, SearchEntry>()
        /// What is asked for, by query.
        public internal(set) var wanted = ReplicatedMap<String, WantedPage>()
        /// Requests that may run, in the order in which they became ready.
        var queue = Timers<UInt64, String>()
        /// What happens by the time of the log.
        var timers = Timers<TimerID, Bool>()
        /// Queries by the time of their last use.
        var uses = Timers<String, Bool>()
        /// The backend takes no requests before this time.
        public internal(set) var limit: SearchFailure?
        /// What the entries have of the bound.
        public internal(set) var bytes = 0
        /// What the cache did.
        public internal(set) var statistics = Statistics()
        var lastRequest: UInt64 = 0

        init() {}
    }

    /// What a client without a replica may ask.
    public enum Query: Codable, Hashable, Sendable {
        /// What is there of a page.
        case look(String, page: Int)
        /// What the cache did.
        case statistics
    }

    /// The answer to a query.
    public enum Answer: Codable, Hashable, Sendable {
        /// What is there.
        case look(SearchLook)
        /// What the cache did, how many queries it has, and their bytes.
        case statistics(Statistics, queries: Int, bytes: Int)
    }
}

/// What a state has of a page.
public struct SearchLook: Codable, Hashable, Sendable {
    /// The page, fresh or not.
    public internal(set) var page: SearchPage?
    /// Why there is no newer one.
    public internal(set) var failure: SearchFailure?
    /// Whether it is asked for.
    public internal(set) var isWanted = false
    /// The number of the last page, if it is known.
    public internal(set) var lastPage: Int?
    /// How many hits all pages have, if it is known.
    public internal(set) var total: Int?

    init() {}

    /// What an entry has, for a page of it that nobody asks for.
    init(_ page: SearchPage?, of entry: SearchEntry) {
        self.page = page
        failure = entry.failure
        lastPage = entry.lastPage
        total = entry.total
    }

    /// Whether it is an answer: a fresh page.
    public var isFresh: Bool { page?.isFresh ?? false }

    /// Whether waiting brings nothing: it is an answer, or the backend is not asked soon.
    var isSettled: Bool {
        if isFresh { return true }
        guard isWanted else { return true }
        return failure.map { !$0.isRetried } ?? false
    }
}

extension SearchCache.State {
    /// What is there of a page: O(log n).
    public func look(_ key: String, page: Int) -> SearchLook {
        var look = entries[key].map { SearchLook($0.page(page), of: $0) } ?? SearchLook()
        look.isWanted = wanted[key].map { $0.page == page || $0.next.contains(page) } ?? false
        return look
    }
}
