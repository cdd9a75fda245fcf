import Lockstep
import SearchCache
import Testing

/// Searches on a running node.
@Suite(.timeLimit(.minutes(5))) struct CachedSearchTests {
    private func withCache(
        _ change: (inout SearchCache.Settings) -> Void = { _ in },
        _ body: @escaping @Sendable (CachedSearch, Store<SearchCache>, ScriptedBackend) async throws -> Void
    ) async throws {
        var settings = SearchCache.Settings()
        settings.retry = RetryPolicy(attempts: 3, backoff: .constant(.milliseconds(5)))
        settings.failureKept = .zero
        change(&settings)
        let backend = ScriptedBackend()
        let node = try Node(.local())
        let store = try node.store(try SearchCache(backend, settings: settings), named: "search")
        try await node.whileRunning {
            try await store.whenLive()
            try await body(CachedSearch(store), store, backend)
        }
    }

    /// Many callers, few queries: one request for each, and everybody has the answer.
    @Test func oneRequestForAll() async throws {
        try await withCache { search, store, backend in
            backend.hold()
            try await withThrowingTaskGroup(of: SearchAnswer.self) { group in
                for number in 0..<200 { group.addTask { try await search.search("Query \(number % 5)") } }
                await backend.wasAsked(5)
                backend.release()
                for try await answer in group {
                    #expect(answer.page?.hits.map(\.title) == ["\(answer.query) 1"] && answer.failure == nil)
                }
            }
            #expect(Set(backend.asked.map(\.query)).count == 5 && backend.asked.count == 5)
            let again = try await search.search("query 3")
            #expect(again.source == .memory && backend.asked.count == 5)
            try await search.report()
            let statistics = try await store.read { $0.statistics }
            #expect(statistics.requests == 5 && statistics.hits >= 1 && statistics.misses == 5)
        }
    }

    /// As many requests run at once as is set, and the others follow.
    @Test func requestsHaveABound() async throws {
        try await withCache({ $0.concurrentRequests = 2 }) { search, store, backend in
            backend.hold()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 { group.addTask { _ = try await search.search("q\(number)") } }
                await backend.wasAsked(2)
                for await snapshot in store.states where snapshot.state.wanted.count == 6 { break }
                #expect(backend.asked.count == 2)
                backend.release()
                try await group.waitForAll()
            }
            #expect(backend.asked.count == 6)
        }
    }

    /// A request that fails for a while is asked three times; the answer is the failure, and the store goes on.
    @Test func failuresAreAnswers() async throws {
        try await withCache { search, store, backend in
            backend.answer { _ in throw SearchError(.offline, "no network") }
            let failed = try await search.search("a")
            #expect(failed.failure?.kind == .offline && failed.page == nil && backend.asked.count == 3)
            backend.answer { _ in throw SearchError(.refused, "no such syntax") }
            let message = try await search.search("b").failure?.message
            #expect(message == "no such syntax")
            #expect(backend.asked.count == 4)
            struct Odd: Error {}
            backend.answer { request in
                if request.query == "c" { throw Odd() }
                return .unchanged
            }
            let odd = try await search.search("c").failure?.kind
            #expect(odd == .server)
            let unfounded = try await search.search("d").failure?.kind
            #expect(unfounded == .badAnswer)
            let huge = SearchHit(title: String(repeating: "\u{1}", count: 5_000), url: "u")
            backend.answer { _ in .page(Array(repeating: huge, count: 1_000), hasNext: true) }
            let page = try await search.search("e")
            #expect(page.page?.hits.count == 100 && page.page?.hits.first?.title.utf8.count == 512)
            let isQuiet = try await store.read { $0.wanted.isEmpty }
            #expect(isQuiet)
        }
    }

    /// A backend that wants to be left alone for long is not waited for: its failure is the answer until then.
    @Test func aLongRetryAfterIsAnAnswerAtOnce() async throws {
        try await withCache { search, store, backend in
            backend.answer { _ in throw SearchError(.server, "maintenance", retryAfter: .seconds(3_600)) }
            for _ in 0..<2 {
                let failure = try await search.search("a").failure
                #expect(failure?.kind == .server && failure?.isRetried == false)
            }
            #expect(backend.asked.count == 1)
            let isQuiet = try await store.read { $0.wanted.isEmpty }
            #expect(isQuiet)
        }
    }

    /// A refresh takes the place of a slow request, whose answer counts for nothing; who waited gets the newer one.
    @Test func aRefreshSupersedes() async throws {
        try await withCache { search, store, backend in
            backend.hold()
            async let first = search.search("a")
            await backend.wasAsked(1)
            _ = try await search.send(.refresh("a"))
            await backend.wasAsked(2)
            backend.release()
            let count = try await first.page?.hits.count
            #expect(count == 1)
            let version = try await store.read { $0.entries["a"]?.version }
            #expect(version == 2)
        }
    }

    /// Who waits is told when the time is over, and the request goes on.
    @Test func waitingHasAnEnd() async throws {
        try await withCache { search, store, backend in
            backend.hold()
            let error = await #expect(throws: LockstepError.self) {
                try await search.search("a", timeout: .milliseconds(20))
            }
            #expect(error?.code == .timeout)
            backend.release()
            let page = try await search.search("a").page
            #expect(page != nil && backend.asked.count == 1)
        }
    }

    /// A replica whose primary is away says so at once, rather than when the time is over, also to those who wait
    /// already; what is in memory is still found.
    @Test func aLostPrimaryIsToldAtOnce() async throws {
        let backend = ScriptedBackend()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.store(try SearchCache(backend), named: "search")
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (endpoints, endpoint) = AsyncStream.makeStream(of: String.self)
            group.addTask {
                try await primary.whileRunning {
                    while true {
                        // Until the node runs it has no status.
                        if let address = (try? await primary.status())?.endpoint {
                            endpoint.yield(address)
                            break
                        }
                        await Task.yield()
                    }
                    for await _ in stops {}
                }
            }
            var iterator = endpoints.makeAsyncIterator()
            let replica = try Node(.replica(of: try #require(await iterator.next())))
            let search = CachedSearch(try replica.store(try SearchCache(backend), named: "search"))
            try await replica.whileRunning {
                try await search.store.whenReady()
                #expect(try await search.search("known").page != nil)
                backend.hold()
                let waiting = Task { try await search.search("waits", timeout: .seconds(50)) }
                await backend.wasAsked(2)
                stop.finish()
                let early = await #expect(throws: LockstepError.self) { try await waiting.value }
                #expect(early?.code == .unavailable)
                let start = ContinuousClock.now
                let late = await #expect(throws: LockstepError.self) {
                    try await search.search("new", timeout: .seconds(50))
                }
                #expect(late?.code == .unavailable && late?.message.contains("primary is away") == true)
                #expect(start.duration(to: .now) < .seconds(15), "it was told long before its time had passed")
                #expect(try search.remembered("known")?.page != nil)
                backend.release()
            }
            try await group.waitForAll()
        }
    }

    /// Bad input is refused before anything is sent; an empty query, and a page after the last, ask nobody.
    @Test func badInputIsRefused() async throws {
        try await withCache { search, _, backend in
            for (text, page) in [("a", 0), (String(repeating: "x", count: 300), 1)] {
                let error = await #expect(throws: LockstepError.self) { try await search.search(text, page: page) }
                #expect(error?.code == .rejected)
            }
            let source = try await search.search(" ").source
            #expect(source == .nothing)
            for page in 1...3 { #expect(try await search.search("a", page: page).page?.number == page) }
            let beyond = try await search.search("a", page: 4)
            #expect(beyond.source == .nothing && beyond.page == nil && beyond.lastPage == 3)
            #expect(backend.asked.count == 3)
        }
    }
}
