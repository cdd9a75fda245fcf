#if Web
    import Foundation
    import Lockstep
    import NIOCore
    import SearchCache
    import SearchCacheWeb
    import Synchronization
    import Testing

    /// `/search` as programs use it.
    @Suite("Face: searches", .timeLimit(.minutes(5)))
    struct FaceSearchTests {
        /// The first asks the backend, the second is answered from memory, and both say so.
        @Test func aHitFollowsAMiss() async throws {
            let backend = ScriptedBackend.plain
            try await withFace(backend) { face in
                let miss = try await face.get("/search?q=Swift++actors")
                #expect(miss.status == 200)
                #expect(miss.headers["cache-status"] == "lockstep; fwd=miss; stored")
                #expect(miss.headers["content-type"] == "application/json; charset=utf-8")
                #expect(miss.headers["x-content-type-options"] == "nosniff")
                #expect(miss.headers["lockstep-node"] == "here")
                #expect(try miss.json["source"] as? String == "backend")

                let hit = try await face.get("/search?q=%73wift%20actors&page=1")
                #expect(hit.headers["cache-status"] == "lockstep; hit")
                #expect(hit.headers["cache-control"] == "private, no-cache")
                #expect(hit.headers["etag"] == miss.headers["etag"])
                let json = try hit.json
                #expect(json["query"] as? String == "swift actors")
                #expect(json["page"] as? Int == 1)
                #expect(json["total"] as? Int == 4)
                #expect(json["lastPage"] is NSNull)
                #expect(json["source"] as? String == "memory")
                #expect(json["failure"] is NSNull)
                #expect(try #require(json["tookMicroseconds"] as? Int) >= 0)
                #expect(try hit.titles == ["swift actors 1.1", "swift actors 1.2"])
                #expect(Set(json.keys).count == 9)
                #expect(hit.headers["content-length"] == String(hit.body.utf8.count))
                #expect(backend.calls.count == 1)
            }
        }

        /// The age is that of the page by this host's clock, and not below 0 where clocks differ.
        @Test func theAgeIsThePages() async throws {
            let clock = Mutex(LogTime.zero)
            try await withFace(ScriptedBackend.plain, now: { clock.withLock { $0 } }) { face in
                let young = try await face.get("/search?q=x")
                #expect(young.headers["age"] == "0")
                let page = try #require(face.search.state.entries["x"]?.page(1))
                clock.withLock { $0 = page.fetchedAt.advanced(by: .milliseconds(90_999)) }
                let old = try await face.get("/search?q=x")
                #expect(old.headers["age"] == "90")
                #expect(try old.json["ageSeconds"] as? Int == 90)
                // The example of RFC 9110, 5.6.7.
                clock.withLock { $0 = LogTime(rawValue: 784_111_777_000_000) }
                #expect(try await face.get("/search?q=x").headers["date"] == "Sun, 06 Nov 1994 08:49:37 GMT")
            }
        }

        /// The last page says that it is; a page after it is no error, and nobody is asked for it.
        @Test func pagesEnd() async throws {
            let backend = ScriptedBackend.plain
            try await withFace(backend) { face in
                let last = try await face.get("/search?page=2&q=x")
                #expect(try last.json["lastPage"] as? Int == 2)
                let beyond = try await face.get("/search?q=x&page=3")
                #expect(beyond.status == 200)
                #expect(beyond.headers["cache-status"] == "lockstep; hit; detail=nothing")
                #expect(beyond.headers["age"] == nil)
                #expect(try beyond.json["ageSeconds"] is NSNull)
                #expect(try beyond.titles == [])
                #expect(backend.calls.count == 1)
            }
        }

        /// Without words there is nothing to find, and no node is asked: this one does not run.
        @Test(arguments: ["q=", "q", "q=+%20%09"]) func anEmptyQueryFindsNothing(query: String) async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let answer = try await face.get("/search?\(query)")
                #expect(answer.status == 200)
                #expect(try answer.json["source"] as? String == "nothing")
                #expect(try answer.json["query"] as? String == "")
            }
        }

        /// What a client has is not sent again; a tag of something else is no such tag.
        @Test func aKnownPageIsNotSentAgain() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                let tag = try #require(try await face.get("/search?q=x").headers["etag"])
                let other = try #require(try await face.get("/search?q=y").headers["etag"])
                #expect(tag != other)
                for known in [tag, "\"a\", \(tag)", String(tag.dropFirst(2)), "*"] {
                    let answer = try await face.get("/search?q=x", ["If-None-Match: \(known)"])
                    #expect(answer.status == 304, "\(known)")
                    #expect(answer.body == "")
                    #expect(answer.headers["content-length"] == nil)
                    #expect(answer.headers["etag"] == tag)
                    #expect(answer.headers["cache-status"] == "lockstep; hit")
                }
                for unknown in [other, String(tag.dropLast(2)) + "\"", "W/\"\""] {
                    #expect(
                        try await face.get("/search?q=x", ["If-None-Match: \(unknown)"]).status == 200, "\(unknown)")
                }
            }
        }

        /// A tag is made of what the page holds: stores that share nothing give equal pages equal tags.
        @Test func equalPagesHaveEqualTagsEverywhere() async throws {
            func tags() async throws -> [String?] {
                try await withFace(ScriptedBackend.plain) { face in
                    [
                        try await face.get("/search?q=x").headers["etag"],
                        try await face.get("/search?q=x&page=2").headers["etag"],
                    ]
                }
            }
            let first = try await tags()
            #expect(try await tags() == first)
            #expect(Set(first).count == 2)
            #expect(first[0]?.wholeMatch(of: /W\/"[0-9a-f]{32}"/) != nil)
        }

        /// A page that changes is not answered from what was encoded of the former one.
        @Test func aNewPageReplacesTheEncodedOne() async throws {
            let round = Mutex(0)
            let backend = ScriptedBackend { _ in
                let number = round.withLock { round in
                    round += 1
                    return round
                }
                return .page([SearchHit(title: "round \(number)", url: "file:///x")], hasNext: false)
            }
            try await withFace(backend) { face in
                let first = try await face.get("/search?q=x")
                _ = try await face.get("/search?q=x")
                try await face.search.send(.refresh("x"))
                await face.wait { $0.entries["x"]?.page(1)?.hits.first?.title == "round 2" }
                let second = try await face.get("/search?q=x")
                #expect(try second.titles == ["round 2"])
                #expect(second.headers["etag"] != first.headers["etag"])
                #expect(second.headers["cache-status"] == "lockstep; hit")
            }
        }

        /// Many who ask at once make one request; those who came after the first say that they joined it.
        @Test func whoAsksMeanwhileJoins() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { _ in
                await latch.wait()
                return .page([SearchHit(title: "one", url: "")], hasNext: false)
            }
            let answers = try await withFace(backend) { face in
                try await withThrowingTaskGroup(of: WebAnswer.self) { group in
                    for _ in 1...20 { group.addTask { try await face.get("/search?q=x") } }
                    try await face.wait(for: "lockstep_face_waiting", 20)
                    // By then all have sent their action, or nearly all.
                    for _ in 1...5 { _ = try await face.get("/health") }
                    latch.open()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            let statuses = answers.compactMap { $0.headers["cache-status"] }
            #expect(statuses.count { $0 == "lockstep; fwd=miss; stored" } == 1)
            #expect(statuses.contains("lockstep; fwd=miss; collapsed"))
            #expect(Set(answers.compactMap { $0.headers["etag"] }).count == 1)
            #expect(try Set(answers.map { try $0.titles }) == [["one"]])
            #expect(backend.calls.count == 1)
        }

        /// HTML in hits stays text in JSON, and is not sniffed for HTML.
        @Test func markupIsOnlyText() async throws {
            let text = "<script>alert(\"1\")</script>\u{2028}&amp;\\\u{0}\u{1F600}"
            let backend = ScriptedBackend { _ in
                .page([SearchHit(title: text, url: "javascript:alert(1)", snippet: text)], hasNext: false)
            }
            try await withFace(backend) { face in
                let answer = try await face.get("/search?q=%3Cb%3E")
                #expect(try answer.titles == [text])
                #expect(try answer.json["query"] as? String == "<b>")
                #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true)
                #expect(answer.headers["x-content-type-options"] == "nosniff")
            }
        }

        /// HEAD is GET without the body.
        @Test func headHasTheHeadersOnly() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                _ = try await face.get("/search?q=x")
                let get = try await face.get("/search?q=x")
                let head = try await face.get("/search?q=x", method: "HEAD")
                #expect(head.status == 200)
                #expect(head.body == "")
                #expect(head.headers["etag"] == get.headers["etag"])
                #expect(try #require(head.headers["content-length"].flatMap { Int($0) }) > 100)
            }
        }

        /// The form of a request target with a host in it, which proxies use, is understood.
        @Test func absoluteTargetsAreUnderstood() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                let found = try await face.get("http://localhost/search?q=x")
                #expect(found.status == 200)
                let page = try await face.get("http://localhost")
                #expect(page.headers["content-type"]?.hasPrefix("text/html") == true)
                let wrong = try await face.get("http://localhost/search")
                #expect(wrong.status == 400)
            }
        }
    }
#endif
