import LockstepCore
import LockstepSimulator
import Testing

/// Two data nodes, of which one is gone for good (PROTOCOL, R-79).
@Suite(.timeLimit(.minutes(30))) struct ClusterAloneTests {
    /// Both are in sync, and clients are at work.
    private static func cluster(seed: UInt64, minimum: Int) -> ClusterSimulation {
        var options = ClusterOptions(seed: seed)
        (options.nodes, options.minimum) = (2, minimum)
        let cluster = ClusterSimulation(options)
        #expect(cluster.run { $0.stored.record.inSync.count == 2 && $0.answered > 20 && $0.reigning != nil })
        return cluster
    }

    /// With a minimum of 1 the primary goes on alone, and takes the other one in again when that is back.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func thePrimaryGoesOnAlone(seed: UInt64) throws {
        let cluster = Self.cluster(seed: seed, minimum: 1)
        let (began, primary) = (cluster.now, try #require(cluster.reigning))
        cluster.kill(1 - primary)
        let epoch = cluster.stored.record.epoch
        #expect(cluster.run { $0.stored.record.inSync.count == 1 })
        #expect(cluster.now - began > 5_000_000_000 && cluster.now - began < 9_000_000_000)
        let answered = cluster.answered
        #expect(cluster.run { $0.answered > answered + 30 })
        #expect(cluster.reigning == primary && cluster.stored.record.epoch == epoch)
        cluster.restart(1 - primary)
        #expect(cluster.run { $0.stored.record.inSync.count == 2 })
    }

    /// The standby takes the post of a primary that is gone, and goes on alone.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func theStandbyGoesOnAlone(seed: UInt64) throws {
        let cluster = Self.cluster(seed: seed, minimum: 1)
        let primary = try #require(cluster.reigning)
        cluster.kill(primary)
        let answered = cluster.answered
        #expect(cluster.run { $0.reigning == 1 - primary && $0.answered > answered + 30 })
        #expect(cluster.stored.record.inSync.count == 1)
    }

    /// With a minimum of 2 nothing is acknowledged until the other one is back.
    @Test func aMinimumOfTwoWaits() throws {
        let cluster = Self.cluster(seed: 1, minimum: 2)
        let primary = try #require(cluster.reigning)
        cluster.kill(1 - primary)
        #expect(cluster.run(milliseconds: 1_000))
        let answered = cluster.answered
        #expect(cluster.run(milliseconds: 12_000))
        #expect(cluster.answered == answered && cluster.stored.record.inSync.count == 2)
    }
}
