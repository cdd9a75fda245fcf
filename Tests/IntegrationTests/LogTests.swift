import Foundation
import LockstepCore
import LockstepHarness
import Testing

extension IntegrationTests {
    /// The log of `lockstep serve` at its default level has each change of a life once a store.
    ///
    /// The nodes are as `lockstep init` makes them: a primary that is killed and comes back, a replica that loses and
    /// finds it, and clean stops.
    @Test func theLogHasTheLifeOfANode() async throws {
        try await undisturbed(tries: 2) { try await Self.judgeLife() }
    }

    private static func judgeLife() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            #expect(try Bench.lockstep("counter", "add", "a", "--node", cluster.endpoint(0)).status == 0)
            cluster.end(0, signal: SIGKILL)
            try await Bench.wait("the replica to lose its primary") {
                try Self.lines(of: cluster, 1).filter { $0.hasPrefix("info primary lost") }.count >= 2
            }
            try cluster.start(0)
            try await cluster.waitUntilReady()
            try await Bench.wait("the replica to be live again") {
                try Self.lines(of: cluster, 1).filter { $0.hasPrefix("info live") }.count >= 4
            }
            cluster.endAll(signal: SIGTERM)
            let life = try Self.lines(of: cluster, 0)
            // A replica that hears nothing for a second, since a core was busy, finds its primary once more.
            var isOnce = true
            for store in ["counters", "search"] {
                // It waits for its replica at the second start if it had noted it before it was killed.
                let waits = "info waits for its replicas \(store)"
                #expect(life.filter { $0 == waits }.count <= 1)
                let own = life.filter { $0.hasSuffix(store) && $0 != waits }
                let start = ["info recovered \(store)", "info admitting \(store)"]
                #expect(own == start + start + ["info stopped \(store)"], "\(life)")
                let its = try Self.lines(of: cluster, 1).filter { $0.hasSuffix(store) && $0.hasPrefix("info") }
                let link = ["info primary found \(store)", "info live \(store)"]
                let whole = ["info recovered \(store)"] + link + ["info primary lost \(store)"] + link
                isOnce = isOnce && its == whole + ["info stopped \(store)"]
            }
            #expect(life.filter { $0.hasPrefix("info listening") }.count == 2)
            #expect(life.filter { $0.hasPrefix("info stopping") }.count == 1)
            #expect(life.filter { $0.hasPrefix("warning") || $0.hasPrefix("error") } == [])
            try Disturbed.unless(isOnce, "the replica's log: \(try Self.lines(of: cluster, 1))")
        }
    }

    /// The lines of a node's log, each as `level message store`.
    private static func lines(of cluster: ProcessCluster, _ index: Int) throws -> [String] {
        let log = try String(contentsOfFile: "\(cluster.folder)/\(ProcessCluster.name(index)).log", encoding: .utf8)
        return log.split(separator: "\n").compactMap { line in
            guard let parts = line.firstMatch(of: /^\S+ ([a-z]+) lockstep ?:.* \[[A-Za-z]+\] (.*)$/) else { return nil }
            let store = line.firstMatch(of: /lockstep\.store=(\S+)/).map { " \($0.1)" } ?? ""
            return "\(parts.1) \(parts.2)\(store)"
        }
    }
}
