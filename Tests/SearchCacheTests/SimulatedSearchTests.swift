import Lockstep
import LockstepTesting
import SearchCache
import Testing

/// The search cache in simulated clusters: a backend that fails in all ways, nodes that die, a network that loses.
@Suite(.timeLimit(.minutes(30))) struct SimulatedSearchTests {
    /// Whatever fails, all nodes agree, nothing stays wanted, the bound holds, and no answer comes that was given up.
    @Test(arguments: 0..<8) func whateverFailsTheCacheIsRight(batch: Int) async throws {
        var happened: [BackendModel.Fate: Int] = [:]
        var ends: [String: UInt64] = [:]
        for seed in 1...8 {
            let run = SearchRun(seed: UInt64(batch * 8 + seed))
            let findings = run.findings()
            #expect(findings == [], "seed \(run.seed)")
            happened.merge(run.model.happened) { $0 + $1 }
            ends.merge(run.ends) { $0 + $1 }
            // Other tests have short lives, and share the threads.
            await Task.yield()
        }
        // A model that does nothing bad shows nothing; a rare fate may miss a few seeds.
        let missing = BackendModel.Fate.allCases.filter { happened[$0, default: 0] == 0 }
        #expect(missing.count <= 2, "\(missing)")
        for (name, count) in ends { #expect(count > 0, "\(name)") }
    }

    /// A backend that answers is asked once for a query, whoever and however many ask, and once more for each life of the
    /// primary that did not live to see the answer.
    @Test(arguments: UInt64(1)...6) func aQueryIsAskedOnceInALife(seed: UInt64) throws {
        let calm = SearchRun(seed: seed, isOnce: true, faults: [:])
        #expect(calm.findings() == [])
        #expect(Set(calm.model.counts.values) == [1])
        let run = SearchRun(seed: seed, isOnce: true)
        #expect(run.findings() == [])
    }

    /// The same seed is the same run with the backend's failures and the random faults.
    @Test func theSameSeedIsTheSameRun() throws {
        let runs = [3, 3, 4].map { SearchRun(seed: $0) }
        for run in runs { #expect(run.findings() == []) }
        #expect(runs[0].cluster.traceHash == runs[1].cluster.traceHash)
        #expect(runs[0].model.happened == runs[1].model.happened)
        #expect(runs[0].cluster.traceHash != runs[2].cluster.traceHash)
    }

    /// Each check finds what it is there for; most need one seed, some a few.
    @Test(arguments: WatchedCache.Defect.allCases) func aDefectIsFound(defect: WatchedCache.Defect) throws {
        let expected =
            switch defect {
            case .diverges: "digest"
            case .neverAsks: "is still wanted"
            case .neverAnswers: "has no page"
            case .ignoresBound: "are above the bound"
            case .losesBytes: "bytes are counted, and"
            case .answersTwice: "is answered twice in the log"
            case .asksTwice: "was asked twice at the same time"
            case .asksAgain: "was asked"
            case .answersOld: "shows the answer to request"
            case .countsTwice: "the statistics have"
            }
        var found: [String] = []
        for seed in UInt64(1)...40 where !found.contains(where: { $0.contains(expected) }) {
            found = SearchRun(seed: seed, isOnce: defect == .asksAgain, defect: defect).findings()
        }
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }
}

/// One simulated cluster with its backend, from the first search to the checks at the end.
final class SearchRun {
    let seed: UInt64
    let model: BackendModel
    let cluster: TestCluster<WatchedCache>
    /// Every query is asked often, and the backend answers.
    private let isOnce: Bool
    private let defect: WatchedCache.Defect?
    private var random: Seeded
    private var found: [String] = []

    private static let queries = ["a", "b", "cat", "dog", "swift", "zero mq", "log", "lock step"]

    static let faults: [ClusterFault: Double] = [
        .primaryCrash: 1, .replicaCrash: 0.6, .loss: 0.3, .cut: 0.4, .oneWayCut: 0.2, .reorder: 0.2, .duplication: 0.2,
        .lostWrites: 0.5, .crashWhileStarting: 0.3, .wipedReplica: 0.3, .journalLatency: 0.2, .diskFull: 0.2,
        .pause: 0.2,
    ]

    init(
        seed: UInt64, isOnce: Bool = false, faults: [ClusterFault: Double] = SearchRun.faults,
        defect: WatchedCache.Defect? = nil
    ) {
        self.seed = seed
        self.isOnce = isOnce
        self.defect = defect
        random = Seeded(seed &* 7_919)
        let clock = VirtualClock()
        let model = BackendModel(clock: clock, seed: seed, fails: !isOnce)
        self.model = model
        if defect == .answersOld { model.answerOld() }
        if defect == .neverAnswers { model.goOffline() }
        var lives = 0
        cluster = TestCluster(
            {
                lives += 1
                return Self.reactor(ModelBackend(model: model, life: lives), isOnce: isOnce, defect)
            }(), clock: clock, replicas: 2, clients: 2, seed: seed, faults: faults)
    }

    private static func reactor(
        _ backend: ModelBackend, isOnce: Bool, _ defect: WatchedCache.Defect?
    ) -> WatchedCache {
        var settings = SearchCache.Settings()
        settings.retry = RetryPolicy(
            attempts: 3, backoff: .exponential(first: .milliseconds(500), factor: 2, limit: .seconds(4)), jitter: 0)
        settings.failureKept = .seconds(1)
        settings.concurrentRequests = 3
        settings.requestTimeout = .seconds(5)
        settings.fresh = isOnce ? .seconds(86_400) : .seconds(2)
        settings.timeToLive = isOnce ? .seconds(86_400) : .seconds(6)
        do {
            let cache = try SearchCache(backend, settings: settings)
            return WatchedCache(child: cache, backend: backend, bound: isOnce ? 64 << 20 : 8_000, defect: defect)
        } catch {
            preconditionFailure("the settings are right: \(error)")
        }
    }

    /// What the run came to, to be sure that it did something.
    var ends: [String: UInt64] {
        guard let state = try? cluster.state(of: .primary) else { return [:] }
        let statistics = state.cache.statistics
        return [
            "hits": statistics.hits, "joined": statistics.joined, "evictions": statistics.evictions,
            "expirations": statistics.expirations, "thrown out": state.ledger.thrownOut,
            "restarts": ((try? cluster.position(of: .primary).epoch.rawValue) ?? 1) - 1,
        ]
    }

    // MARK: - The run

    /// Runs everything; what is wrong, or nothing.
    func findings() -> [String] {
        do throws(TestClusterError) {
            for _ in 0..<(isOnce ? 20 : 28) { try step() }
            if defect != .neverAnswers { model.heal() }
            try cluster.settle(within: .seconds(120))
            try comeToRest()
            try ask()
            try cluster.settle(within: .seconds(60))
            try compare()
        } catch {
            found.append("\(error)")
        }
        return found + model.problems
    }

    private func step() throws(TestClusterError) {
        for _ in 0...random.below(2) { _ = cluster.begin(action(), from: sender()) }
        try cluster.run(for: .milliseconds(Int(20 + random.below(500))))
        model.release()
        look()
    }

    private func sender() -> ClusterProcess {
        switch random.below(8) {
        case 0: .primary
        case 1: .replica(1)
        case 2: .replica(2)
        case 3...5: .client(1)
        default: .client(2)
        }
    }

    private func action() -> SearchCache.Action {
        let query = Self.queries[Int(random.below(UInt64(Self.queries.count)))]
        if isOnce { return .search(query, page: 1) }
        switch random.below(100) {
        case 0..<50: return .search(random.below(2) == 0 ? " \(query.uppercased()) " : query, page: 1)
        case 50..<60: return .search(query, page: Int(1 + random.below(4)))
        case 60..<74: return .loadNextPage(query)
        case 74..<86: return .refresh(query)
        case 86..<90: return .evict(query)
        case 90: return .clear
        default:
            return .report(SearchCache.ReadReport(queries: [query], hits: random.below(9), joined: random.below(3)))
        }
    }

    // MARK: - Checks

    /// What every node that runs must have at any time.
    private func look() {
        for state in cluster.states where defect != .ignoresBound && defect != .losesBytes {
            if state.cache.bytes > state.bound || state.cache.bytes != state.cache.recountedBytes {
                found.append("a node has \(state.cache.bytes) bytes, \(state.cache.recountedBytes) of \(state.bound)")
            }
        }
    }

    /// All that is wanted is answered, or given up.
    private func comeToRest() throws(TestClusterError) {
        do throws(TestClusterError) {
            try cluster.run(
                until: { (try? self.cluster.state(of: .primary).cache.wanted.isEmpty) ?? false }, within: .seconds(120))
        } catch .notAnswered {
            let wanted = try cluster.state(of: .primary).cache.wanted.sorted()
            found.append(contentsOf: wanted.map { "\($0.key) is still wanted: \($0.value)" })
        }
    }

    /// Whoever asks now gets a page.
    private func ask() throws(TestClusterError) {
        for query in Self.queries {
            for _ in 0..<20 {
                if try isThere(query) || defect == .neverAnswers { break }
                _ = try cluster.send(.search(query, page: 1), from: sender())
                try cluster.run(for: .seconds(1))
            }
            if try !isThere(query) { found.append("\(query) has no page") }
        }
    }

    private func isThere(_ query: String) throws(TestClusterError) -> Bool {
        try cluster.state(of: .primary).cache.look(query, page: 1).isFresh
    }

    /// All nodes, the statistics, and what the backend was asked.
    private func compare() throws(TestClusterError) {
        var digests: Set<Digest> = []
        for node in cluster.nodes { digests.insert(try cluster.digest(of: node)) }
        if digests.count != 1 { found.append("the nodes have \(digests.count) states") }
        let state = try cluster.state(of: .primary)
        found += state.ledger.problems
        found += state.ledger.differences(from: state.cache.statistics, asked: model.requests)
        if !state.cache.wanted.isEmpty || model.running > 0 {
            found.append("\(state.cache.wanted.count) queries are wanted, and \(model.running) requests run")
        }
        guard isOnce else { return }
        let lives = Int(try cluster.position(of: .primary).epoch.rawValue)
        for (query, count) in model.counts.sorted(by: { $0.key < $1.key }) where count > lives {
            found.append("\(query) was asked \(count) times in \(lives) lives")
        }
    }
}
