#if Web
    import Foundation
    import Lockstep
    import NIOCore
    import SearchCache
    import SearchCacheWeb
    import Synchronization
    import Testing

    /// What is answered where there is no good answer.
    @Suite("Face: failures", .timeLimit(.minutes(5)))
    struct FaceFailureTests {
        private static let tooLong = String(repeating: "a", count: 257)

        /// Each wrong request has its own word.
        @Test(
            arguments: [
                ("", "missingQuery"), ("?", "missingQuery"), ("?page=1", "missingQuery"),
                ("?q=a&q=b", "repeatedParameter"), ("?q=a&page=1&page=1", "repeatedParameter"),
                ("?q=a&pgae=2", "unknownParameter"), ("?q=a&Q=a", "unknownParameter"), ("?=a&q=a", "unknownParameter"),
                ("?q=a&page=", "pageNotANumber"), ("?q=a&page", "pageNotANumber"), ("?q=a&page=x", "pageNotANumber"),
                ("?q=a&page=1.0", "pageNotANumber"), ("?q=a&page=%2B1", "pageNotANumber"),
                ("?q=a&page=-", "pageNotANumber"),
                ("?q=a&page=%D9%A1", "pageNotANumber"), ("?q=a&page=0", "pageOutOfRange"),
                ("?q=a&page=-1", "pageOutOfRange"),
                ("?q=a&page=1001", "pageOutOfRange"), ("?q=a&page=99999999999999999999", "pageOutOfRange"),
                ("?q=%", "badEncoding"), ("?q=%4", "badEncoding"), ("?q=%zz", "badEncoding"), ("?q=%FF", "badEncoding"),
                ("?%C0%80=1&q=a", "badEncoding"), ("?q=\(tooLong)", "queryTooLong"),
                ("?q=\(tooLong)&page=0", "pageOutOfRange"),
            ]
        ) func wrongRequestsAreNamed(query: String, word: String) async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let answer = try await face.get("/search\(query)")
                #expect(answer.status == 400)
                #expect(try answer.problem == word)
                #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
                #expect(try #require(answer.json["message"] as? String).count > 10)
                #expect(try answer.json["until"] is NSNull)
            }
        }

        /// The longest query and the last page are taken; only what normalising leaves counts.
        @Test func theLongestQueryIsTaken() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                let query = String(repeating: "a", count: 256)
                let answer = try await face.get("/search?q=++\(query)++&page=1000")
                #expect(answer.status == 200)
            }
        }

        /// A backend that takes no requests, and nothing to show: 503, and when to come again.
        @Test func aLimitSaysWhenItEnds() async throws {
            let backend = ScriptedBackend.failing(.rateLimited, retryAfter: .seconds(120))
            try await withFace(backend) { face in
                let answer = try await face.get("/search?q=x")
                #expect(answer.status == 503)
                #expect(try answer.problem == "rateLimited")
                let seconds = try #require(answer.headers["retry-after"].flatMap { Int($0) })
                #expect((110...121).contains(seconds))
                let until = try #require(try answer.json["until"] as? String)
                #expect(until.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
                let limit = try #require(face.search.state.limit?.until)
                let parsed = try Date(until, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                #expect(abs(parsed.timeIntervalSince1970 - Double(limit.rawValue) / 1_000_000) < 0.002)
                // Another query is under the same limit.
                #expect(try await face.get("/search?q=y").status == 503)
                #expect(backend.calls.count == 1)
            }
        }

        /// Each kind of failure without a page has its status; only where it helps is one told to come again.
        @Test(
            arguments: [
                (SearchFailure.Kind.offline, 503), (.server, 502), (.badAnswer, 502), (.refused, 422),
            ]
        ) func aFailureWithoutAPageHasItsStatus(kind: SearchFailure.Kind, status: Int) async throws {
            var cache = SearchCache.Settings()
            cache.retry = .never
            try await withFace(ScriptedBackend.failing(kind), cache: cache) { face in
                let answer = try await face.get("/search?q=x")
                #expect(answer.status == status)
                #expect(try answer.problem == kind.rawValue)
                #expect(try answer.json["message"] as? String == "as the script says")
                #expect((answer.headers["retry-after"] != nil) == (kind != .refused))
            }
        }

        /// A page of before is better than none: 200, with the failure, under another tag.
        @Test func anOldPageIsShownWithTheFailure() async throws {
            let isDown = Mutex(false)
            let backend = ScriptedBackend { _ in
                if isDown.withLock({ $0 }) { throw SearchError(.rateLimited, "enough", retryAfter: .seconds(60)) }
                return .page([SearchHit(title: "old", url: "")], hasNext: false)
            }
            var cache = SearchCache.Settings()
            cache.fresh = .seconds(3)
            try await withFace(backend, cache: cache) { face in
                let fresh = try await face.get("/search?q=x")
                isDown.withLock { $0 = true }
                await face.wait { $0.entries["x"]?.page(1)?.isFresh == false }
                let asked = try await face.get("/search?q=x")
                #expect(asked.status == 200)
                #expect(asked.headers["cache-status"] == "lockstep; fwd=stale; detail=rateLimited")
                #expect(try asked.titles == ["old"])
                let failure = try #require(try asked.json["failure"] as? [String: Any])
                #expect(failure["kind"] as? String == "rateLimited")
                #expect(failure["message"] as? String == "enough")
                #expect(failure["until"] is String)
                #expect(asked.headers["etag"] != fresh.headers["etag"])
                // Nobody is asked again before the limit ends.
                let kept = try await face.get("/search?q=x")
                #expect(kept.headers["cache-status"] == "lockstep; hit; detail=rateLimited")
                #expect(kept.headers["etag"] == asked.headers["etag"])
                #expect(backend.calls.count == 2)
            }
        }

        /// A page that is asked for again is marked as one that was not fresh.
        @Test func aStalePageIsAskedForAgain() async throws {
            var cache = SearchCache.Settings()
            cache.fresh = .seconds(3)
            try await withFace(ScriptedBackend.plain, cache: cache) { face in
                let first = try await face.get("/search?q=x")
                await face.wait { $0.entries["x"]?.page(1)?.isFresh == false }
                let again = try await face.get("/search?q=x", ["If-None-Match: \(first.headers["etag"] ?? "")"])
                #expect(again.status == 304)
                #expect(again.headers["cache-status"] == "lockstep; fwd=stale; stored")
            }
        }

        /// A backend that takes too long: 504; what it brings later is there for the next who asks.
        @Test func whatTakesTooLongIsTold() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { _ in
                await latch.wait()
                return .page([SearchHit(title: "here", url: "")], hasNext: false)
            }
            var settings = SearchFace.Settings()
            settings.timeout = .milliseconds(300)
            try await withFace(backend, settings: settings) { face in
                let late = try await face.get("/search?q=x")
                #expect(late.status == 504)
                #expect(try late.problem == "timeout")
                #expect(late.headers["retry-after"] == "1")
                latch.open()
                await face.wait { $0.entries["x"]?.page(1) != nil }
                let next = try await face.get("/search?q=x")
                #expect(next.headers["cache-status"] == "lockstep; hit")
                #expect(backend.calls.count == 1)
            }
        }

        /// A backend that does not answer where an old page is: that page, with the failure.
        @Test func anOldPageIsShownWhenTheBackendIsSilent() async throws {
            let isHeld = Mutex(false)
            let latch = Latch()
            let backend = ScriptedBackend { _ in
                if isHeld.withLock({ $0 }) { await latch.wait() }
                return .page([SearchHit(title: "old", url: "")], hasNext: false)
            }
            var cache = SearchCache.Settings()
            cache.fresh = .seconds(3)
            var settings = SearchFace.Settings()
            settings.timeout = .seconds(3)
            try await withFace(backend, cache: cache, settings: settings) { face in
                #expect(try await face.get("/search?q=x").status == 200)
                isHeld.withLock { $0 = true }
                await face.wait { $0.entries["x"]?.page(1)?.isFresh == false }
                let old = try await face.get("/search?q=x")
                #expect(old.status == 200)
                #expect(old.headers["cache-status"] == "lockstep; fwd=stale; detail=timeout")
                let failure = try #require(try old.json["failure"] as? [String: Any])
                #expect(failure["kind"] as? String == "timeout")
                #expect(failure["until"] is NSNull)
                latch.open()
            }
        }

        /// Where as many wait as may, a page of before is shown with the word for it.
        @Test func anOldPageIsShownWhereTooManyWait() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { request in
                if request.query == "slow" { await latch.wait() }
                return .page([SearchHit(title: request.query, url: "")], hasNext: false)
            }
            var cache = SearchCache.Settings()
            cache.fresh = .seconds(3)
            var settings = SearchFace.Settings()
            settings.waitingSearches = 1
            try await withFace(backend, cache: cache, settings: settings) { face in
                _ = try await face.get("/search?q=old")
                await face.wait { $0.entries["old"]?.page(1)?.isFresh == false }
                async let slow = face.get("/search?q=slow")
                try await face.wait(for: "lockstep_face_waiting", 1)
                let old = try await face.get("/search?q=old")
                #expect(old.status == 200)
                #expect(old.headers["cache-status"] == "lockstep; fwd=stale; detail=busy")
                #expect(try old.titles == ["old"])
                latch.open()
                _ = try await slow
            }
        }

        /// As many wait as may; one more is told so at once, and hits are answered all the same.
        @Test func oneMoreThanMayWaitIsTold() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { request in
                if request.query == "slow" { await latch.wait() }
                return .page([SearchHit(title: request.query, url: "")], hasNext: false)
            }
            var settings = SearchFace.Settings()
            settings.waitingSearches = 1
            try await withFace(backend, settings: settings) { face in
                #expect(try await face.get("/search?q=quick").status == 200)
                async let slow = face.get("/search?q=slow")
                try await face.wait(for: "lockstep_face_waiting", 1)
                let more = try await face.get("/search?q=other")
                #expect(more.status == 503)
                #expect(try more.problem == "busy")
                #expect(more.headers["retry-after"] == "1")
                #expect(try await face.get("/search?q=quick").headers["cache-status"] == "lockstep; hit")
                latch.open()
                #expect(try await slow.status == 200)
                #expect(try await face.get("/search?q=other").status == 200)
            }
        }
    }
#endif
