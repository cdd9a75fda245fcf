import Lockstep
import SearchCache
import Testing

/// What the cache decides, entry by entry (SEMANTICS 4.4 to 4.6).
@Suite struct SearchCacheReducerTests {
    /// Equal queries share an entry, whatever their case and spaces; operators keep theirs.
    @Test(arguments: [
        ("Swift", "swift"), ("  shared \t\n library ", "shared library"), ("", ""), (" \u{3000} ", ""),
        ("cats NOT dogs", "cats NOT dogs"), ("Not", "not"), ("É", "é"), ("E\u{301}", "é"),
        ("a b", "a b"), ("a  b", "a b"), (" a", "a"), ("a ", "a"), ("a\u{7F}b", "a\u{7F}b"), (" ", ""),
        ("c++ \"x\"", "c++ \"x\""),
    ])
    func queriesHaveOneForm(text: String, key: String) {
        #expect(SearchCache.normalized(text) == key)
        #expect(SearchCache.normalized(key) == key)
    }

    /// The first miss asks; whoever asks meanwhile waits for the same request; a fresh page asks nobody.
    @Test func oneRequestGoesOut() throws {
        var script = try CacheScript()
        #expect(try script.act(.search("Swift", page: 1)) == .asked(1))
        #expect(try script.act(.search("swift ", page: 1)) == .joined(1))
        try script.answer("swift", ["a", "b"], total: 2)
        #expect(script.titles("swift") == ["a", "b"] && script.isFresh("swift"))
        #expect(try script.act(.search("swift", page: 1)) == .present)
        #expect(script.state.statistics.misses == 1 && script.state.statistics.requests == 1)
        #expect(script.state.wanted.isEmpty)
    }

