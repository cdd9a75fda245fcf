#if Web
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// GitHub's limits: what their headers say, and that they are kept.
    @Suite(.timeLimit(.minutes(5))) struct GitHubLimitTests {
        /// An answer, how long it says to wait, and a name for it.
        struct Form: CustomTestStringConvertible, Sendable {
            var headers: [String]
            var seconds: Int64
            var status = 403
            var body = #"{"message": "You have exceeded a limit"}"#
            var testDescription: String { "\(status) \(headers) \(body.count)" }
        }

        private static let date = "Date: Thu, 01 Jan 2026 01:00:00 GMT"
        private static let epoch = TestTime.epoch

        /// All forms that GitHub documents; the local clock is an hour behind the server's.
        @Test(arguments: [
            Form(headers: ["Retry-After: 30"], seconds: 30),
            Form(headers: ["Retry-After: 30"], seconds: 30, status: 429),
            Form(headers: ["retry-after: 0"], seconds: 1),
            Form(headers: ["Retry-After: Thu, 01 Jan 2026 01:00:45 GMT", date], seconds: 45),
            Form(headers: ["Retry-After: Thu, 01 Jan 2026 00:00:45 GMT"], seconds: 45),
            Form(headers: ["Retry-After: Thu, 01 Jan 2026 00:00:45 GMT", date], seconds: 1),
            Form(headers: ["Retry-After: 999999999"], seconds: 86_400),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(epoch + 3_617)", date], seconds: 17),
            Form(headers: ["x-ratelimit-remaining: 0", "x-ratelimit-reset: \(epoch + 17)"], seconds: 17, status: 429),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(epoch)", date], seconds: 1),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999999999999999"], seconds: 60),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 999999999999999"], seconds: 86_400),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: soon"], seconds: 60),
            Form(headers: ["X-RateLimit-Remaining: 0"], seconds: 60),
            Form(
                headers: ["Retry-After: 5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(epoch + 99)"], seconds: 5),
            Form(
                headers: ["Retry-After: -5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(epoch + 99)"],
                seconds: 99),
            Form(headers: ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(epoch + 9)", "Date: now"], seconds: 9),
            Form(headers: [], seconds: 60, status: 429),
            Form(headers: [], seconds: 60, status: 429, body: "<html>"),
            Form(headers: ["X-RateLimit-Remaining: 5", "X-RateLimit-Reset: \(epoch + 9)"], seconds: 60, status: 429),
            Form(headers: [], seconds: 60, body: #"{"message": "You have exceeded a secondary rate limit. Wait."}"#),
            Form(headers: [], seconds: 60, body: #"{"message": "API rate limit exceeded for 127.0.0.1."}"#),
            Form(headers: [], seconds: 60, body: #"{"message": "You have triggered an abuse detection mechanism."}"#),
        ])
        func aLimitHasItsEnd(_ form: Form) async throws {
            let time = TestTime()
            try await ScriptedServer.with({ _ in .http(form.status, form.headers, form.body) }) { server in
                try await withBackend(server, time: time.time) { backend in
                    func limit() async -> SearchError? {
                        await #expect(throws: SearchError.self) { try await backend.search(SearchRequest(query: "a")) }
                    }
                    let first = await limit()
                    #expect(first?.kind == .rateLimited && first?.retryAfter == .seconds(form.seconds))
                    #expect(first?.message == "GitHub takes no requests for another \(form.seconds) s")
                    // While it holds nothing is sent, whatever is asked; the time that is left becomes shorter.
                    time.advance(form.seconds - 1)
                    let second = await limit()
                    #expect(second?.kind == .rateLimited && second?.retryAfter == .seconds(1))
                    #expect(server.requestCount == 1)
                    time.advance(1)
                    _ = await limit()
                    #expect(server.requestCount == 2)
                }
            }
        }

        /// No sign of a limit: the request is refused, and the next one is sent.
        @Test(arguments: [
            ["X-RateLimit-Remaining: 7", "X-RateLimit-Reset: 1767225700"], ["Retry-After: soon"],
            ["X-RateLimit-Remaining: x"],
            ["Retry-After: "], [],
        ])
        func aRefusalIsNoLimit(headers: [String]) async throws {
            let body = #"{"message": "Resource not accessible"}"#
            try await ScriptedServer.with({ _ in .http(403, headers, body) }) { server in
                try await withBackend(server) { backend in
                    for number in 1...2 {
                        let error = await #expect(throws: SearchError.self) {
                            try await backend.search(SearchRequest(query: "a"))
                        }
                        #expect(error?.kind == .refused && error?.retryAfter == nil)
                        #expect(server.requestCount == number)
                    }
                }
            }
        }

        /// An answer that was the last of its window is an answer; the next request would not be one, and is not sent.
        @Test(arguments: [200, 304])
        func theLastRequestOfAWindowIsTheLast(status: Int) async throws {
            let time = TestTime()
            let headers = ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(Self.epoch + 3_620)", Self.date]
            let answer =
                status == 200
                ? ServerAnswer.http(200, headers, pageOfRepositories(["a"]))
                : ServerAnswer("HTTP/1.1 304 X\r\n\(headers.joined(separator: "\r\n"))\r\n\r\n")
            try await ScriptedServer.with({ _ in answer }) { server in
                try await withBackend(server, time: time.time) { backend in
                    let request = SearchRequest(query: "a", etag: #""1""#)
                    _ = try await backend.search(request)
                    let error = await #expect(throws: SearchError.self) { try await backend.search(request) }
                    #expect(error?.kind == .rateLimited && error?.retryAfter == .seconds(20))
                    #expect(server.requestCount == 1)
                    time.advance(20)
                    _ = try await backend.search(request)
                    #expect(server.requestCount == 2)
                }
            }
        }

        /// Those who wait for their turn when a limit comes are told at once.
        @Test func whoWaitsWhenALimitComesIsTold() async throws {
            let gate = Gate()
            try await ScriptedServer.with({ _ in
                try await gate.pass()
                return .http(429, ["Retry-After: 100"])
            }) { server in
                try await withBackend(server, { $0.concurrentRequests = 1 }) { backend in
                    let kinds = try await withThrowingTaskGroup(of: SearchFailure.Kind?.self) { group in
                        for number in 0..<10 {
                            group.addTask {
                                do {
                                    _ = try await backend.search(SearchRequest(query: "\(number)"))
                                    return nil
                                } catch let error as SearchError { return error.kind }
                            }
                        }
                        try await server.wait { $0.requests.count == 1 }
                        gate.open()
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(kinds == Array(repeating: .rateLimited, count: 10))
                    #expect(server.requestCount == 1)
                }
            }
        }

        /// Answers come in any order: a shorter limit does not end a longer one.
        @Test func theLongestLimitHolds() async throws {
            let gates = ["a": Gate(), "b": Gate()]
            let time = TestTime()
            try await ScriptedServer.with({ request in
                let query = request.field("q") ?? ""
                try await gates[query]?.pass()
                return .http(429, ["Retry-After: \(query == "a" ? 100 : 10)"])
            }) { server in
                try await withBackend(server, time: time.time) { backend in
                    let searches = ["a", "b"].map { query in
                        Task { try await backend.search(SearchRequest(query: query)) }
                    }
                    try await server.wait { $0.requests.count == 2 }
                    for (query, search) in zip(["a", "b"], searches) {
                        gates[query]?.open()
                        await #expect(throws: SearchError.self) { try await search.value }
                    }
                    time.advance(50)
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "c"))
                    }
                    #expect(error?.retryAfter == .seconds(50) && server.requestCount == 2)
                }
            }
        }

        /// A server that failed may say when to come again; others are asked meanwhile.
        @Test func aFailureMayHaveATime() async throws {
            let time = TestTime()
            try await ScriptedServer.with({ _ in .http(503, ["Retry-After: 7", "X-RateLimit-Remaining: 0"]) }) {
                server in
                try await withBackend(server, time: time.time) { backend in
                    for number in 1...2 {
                        let error = await #expect(throws: SearchError.self) {
                            try await backend.search(SearchRequest(query: "a"))
                        }
                        #expect(error?.kind == .server && error?.retryAfter == .seconds(7))
                        #expect(server.requestCount == number)
                    }
                }
            }
        }
    }
#endif
