#if Web
    import Foundation
    import Lockstep
    import NIOCore
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// Faces of a primary and of its replica.
    @Suite("Face: cluster", .timeLimit(.minutes(5)))
    struct FaceClusterTests {
        /// What is asked for on a replica is asked by the primary, once, and answered by both under one tag; and a replica
        /// that has lost its primary answers from memory, says that it is not healthy, and says at once that it cannot ask.
        @Test func aReplicaAnswersLikeItsPrimary() async throws {
            let (backend, unused) = (ScriptedBackend.plain, ScriptedBackend.plain)
            let given = NodeConfiguration.primary(listen: "tcp://127.0.0.1:0", journal: .memory)
            let primary = try Node(given)
            let first = CachedSearch(try primary.store(try SearchCache(backend), named: "search"))
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            let (faces, face) = AsyncStream.makeStream(of: (RunningFace, String).self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    try await withFace(of: first, given, beside: primary) { running in
                        face.yield((running, try #require(try await primary.status().endpoint)))
                        for await _ in ended {}
                    }
                }
                var iterator = faces.makeAsyncIterator()
                let (there, address) = try #require(await iterator.next())
                let other = NodeConfiguration.replica(of: address)
                let replica = try Node(other)
                let second = CachedSearch(try replica.store(try SearchCache(unused), named: "search"))
                try await withFace(of: second, other, beside: replica) { here in
                    try await second.store.whenReady()
                    let miss = try await here.get("/search?q=x")
                    #expect(miss.headers["cache-status"] == "lockstep; fwd=miss; stored")
                    let hit = try await there.get("/search?q=x")
                    #expect(hit.headers["cache-status"] == "lockstep; hit")
                    #expect(hit.headers["etag"] == miss.headers["etag"])
                    #expect(hit.headers["lockstep-node"] != miss.headers["lockstep-node"])
                    #expect(backend.calls.count == 1 && unused.calls.isEmpty)
                    let health = try await here.get("/health")
                    #expect(health.status == 200)
                    #expect(try health.json["role"] as? String == "replica")

                    end.finish()
                    try await group.next()
                    for await readiness in second.store.readinessChanges where readiness == .stale { break }
                    let stale = try await here.get("/health")
                    #expect(stale.status == 503)
                    #expect(try stale.json["readiness"] as? String == "stale")
                    let kept = try await here.get("/search?q=x")
                    #expect(kept.headers["cache-status"] == "lockstep; hit")
                    #expect(kept.headers["etag"] == miss.headers["etag"])
                    let start = ContinuousClock.now
                    let lost = try await here.get("/search?q=y")
                    #expect(start.duration(to: .now) < SearchFace.Settings().timeout / 2, "its time was not awaited")
                    #expect(lost.status == 503)
                    #expect(try lost.problem == "unavailable")
                    let message = try lost.json["message"] as? String
                    #expect(message?.contains("the primary is away") == true, "\(message ?? "")")
                    #expect(lost.headers["retry-after"] == "1")
                }
            }
        }
    }
#endif