    /// An empty query asks nobody; a wrong page and a long query are refused with the reason (SEMANTICS 4.4).
    @Test func badInputIsRefused() throws {
        var script = try CacheScript()
        for action in [SearchCache.Action.search("  ", page: 1), .loadNextPage(""), .refresh("")] {
            #expect(try script.act(action) == .nothing || script.state.wanted[""] == nil)
        }
        #expect(script.state.wanted.isEmpty && script.state.statistics.misses == 0)
        for page in [0, -1, 1_001, .min, .max] {
            #expect(throws: Rejection.self) { try script.act(.search("a", page: page)) }
        }
        let longest = String(repeating: "x", count: 256)
        #expect(try script.act(.search(longest, page: 1)) == .asked(1))
        #expect(throws: Rejection.self) { try script.act(.search(longest + "x", page: 1)) }
        #expect(throws: Rejection.self) { try script.act(.evict(String(repeating: "y", count: 1 << 20))) }
        let many = (0..<513).map { "\($0)" }
        #expect(throws: Rejection.self) {
            try script.act(.report(SearchCache.ReadReport(queries: many, hits: 1, joined: 0)))
        }
    }

    /// A page is fresh until an entry says otherwise; then it is asked again with its tag, and may be renewed.
    @Test func freshnessEndsByAnEntry() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.answer("a", ["x"], etag: "1")
        script.pass(seconds: 59)
        #expect(script.isFresh("a"))
        script.pass(seconds: 1)
        #expect(!script.isFresh("a") && script.titles("a") == ["x"])
        #expect(try script.act(.search("a", page: 1)) == .asked(2))
        let before = script.time
        try script.unchanged("a")
        #expect(script.isFresh("a") && script.titles("a") == ["x"])
        #expect(script.state.entries["a"]?.page(1)?.fetchedAt == before)
        #expect(script.state.entries["a"]?.page(1)?.etag == "1")
    }

    /// An entry is forgotten when it is old, by an entry of the log.
    @Test func oldEntriesExpire() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.answer("a", ["x"])
        script.pass(seconds: 599)
        #expect(script.titles("a") == ["x"])
        script.pass(seconds: 1)
        #expect(script.state.entries.isEmpty && script.state.bytes == 0)
        #expect(script.state.statistics.expirations == 1 && SearchCache.nextDue(in: script.state) == nil)
    }

    /// A late answer to a request that was superseded, evicted or answered changes nothing (SEMANTICS 4.4).
    @Test func lateAnswersChangeNothing() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        #expect(try script.act(.refresh("a")) == .asked(2))
        try script.answer("a", ["old"], to: 1)
        #expect(script.state.entries.isEmpty && script.state.wanted["a"]?.number == 2)
        try script.answer("a", ["new"])
        try script.answer("a", ["again"], to: 2)
        #expect(script.titles("a") == ["new"])
        try script.act(.refresh("a"))
        try script.act(.evict("A"))
        try script.answer("a", ["evicted"], to: 3)
        #expect(script.state.entries.isEmpty && script.state.wanted.isEmpty)
        try script.act(.search("b", page: 1))
        try script.act(.clear)
        try script.answer("b", ["cleared"], to: 4)
        #expect(script.state.entries.isEmpty)
        #expect(try script.act(.search("b", page: 1)) == .asked(5))
    }

    /// Pages follow one another; while one is on its way a further wish waits, after the last there is nothing, and an
    /// empty page ends the list (SEMANTICS 4.4, 4.5).
    @Test func pagesAreLoadedInTheirOrder() throws {
        var script = try CacheScript()
        #expect(try script.act(.loadNextPage("a")) == .asked(1))
        #expect(try script.act(.loadNextPage("a")) == .joined(1))
        try script.answer("a", ["1"], hasNext: true, total: 3)
        #expect(script.state.entries["a"]?.nextPage == 2)
        #expect(try script.act(.loadNextPage("a")) == .asked(2))
        try script.answer("a", ["2"], hasNext: true)
        #expect(try script.act(.loadNextPage("a")) == .asked(3))
        try script.answer("a", [])
        #expect(script.state.entries["a"]?.lastPage == 2 && script.titles("a", 3) == nil)
        #expect(try script.act(.loadNextPage("a")) == .nothing)
        #expect(try script.act(.search("a", page: 3)) == .nothing)
        #expect(script.titles("a", 1) == ["1"] && script.titles("a", 2) == ["2"])
        #expect(script.state.entries["a"]?.total == 3)
    }

    /// That nothing follows a page is known for as long as that page is fresh; then it is asked again, and what follows
    /// it only if something does now.
    @Test func theEndOfAStaleQueryIsAskedAgain() throws {
        var script = try CacheScript(live: 3_600_000_000)
        try script.act(.search("a", page: 1))
        try script.answer("a", ["1"])
        #expect(try script.act(.search("a", page: 2)) == .nothing)
        script.pass(seconds: 60)
        #expect(try script.act(.search("a", page: 2)) == .asked(2))
        #expect(try script.act(.search("a", page: 2)) == .joined(2))
        try script.answer("a", ["1"])
        #expect(script.isFresh("a") && script.state.wanted.isEmpty)
        #expect(try script.act(.search("a", page: 2)) == .nothing)
        script.pass(seconds: 60)
        #expect(try script.act(.search("a", page: 2)) == .asked(3))
        try script.answer("a", ["1"], hasNext: true)
        #expect(script.state.wanted["a"]?.page == 2)
        try script.answer("a", ["2"])
        #expect(script.titles("a", 2) == ["2"] && script.state.entries["a"]?.lastPage == 2)

        // Where the last page itself was never asked for.
        try script.act(.search("b", page: 5))
        try script.answer("b", [])
        #expect(try script.act(.search("b", page: 5)) == .nothing && script.titles("b", 4) == nil)
        script.pass(seconds: 60)
        #expect(try script.act(.search("b", page: 5)) == .asked(6))
    }

    /// Pages that are asked for by their numbers wait for the one that is on its way, each once, up to a bound.
    @Test func pagesWaitForOneAnother() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        for page in 2...17 { try script.act(.search("a", page: page)) }
        #expect(try script.act(.search("a", page: 5)) == .joined(1))
        #expect(throws: Rejection.self) { try script.act(.search("a", page: 18)) }
        try script.answer("a", ["1"], hasNext: true)
        #expect(script.state.wanted["a"]?.page == 2 && script.state.wanted["a"]?.next == Array(3...17))
        // The second page is the last: nobody waits for what would follow it.
        try script.answer("a", ["2"])
        #expect(script.state.wanted.isEmpty && script.state.entries["a"]?.lastPage == 2)
    }

    /// Another first page makes the ones after it wrong.
    @Test func aNewFirstPageDropsTheOthers() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.answer("a", ["1"], hasNext: true)
        try script.act(.search("a", page: 2))
        try script.answer("a", ["2"])
        try script.act(.refresh("a"))
        try script.answer("a", ["1"], hasNext: true)
        #expect(script.titles("a", 2) == ["2"], "the same first page keeps the others")
        try script.act(.refresh("a"))
        try script.answer("a", ["0"], hasNext: true)
        #expect(script.titles("a", 2) == nil && script.state.entries["a"]?.nextPage == 2)
    }

    /// A transient failure is shown, and asked again at its time under a new number; then it is a matter of asking.
    @Test func failuresAreValuesAndAreRetried() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.fail("a", .offline, for: 1, isRetried: true)
        #expect(script.state.entries["a"]?.failure?.kind == .offline)
        #expect(script.state.wanted["a"]?.number == 2 && script.state.wanted["a"]?.attempt == 2)
        #expect(try script.act(.search("a", page: 1)) == .joined(2))
        script.pass(seconds: 1)
        try script.fail("a", .server, for: 5)
        #expect(script.state.wanted.isEmpty)
        guard case .failed(let failure) = try script.act(.search("a", page: 1)) else {
            return #expect(Bool(false), "it is not asked again within 5 s")
        }
        #expect(failure.kind == .server && failure.until == script.time.advanced(by: .seconds(5)))
        script.pass(seconds: 5)
        #expect(script.state.entries.isEmpty, "a failure alone is kept for as long as it holds")
        #expect(try script.act(.search("a", page: 1)) == .asked(3))
        try script.answer("a", ["x"])
        #expect(script.state.entries["a"]?.failure == nil)
        #expect(script.state.statistics.requests == 3 && script.state.statistics.failures == 2)
    }

    /// A failure leaves what was there.
    @Test func aFailureKeepsThePagesOfBefore() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.answer("a", ["x"])
        script.pass(seconds: 60)
        try script.act(.search("a", page: 1))
        try script.fail("a", .badAnswer, for: 5)
        let look = script.state.look("a", page: 1)
        #expect(look.page?.hits.count == 1 && !look.isFresh && look.failure?.kind == .badAnswer)
        script.pass(seconds: 500)
        #expect(script.titles("a") == ["x"])
    }

    /// While the backend takes no requests nobody makes it any, for no query (SEMANTICS 4.5).
    @Test func aRateLimitHoldsForAllQueries() throws {
        var script = try CacheScript()
        try script.act(.search("a", page: 1))
        try script.fail("a", .rateLimited, for: 30)
        let until = script.time.advanced(by: .seconds(30))
        for action in [SearchCache.Action.search("a", page: 1), .search("b", page: 1), .refresh("c")] {
            guard case .failed(let failure) = try script.act(action) else {
                #expect(Bool(false), "\(action) asked")
                continue
            }
            #expect(failure.kind == .rateLimited && failure.until == until)
        }
        try script.act(.clear)
        guard case .failed = try script.act(.search("b", page: 1)) else {
            return #expect(Bool(false), "clearing ended the limit")
        }
        script.pass(seconds: 30)
        #expect(try script.act(.search("b", page: 1)) == .asked(2))
    }

    /// What was used least recently goes first, reads of other nodes count, and the bound in bytes holds.
    @Test func theBoundHolds() throws {
        var script = try CacheScript()
        let wide = (0..<40).map { "\($0)" + String(repeating: "w", count: 500) }
        var kept: [String] = []
        for number in 0..<100 {
            script.pass(seconds: 1)
            let key = "q\(number)"
            try script.act(.search(key, page: 1))
            try script.answer(key, wide)
            #expect(script.state.bytes <= script.bounds.bytes)
            // The first query is read all the time.
            try script.act(.report(SearchCache.ReadReport(queries: ["q0", "gone"], hits: 3, joined: 1)))
            kept.append(key)
        }
        let here = kept.filter { script.state.entries[$0] != nil }
        #expect(here.first == "q0" && here.last == "q99")
        #expect(here.dropFirst() == kept.suffix(here.count - 1)[...])
        #expect(script.state.statistics.evictions == UInt64(100 - here.count) && here.count > 10)
        #expect(script.state.statistics.hits == 300 && script.state.statistics.saved == 400)
        #expect(script.state.entries["gone"] == nil)
        for key in here { try script.act(.evict(key)) }
        #expect(script.state.bytes == 0)
    }

    /// One query with many pages stays in the bound too: its newest page stays.
    @Test func theBoundHoldsForOneQuery() throws {
        var script = try CacheScript()
        let wide = (0..<100).map { "\($0)" + String(repeating: "w", count: 500) }
        for page in 1...40 {
            try script.act(.search("a", page: page))
            try script.answer("a", wide.map { "\(page)-\($0)" }, hasNext: true)
            #expect(script.state.bytes <= script.bounds.bytes && script.isFresh("a", page))
        }
        #expect(script.state.statistics.evictions > 0)
        script.pass(seconds: 700)
        #expect(script.state.bytes == 0 && SearchCache.nextDue(in: script.state) == nil)
    }

    /// Settings that cannot hold are refused in words.
    @Test func wrongSettingsAreRefused() {
        let wrong: [(inout SearchCache.Settings) -> Void] = [
            { $0.fresh = .milliseconds(999) }, { $0.timeToLive = .zero }, { $0.bytes = (1 << 20) - 1 },
            { $0.concurrentRequests = 0 }, { $0.concurrentRequests = 257 }, { $0.waitingQueries = 0 },
            { $0.failureKept = .seconds(-1) },
        ]
        for change in wrong {
            var settings = SearchCache.Settings()
            change(&settings)
            let error = #expect(throws: LockstepError.self) { try SearchCache(ScriptedBackend(), settings: settings) }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
