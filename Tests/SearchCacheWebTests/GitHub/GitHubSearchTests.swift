#if Web
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// What is asked, and what comes of an answer that is right.
    @Suite(.timeLimit(.minutes(5))) struct GitHubSearchTests {
        private let next =
            #"Link: <https://api.github.com/search/repositories?q=x&page=2>; rel="next", <https://x>; rel="last""#

        /// Hits in their order, whether there is a next page, how many there are, and the entity tag.
        @Test func aPageIsRead() async throws {
            let body = pageOfRepositories(["swift", "swift-nio"], total: 345)
            let page = try await outcome(of: .http(200, [next, #"ETag: W/"abc""#], body)).get()
            let hits = ["swift", "swift-nio"].map {
                SearchHit(title: "somebody/\($0)", url: "https://github.com/somebody/\($0)", snippet: "About \($0)")
            }
            #expect(page == .page(hits, hasNext: true, total: 345, etag: #"W/"abc""#))
        }

        /// No link, no next page; nothing found is a page; a repository without a description has an empty snippet.
        @Test func whatIsMissingIsEmpty() async throws {
            let none = try await outcome(of: .http(200, [next], pageOfRepositories([]))).get()
            #expect(none == .page([], hasNext: false, total: 0, etag: nil))
            let body = """
                {"total_count": 2, "items": [{"full_name": "a/b", "html_url": "https://github.com/a/b", "description": null},
                {"full_name": "c/d", "html_url": "https://github.com/c/d"}]}
                """
            let page = try await outcome(of: .http(200, ["ETag: not a tag"], body)).get()
            let hits = ["a/b", "c/d"].map { SearchHit(title: $0, url: "https://github.com/\($0)") }
            #expect(page == .page(hits, hasNext: false, total: 2, etag: nil))
        }

        /// What GitHub counts beyond what it gives is not counted, and what is on top of a page is left out.
        @Test func numbersAreBoundedByWhatGitHubGives() async throws {
            let body = pageOfRepositories(["a", "b", "c"], total: 2_000_000)
            let page = try await outcome(of: .http(200, [next], body)) { $0.perPage = 2 }.get()
            guard case .page(let hits, true, 1_000, nil) = page else {
                Issue.record("\(page)")
                return
            }
            #expect(hits.map(\.title) == ["somebody/a", "somebody/b"])
            // The last page that there is has no next one, whatever the link says; 34 · 30 is beyond 1,000.
            let last = try await outcome(of: .http(200, [next], body), SearchRequest(query: "x", page: 34)).get()
            guard case .page(_, false, 1_000, nil) = last else {
                Issue.record("\(last)")
                return
            }
        }

        /// After the 1,000th result there is nothing, and nobody is asked.
        @Test func pagesAfterTheLastAreEmptyWithoutARequest() async throws {
            try await ScriptedServer.with({ _ in .http(200, [], pageOfRepositories(["a"])) }) { server in
                try await withBackend(server) { backend in
                    let beyond = try await backend.search(SearchRequest(query: "swift", page: 35))
                    #expect(beyond == .page([], hasNext: false))
                    #expect(try await backend.search(SearchRequest(query: "swift", page: 1_000)) == beyond)
                    #expect(server.requestCount == 0)
                    _ = try await backend.search(SearchRequest(query: "swift", page: 34))
                    #expect(server.requestCount == 1)
                }
            }
            let words = #"{"message": "Only the first 1000 search results are available", "errors": []}"#
            let said = try await outcome(of: .http(422, [], words), SearchRequest(query: "a", page: 2)).get()
            #expect(said == .page([], hasNext: false))
        }

        /// RFC 3986: everything but unreserved characters is escaped, as UTF-8, and nothing twice.
        @Test(arguments: [
            ("swift", "swift"), ("a b", "a%20b"), ("c++", "c%2B%2B"), ("a&page=9", "a%26page%3D9"),
            ("c#", "c%23"), ("100%", "100%25"), ("%20", "%2520"), ("für", "f%C3%BCr"), ("🦅", "%F0%9F%A6%85"),
            (#""exact words""#, "%22exact%20words%22"), ("it's", "it%27s"), ("a/b?c", "a%2Fb%3Fc"),
            ("-._~", "-._~"), ("stars:>10 language:c", "stars%3A%3E10%20language%3Ac"),
            ("a\r\nhost: b", "a%0D%0Ahost%3A%20b"), ("\u{0}", "%00"),
            ("!*'();@,[]\\^`{|}", "%21%2A%27%28%29%3B%40%2C%5B%5D%5C%5E%60%7B%7C%7D"),
        ])
        func queriesAreEscaped(query: String, escaped: String) async throws {
            try await ScriptedServer.with({ _ in .http(200, [], pageOfRepositories([])) }) { server in
                try await withBackend(server, { $0.perPage = 7 }) { backend in
                    _ = try await backend.search(SearchRequest(query: query, page: 3))
                }
                #expect(
                    server.record.requests.map(\.target)
                        == ["/search/repositories?q=\(escaped)&page=3&per_page=7"])
            }
        }

        /// What GitHub documents, and no authorization if there is no token.
        @Test func headersAreThoseThatGitHubDocuments() async throws {
            try await ScriptedServer.with({ _ in .http(200, [], pageOfRepositories([])) }) { server in
                try await withBackend(server, { $0.userAgent = "my-program/1.0" }) { backend in
                    _ = try await backend.search(SearchRequest(query: "a"))
                }
                try await withBackend(server, token: "\n ghp_123 \n") { backend in
                    _ = try await backend.search(SearchRequest(query: "a"))
                }
                let (without, with) = (server.record.requests[0], server.record.requests[1])
                #expect(without.header("accept") == "application/vnd.github+json")
                #expect(without.header("x-github-api-version") == "2022-11-28")
                #expect(without.header("user-agent") == "my-program/1.0")
                #expect(without.header("host") == "127.0.0.1:\(server.port)")
                #expect(without.header("accept-encoding") == "identity")
                #expect(without.header("authorization") == nil && without.header("if-none-match") == nil)
                #expect(with.header("authorization") == "Bearer ghp_123")
                #expect(with.header("user-agent") == "lockstep-search-cache")
            }
        }

        /// A path in the base URL stays, as GitHub Enterprise has one.
        @Test func theBaseURLMayHaveAPath() async throws {
            try await ScriptedServer.with({ _ in .http(200, [], pageOfRepositories([])) }) { server in
                try await withBackend(server, { $0.baseURL += "/api/v3/" }) { backend in
                    _ = try await backend.search(SearchRequest(query: "a"))
                }
                #expect(server.record.requests[0].target.hasPrefix("/api/v3/search/repositories?q=a&"))
            }
        }

        /// 304 for a page that the cache has; without having been asked for, it is a lie.
        @Test func anUnchangedPageIsUnchanged() async throws {
            try await ScriptedServer.with({ request in
                request.header("if-none-match") == #"W/"1""#
                    ? ServerAnswer("HTTP/1.1 304 Not Modified\r\nETag: W/\"1\"\r\n\r\n")
                    : .http(200, [#"ETag: W/"1""#], pageOfRepositories(["a"]))
            }) { server in
                try await withBackend(server) { backend in
                    let first = try await backend.search(SearchRequest(query: "a"))
                    guard case .page(_, false, 1, let etag?) = first else {
                        Issue.record("\(first)")
                        return
                    }
                    #expect(try await backend.search(SearchRequest(query: "a", etag: etag)) == .unchanged)
                    #expect(try await backend.search(SearchRequest(query: "a", etag: #""2""#)) == first)
                    // One of another kind of backend, or one that would end the field, is not sent.
                    for foreign in ["17", "\"a\"\r\nx: y", "\"a\"b\"", "\"ä\"", "W/", "\""] {
                        #expect(try await backend.search(SearchRequest(query: "a", etag: foreign)) == first)
                        #expect(server.record.requests.last?.header("if-none-match") == nil)
                    }
                }
            }
            let lie = try await outcome(of: .http(304))
            #expect(lie.error?.kind == .badAnswer)
            let foreign = try await outcome(of: .http(304), SearchRequest(query: "a", etag: "17"))
            #expect(foreign.error?.kind == .badAnswer)
        }

        /// One connection serves requests one after the other; the next one gets its own answer.
        @Test func connectionsAreUsedAgain() async throws {
            try await ScriptedServer.with({ .http(200, [], pageOfRepositories([$0.field("q") ?? ""])) }) { server in
                try await withBackend(server) { backend in
                    for query in ["a", "b", "c"] {
                        guard case .page(let hits, _, _, _) = try await backend.search(SearchRequest(query: query))
                        else {
                            Issue.record("no page for \(query)")
                            return
                        }
                        #expect(hits.map(\.title) == ["somebody/\(query)"])
                    }
                    #expect(server.record.opened == 1)
                }
            }
        }

        /// Answers that come in another order belong to their own requests.
        @Test func reorderedAnswersFindTheirRequests() async throws {
            let gates = ["a": Gate(), "b": Gate(), "c": Gate()]
            let order = Signal<[String]>([])
            try await ScriptedServer.with({ request in
                let query = request.field("q") ?? ""
                try await gates[query]?.pass()
                return .http(200, [], pageOfRepositories([query]))
            }) { server in
                try await withBackend(server) { backend in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for query in ["a", "b", "c"] {
                            group.addTask {
                                let page = try await backend.search(SearchRequest(query: query))
                                guard case .page(let hits, _, _, _) = page else { return }
                                order.change { $0.append("\(query): \(hits.map(\.title))") }
                            }
                        }
                        try await server.wait { $0.requests.count == 3 }
                        for (number, query) in ["c", "a", "b"].enumerated() {
                            gates[query]?.open()
                            try await order.wait { $0.count == number + 1 }
                        }
                        try await group.waitForAll()
                    }
                }
            }
            #expect(order.value == ["c", "a", "b"].map { #"\#($0): ["somebody/\#($0)"]"# })
        }

        /// Never more than so many at once, and everybody is served.
        @Test func onlySoManyRequestsRunAtOnce() async throws {
            let gate = Gate()
            try await ScriptedServer.with({ _ in
                try await gate.pass()
                return .http(200, [], pageOfRepositories([]))
            }) { server in
                try await withBackend(server, { $0.concurrentRequests = 3 }) { backend in
                    try await withThrowingTaskGroup(of: SearchResult.self) { group in
                        for number in 0..<20 {
                            group.addTask { try await backend.search(SearchRequest(query: "\(number)")) }
                        }
                        try await server.wait { $0.requests.count == 3 }
                        gate.open()
                        try await group.waitForAll()
                    }
                }
                #expect(server.record.mostRunning == 3)
                #expect(Set(server.record.requests.compactMap { $0.field("q") }).count == 20)
            }
        }
    }
#endif
