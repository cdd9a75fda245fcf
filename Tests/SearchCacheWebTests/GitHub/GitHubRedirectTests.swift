#if Web
    import Foundation
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// Redirects: on the same host, a few times, and never with the token to somebody else.
    @Suite(.timeLimit(.minutes(5))) struct GitHubRedirectTests {
        /// Relative and absolute, with what belongs to the request.
        @Test(arguments: [301, 302, 303, 307, 308])
        func aRedirectOnTheSameHostIsFollowed(status: Int) async throws {
            try await ScriptedServer.with({ request in
                switch request.target {
                case "/third?x=1": .http(200, [], pageOfRepositories(["a"]))
                case "/dir/second": .http(status, ["Location: ../third?x=1#part"])
                default: .http(status, ["Location: http://127.0.0.1:\(request.port)/dir/second"], "moved")
                }
            }) { server in
                try await withBackend(server, token: "ghp_1") { backend in
                    let page = try await backend.search(SearchRequest(query: "a", etag: #""1""#))
                    guard case .page(let hits, _, _, _) = page else {
                        Issue.record("\(page)")
                        return
                    }
                    #expect(hits.count == 1)
                }
                let requests = server.record.requests
                #expect(requests.count == 3)
                #expect(requests.allSatisfy { $0.header("authorization") == "Bearer ghp_1" })
                #expect(requests.allSatisfy { $0.header("if-none-match") == #""1""# })
            }
        }

        /// Five are followed, six are not.
        @Test func onlySoManyRedirectsAreFollowed() async throws {
            for (count, isPage) in [(5, true), (6, false)] {
                try await ScriptedServer.with({ request in
                    request.number <= count
                        ? .http(302, ["Location: /\(request.number)"]) : .http(200, [], pageOfRepositories([]))
                }) { server in
                    try await withBackend(server) { backend in
                        do {
                            _ = try await backend.search(SearchRequest(query: "a"))
                            #expect(isPage)
                        } catch let error as SearchError {
                            #expect(!isPage && error.kind == .badAnswer)
                        }
                    }
                    #expect(server.requestCount == 6)
                }
            }
        }

        /// A circle ends.
        @Test func aCircleIsABadAnswer() async throws {
            try await ScriptedServer.with({ .http(302, ["Location: \($0.target)"]) }) { server in
                try await withBackend(server) { backend in
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "a"))
                    }
                    #expect(error?.kind == .badAnswer && server.requestCount == 6)
                }
            }
        }

        /// Another port, another name of the same machine, another scheme, and no address: nobody else hears of it.
        @Test func anotherHostIsNotAsked() async throws {
            try await ScriptedServer.with({ _ in .http(200, [], pageOfRepositories(["stolen"])) }) { thief in
                let places = [
                    thief.url, "\(thief.url)/search/repositories", "//127.0.0.1:\(thief.port)/",
                    "http://localhost:\(thief.port)/", "http://user@127.0.0.1:\(thief.port)/",
                    "http://127.0.0.1:OWN@127.0.0.1:\(thief.port)/", "HTTP://127.0.0.1:\(thief.port)",
                    "http://localhost:OWN/", "http://0:OWN/", "ftp://127.0.0.1:OWN/", "unix:///tmp/socket",
                    "http+unix://%2Ftmp%2Fsocket/", "file:///etc/passwd", "javascript:alert(1)", "http://", "http:///a",
                ]
                for place in places {
                    try await ScriptedServer.with({ request in
                        let location = place.replacingOccurrences(of: "OWN", with: "\(request.port)")
                        return request.number == 1
                            ? .http(302, ["Location: \(location)"]) : .http(200, [], pageOfRepositories(["own"]))
                    }) { server in
                        try await withBackend(server, token: "ghp_secret") { backend in
                            let error = await #expect(throws: SearchError.self, "\(place)") {
                                try await backend.search(SearchRequest(query: "a"))
                            }
                            #expect(error?.kind == .badAnswer, "\(place)")
                        }
                        #expect(server.requestCount == 1, "\(place)")
                    }
                }
                #expect(thief.record.requests.isEmpty)
                #expect(thief.record.opened == 0)
            }
            #expect(try await outcome(of: .http(302)).error?.kind == .badAnswer)
        }

        /// The rule, also for what a test cannot serve: TLS may be taken up and not laid down.
        @Test func originsAreCompared() throws {
            func origin(_ text: String) throws -> GitHubOrigin {
                let url = try #require(URL(string: text))
                return try #require(GitHubOrigin(url))
            }
            let allowed = [
                ("https://api.github.com", "https://api.github.com:443/x"),
                ("https://API.github.com", "https://api.GITHUB.com"),
                ("http://a", "https://a"), ("http://a:80", "https://a:443"), ("http://a:8080", "https://a:8080"),
                ("http://[::1]:1", "http://[::1]:1/x"),
            ]
            for (from, to) in allowed {
                let isAllowed = try origin(from).allows(try origin(to))
                #expect(isAllowed, "\(from) \(to)")
            }
            let refused = [
                ("https://a", "http://a"), ("https://a", "http://a:443"), ("https://a", "https://a:444"),
                ("http://a", "https://a:8443"), ("http://a:8080", "https://a"), ("https://a", "https://b"),
                ("https://a", "https://a."), ("https://a", "https://a.b"), ("https://a.b", "https://b"),
            ]
            for (from, to) in refused {
                let isAllowed = try origin(from).allows(try origin(to))
                #expect(!isAllowed, "\(from) \(to)")
            }
            let github = try origin("https://api.github.com")
            let here = "https://api.github.com/search/repositories?q=a"
            #expect(github.redirect("/x?y", from: here) == "https://api.github.com/x?y")
            #expect(github.redirect("?page=2", from: here) == "https://api.github.com/search/repositories?page=2")
            for place in [
                "//evil.example", "https://evil.example", #"https://evil.example\@api.github.com/"#,
                #"https://api.github.com\@evil.example/"#, "https://api.github.com@evil.example/",
                "https://api.github.com:443@evil.example", "https://api.github.com.evil.example", #"\\evil.example\x"#,
                "https://evil.example#@api.github.com", "https://evil.example?@api.github.com", "http://api.github.com",
            ] {
                // Refused, or a path of the same host, as a backslash may be.
                if let next = github.redirect(place, from: here) {
                    #expect(try origin(next) == github && !next.contains("@"), "\(place): \(next)")
                    #expect(place.contains("\\"), "\(place): \(next)")
                }
            }
        }
    }

    extension ServerRequest {
        /// The port that it came to.
        var port: Int { header("host").flatMap { Int($0.split(separator: ":").last ?? "") } ?? 0 }
    }
#endif
