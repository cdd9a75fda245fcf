#if Web
    import Foundation
    import Lockstep
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// The cache of a running node over this backend, and a server that does what it wants.
    @Suite(.timeLimit(.minutes(5))) struct GitHubCacheTests {
        private func withCache(
            _ script: @escaping ScriptedServer.Script,
            _ change: (inout SearchCache.Settings) -> Void = { _ in },
            wrapped: (GitHubBackend) -> any SearchBackend = { $0 },
            _ body: @escaping @Sendable (ScriptedServer, CachedSearch) async throws -> Void
        ) async throws {
            var settings = SearchCache.Settings()
            settings.retry = RetryPolicy(
                attempts: 3, backoff: .exponential(first: .milliseconds(2), factor: 2, limit: .milliseconds(8)))
            settings.failureKept = .seconds(60)
            change(&settings)
            try await ScriptedServer.with(script) { server in
                try await withBackend(server) { backend in
                    let node = try Node(.local())
                    let store = try node.store(try SearchCache(wrapped(backend), settings: settings), named: "search")
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await node.run() }
                        do {
                            try await store.whenLive()
                            try await body(server, CachedSearch(store))
                        } catch {
                            group.cancelAll()
                            // If the node failed, that is the reason.
                            try await group.waitForAll()
                            throw error
                        }
                        group.cancelAll()
                        try await group.waitForAll()
                    }
                }
            }
        }

        private static func page(_ request: ServerRequest) -> ServerAnswer {
            .http(200, [], pageOfRepositories([request.field("q") ?? ""]))
        }

        /// However many ask, one request goes out, and all have its page.
        @Test func oneRequestAnswersAllCallers() async throws {
            let gate = Gate()
            try await withCache({
                try await gate.pass()
                return Self.page($0)
            }) { server, search in
                let answers = try await withThrowingTaskGroup(of: SearchAnswer.self) { group in
                    // The same query, written in different ways.
                    for number in 0..<200 {
                        group.addTask { try await search.search(number.isMultiple(of: 2) ? "swift" : "  SWIFT ") }
                    }
                    try await server.wait { $0.requests.count == 1 }
                    gate.open()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count == 200)
                #expect(answers.allSatisfy { $0.page?.hits.map(\.title) == ["somebody/swift"] && $0.failure == nil })
                #expect(answers.count { $0.source == .backend } == 1)
                #expect(server.requestCount == 1 && search.state.statistics.requests == 1)
                #expect(try await search.search("swift").source == .memory)
            }
        }

        /// A backend that goes on though it is cancelled, and says when it is done.
        private struct Stubborn: SearchBackend {
            let name = "stubborn"
            let backend: GitHubBackend
            let ended: Signal<Int>

            func search(_ request: SearchRequest) async throws -> SearchResult {
                // A task of its own: nobody cancels it.
                let result = await Task { try await backend.search(request) }.result
                ended.change { $0 += 1 }
                return try result.get()
            }
        }

        /// A refresh supersedes a slow request; that one's answer, when it comes, changes nothing.
        @Test func aLateAnswerDoesNotReplaceANewerOne() async throws {
            let gate = Gate()
            let ended = Signal(0)
            try await withCache(
                { request in
                    if request.number == 1 { try await gate.pass() }
                    return .http(200, [], pageOfRepositories([request.number == 1 ? "old" : "new"]))
                }, wrapped: { Stubborn(backend: $0, ended: ended) }
            ) { server, search in
                let caller = Task { try await search.search("swift") }
                try await server.wait { $0.requests.count == 1 }
                try await search.send(.refresh("swift"))
                #expect(try await caller.value.page?.hits.map(\.title) == ["somebody/new"])
                let version = search.state.entries["swift"]?.version
                gate.open()
                try await ended.wait { $0 == 2 }
                // After whatever the late answer could have brought.
                let other = try await search.search("other")
                #expect(other.page != nil)
                let entry = try #require(search.state.entries["swift"])
                #expect(entry.page(1)?.hits.map(\.title) == ["somebody/new"] && entry.version == version)
                #expect(server.requestCount == 3 && search.state.statistics.requests == 2)
            }
        }

        /// What is given up is not read to its end: the connection is closed, and the next request runs.
        @Test func aRequestThatIsGivenUpEnds() async throws {
            try await withCache({ request in
                request.number == 1
                    ? ServerAnswer("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{") : Self.page(request)
            }) { server, search in
                let caller = Task { try await search.search("swift") }
                try await server.wait { $0.requests.count == 1 }
                try await search.send(.refresh("swift"))
                try await server.wait { $0.closed == 1 }
                #expect(try await caller.value.page?.hits.count == 1)
            }
        }

        /// A limit is a value of the state, with its end; whatever is asked before it, nothing is sent.
        @Test func aLimitIsAValueThatBlocksRequests() async throws {
            try await withCache({ _ in .http(403, ["Retry-After: 3000"]) }) { server, search in
                let answer = try await search.search("swift")
                let failure = try #require(answer.failure)
                #expect(failure.kind == .rateLimited && !failure.isRetried && answer.page == nil)
                let limit = try #require(search.state.limit)
                #expect(limit == failure)
                let left = (limit.until.rawValue - search.store.snapshot.time.rawValue) / 1_000_000
                #expect((2_900...3_000).contains(left))
                for query in ["swift", "another", "a third"] {
                    let again = try await search.search(query)
                    #expect(again.failure == failure)
                }
                #expect(try await search.send(.refresh("swift")) == .failed(limit))
                #expect(server.requestCount == 1 && search.state.wanted.isEmpty)
            }
        }

        /// Requests that were on their way to the backend when the limit came are refused there, unsent.
        @Test func aLimitHoldsForWhatWasAskedBefore() async throws {
            let gate = Gate()
            try await withCache(
                {
                    _ in
                    try await gate.pass()
                    return .http(429, ["Retry-After: 100"])
                }, { $0.concurrentRequests = 16 }
            ) { server, search in
                let callers = (0..<16).map { number in Task { try await search.search("query \(number)") } }
                try await server.wait { $0.requests.count == 4 }
                for await state in search.store.states where state.state.wanted.count == 16 { break }
                gate.open()
                for caller in callers {
                    let failure = try await caller.value.failure
                    #expect(failure?.kind == .rateLimited)
                }
                #expect(server.requestCount == 4)
            }
        }

        /// A server that fails is asked again, and the caller waits for what comes of it.
        @Test func aFailureIsTriedAgain() async throws {
            try await withCache({ $0.number < 3 ? .http(500) : Self.page($0) }) { server, search in
                let answer = try await search.search("swift")
                #expect(answer.page?.hits.count == 1 && answer.failure == nil && answer.source == .backend)
                #expect(server.requestCount == 3 && search.state.statistics.failures == 2)
            }
        }

        /// Three attempts and no more; then the failure is what there is, until somebody asks again.
        @Test func attemptsHaveAnEnd() async throws {
            try await withCache({ $0.number <= 3 ? .http(502) : Self.page($0) }) { server, search in
                let failure = try await search.search("swift").failure
                #expect(failure?.kind == .server && failure?.isRetried == false)
                #expect(server.requestCount == 3 && search.state.wanted.isEmpty)
                #expect(try await search.search("swift").failure == failure)
                #expect(server.requestCount == 3)
                try await search.send(.refresh("swift"))
                for await state in search.store.states where state.state.wanted.isEmpty { break }
                #expect(try await search.search("swift").source == .memory)
                #expect(server.requestCount == 4)
            }
        }

        /// Who asks again waits for the new answer, and is not told why there was none before.
        @Test func aFailureOfBeforeIsNoAnswer() async throws {
            let gate = Gate()
            try await withCache(
                { request in
                    switch request.number {
                    case 1: return .http(200, [#"Link: <https://x/>; rel="next""#], pageOfRepositories(["a"]))
                    case 2: return .http(422)
                    default:
                        try await gate.pass()
                        return .http(200, [], pageOfRepositories(["b"]))
                    }
                }, { $0.failureKept = .zero }
            ) { server, search in
                _ = try await search.search("swift")
                let refused = try await search.search("swift", page: 2)
                #expect(refused.failure?.kind == .refused)
                let caller = Task { try await search.search("swift", page: 2) }
                try await server.wait { $0.requests.count == 3 }
                gate.open()
                let answer = try await caller.value
                #expect(answer.page?.hits.map(\.title) == ["somebody/b"] && answer.failure == nil)
            }
        }

        /// A failure that keeps nobody from asking again is told to those who asked, and not asked for again and again;
        /// who is held up for longer than it is kept may ask once more.
        @Test func aFailureThatIsNotKeptIsTold() async throws {
            try await withCache({ _ in .http(422) }, { $0.failureKept = .zero }) { server, search in
                for number in 1...30 {
                    let (before, began) = (server.requestCount, ContinuousClock.now)
                    let answer = try await search.search("query \(number % 3)")
                    #expect(answer.failure?.kind == .refused)
                    // A failed one is kept for a second, so on a busy host it may be gone before it was seen.
                    let seconds = Int(began.duration(to: .now) / .seconds(1))
                    #expect((1...1 + seconds).contains(server.requestCount - before))
                }
            }
        }

        /// A refreshed page that is unchanged is fresh again, and was not sent again.
        @Test func anUnchangedPageStays() async throws {
            try await withCache({ request in
                request.header("if-none-match") == nil
                    ? .http(200, [#"ETag: "1""#], pageOfRepositories(["a"])) : ServerAnswer("HTTP/1.1 304 X\r\n\r\n")
            }) { server, search in
                let first = try #require(try await search.search("swift").page)
                try await search.send(.refresh("swift"))
                for await state in search.store.states where state.state.statistics.requests == 2 { break }
                let second = try #require(try await search.search("swift").page)
                #expect(second.hits == first.hits && second.isFresh && second.etag == #""1""#)
                #expect(second.fetchedAt > first.fetchedAt && server.requestCount == 2)
            }
        }

        /// Every lie ends as a failure of its own query; the store goes on, and a page that was there stays.
        @Test func noLieStopsTheStore() async throws {
            let lies: [String: ServerAnswer] = [
                "html": .http(200, [], "<html>"), "types": .http(200, [], #"{"total_count": "1", "items": 3}"#),
                "cut": ServerAnswer("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{", .close),
                "garbage": ServerAnswer("garbage\r\n\r\n", .close), "closed": ServerAnswer("", .close),
                "reset": ServerAnswer("", .reset), "elsewhere": .http(302, ["Location: https://x.invalid"]),
                "unasked": .http(304), "refused": .http(422),
                "endless": ServerAnswer(
                    "HTTP/1.1 200 OK\r\n\r\n", .endless(Array(repeating: 0x20, count: 65_536))),
            ]
            let kinds: [String: SearchFailure.Kind] = [
                "closed": .offline, "reset": .offline, "refused": .refused,
            ]
            let isLying = Signal(false)
            try await withCache({ request in
                if let lie = lies[request.field("q") ?? ""] { return lie }
                return isLying.value ? .http(200, [], "[]") : Self.page(request)
            }) { server, search in
                _ = try await search.search("kept")
                try await withThrowingTaskGroup(of: (String, SearchAnswer).self) { group in
                    for name in lies.keys { group.addTask { (name, try await search.search(name)) } }
                    for try await (name, answer) in group {
                        #expect(answer.failure?.kind == kinds[name] ?? .badAnswer, "\(name)")
                        #expect(answer.page == nil, "\(name)")
                    }
                }
                isLying.change { $0 = true }
                try await search.send(.refresh("kept"))
                for await state in search.store.states where state.state.wanted.isEmpty { break }
                let kept = search.state.look("kept", page: 1)
                #expect(kept.page?.hits.count == 1 && kept.failure?.kind == .badAnswer)
                isLying.change { $0 = false }
                #expect(try await search.search("still here").page?.hits.count == 1)
                #expect(search.state.wanted.isEmpty)
            }
        }

        /// Whatever comes, what is kept stays in its bound.
        @Test func theBoundInBytesHolds() async throws {
            try await withCache(
                { request in
                    let names = (0..<30).map { "\(request.field("q") ?? "")-\($0)" }
                    let page = pageOfRepositories(names)
                        .replacingOccurrences(of: "About", with: String(repeating: "very ", count: 400))
                    return .http(200, [], page)
                }, { $0.bytes = 1 << 20 }
            ) { server, search in
                for number in 0..<60 {
                    let page = try await search.search("query\(number)").page
                    #expect(page?.hits.count == 30)
                    #expect(search.state.bytes <= 1 << 20)
                }
                #expect(search.state.statistics.evictions > 0 && search.state.entries["query59"] != nil)
                #expect(search.state.entries["query0"] == nil && server.requestCount == 60)
            }
        }
    }
#endif
