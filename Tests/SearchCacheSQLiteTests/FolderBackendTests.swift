import Foundation
import GRDB
import LockstepCommands
import Logging
import SearchCache
import SearchCacheSQLite
import Testing

/// Goal: a query finds what its words say, in pages that fit together, and nothing in it is taken for a language.
@Suite(.timeLimit(.minutes(5))) struct FolderBackendTests {
    private func index(_ texts: [String: String]) async throws -> (TextFolder, FolderIndex) {
        let folder = try TextFolder()
        for (name, text) in texts { try folder.write(name, text) }
        let index = try folder.index()
        try await index.update(folder: folder.path)
        return (folder, index)
    }

    // MARK: - Queries

    /// All words have to be there, in any order; a phrase's words follow each other.
    @Test func wordsAreJoinedAndPhrasesKept() async throws {
        let (_, index) = try await index([
            "1": "alpha beta gamma", "2": "gamma beta alpha", "3": "alpha", "4": "alpha-beta", "5": "Alphabet",
        ])
        #expect(try await index.titles("beta alpha") == ["1", "2", "4"])
        #expect(try await index.titles("ALPHA") == ["1", "2", "3", "4"])
        #expect(try await index.titles("\"alpha beta\"") == ["1", "4"])
        #expect(try await index.titles("\"beta gamma\" alpha") == ["1"])
        #expect(try await index.titles("alpha-beta") == ["1", "4"])
        #expect(try await index.titles("alpha AND gamma") == ["1", "2"])
        #expect(try await index.titles("\"gamma beta") == ["2"])
        #expect(try await index.titles("delta") == [])
    }

    /// Alternatives and exclusions, and what is none because nothing would be left.
    @Test func alternativesAndExclusions() async throws {
        let (_, index) = try await index([
            "1": "alpha beta", "2": "alpha gamma", "3": "delta", "4": "not or and", "5": "v help",
        ])
        #expect(try await index.titles("beta OR delta") == ["1", "3"])
        #expect(try await index.titles("alpha beta OR alpha gamma") == ["1", "2"])
        #expect(try await index.titles("alpha -beta") == ["2"])
        #expect(try await index.titles("alpha NOT beta") == ["2"])
        #expect(try await index.titles("alpha -\"alpha beta\" OR delta") == ["2", "3"])
        #expect(try await index.titles("-beta alpha NOT gamma") == [])
        // Lower case, and in quotes, they are words.
        #expect(try await index.titles("beta or delta") == [])
        #expect(try await index.titles("\"OR\"") == ["4"])
        // Nothing to find is left, so all of it is words.
        #expect(try await index.titles("OR") == ["4"])
        #expect(try await index.titles("NOT AND OR") == ["4"])
        #expect(try await index.titles("-v") == ["5"])
        #expect(try await index.titles("OR alpha OR OR -beta") == ["1", "2"])
        // An option of a program is a word.
        #expect(try await index.titles("--help") == ["5"])
    }

    /// What means something to FTS5 means nothing here.
    @Test func nothingReachesTheLanguageOfFTS5() async throws {
        let (_, index) = try await index([
            "1": "alpha", "2": "alphabet", "3": "title alpha", "4": "near alpha beta 10", "5": "beta alpha",
        ])
        #expect(try await index.titles("alpha*") == ["1", "3", "4", "5"])
        #expect(try await index.titles("^alpha") == ["1", "3", "4", "5"])
        #expect(try await index.titles("title:alpha") == ["3"])
        #expect(try await index.titles("{title body}:alpha") == [])
        #expect(try await index.titles("- title : alpha") == ["3"])
        #expect(try await index.titles("NEAR(alpha beta, 10)") == ["4"])
        #expect(try await index.titles("alpha + beta") == ["4", "5"])
        #expect(try await index.titles("(alpha") == ["1", "3", "4", "5"])
        #expect(try await index.titles("al\"pha") == [])
        #expect(try await index.titles("title\"alpha") == ["3"])
        #expect(try await index.titles("alpha\0beta") == ["4"])
        // With an accent a quotation mark is another character for Swift, and is itself for FTS5.
        #expect(try await index.titles("alpha\"\u{301} OR title:beta") == ["1", "3", "4", "5"])
        #expect(try await index.titles("\"alpha beta\"\u{301}") == ["4"])
        #expect(try await index.titles("'; DROP TABLE texts; --") == [])
        #expect(try await index.page("alpha").total == 4)
    }

    /// A query without a word finds nothing, and is no error; beside a word it does not count.
    @Test func queryWithoutWordsIsAnEmptyPage() async throws {
        let (_, index) = try await index(["1": "alpha"])
        for query in ["!!!", "\"", "\"\"", "- -", "*", "\"!!!\" -\"...\"", "\u{301}", " "] {
            let page = try await index.page(query)
            #expect(page.hits.isEmpty && !page.hasNext && page.total == 0 && page.etag != nil, "\(query)")
        }
        #expect(try await index.titles("!!! alpha ...") == ["1"])
        #expect(try await index.titles("alpha -!!!") == ["1"])
    }

    /// 3,000 texts of nothing but operators and quotes are answered.
    @Test func noQueryIsAnError() async throws {
        let (_, index) = try await index(["1": "alpha beta"])
        let parts = [
            "\"", "'", "*", "^", "(", ")", "{", "}", ":", "+", "-", " ", "\0", "\\", "%", ";", ",", "é", "\u{301}", "🦭",
            "NEAR", "OR", "AND", "NOT", "title", "alpha", "beta",
        ]
        var state: UInt64 = 1
        for _ in 0..<3_000 {
            var query = ""
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                query += parts[Int(state >> 33) % parts.count]
            }
            do { _ = try await index.page(query) } catch { Issue.record("\(query.debugDescription): \(error)") }
        }
    }

    /// As many words as are allowed are answered, and one more is refused.
    @Test func wordsAreBounded() async throws {
        let (_, index) = try await index(["1": "a b"])
        #expect(try await index.titles(Array(repeating: "a", count: 128).joined(separator: " ")) == ["1"])
        #expect(try await index.titles(Array(repeating: "a", count: 64).joined(separator: " OR ")) == ["1"])
        let error = await #expect(throws: SearchError.self) {
            try await index.page(Array(repeating: "a", count: 129).joined(separator: " "))
        }
        #expect(error?.kind == .refused)
        await #expect(throws: SearchError.self) { try await index.page("a", 0) }
    }

    // MARK: - Hits

    /// A word in the title counts more than three in the body; more of them count more than fewer.
    @Test func titlesComeFirst() async throws {
        let filler = String(repeating: "filler ", count: 40)
        let (_, index) = try await index([
            "one": "walrus " + filler, "three": "walrus walrus walrus " + filler, "walrus.txt": filler,
            "none": filler,
        ])
        #expect(try await index.page("walrus").titles == ["walrus.txt", "three", "one"])
    }

    /// A snippet has the words around what was found, in one line and without marks.
    @Test func snippetsShowWhatWasFound() async throws {
        let before = (0..<200).map { "before\($0)" }.joined(separator: "\n")
        let after = (0..<200).map { "after\($0)" }.joined(separator: "\t ")
        let (_, index) = try await index(["text": "\(before)\nthe <b>walrus</b>\n\n\(after)"])
        let snippet = try #require(try await index.page("walrus").hits.first?.snippet)
        #expect(snippet.contains("the <b>walrus</b> after0"))
        #expect(snippet.hasPrefix("…") && snippet.hasSuffix("…"))
        #expect(!snippet.contains("\n") && !snippet.contains("\t") && snippet.count < 400)
        // What is in the title only shows how the text begins.
        #expect(try await index.page("text").hits.first?.snippet.hasPrefix("before0 before1 ") == true)
    }

    /// The place with the most of the words is shown, and a phrase where it is one.
    @Test func snippetsShowTheBestPlace() async throws {
        let filler = (0..<100).map { "filler\($0)" }.joined(separator: " ")
        let text = "carpenter \(filler) walrus \(filler) the carpenter, a walrus \(filler) walrus carpenter end"
        let (_, index) = try await index(["text": text])
        let both = try #require(try await index.page("walrus carpenter").hits.first?.snippet)
        #expect(both.hasPrefix("…") && both.contains("filler99 the carpenter, a walrus filler0"))
        let phrase = try #require(try await index.page("\"walrus carpenter\"").hits.first?.snippet)
        #expect(phrase.hasPrefix("…") && phrase.hasSuffix("filler99 walrus carpenter end"))
        let one = try #require(try await index.page("carpenter -nobody").hits.first?.snippet)
        #expect(one.hasPrefix("carpenter filler0 ") && one.hasSuffix("…"))
    }

    /// A word that is half of a long text costs one pass over it, where `snippet()` takes minutes.
    @Test func snippetOfAWordThatIsEverywhereTakesOnePass() async throws {
        let (_, index) = try await index(["text": String(repeating: "0 other ", count: 200_000) + "end"])
        #expect(try await index.page("0").hits.first?.snippet.hasPrefix("0 other 0 other ") == true)
        #expect(try await index.page("0 end").hits.first?.snippet.hasSuffix("0 other end") == true)
    }

    // MARK: - Pages

    /// Pages of hits that are all as good have each hit once, and the last page knows that it is.
    @Test func pagesFitTogether() async throws {
        var texts: [String: String] = [:]
        for number in 0..<90 { texts["\(number)"] = number.isMultiple(of: 3) ? "same words" : "other same words here" }
        let (_, index) = try await index(texts)
        var titles: [String] = []
        for number in 1...9 {
            let page = try await index.page("same", number, hitsPerPage: 10)
            #expect(page.hits.count == 10 && page.hasNext == (number < 9) && page.total == 90)
            titles += page.titles
        }
        #expect(Set(titles) == Set(texts.keys) && titles.count == 90)
        let beyond = try await index.page("same", 10, hitsPerPage: 10)
        #expect(beyond.hits.isEmpty && !beyond.hasNext && beyond.total == 90)
        let few = try await index.page("same", 2, hitsPerPage: 80)
        #expect(few.hits.count == 10 && !few.hasNext && few.total == 90)
    }

    /// Ten thousand hits are counted, one more is not.
    @Test func totalIsBounded() async throws {
        let folder = try TextFolder()
        let paragraphs = (0..<10_001).map { "Package: p\($0)\nDescription: common\($0 == 0 ? "" : " most")\n" }
        try folder.write("status", paragraphs.joined(separator: "\n"))
        let index = try folder.index()
        try await index.update(folder: folder.path + "/status")
        let all = try await index.page("common", hitsPerPage: 10)
        #expect(all.total == nil && all.hits.count == 10 && all.hasNext)
        #expect(try await index.page("most", hitsPerPage: 10).total == 10_000)
        #expect(try await index.page("common", 1_001, hitsPerPage: 10).titles.count == 1)
    }

    // MARK: - Versions and failures

    /// The entity tag answers for an index that did not change, and for no other.
    @Test func unchangedIndexIsNotSearchedAgain() async throws {
        let (folder, index) = try await index(["1": "alpha"])
        let backend = FolderBackend(index)
        let etag = try #require(try await index.page("alpha", hitsPerPage: 10).etag)
        let request = SearchRequest(query: "alpha", page: 1, etag: etag)
        #expect(try await backend.search(request) == .unchanged)
        try await index.update(folder: folder.path)
        #expect(try await backend.search(request) == .unchanged)
        #expect(try await FolderBackend(index, hitsPerPage: 20).search(request) != .unchanged)

        try folder.write("2", "alpha")
        try await index.update(folder: folder.path)
        guard case .page(let hits, _, _, let newer) = try await backend.search(request) else {
            Issue.record("a changed index says that it is unchanged")
            return
        }
        #expect(hits.count == 2 && newer != etag)
        try folder.remove("2")
        try await index.update(folder: folder.path)
        #expect(try await backend.search(SearchRequest(query: "alpha", page: 1, etag: newer)) != .unchanged)

        let other = try FolderIndex(path: folder.base + "/other.db")
        try await other.update(folder: folder.path)
        #expect(try await FolderBackend(other).search(request) != .unchanged)
    }

    /// A damaged or closed index is a failure of the server, in words.
    @Test func brokenIndexIsAFailureOfTheServer() async throws {
        let (folder, index) = try await index(["1": "alpha"])
        try index.close()
        let closed = await #expect(throws: SearchError.self) { try await index.page("alpha") }
        #expect(closed?.kind == .server && closed?.message.contains(folder.indexPath) == true)

        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.indexPath))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data(repeating: 0xFF, count: Int(size) - 4_096))
        try file.close()
        let damaged = try folder.index(isReadOnly: true)
        let error = await #expect(throws: SearchError.self) { try await damaged.page("alpha") }
        #expect(error?.kind == .server && error?.message.contains("malformed") == true)
    }

    /// Who deletes an index and makes it again need not start the node anew: its next search takes the new file.
    @Test func anIndexThatWasMadeAnewIsSearched() async throws {
        let folder = try TextFolder()
        try folder.write("a", "alpha")
        let first = try folder.index()
        try await first.update(folder: folder.path)
        try first.close()
        let late = try LateIndex(path: folder.indexPath, logger: Logger(label: "test"))
        func titles(_ word: String) async throws -> [String] {
            let result = try await late.search(SearchRequest(query: word))
            guard case .page(let hits, _, _, _) = result else { return ["unchanged"] }
            return hits.map(\.title)
        }
        #expect(try await titles("alpha") == ["a"])
        for end in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: folder.indexPath + end) {
            try FileManager.default.removeItem(atPath: folder.indexPath + end)
        }
        try folder.move("a", to: "b")
        try folder.write("b", "beta")
        let second = try folder.index()
        try await second.update(folder: folder.path)
        #expect(try await titles("beta") == ["b"])
        #expect(try await titles("alpha") == [])
        // One that is gone finds nothing more.
        try second.close()
        try FileManager.default.removeItem(atPath: folder.indexPath)
        let error = await #expect(throws: SearchError.self) { try await late.search(SearchRequest(query: "beta")) }
        #expect(error?.kind == .server && error?.message.contains("no index") == true)
    }

    /// A cancelled search is cancelled, and the backend answers the next one.
    @Test func cancelledSearchEnds() async throws {
        let (_, index) = try await index(["1": "alpha"])
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Page.self) { group in
                group.addTask {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await index.page("alpha")
                }
                _ = try await group.next()
            }
        }
        #expect(try await index.titles("alpha") == ["1"])
    }

    /// Many searches at once are all answered right.
    @Test func searchesAtOnceAreAnswered() async throws {
        var texts: [String: String] = [:]
        for number in 0..<50 { texts["\(number)"] = "common word\(number)" }
        let (_, index) = try await index(texts)
        try await withThrowingTaskGroup(of: (String, [String]).self) { group in
            for number in 0..<200 {
                group.addTask { ("\(number % 50)", try await index.page("word\(number % 50) common").titles) }
            }
            for try await (name, titles) in group { #expect(titles == [name]) }
        }
    }
}
