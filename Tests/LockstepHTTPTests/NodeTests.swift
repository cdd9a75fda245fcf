import Counters
import Foundation
import Lockstep
import LockstepHTTP
import LockstepNode
import Metrics
import Synchronization
import Testing

/// A node with its HTTP address: metrics and health.
@Suite(.serialized, .timeLimit(.minutes(5))) struct NodeTests {
    /// Runs a node without a network, and its address; `body` gets the address.
    ///
    /// Metrics are the process's, so the store has a name that no other test gives to one.
    private func serve(
        _ body: @escaping @Sendable (String, Store<Counters>) async throws -> Void
    ) async throws {
        NodeHTTP.bootstrapMetrics()
        let node = try Node(.local())
        let counters = try node.store(Counters(), named: "http")
        let services = try NodeHTTP.services(for: node, address: "127.0.0.1:0", logger: .silent)
        let server = try #require(services.compactMap { $0 as? NodeHTTPServer }.first)
        try await withRunning([node] + services) {
            try await body("http://\(try #require(await server.listening))", counters)
        }
    }

    private func get(_ path: String, at address: String) async throws -> String {
        try await Client.run("curl", ["-sS", "-m", "10", "-w", "%{http_code}", "\(address)\(path)"]).output
    }

    private func value(_ series: String, in text: String) throws -> Double {
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(series) ") }, "no \(series)")
        return try #require(Double(line.dropFirst(series.count + 1)))
    }

    /// Each number of the page is that of what was done.
    @Test func metricsCountWhatANodeDoes() async throws {
        try await serve { address, counters in
            for number in 0..<130 { try await counters.add("a", by: Int64(number)) }
            for _ in 0..<3 {
                await #expect(throws: LockstepError.self) { try await counters.add("", by: 1) }
            }
            let store = "{store=\"http\"}"
            // What is a state is set once a second, so it may come after what is counted.
            var text = ""
            repeat {
                text = try await get("/metrics", at: address)
            } while (try? value("lockstep_actions_rejected_total\(store)", in: text)) != 3
                || (try? value("lockstep_sessions_used\(store)", in: text)) != 1
            #expect(try value("lockstep_send_duration_seconds_count\(store)", in: text) >= 3)
            #expect(try value("lockstep_commit_duration_seconds_count\(store)", in: text) >= 130)
            #expect(try value("lockstep_sync_duration_seconds_count\(store)", in: text) >= 130)
            #expect(try value("lockstep_entries_committed_total\(store)", in: text) >= 133)
            #expect(try value("lockstep_serving\(store)", in: text) == 1)
            #expect(try value("lockstep_sessions_bound\(store)", in: text) == 16_384)
            #expect(try value("process_resident_memory_bytes", in: text) > 1_048_576)
            #expect(try value("process_cpu_seconds_total", in: text) > 0)
            let age = Date().timeIntervalSince1970 - (try value("process_start_time_seconds", in: text))
            #expect(age > -2 && age < 3_600)
            #expect(text.contains("lockstep_build_info{node="))
        }
    }

    /// Every metric that a node makes is described, so that no page can miss it.
    @Test func everyMetricIsDescribed() async throws {
        try await serve { address, _ in
            let text = try await get("/metrics", at: address)
            let names = text.matches(of: /# TYPE (lockstep_[a-z_]+) ([a-z]+)/)
            #expect(names.count > 50)
            for match in names where String(match.1) != PrometheusRegistry.refusedName {
                let metric = try #require(NodeMetric.named(String(match.1)), "\(match.1) is not in NodeMetric.all")
                #expect(metric.kind.rawValue == match.2)
            }
        }
    }

    /// A primary may hear of thousands of replicas; 64 of them are shown, and none that is no more.
    @Test func theReplicasFurthestBehindHaveAGauge() async throws {
        try await serve { address, _ in
            let metrics = NodeMetrics(store: "lags")
            metrics.observe(lags: (0..<100).map { ("replica-\($0)", UInt64(1_000 - $0)) })
            var text = try await get("/metrics", at: address)
            let series = "lockstep_replica_lag_entries{replica="
            // Other tests of this process have replicas of other stores.
            func lines() -> [Substring] {
                text.split(separator: "\n").filter { $0.hasPrefix(series) && $0.contains("store=\"lags\"") }
            }
            #expect(lines().count == 64)
            #expect(try value("\(series)\"replica-63\",store=\"lags\"}", in: text) == 937)
            metrics.observe(lags: [("replica-99", 5)])
            text = try await get("/metrics", at: address)
            #expect(lines() == ["\(series)\"replica-99\",store=\"lags\"} 5"])
        }
    }

    @Test(.enabled(if: Client.exists("promtool"))) func promtoolHasNothingToSay() async throws {
        try await serve { address, counters in
            try await counters.add("a")
            let text = try await Client.run("curl", ["-sS", "\(address)/metrics"]).output
            let outcome = try await Client.run("promtool", ["check", "metrics"], input: text)
            #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)")
            let wrong = try await Client.run("promtool", ["check", "metrics"], input: text + "\na_total{ 1\n")
            #expect(wrong.status != 0, "the check finds a wrong line")
        }
    }

    @Test func aNodeThatServesIsLiveAndReady() async throws {
        try await serve { address, _ in
            while try await get("/health/ready", at: address) != "ready\n200" {}
            #expect(try await get("/health/live", at: address) == "the node answers\n200")
            let index = try await get("/", at: address)
            #expect(index.contains("/health/live\n/health/ready\n/metrics\n200"))
        }
    }

    /// What is asked of a thread that hangs is answered, and says so.
    @Test func aNodeThatDoesNotAnswerIsNotLive() async throws {
        let isHanging = Mutex(false)
        let released = AsyncStream<Void>.makeStream()
        let probe = NodeProbe(patience: .seconds(10)) {
            if isHanging.withLock({ $0 }) { for await _ in released.stream {} }
            return NodeAnswer(isRunning: true)
        }
        let server = try NodeHTTPServer(
            address: "127.0.0.1:0", routes: NodeHTTP.healthRoutes(of: probe), logger: .silent)
        try await withRunning([probe, server]) {
            let address = "http://\(try #require(await server.listening))"
            while try await get("/health/ready", at: address) != "ready\n200" {}
            isHanging.withLock { $0 = true }
            #expect(try await get("/health/live", at: address).hasSuffix("200"), "it is asked for less than 10 s")
            while try await get("/health/live", at: address).hasSuffix("200") {}
            #expect(try await get("/health/live", at: address).hasPrefix("the node's thread has not answered for"))
            #expect(try await get("/health/ready", at: address).hasSuffix("503"))
            isHanging.withLock { $0 = false }
            released.continuation.finish()
            while try await !get("/health/live", at: address).hasSuffix("200") {}
            #expect(try await get("/health/ready", at: address) == "ready\n200")
        }
    }

    /// A node reads its journals before it answers anybody, for as long as that takes: it is live, and not ready.
    ///
    /// What it says before it begins counts for nothing.
    @Test func aNodeThatStartsIsLive() async throws {
        let (begun, released) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let questions = Mutex(0)
        // It has no patience: whoever has run and is asked is silent at once.
        let probe = NodeProbe(patience: .zero) {
            let question = questions.withLock { questions in
                questions += 1
                return questions
            }
            if question == 1 { return NodeAnswer(isRunning: false, unreadiness: "the node does not run") }
            begun.continuation.yield()
            for await _ in released.stream {}
            return NodeAnswer(isRunning: true)
        }
        let server = try NodeHTTPServer(
            address: "127.0.0.1:0", routes: NodeHTTP.healthRoutes(of: probe), logger: .silent)
        try await withRunning([probe, server]) {
            let address = "http://\(try #require(await server.listening))"
            for await _ in begun.stream { break }
            #expect(try await get("/health/live", at: address) == "the node is starting\n200")
            #expect(try await get("/health/ready", at: address) == "the node is starting\n503")
            released.continuation.finish()
            while try await get("/health/ready", at: address) != "ready\n200" {}
        }
    }

    @Test func aNodeThatIsNotReadySaysWhy() async throws {
        let probe = NodeProbe { NodeAnswer(isRunning: true, unreadiness: "counters is opening") }
        let server = try NodeHTTPServer(
            address: "127.0.0.1:0", routes: NodeHTTP.healthRoutes(of: probe), logger: .silent)
        try await withRunning([probe, server]) {
            let address = "http://\(try #require(await server.listening))"
            while try await get("/health/ready", at: address) != "counters is opening\n503" {}
            #expect(try await get("/health/live", at: address).hasSuffix("200"))
        }
    }
}
