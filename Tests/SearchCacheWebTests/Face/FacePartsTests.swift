#if Web
    import Foundation
    import Lockstep
    import Logging
    import NIOCore
    import SearchCache
    import SearchCacheWeb
    import ServiceLifecycle
    import Testing

    /// What stands beside the searches: health, metrics, the description, the page.
    @Suite("Face: health, metrics, description, page", .timeLimit(.minutes(5)))
    struct FacePartsTests {
        /// A live store is healthy, and its place is told.
        @Test func aLiveStoreIsHealthy() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                _ = try await face.get("/search?q=x")
                let health = try await face.get("/health")
                #expect(health.status == 200)
                let json = try health.json
                #expect(json["node"] as? String == "here")
                #expect(json["role"] as? String == "primary")
                #expect(json["store"] as? String == "search")
                #expect(json["readiness"] as? String == "live")
                let place = try #require(json["place"] as? [String: Int])
                #expect(Set(place.keys) == ["epoch", "sequence"])
                #expect(try #require(place["sequence"]) > 0)
                #expect(health.headers["cache-control"] == "no-store")
            }
        }

        /// A store that is not live is not healthy.
        @Test func aStoreThatIsNotLiveIsNotHealthy() async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let health = try await face.get("/health")
                #expect(health.status == 503)
                #expect(try health.json["readiness"] as? String == "connecting")
            }
        }

        /// The cache's figures and the face's own, in the format of Prometheus.
        @Test func metricsCountWhatHappened() async throws {
            try await withFace(ScriptedBackend.plain) { face in
                for _ in 1...3 { _ = try await face.get("/search?q=x") }
                _ = try await face.get("/search")
                try await face.search.report()
                await face.wait { $0.statistics.hits == 2 }
                let metrics = try await face.get("/metrics")
                #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
                let lines = metrics.body.split(separator: "\n").map(String.init)
                for line in [
                    "lockstep_search_hits_total 2", "lockstep_search_misses_total 1", "lockstep_search_joined_total 0",
                    "lockstep_search_requests_total 1", "lockstep_search_failures_total 0",
                    "lockstep_search_evictions_total 0", "lockstep_search_expirations_total 0",
                    "lockstep_search_saved_total 2", "lockstep_search_queries 1",
                    "lockstep_search_bytes \(face.search.state.bytes)",
                    "lockstep_face_requests_total{status=\"200\"} 3", "lockstep_face_requests_total{status=\"400\"} 1",
                    "lockstep_face_duration_seconds_bucket{le=\"+Inf\"} 4", "lockstep_face_duration_seconds_count 4",
                    "# TYPE lockstep_face_duration_seconds histogram", "# TYPE lockstep_search_bytes gauge",
                ] { #expect(lines.contains(line), "\(line)") }
                // Every line is a comment or a sample, and buckets ascend to the count.
                for line in lines where !line.hasPrefix("#") {
                    #expect(line.wholeMatch(of: /[a-z_]+(\{[a-z]+="[^"]+"\})? [0-9.e+-]+/) != nil, "\(line)")
                }
                let buckets = lines.filter { $0.contains("_bucket{") }.compactMap { $0.split(separator: " ").last }
                    .compactMap { Int($0) }
                #expect(buckets.count == 19)
                #expect(buckets == buckets.sorted())
                let bounds = lines.compactMap { $0.firstMatch(of: /le="([0-9.]+)"/).flatMap { Double($0.1) } }
                #expect(bounds.count == 18 && bounds == bounds.sorted() && bounds.first == 0.00005)
            }
        }

        /// The description that is served is the file, word for word.
        @Test func theDescriptionIsTheFile() async throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/openapi-search.yaml")
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(SearchFace.description == text)
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let served = try await face.get("/openapi.yaml")
                #expect(served.body == text)
                #expect(served.headers["content-type"] == "application/yaml; charset=utf-8")
            }
        }

        /// The page is whole, runs only its own script, and makes no HTML of data.
        @Test func thePageIsSelfContained() async throws {
            try await withFace(ScriptedBackend.plain, runsNode: false) { face in
                let page = try await face.get("/?q=%3Cscript%3Ealert(1)%3C/script%3E")
                #expect(page.status == 200)
                #expect(page.headers["content-type"] == "text/html; charset=utf-8")
                #expect(!page.body.contains("alert(1)"))
                let policy = try #require(page.headers["content-security-policy"])
                #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
                #expect(policy.contains("require-trusted-types-for 'script'"))
                #expect(!policy.contains("unsafe"))
                for word in [
                    "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "onclick=", "style=",
                ] {
                    #expect(!page.body.contains(word), "\(word)")
                }
                // Nothing is loaded from anywhere.
                #expect(page.body.matches(of: /(src|href)="(?!data:,|\/|#)/).isEmpty)
                #expect(page.body.matches(of: /<script/).count == 1)
            }
        }

        /// What a benchmark compares with answers too.
        @Test func theConstantHandlerAnswers() async throws {
            let (ports, port) = AsyncStream<Int>.makeStream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    try await SearchFace.constantHandler("constant", onRunning: { port.yield($0) }).run()
                }
                var iterator = ports.makeAsyncIterator()
                let node = try Node(.local())
                let search = CachedSearch(try node.store(try SearchCache(ScriptedBackend.plain), named: "search"))
                let face = RunningFace(port: try #require(await iterator.next()), search: search)
                let answer = try await face.get("/constant")
                #expect(answer.status == 200)
                #expect(answer.body == "constant")
            }
        }

        /// A shutdown lets what is under way be answered.
        @Test func aShutdownAnswersWhatIsUnderWay() async throws {
            let latch = Latch()
            let backend = ScriptedBackend { _ in
                await latch.wait()
                return .page([SearchHit(title: "late", url: "")], hasNext: false)
            }
            let node = try Node(.local())
            let search = CachedSearch(try node.store(try SearchCache(backend), named: "search"))
            let (ports, port) = AsyncStream<Int>.makeStream()
            let face = try SearchFace(search, node: .local(), port: 0, onRunning: { port.yield($0) })
            let group = ServiceGroup(
                services: [face], logger: .init(label: "face", factory: { _ in SwiftLogNoOpLogHandler() }))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                defer { tasks.cancelAll() }
                tasks.addTask { try await node.run() }
                tasks.addTask { try await group.run() }
                var iterator = ports.makeAsyncIterator()
                let running = RunningFace(port: try #require(await iterator.next()), search: search)
                async let answer = running.get("/search?q=x")
                try await running.wait(for: "lockstep_face_waiting", 1)
                await group.triggerGracefulShutdown()
                latch.open()
                #expect(try await answer.titles == ["late"])
                try await tasks.next()
            }
        }
    }
#endif
