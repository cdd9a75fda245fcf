import LockstepCore
import Testing

/// Clusters of data nodes with the shipped machines, in random schedules (PROTOCOL, R-75 to R-87).
@Suite struct DataClusterTests {
    @Test(.timeLimit(.minutes(5)), arguments: [(2, 1), (3, 2), (3, 1), (4, 2)])
    func nothingAcknowledgedIsLost(nodes: Int, minimum: Int) throws {
        var elections = 0
        for seed in 1...25 as ClosedRange<UInt64> {
            var cluster = DataCluster(nodes: nodes, minimum: minimum, seed: seed)
            do {
                try cluster.run(steps: 8_000)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            elections += cluster.counts.elections
        }
        #expect(elections > 100, "primaries were lost")
    }
}
