import Foundation
import GRDB
public import SearchCache

/// Searches texts of this machine: the backend that needs no network.
///
/// A query finds the texts that have all its words, in the title or the body, in any order; upper and lower case, and
/// letters with and without diacritics, are the same. A phrase stands in double quotes; `one OR other`, and `-word` or
/// `NOT word`, work as one knows them; nothing else is an operator. The best text comes first, by bm25, where a word in
/// the title counts as much as eight in the body. An index that did not change answers a conditional request with
/// ``SearchResult/unchanged``, without searching.
///
/// Searches run on threads of their own, eight at once; a cancelled one is interrupted.
public struct FolderBackend: SearchBackend {
    /// `folder`.
    public let name = "folder"
    /// Where it searches.
    public let index: FolderIndex
    /// Hits of one page.
    public let hitsPerPage: Int
    /// Hits are counted up to here; beyond, the total is not known.
    public static let countLimit = 10_000

    /// Searches an index, which may be brought up to date meanwhile, by this process or another.
    ///
    /// - Parameters:
    ///   - index: Opened for reading, or for both.
    ///   - hitsPerPage: 1 to ``SearchCache/hitsPerPage``; others are taken as the nearest of these.
    public init(_ index: FolderIndex, hitsPerPage: Int = 10) {
        self.index = index
        self.hitsPerPage = min(max(hitsPerPage, 1), SearchCache.hitsPerPage)
    }

    /// Searches; takes about 1 ms for a rare word, and grows with the texts that have the word.
    ///
    /// - Throws: ``SearchError``: `refused` for more than 128 words or a wrong page, `server` if the index cannot be
    ///   read.
    public func search(_ request: SearchRequest) async throws -> SearchResult {
        guard (1...1_000_000).contains(request.page) else {
            throw SearchError(.refused, "pages have the numbers 1 to 1,000,000")
        }
        do {
            return try await index.pool.read { db in try answer(request, db) }
        } catch is SearchExpression.TooLong {
            throw SearchError(.refused, "a query has at most \(SearchExpression.termLimit) words")
        } catch let error as DatabaseError {
            throw SearchError(.server, "the index \(index.path) cannot be read: \(error.words)")
        } catch let error as FolderIndexError {
            throw SearchError(.server, error.message)
        }
    }

    /// One transaction, so that hits, total and entity tag are of the same version.
    private func answer(_ request: SearchRequest, _ db: Database) throws -> SearchResult {
        let version = try IndexVersion(db)
        let etag = "\(version.identity)-\(version.generation)-\(hitsPerPage)"
        if request.etag == etag { return .unchanged }
        let tokenizer = try db.makeTokenizer(.unicode61(diacritics: .remove))
        let expression = try SearchExpression(request.query) { !(try tokenizer.tokenize(query: $0)).isEmpty }
        guard let expression else { return .page([], hasNext: false, total: 0, etag: etag) }

        let match = expression.match
        let skipped = (request.page - 1) * hitsPerPage
        let ids = try Int64.fetchAll(
            try db.cachedStatement(
                sql: "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid LIMIT ? OFFSET ?"),
            arguments: [match, hitsPerPage + 1, skipped])
        let snippet = try Snippet(expression.wanted, tokenizer)
        let hits = try ids.prefix(hitsPerPage).compactMap { id in
            try hit(id, db) { snippet.line(of: $0, tokenizer) }
        }
        let hasNext = ids.count > hitsPerPage
        // The last page knows how many there were, unless it is beyond the end.
        let total = hasNext || ids.isEmpty ? try count(match, db) : skipped + ids.count
        return .page(hits, hasNext: hasNext, total: total, etag: etag)
    }

    private func count(_ match: String, _ db: Database) throws -> Int? {
        let statement = try db.cachedStatement(
            sql: "SELECT count(*) FROM (SELECT 1 FROM texts WHERE texts MATCH ? LIMIT \(Self.countLimit + 1))")
        let count = try Int.fetchOne(statement, arguments: [match]) ?? 0
        return count > Self.countLimit ? nil : count
    }

    /// Title, place and snippet: for the hits of the page only, since a snippet needs the whole text.
    private func hit(_ id: Int64, _ db: Database, snippet: (String) -> String) throws -> SearchHit? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT texts.title, texts.body, sources.path, sources.kind, items.key
                FROM texts JOIN items ON items.id = texts.rowid JOIN sources ON sources.id = items.source
                WHERE texts.rowid = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
        return SearchHit(
            title: row[0], url: Self.url(path: row[2], kind: row[3], key: row[4]), snippet: snippet(row[1]))
    }

    /// A `file:` URL; of a control file with the paragraph's key as its fragment.
    private static func url(path: String, kind: String, key: String) -> String {
        switch IndexUpdate.Kind(rawValue: kind) {
        case .control: "file://" + escaped(path) + "#" + escaped(key)
        case .file: "file://" + escaped(path)
        case .folder, nil: "file://" + escaped(path == "/" ? "/" + key : path + "/" + key)
        }
    }

    /// Escapes what may not stand in a URL's path.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x2F, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }
}
