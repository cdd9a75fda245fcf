#if Web
    import Foundation
    import Lockstep
    import NIOCore
    import SearchCache
    import SearchCacheWeb
    import Synchronization
    import Testing

    /// What clients may send, how many may be there, and what a face may not do.
    @Suite("Face: bounds", .timeLimit(.minutes(5)))
    struct FaceBoundsTests {
        /// Other paths and methods are refused with what there is.
        @Test func otherPathsAndMethodsAreRefused() async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                for path in ["/x", "/search/", "/Search?q=a", "//search?q=a", "/health/x"] {
                    let answer = try await face.get(path)
                    #expect(answer.status == 404, "\(path)")
                    #expect(try answer.problem == "notFound")
                }
                for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
                    for path in ["/search?q=a", "/health", "/metrics", "/openapi.yaml", "/"] {
                        let answer = try await face.get(path, method: method)
                        #expect(answer.status == 405, "\(method) \(path)")
                        #expect(answer.headers["allow"] == "GET, HEAD")
                        #expect(try answer.problem == "methodNotAllowed")
                    }
                }
            }
        }

        private static let fields = (1...101).map { "X-\($0): 1" }
        private static let long = String(repeating: "a", count: 9 << 10)
        private static let huge = String(repeating: "a", count: 70 << 10)

        /// What is too long, or no HTTP, is answered once, and the connection ends.
        @Test(
            arguments: [
                ("GET /search?q=\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "uriTooLong"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(huge)\r\n\r\n", 431, "headersTooLarge"),
                ("GET /\(huge) HTTP/1.1\r\nHost: localhost\r\n\r\n", 431, "headersTooLarge"),
                ("GET / HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n", 431, "headersTooLarge"),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n", 413, "contentTooLarge"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413, "contentTooLarge"),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 411, "lengthRequired"),
                ("this is not HTTP\r\n\r\n", 400, "badRequest"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nbad header: 1\r\n\r\n", 400, "badRequest"),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e3\r\n\r\n", 400, "badRequest"),
            ]
        ) func whatIsTooLongEndsTheConnection(text: String, status: Int, word: String) async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let answer = try WebAnswer(try await face.exchange(text))
                #expect(answer.status == status)
                #expect(try answer.problem == word)
                #expect(answer.headers["connection"] == "close")
                #expect(answer.headers["content-length"] == String(answer.body.utf8.count))
                #expect(try await face.metric("lockstep_face_requests_total{status=\"\(status)\"}") == 1)
            }
        }

        /// A bad request after good ones does not take their answers, and is answered after them.
        @Test func answersKeepTheirOrder() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { _ in
                await latch.wait()
                return .page([], hasNext: false)
            }
            try await withFace(backend) { face in
                async let exchange = face.exchange(
                    "GET /search?q=x HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n")
                try await face.wait(for: "lockstep_face_waiting", 1)
                latch.open()
                let text = try await exchange
                let statuses = text.matches(of: /HTTP\/1\.1 (\d+)/).map { String($0.1) }
                #expect(statuses == ["200", "200", "400"])
            }
        }

        /// A connection serves one request after the other.
        @Test func aConnectionIsKept() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                let text = try await face.exchange(
                    "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
                        + "GET /search?q=x HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        + "GET /search?q=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                let statuses = text.matches(of: /HTTP\/1\.1 (\d+)/).map { String($0.1) }
                #expect(statuses == ["405", "200", "200"])
            }
        }

        /// One connection more than may be open is told so, and has its place when another ends.
        @Test func oneMoreConnectionIsTold() async throws {
            var settings = SearchFace.Settings()
            settings.connections = 1
            try await withFace(ScriptedBackend.plain, settings: settings) { face in
                try await face.connected { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"))
                    var iterator = inbound.makeAsyncIterator()
                    #expect(try await iterator.next() != nil)
                    let more = try await face.get("/search?q=x")
                    #expect(more.status == 503)
                    #expect(try more.problem == "full")
                    #expect(more.headers["retry-after"] == "1")
                }
                // The face learns of the end a little later.
                while try await face.get("/search?q=x").status != 200 { try await Task.sleep(for: .milliseconds(5)) }
            }
        }

        /// A connection on which nothing, or only a part of a request, comes is ended.
        @Test(arguments: ["", "GET /health HTTP/1.1\r\nHost: localhost\r\nX: "])
        func whoSendsNothingIsEnded(text: String) async throws {
            var settings = SearchFace.Settings()
            settings.idleTime = .milliseconds(200)
            try await withFace(ScriptedBackend.plain, settings: settings) { face in
                do {
                    let received = try await face.exchange(text)
                    #expect(received == "")
                } catch let error as IOError where error.errnoCode == ECONNRESET {
                    // What it had sent was not read: then the system says so.
                } catch let error as ChannelError where error == .ioOnClosedChannel {
                    // It was ended before this test came to write.
                }
            }
        }

        /// A client that asks and does not read is ended, and holds nothing then.
        @Test func whoDoesNotReadIsEnded() async throws {
            let filler = String(repeating: "a", count: 2_000)
            let backend = ScriptedBackend { _ in
                .page((1...100).map { SearchHit(title: "\($0)", url: filler, snippet: "") }, hasNext: false)
            }
            var settings = SearchFace.Settings()
            // Long enough for a look at it while it is there.
            settings.unreadTime = .seconds(5)
            try await withFace(backend, settings: settings) { face in
                #expect(try await face.get("/search?q=x").status == 200)
                try await face.connected(readsByItself: false) { _, outbound in
                    // 40 MB of answers, which is more than the system buffers.
                    let request = "GET /search?q=x HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    try await outbound.write(ByteBuffer(string: String(repeating: request, count: 200)))
                    try await face.wait(for: "lockstep_face_connections", 2)
                    // The one that asks is open itself.
                    try await face.wait(for: "lockstep_face_connections", 1)
                }
                #expect(try await face.get("/search?q=x").status == 200)
            }
        }

        /// Pages as JSON are kept within their bound, whatever is asked for, and those that went are encoded again.
        @Test func encodedPagesStayWithinTheirBound() async throws {
            let filler = String(repeating: "a", count: 2_000)
            let backend = ScriptedBackend { _ in
                .page((1...40).map { SearchHit(title: "\($0)", url: filler, snippet: "") }, hasNext: false)
            }
            var settings = SearchFace.Settings()
            settings.encodedBytes = 1 << 20
            try await withFace(backend, settings: settings) { face in
                var largest = 0.0
                for round in 1...2 {
                    for number in 1...12 {
                        let answer = try await face.get("/search?q=\(number)")
                        #expect(try answer.titles.count == 40)
                        #expect(
                            answer.headers["cache-status"]
                                == (round == 1 ? "lockstep; fwd=miss; stored" : "lockstep; hit"))
                        largest = max(largest, try await face.metric("lockstep_face_encoded_bytes") ?? .infinity)
                    }
                }
                // 12 pages of 160 kB each are twice as much.
                #expect(largest <= 1_048_576 && largest > 500_000)
            }
        }

        /// Only what is explicitly allowed is reachable from elsewhere.
        @Test func otherHostsMustBeAllowed() async throws {
            var configuration = NodeConfiguration.local()
            let node = try Node(configuration)
            let search = CachedSearch(try node.store(try SearchCache(ScriptedBackend.plain), named: "search"))
            for host in ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.evil.example", "*"] {
                let error = #expect(throws: LockstepError.self) {
                    try SearchFace(search, node: configuration, host: host)
                }
                #expect(error?.code == .invalidConfiguration, "\(host)")
            }
            for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
                _ = try SearchFace(search, node: configuration, host: host)
            }
            configuration.allowsPlaintext = true
            _ = try SearchFace(search, node: configuration, host: "0.0.0.0")
            #expect(throws: LockstepError.self) { try SearchFace(search, node: configuration, port: 65_536) }
            #expect(throws: LockstepError.self) { try SearchFace(search, node: configuration, port: -1) }
            var settings = SearchFace.Settings()
            settings.waitingSearches = 0
            #expect(throws: LockstepError.self) { try SearchFace(search, node: configuration, settings: settings) }
        }

        /// A page of another site whose name leads here reads nothing, and makes nobody ask the backend.
        @Test(arguments: ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"])
        func whatNamesAnotherHostIsNotAnswered(host: String) async throws {
            let backend = ScriptedBackend.plain
            try await withFace(backend) { face in
                for path in ["/search?q=a", "/health", "/metrics", "/openapi.yaml", "/", "/x"] {
                    let text = "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
                    let answer = try WebAnswer(try await face.exchange(text))
                    #expect(answer.status == 421, "\(path)")
                    #expect(try answer.problem == "otherHost")
                }
                #expect(backend.calls.count == 0)
            }
        }

        /// Loopback has several names, with and without a port.
        @Test(arguments: ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080"])
        func theNamesOfLoopbackAreAnswered(host: String) async throws {
            try await withFace(ScriptedBackend.plain) { face in
                let text = "GET /search?q=a HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
                let answer = try WebAnswer(try await face.exchange(text))
                #expect(answer.status == 200)
            }
        }

        /// A browser's page of another site does not search, though it may link to the page here; programs do.
        @Test(arguments: [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
        func pagesOfOtherSitesDoNotSearch(site: String, status: Int) async throws {
            let backend = ScriptedBackend.plain
            try await withFace(backend) { face in
                let answer = try await face.get("/search?q=a", ["Sec-Fetch-Site: \(site)"])
                #expect(answer.status == status)
                if status == 403 { #expect(try answer.problem == "otherSite") }
                #expect(backend.calls.count == (status == 403 ? 0 : 1))
                #expect(try await face.get("/?q=a", ["Sec-Fetch-Site: \(site)"]).status == 200)
            }
        }

        /// A port that is taken is named as that.
        @Test func aTakenPortIsNamed() async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let second = try SearchFace(face.search, node: .local(), port: face.port)
                let error = await #expect(throws: LockstepError.self) { try await second.run() }
                #expect(error?.code == .addressInUse)
            }
        }
    }
#endif
