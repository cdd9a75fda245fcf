import LockstepCore
import LockstepSimulator
import Testing

/// A data node that does not reach the arbiter any more, with the shipped machines (PROTOCOL, R-76, R-82).
@Suite(.timeLimit(.minutes(30))) struct ClusterCutOffTests {
    /// The primary is gone for good, and of the two that are left one does not reach the arbiter: it follows the other one
    /// on its word, since nothing can be acknowledged without it.
    @Test(arguments: [1, 2], 1...20 as ClosedRange<UInt64>) func aStandbyFollowsWhoHasWon(step: Int, seed: UInt64)
        throws
    {
        var options = ClusterOptions(seed: seed)
        (options.nodes, options.minimum) = (3, 2)
        let cluster = ClusterSimulation(options)
        #expect(cluster.run { $0.stored.record.inSync.count == 3 && $0.answered > 20 && $0.reigning != nil })
        let primary = try #require(cluster.reigning)
        let lonely = (primary + step) % 3
        cluster.cut(from: lonely, to: cluster.arbiterIndex)
        #expect(cluster.run(milliseconds: 2_000))
        let began = cluster.now
        cluster.kill(primary)
        let answered = cluster.answered
        #expect(cluster.run { $0.answered > answered + 30 }, "nobody follows")
        #expect(cluster.reigning == 3 - primary - lonely && cluster.now - began < 10_000_000_000)
    }
}
