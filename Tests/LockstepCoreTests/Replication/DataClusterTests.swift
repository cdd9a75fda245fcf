import LockstepCore
import Testing

/// Clusters of data nodes with the shipped machines, in random schedules (PROTOCOL, R-75 to ).
@Suite struct DataClusterTests {
    /// Nothing acknowledged is lost or counted twice, no linearizable read is stale, no two nodes commit different
    /// batches, and after the faults each cluster is at work again.
    @Test(.timeLimit(.minutes(5)), arguments: [(2, 1), (3, 2), (3, 1), (5, 3)])
    func nothingAcknowledgedIsLost(nodes: Int, minimum: Int) {
        var (elections, answered, reads, handovers) = (0, 0, 0, 0)
        for seed in 1...8 as ClosedRange<UInt64> {
            var cluster = DataCluster(nodes: nodes, minimum: minimum, seed: seed)
            do { try cluster.run(steps: 5_000) } catch { Issue.record("seed \(seed): \(error)") }
            elections += cluster.counts.elections
            answered += Int(cluster.client.answered)
            reads += cluster.reader.readCount
            handovers += cluster.counts.handovers - cluster.counts.kept
        }
        // Of them 20 in each schedule after the faults.
        #expect(
            elections > 8 && answered > 200 && reads > 50 && handovers > 3,
            "\(elections) \(answered) \(reads) \(handovers)")
    }

    /// What is broken around the machines is noticed.
    @Test(.timeLimit(.minutes(5)), arguments: ClusterDefect.allCases)
    func aDefectIsFound(defect: ClusterDefect) {
        for seed in 1...120 as ClosedRange<UInt64> {
            let (nodes, minimum) = [(2, 1), (3, 2), (3, 1), (4, 2), (5, 3)][Int(seed % 5)]
            var cluster = DataCluster(nodes: nodes, minimum: minimum, seed: seed, defect: defect)
            // Which promise is broken does not matter here.
            do { try cluster.run(steps: 8_000) } catch { return }
        }
        Issue.record("no schedule noticed \(defect)")
    }
}
