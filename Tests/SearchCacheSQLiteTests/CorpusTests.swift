import Foundation
import SearchCache
import SearchCacheSQLite
import Testing

/// What `deploy/search-corpus` wants to know: it makes the questions and checks the answers by other means.
private struct Plan: Codable {
    /// Folders and files to index.
    var sources: [String]
    /// Where the index is made.
    var index: String
    /// The most bytes of a text.
    var limit: Int
    var queries: [String]
    /// Where the answers are written to.
    var result: String
}

/// What was found, and what it took.
private struct Result: Codable {
    struct Run: Codable {
        var source: String
        var seen: Int
        var indexed: Int
        var unchanged: Int
        var removed: Int
        var binary: Int
        var cut: Int
        var duplicates: Int
        var unreadable: Int
        var failures: [String]
        var textBytes: Int64
        var seconds: Double

        init(_ source: String, _ report: IndexReport) {
            self.source = source
            seen = report.seen
            indexed = report.indexed
            unchanged = report.unchanged
            removed = report.removed
            binary = report.binary
            cut = report.cut
            duplicates = report.duplicates
            unreadable = report.unreadable
            failures = report.failures.map { "\($0.path): \($0.reason)" }
            textBytes = report.textBytes
            seconds = report.duration / .seconds(1)
        }
    }

    struct Answer: Codable {
        var query: String
        /// Of all pages, in their order.
        var urls: [String] = []
        var total: Int?
        /// Of the first page, which is all that a person waits for.
        var milliseconds = 0.0
        /// Of ten hits, as the cache asks for them.
        var unchangedMilliseconds = 0.0
    }

    var first: [Run] = []
    var second: [Run] = []
    var indexBytes: Int64 = 0
    var texts = 0
    var answers: [Answer] = []
    var memoryBytes: Int64 = 0
}

/// Goal: a real corpus is indexed and searched as other programs see it; run by `deploy/search-corpus`, which compares.
@Suite(.timeLimit(.minutes(20))) struct CorpusTests {
    @Test(.enabled(if: ProcessInfo.processInfo.environment["LOCKSTEP_SEARCH_PLAN"] != nil, "deploy/search-corpus"))
    func corpusIsIndexedAndAnswers() async throws {
        let path = try #require(ProcessInfo.processInfo.environment["LOCKSTEP_SEARCH_PLAN"])
        let plan = try JSONDecoder().decode(Plan.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        let index = try FolderIndex(path: plan.index)
        var result = Result()
        for source in plan.sources {
            let report = try await index.update(folder: source, textLimit: plan.limit)
            result.first.append(Result.Run(source, report))
        }
        let generation = try await index.content().generation
        for source in plan.sources {
            let report = try await index.update(folder: source, textLimit: plan.limit)
            result.second.append(Result.Run(source, report))
            #expect(report.indexed == 0 && report.removed == 0, "a second update of \(source) found something to do")
        }
        let content = try await index.content()
        #expect(content.generation == generation)
        result.texts = content.texts
        result.indexBytes = content.bytes
        for query in plan.queries { result.answers.append(try await answer(query, index)) }
        result.memoryBytes = Self.peakMemory()
        try JSONEncoder().encode(result).write(to: URL(fileURLWithPath: plan.result))
        try index.close()
    }

    private func answer(_ query: String, _ index: FolderIndex) async throws -> Result.Answer {
        var answer = Result.Answer(query: query)
        let start = ContinuousClock.now
        let first = try await index.page(query, hitsPerPage: 10)
        answer.milliseconds = start.duration(to: .now) / .milliseconds(1)
        let again = ContinuousClock.now
        let unchanged = try await FolderBackend(index).search(SearchRequest(query: query, etag: first.etag))
        answer.unchangedMilliseconds = again.duration(to: .now) / .milliseconds(1)
        #expect(unchanged == .unchanged)
        answer.total = first.total
        var number = 1
        while true {
            let page = try await index.page(query, number)
            answer.urls += page.hits.map(\.url)
            // Of more than are counted, the last page alone knows how many there are.
            #expect(page.total == first.total || first.total == nil && !page.hasNext)
            if !page.hasNext { break }
            number += 1
        }
        #expect(answer.total == nil || answer.total == answer.urls.count, "\(query)")
        #expect(Array(answer.urls.prefix(10)) == first.hits.map(\.url), "\(query)")
        return answer
    }

    /// The most memory that this process had at once; 0 where the system does not say.
    private static func peakMemory() -> Int64 {
        guard let status = FileManager.default.contents(atPath: "/proc/self/status") else { return 0 }
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int64($0.filter(\.isNumber)) }.map { $0 << 10 } ?? 0
    }
}
