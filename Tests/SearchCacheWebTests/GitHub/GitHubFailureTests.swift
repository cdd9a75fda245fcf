#if Web
    import Logging
    import SearchCache
    import SearchCacheWeb
    import ServiceLifecycle
    import Testing

    /// What becomes of answers that are wrong, and of none.
    @Suite(.serialized, .timeLimit(.minutes(5))) struct GitHubFailureTests {
        /// A lie and what it is called in the test's output.
        struct Lie: CustomTestStringConvertible, Sendable {
            var name: String
            var answer: ServerAnswer
            var testDescription: String { name }

            init(_ name: String, _ answer: ServerAnswer) {
                self.name = name
                self.answer = answer
            }

            init(_ name: String, body: String, _ headers: [String] = []) {
                self.init(name, .http(200, headers, body))
            }
        }

        /// A status for itself.
        @Test(arguments: [
            (400, SearchFailure.Kind.refused), (401, .refused), (402, .refused), (403, .refused), (404, .refused),
            (409, .refused), (410, .refused), (418, .refused), (422, .refused), (451, .refused), (500, .server),
            (502, .server), (503, .server), (504, .server), (599, .server), (201, .badAnswer), (202, .badAnswer),
            (300, .badAnswer), (305, .badAnswer), (399, .badAnswer),
        ])
        func aStatusIsAKind(status: Int, kind: SearchFailure.Kind) async throws {
            let said = #"{"message": "Some\nreason", "documentation_url": "https://docs.github.com", "errors": ["x"]}"#
            let error = try #require(try await outcome(of: .http(status, [], said)).error)
            #expect(error.kind == kind && error.retryAfter == nil)
            #expect(error.message.contains("\(status)"))
            if status >= 400, status != 401 { #expect(error.message.contains("Some reason")) }
            // The body is not needed.
            #expect(try await outcome(of: .http(status, [], "<html>")).error?.kind == kind)
            let endless = ServerAnswer("HTTP/1.1 \(status) X\r\n\r\n", .endless(Array(repeating: 0x61, count: 65_536)))
            #expect(try await outcome(of: endless).error?.kind == kind)
        }

        /// 204 has no body, and is no page.
        @Test func anEmptyAnswerIsNoPage() async throws {
            let answer = ServerAnswer("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await outcome(of: answer).error?.kind == .badAnswer)
        }

        /// What is wrong with a search is said in GitHub's words, without what would disturb a terminal.
        @Test func theReasonIsGitHubs() async throws {
            let said = """
                {"message": "Validation\\u001b[31m Failed\\u202e", "errors": [{"message": "Too many operators",
                "resource": "Search", "field": "q", "code": "invalid"}]}
                """
            let error = try await outcome(of: .http(422, [], said)).error
            #expect(error?.message == "GitHub refused the request (422): Validation[31m Failed: Too many operators")
            let long = #"{"message": "\#(String(repeating: "ä", count: 10_000))"}"#
            let cut = try #require(try await outcome(of: .http(422, [], long)).error?.message)
            #expect(cut.count < 300)
        }

        private static let page = pageOfRepositories(["a", "b"])

        /// Each is a bad answer: nothing of it reaches the cache, and nothing stops.
        @Test(arguments: [
            Lie("nothing", body: ""), Lie("no JSON", body: "{]"),
            Lie("HTML", body: "<!DOCTYPE html><html>Hello</html>"),
            Lie("half of it", body: String(page.prefix(page.count / 2))), Lie("null", body: "null"),
            Lie("a list", body: "[]"), Lie("a number", body: "42"), Lie("no items", body: #"{"total_count": 1}"#),
            Lie("no total", body: #"{"items": []}"#),
            Lie("a total of text", body: #"{"total_count": "1", "items": []}"#),
            Lie("half a result", body: #"{"total_count": 1.5, "items": []}"#),
            Lie("fewer than none", body: #"{"total_count": -1, "items": []}"#),
            Lie("more than a number holds", body: #"{"total_count": 99999999999999999999, "items": []}"#),
            Lie("items by name", body: #"{"total_count": 1, "items": {"a": 1}}"#),
            Lie("an item of null", body: #"{"total_count": 1, "items": [null]}"#),
            Lie("a nameless item", body: #"{"total_count": 1, "items": [{"html_url": "https://a/"}]}"#),
            Lie(
                "a name of null", body: #"{"total_count": 1, "items": [{"full_name": null, "html_url": "https://a/"}]}"#
            ),
            Lie("a homeless item", body: #"{"total_count": 1, "items": [{"full_name": "a"}]}"#),
            Lie(
                "a script",
                body: #"{"total_count": 1, "items": [{"full_name": "a", "html_url": "javascript:alert(1)"}]}"#),
            Lie(
                "a description of numbers",
                body:
                    #"{"total_count": 1, "items": [{"full_name": "a", "html_url": "https://a/", "description": [1]}]}"#),
            Lie("no text", .init("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{\u{0}\u{0}}")),
            Lie("very deep", body: String(repeating: "[", count: 100_000)),
            Lie("packed, it says", body: page, ["Content-Encoding: gzip"]),
            Lie("a length too large", .init("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n\(page)", .close)),
            Lie("a length too small", .init("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n\(page)")),
            Lie("a length that is enormous", .init("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")),
            Lie("a length of letters", .init("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n\(page)", .close)),
            Lie("a negative length", .init("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n\(page)", .close)),
            Lie(
                "chunks without an end",
                .init("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"tot\r\n", .close)),
            Lie("no chunks", .init("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\(page)", .close)),
            Lie("a reset in the middle", .init("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n\(page)", .reset)),
            Lie("garbage", .init("\u{1}\u{2}SSH-2.0-OpenSSH_9.2\r\n\r\n", .close)),
            Lie("half a head", .init("HTTP/1.1 200 OK\r\nContent-", .close)),
            Lie("a status of letters", .init("HTTP/1.1 OK 200\r\n\r\n", .close)),
            Lie("an older protocol", .init("HTTP/0.9\r\n\r\n\(page)", .close)),
            Lie("endless", .init("HTTP/1.1 200 OK\r\n\r\n", .endless(Array(repeating: 0x20, count: 65_536)))),
            Lie(
                "endless chunks",
                .init(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                    .endless(Array("1000\r\n".utf8) + Array(repeating: 0x5b, count: 4_096) + Array("\r\n".utf8)))),
            Lie(
                "endless headers",
                .init("HTTP/1.1 200 OK\r\n", .endless(Array(String(repeating: "X-A: a\r\n", count: 1_000).utf8)))),
        ])
        func aLieIsABadAnswer(_ lie: Lie) async throws {
            try await ScriptedServer.with({ $0.target.contains("q=right") ? .http(200, [], Self.page) : lie.answer }) {
                server in
                try await withBackend(server) { backend in
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "wrong"))
                    }
                    #expect(error?.kind == .badAnswer, "\(String(describing: error))")
                    // Nothing remains of it: the next answer is read as it is.
                    let titles = try await titles(backend)
                    #expect(titles == ["somebody/a", "somebody/b"])
                }
            }
        }

        /// What is found; asked again where it meets the end of a connection that the lie has spoiled.
        private func titles(_ backend: GitHubBackend) async throws -> [String] {
            while true {
                do {
                    let result = try await backend.search(SearchRequest(query: "right"))
                    guard case .page(let hits, _, _, _) = result else { return [] }
                    return hits.map(\.title)
                } catch let error as SearchError where error.kind == .offline { try Task.checkCancellation() }
            }
        }

        /// The server can send no more than the bound and what fits between the two.
        @Test(arguments: ["", "Transfer-Encoding: chunked\r\n"])
        func anEndlessBodyIsNotRead(header: String) async throws {
            let chunk = Array("10000\r\n".utf8) + Array(repeating: UInt8(0x20), count: 65_536) + Array("\r\n".utf8)
            let answer = ServerAnswer("HTTP/1.1 200 OK\r\n\(header)\r\n", .endless(chunk))
            try await ScriptedServer.with({ _ in answer }) { server in
                try await withBackend(server, { $0.bodyBytes = 100_000 }) { backend in
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "a"))
                    }
                    #expect(error?.message == "GitHub's answer is longer than 100000 bytes")
                    // Not at the end of the test: while the backend goes on.
                    try await server.wait { $0.closed == 1 }
                }
                // The kernel's buffers of both ends hold up to 6 MiB each.
                #expect(server.record.endlessBytes < 16 << 20)
            }
        }

        /// A body of exactly the longest length is read, one that has a byte more is not.
        @Test func theBoundIsExact() async throws {
            let body = pageOfRepositories(["a"])
            let fits = body + String(repeating: " ", count: 1_024 - body.utf8.count)
            #expect(try await outcome(of: .http(200, [], fits)) { $0.bodyBytes = 1_024 }.error == nil)
            #expect(
                try await outcome(of: .http(200, [], fits + " ")) { $0.bodyBytes = 1_024 }.error?.kind == .badAnswer)
            let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            let fitting = ServerAnswer(chunks + "400\r\n\(fits)\r\n0\r\n\r\n")
            #expect(try await outcome(of: fitting) { $0.bodyBytes = 1_024 }.error == nil)
            let larger = ServerAnswer(chunks + "400\r\n\(fits)\r\n1\r\n \r\n0\r\n\r\n")
            #expect(try await outcome(of: larger) { $0.bodyBytes = 1_024 }.error?.kind == .badAnswer)
        }

        // MARK: - No answer

        /// Closed before an answer, or reset.
        @Test(arguments: [Lie("closed", ServerAnswer("", .close)), Lie("reset", ServerAnswer("", .reset))])
        func aConnectionThatEndsIsOffline(_ lie: Lie) async throws {
            #expect(try await outcome(of: lie.answer).error?.kind == .offline)
        }

        /// Nobody listens; there is no such name; it is no TLS.
        @Test func aServerThatIsNotThereIsOffline() async throws {
            let port = try await ScriptedServer.with({ _ in .http() }) { $0.port }
            try await ScriptedServer.with({ _ in .http() }) { server in
                let urls = ["http://127.0.0.1:\(port)", "http://nobody.invalid", "https://127.0.0.1:\(server.port)"]
                for url in urls {
                    let error = try await withBackend(
                        server,
                        {
                            $0.baseURL = url
                            $0.timeLimit = .seconds(20)
                        }
                    ) { backend in
                        await #expect(throws: SearchError.self) { try await backend.search(SearchRequest(query: "a")) }
                    }
                    #expect(error?.kind == .offline, "\(url): \(String(describing: error))")
                    #expect(error?.message.contains("within") == false, "\(url): \(String(describing: error))")
                }
                #expect(server.requestCount == 0)
            }
        }

        /// Before the answer, in its head, and in its body: the time is one for all, and the connection is given up.
        @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
        func aSlowAnswerIsOffline(beginning: String) async throws {
            try await ScriptedServer.with({ _ in ServerAnswer(beginning) }) { server in
                try await withBackend(server, { $0.timeLimit = .milliseconds(100) }) { backend in
                    let start = ContinuousClock.now
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "a"))
                    }
                    #expect(error?.kind == .offline)
                    #expect(start.duration(to: .now) >= .milliseconds(100))
                    try await server.wait { $0.closed == 1 }
                }
            }
        }

        /// Drops that come one by one do not make the time longer.
        @Test func anAnswerInDropsIsOffline() async throws {
            let drops = ServerAnswer("HTTP/1.1 200 OK\r\n\r\n", .endless([0x20]))
            let error = try await outcome(of: drops) {
                $0.timeLimit = .milliseconds(200)
                $0.bodyBytes = 64 << 20
            }.error
            #expect(error?.kind == .offline)
        }

        // MARK: - Ends

        /// A cancelled search ends, with no more than that, and so does its request.
        @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
        func aCancelledSearchEndsItsRequest(beginning: String) async throws {
            try await ScriptedServer.with({ _ in ServerAnswer(beginning) }) { server in
                try await withBackend(server, { $0.concurrentRequests = 1 }) { backend in
                    let search = Task { try await backend.search(SearchRequest(query: "a")) }
                    let waiting = Task { try await backend.search(SearchRequest(query: "b")) }
                    try await server.wait { $0.requests.count == 1 }
                    let isFirst = server.record.requests[0].field("q") == "a"
                    (isFirst ? waiting : search).cancel()
                    await #expect(throws: CancellationError.self) { try await (isFirst ? waiting : search).value }
                    (isFirst ? search : waiting).cancel()
                    await #expect(throws: CancellationError.self) { try await (isFirst ? search : waiting).value }
                    try await server.wait { $0.closed == 1 }
                    #expect(server.requestCount == 1)
                }
            }
        }

        /// A backend that is closed fails, what runs and what comes, and may be closed again.
        @Test func aClosedBackendIsOffline() async throws {
            try await ScriptedServer.with({ _ in ServerAnswer("") }) { server in
                let backend = try await withBackend(server) { backend in
                    let search = Task { try await backend.search(SearchRequest(query: "a")) }
                    try await server.wait { $0.requests.count == 1 }
                    await backend.close()
                    let error = await #expect(throws: SearchError.self) { try await search.value }
                    #expect(error?.kind == .offline)
                    return backend
                }
                let error = await #expect(throws: SearchError.self) {
                    try await backend.search(SearchRequest(query: "a"))
                }
                #expect(error?.kind == .offline)
                await backend.close()
                #expect(server.requestCount == 1)
            }
        }

        /// It ends with its task, and with a service group that is shut down; one that nobody closes goes silently.
        @Test func aBackendEndsWithItsTaskAndItsGroup() async throws {
            let backend = try GitHubBackend()
            let running = Task { try await backend.run() }
            running.cancel()
            try await running.value
            let second = try GitHubBackend()
            let group = ServiceGroup(services: [second], logger: Logger(label: "test"))
            let serving = Task { try await group.run() }
            await group.triggerGracefulShutdown()
            try await serving.value
            for closed in [backend, second] {
                let error = await #expect(throws: SearchError.self) {
                    try await closed.search(SearchRequest(query: "a"))
                }
                #expect(error?.kind == .offline && error?.message == "the connections to GitHub were closed")
            }
            for _ in 0..<20 { _ = try GitHubBackend() }
        }
    }
#endif
