public import Lockstep

/// One thing that was found.
public struct SearchHit: Codable, Hashable, Sendable {
    /// What to call it: a repository's full name, a file's path.
    public var title: String
    /// Where it is.
    public var url: String
    /// Some words around what was found, or a description.
    public var snippet: String

    /// Makes a hit.
    public init(title: String, url: String, snippet: String = "") {
        self.title = title
        self.url = url
        self.snippet = snippet
    }

    /// The same with texts that fit: 512, 2,048 and 1,024 bytes of UTF-8.
    var bounded: SearchHit {
        SearchHit(title: title.prefix(bytes: 512), url: url.prefix(bytes: 2_048), snippet: snippet.prefix(bytes: 1_024))
    }

    var byteCount: Int { 48 + title.utf8.count + url.utf8.count + snippet.utf8.count }
}

/// A page of an answer, as every node has it.
public struct SearchPage: Codable, Hashable, Sendable {
    /// From 1.
    public internal(set) var number: Int
    /// The best first.
    public internal(set) var hits: [SearchHit]
    /// When the backend gave it, or said that it is still right, by the time of the log.
    public internal(set) var fetchedAt: LogTime
    /// Whether it may be answered without asking the backend; an entry of the log ends that, no clock of a node.
    public internal(set) var isFresh: Bool
    /// The backend's name for this version.
    public internal(set) var etag: String?

    var byteCount: Int { 64 + (etag?.utf8.count ?? 0) + hits.reduce(0) { $0 + $1.byteCount } }
}

/// Why there is no newer answer: a value in the state, the same on every node.
public struct SearchFailure: Codable, Hashable, Sendable {
    /// What went wrong.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// The backend cannot be reached, or did not answer in time.
        case offline
        /// It takes no further requests before ``SearchFailure/until``.
        case rateLimited
        /// It answered with something that cannot be read, or is too large.
        case badAnswer
        /// It says that it failed.
        case server
        /// It does not take this query.
        case refused

        /// Whether another attempt soon may go better.
        var isTransient: Bool { self != .rateLimited && self != .refused }
    }

    /// What went wrong.
    public internal(set) var kind: Kind
    /// In words for a person; at most 256 bytes.
    public internal(set) var message: String
    /// The backend is not asked before this time of the log.
    public internal(set) var until: LogTime
    /// Whether it is asked again by itself then; otherwise somebody has to ask.
    public internal(set) var isRetried: Bool
}

/// What the cache knows of one query.
public struct SearchEntry: Codable, Hashable, Sendable {
    /// In the order of their numbers.
    public internal(set) var pages: [SearchPage] = []
    /// The number of the last page there is, when it is known.
    public internal(set) var lastPage: Int?
    /// How many hits all pages have, if the backend says so.
    public internal(set) var total: Int?
    /// Why the newest request brought nothing; the pages are then those of before.
    public internal(set) var failure: SearchFailure?
    /// The number of the request whose answer is the newest here.
    public internal(set) var version: UInt64 = 0

    /// The page of that number, fresh or not.
    public func page(_ number: Int) -> SearchPage? { pages.first { $0.number == number } }

    /// The number of the page after those that are here without a gap; nil if there is none.
    public var nextPage: Int? {
        let known = pages.enumerated().prefix { $0.offset + 1 == $0.element.number }.count
        return lastPage.map { known >= $0 } ?? false ? nil : known + 1
    }

    /// What it is counted as of the cache's bound: texts, and what it takes to keep them, in bytes.
    func byteCount(of key: String) -> Int {
        256 + 2 * key.utf8.count + (failure?.message.utf8.count ?? 0) + pages.reduce(0) { $0 + $1.byteCount }
    }

    /// Puts a page in its place.
    mutating func put(_ page: SearchPage) {
        let index = pages.firstIndex { $0.number >= page.number } ?? pages.count
        if index < pages.count, pages[index].number == page.number {
            pages[index] = page
        } else {
            pages.insert(page, at: index)
        }
    }

    mutating func change(_ number: Int, _ change: (inout SearchPage) -> Void) {
        guard let index = pages.firstIndex(where: { $0.number == number }) else { return }
        change(&pages[index])
    }
}

// By its fields.
extension SearchEntry: Digestible {}

/// A page that was asked for and has not come: one at a time for a query.
public struct WantedPage: Codable, Hashable, Sendable {
    /// Ascending over all requests; an answer that names another is too late.
    public internal(set) var number: UInt64
    /// Which page.
    public internal(set) var page: Int
    /// 1, and one more for each that failed before.
    public internal(set) var attempt: Int
    /// Pages of the same query that are asked for after it.
    public internal(set) var next: [Int]
}

// By its fields.
extension WantedPage: Digestible {}

extension String {
    /// The longest beginning that fits into so many bytes of UTF-8 and cuts no character.
    func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: self) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
