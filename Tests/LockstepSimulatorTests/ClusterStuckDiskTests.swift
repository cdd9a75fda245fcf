import LockstepCore
import LockstepSimulator
import Testing

/// A primary whose disk writes nothing any more, with the shipped machines (PROTOCOL, R-79, R-87).
@Suite(.timeLimit(.minutes(30))) struct ClusterStuckDiskTests {
    /// All nodes are in sync, and clients are at work.
    private static func cluster(seed: UInt64, nodes: Int) -> ClusterSimulation {
        var options = ClusterOptions(seed: seed)
        (options.nodes, options.minimum) = (nodes, 1)
        let cluster = ClusterSimulation(options)
        #expect(cluster.run { $0.stored.record.inSync.count == nodes && $0.answered > 20 && $0.reigning != nil })
        return cluster
    }

    /// It loses its post to a standby, which it has made silent itself and must not take out of the set meanwhile: then
    /// nobody could take over before the disk writes again.
    @Test(arguments: [2, 3], 1...40 as ClosedRange<UInt64>) func itLosesItsPost(nodes: Int, seed: UInt64) throws {
        let cluster = Self.cluster(seed: seed, nodes: nodes)
        let (began, primary) = (cluster.now, try #require(cluster.reigning))
        cluster.stick(primary, for: 60_000_000_000)
        let answered = cluster.answered
        #expect(cluster.run { $0.reigning.map { $0 != primary } == true }, "nobody took over")
        #expect(cluster.now - began < 6_000_000_000)
        #expect(cluster.run { $0.answered > answered + 30 })
    }
}
