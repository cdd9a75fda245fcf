import Lockstep
import LockstepTesting
import SearchCache
import Testing

/// Requests that end in ways that backends should not have, each by itself; ``SimulatedSearchTests`` found them.
@Suite(.timeLimit(.minutes(5))) struct SearchRequestTests {
    private struct Backend: SearchBackend {
        var name: String { "odd" }
        let answer: @Sendable (SearchRequest) async throws -> SearchResult
        func search(_ request: SearchRequest) async throws -> SearchResult { try await answer(request) }
    }

    private func cluster(
        clock: VirtualClock = VirtualClock(), _ answer: @escaping @Sendable (SearchRequest) async throws -> SearchResult
    ) throws -> TestCluster<SearchCache> {
        var settings = SearchCache.Settings()
        settings.retry = .never
        settings.concurrentRequests = 1
        let cache = try SearchCache(Backend(answer: answer), settings: settings)
        return TestCluster(cache, clock: clock, replicas: 1)
    }

    /// A backend that throws a cancellation, and was not cancelled, has failed: the request must not stay for ever.
    @Test func aCancellationOfTheBackendsOwnIsAFailure() throws {
        let cluster = try cluster { request in
            if request.query == "a" { throw CancellationError() }
            return .page([SearchHit(title: "b", url: "u")], hasNext: false)
        }
        try cluster.send(.search("a", page: 1))
        try cluster.send(.search("b", page: 1))
        try cluster.run(for: .seconds(1))
        try cluster.settle()
        let state = try cluster.state(of: .replica(1))
        #expect(state.entries["a"]?.failure?.kind == .server)
        #expect(state.look("b", page: 1).isFresh)
        #expect(state.wanted.isEmpty && state.statistics.requests == 2 && state.statistics.failures == 1)
    }

    /// A request that never ends is given up when its time is over, and the next one has its place.
    @Test func aRequestThatNeverEndsIsGivenUp() throws {
        let clock = VirtualClock()
        let cluster = try cluster(clock: clock) { request in
            if request.query == "a" { try await clock.sleep(for: .seconds(1_000_000)) }
            return .page([SearchHit(title: "b", url: "u")], hasNext: false)
        }
        try cluster.send(.search("a", page: 1))
        try cluster.send(.search("b", page: 1))
        try cluster.run(for: .seconds(29))
        #expect(try cluster.state(of: .primary).wanted.count == 2)
        try cluster.run(for: .seconds(2))
        try cluster.settle()
        let state = try cluster.state(of: .replica(1))
        #expect(state.entries["a"]?.failure?.kind == .offline)
        #expect(state.entries["a"]?.failure?.message == "odd did not answer within 30.0 seconds")
        #expect(state.look("b", page: 1).isFresh && state.wanted.isEmpty)
    }

    /// A request that has no time, or no end, is refused before anything runs.
    @Test(arguments: [Duration.zero, .milliseconds(999), .seconds(3_601)])
    func aWrongTimeForARequestIsRefused(timeout: Duration) throws {
        var settings = SearchCache.Settings()
        settings.requestTimeout = timeout
        let backend = Backend { _ in .unchanged }
        #expect(throws: LockstepError.self) { try SearchCache(backend, settings: settings) }
    }

    /// What is wanted and what is known have digests, by their fields.
    @Test func entriesAndRequestsHaveDigests() throws {
        let clock = VirtualClock()
        let cluster = try cluster(clock: clock) { request in
            try await clock.sleep(for: .milliseconds(500))
            return .page([SearchHit(title: request.query, url: "u")], hasNext: false)
        }
        try cluster.send(.search("a", page: 1))
        let wanted = try StateDigest.digest(of: #require(cluster.state(of: .primary).wanted["a"]))
        try cluster.run(for: .seconds(1))
        let known = try StateDigest.digest(of: #require(cluster.state(of: .primary).entries["a"]))
        try cluster.send(.search("b", page: 1))
        #expect(try StateDigest.digest(of: #require(cluster.state(of: .primary).wanted["b"])) != wanted)
        try cluster.run(for: .seconds(1))
        #expect(try StateDigest.digest(of: #require(cluster.state(of: .primary).entries["b"])) != known)
        try cluster.settle()
        #expect(try cluster.digest(of: .replica(1)) == cluster.digest(of: .primary))
    }
}
