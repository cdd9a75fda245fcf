#if Web
    import Foundation
    import Lockstep
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// The token: out of a file that is its owner's, to the host it is for, and nowhere else.
    @Suite(.timeLimit(.minutes(5))) struct GitHubTokenTests {
        private static let secret = "ghp_s3cretValue0123456789"

        private func refusal(_ change: (inout GitHubBackend.Configuration) -> Void) -> LockstepError? {
            #expect(throws: LockstepError.self) {
                var configuration = GitHubBackend.Configuration()
                change(&configuration)
                _ = try GitHubBackend(configuration)
            }
        }

        /// A file that others can read is refused, with what to do; one that only its owner's group can read is not.
        @Test func aTokenThatOthersCanReadIsRefused() throws {
            for mode in [0o644, 0o604, 0o640 | 0o004, 0o606, 0o602, 0o601, 0o660, 0o777] {
                let file = try TokenFile(Self.secret, mode: mode)
                let error = refusal { $0.tokenFile = file.path }
                #expect(error?.code == .invalidConfiguration)
                #expect(error?.message.contains("chmod 600") == true && error?.message.contains(file.path) == true)
                #expect(error?.message.contains(Self.secret) == false)
            }
            for mode in [0o600, 0o400, 0o640, 0o440] {
                let file = try TokenFile(Self.secret, mode: mode)
                var configuration = GitHubBackend.Configuration()
                configuration.tokenFile = file.path
                _ = try GitHubBackend(configuration)
            }
        }

        /// What is no token is refused, and no word of it is repeated.
        @Test(arguments: [
            "", " \n\t\n", "\(secret) \(secret)", "\(secret)\n\(secret)", "\(secret)\r\nX-Evil: 1", "\(secret)ä",
            "\(secret)\u{0}", "\(secret)\u{7f}", String(repeating: secret, count: 200),
        ])
        func whatIsNoTokenIsRefused(text: String) throws {
            let file = try TokenFile(text)
            let error = refusal { $0.tokenFile = file.path }
            #expect(error?.code == .invalidConfiguration)
            #expect(error.map { "\($0)".contains("ghp_") } == false)
        }

        /// No file, a folder, and a pipe that nobody writes to, which must not stop the start.
        @Test func whatIsNoFileIsRefused() throws {
            #expect(refusal { $0.tokenFile = "/nowhere/token" }?.message.contains("cannot be opened") == true)
            #expect(refusal { $0.tokenFile = "/" }?.message.contains("is no file") == true)
            let pipe = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID().uuidString)").path
            try #require(mkfifo(pipe, 0o600) == 0)
            defer { unlink(pipe) }
            #expect(refusal { $0.tokenFile = pipe }?.message.contains("is no file") == true)
        }

        /// On the way to another machine it is sent with TLS only.
        @Test func aTokenNeedsTLS() throws {
            let file = try TokenFile(Self.secret)
            for url in [
                "http://api.github.com", "http://10.0.0.1", "http://127.0.0.1.evil.example", "http://localhost.x",
            ] {
                let error = refusal {
                    $0.baseURL = url
                    $0.tokenFile = file.path
                }
                #expect(error?.message.contains("https") == true, "\(url)")
            }
            for url in ["http://127.0.0.1:1", "http://localhost", "http://[::1]:8080", "https://ghe.example/api/v3"] {
                var configuration = GitHubBackend.Configuration()
                configuration.baseURL = url
                configuration.tokenFile = file.path
                _ = try GitHubBackend(configuration)
            }
        }

        /// Not in a description, a dump, an error or the log, though the server repeats it wherever it can.
        @Test func theTokenIsNeverPrinted() async throws {
            let log = LogRecord()
            let secret = Self.secret
            try await ScriptedServer.with({ request in
                let sent = request.header("authorization") ?? "nothing"
                let said = #"{"message": "\#(sent)", "errors": [{"message": "rate of \#(sent)"}]}"#
                switch request.number {
                case 1: return .http(401, ["WWW-Authenticate: \(sent)"], said)
                case 2: return .http(403, [], said)
                case 3: return .http(422, [], said)
                case 4: return .http(500, ["X: \(sent)"], said)
                case 5: return .http(200, [], said)
                case 6: return .http(200, [], #"{"total_count": 1, "items": [{"\#(sent)": 1}]}"#)
                case 7: return .http(302, ["Location: https://x/\(sent.replacingOccurrences(of: " ", with: "/"))"])
                case 8: return ServerAnswer("\(sent)\r\n\r\n", .close)
                case 9: return ServerAnswer("HTTP/1.1 200 \(sent)\r\nContent-Length: \(sent)\r\n\r\n", .close)
                case 10: return ServerAnswer("", .reset)
                default: return .http(429, ["Retry-After: \(sent)"], said)
                }
            }) { server in
                try await withBackend(server, token: secret, logger: log.logger) { backend in
                    var words = "\(backend)\n\(String(reflecting: backend))\n"
                    dump(backend, to: &words)
                    // What is shared with other backends holds their requests too.
                    #expect(words.contains("[token]") && !words.contains("EventLoop"))
                    for _ in 1...12 {
                        let error = await #expect(throws: SearchError.self) {
                            try await backend.search(SearchRequest(query: "private words"))
                        }
                        if let error {
                            words += "\(error)\n\(String(reflecting: error))\n"
                            dump(error, to: &words)
                        }
                    }
                    #expect(server.requestCount == 11)
                    #expect(server.record.requests.allSatisfy { $0.header("authorization") == "Bearer \(secret)" })
                    #expect(!words.contains(secret) && !log.text.contains(secret))
                    // It would have been there.
                    #expect(words.contains("Bearer [token]"))
                    #expect(log.text.contains("GitHub limits the requests") && log.text.contains("status"))
                    #expect(!log.text.contains("private"))
                }
            }
        }

        /// A refused token is told of with the name of its file.
        @Test func aRefusedTokenIsNamedByItsFile() async throws {
            try await ScriptedServer.with({ _ in .http(401, [], #"{"message": "Bad credentials"}"#) }) { server in
                let file = try TokenFile(Self.secret)
                try await withBackend(server, { $0.tokenFile = file.path }) { backend in
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "a"))
                    }
                    #expect(error?.kind == .refused && error?.message.contains(file.path) == true)
                }
                try await withBackend(server) { backend in
                    let error = await #expect(throws: SearchError.self) {
                        try await backend.search(SearchRequest(query: "a"))
                    }
                    #expect(error?.kind == .refused && error?.message.contains("token file") == true)
                }
            }
        }

        /// Values out of their range are refused before anything is made.
        @Test func configurationsAreChecked() throws {
            let wrong: [@Sendable (inout GitHubBackend.Configuration) -> Void] = [
                { $0.baseURL = "" }, { $0.baseURL = "api.github.com" }, { $0.baseURL = "ftp://a" },
                { $0.baseURL = "https://" },
                { $0.baseURL = "https://a/?x=1" }, { $0.baseURL = "https://a/#x" }, { $0.baseURL = "https://u:p@a/" },
                { $0.baseURL = "http+unix://%2Ftmp/" }, { $0.perPage = 0 }, { $0.perPage = 101 },
                { $0.timeLimit = .zero },
                { $0.timeLimit = .seconds(3_601) }, { $0.bodyBytes = 1_023 }, { $0.bodyBytes = 64 << 20 | 1 },
                { $0.concurrentRequests = 0 }, { $0.concurrentRequests = 65 }, { $0.waitingRequests = -1 },
                { $0.waitingRequests = 10_001 }, { $0.userAgent = "" }, { $0.userAgent = "a\r\nb: c" },
                { $0.userAgent = "ä" },
            ]
            for change in wrong { #expect(refusal(change)?.code == .invalidConfiguration) }
        }
    }
#endif
