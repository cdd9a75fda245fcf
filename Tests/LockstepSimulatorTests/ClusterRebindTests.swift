import LockstepCore
import LockstepSimulator
import Testing

/// An arbiter that was restored from an older copy, and the operator who binds the store to it again (PROTOCOL, R-81).
@Suite(.timeLimit(.minutes(30))) struct ClusterRebindTests {
    /// Nobody reigns by what a restored arbiter says; after the operator's record the cluster goes on with everything.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func aRestoredArbiterIsBoundAgain(seed: UInt64) throws {
        let cluster = ClusterSimulation(ClusterOptions(seed: seed))
        #expect(cluster.run { $0.stored.record.inSync.count == 3 && $0.answered > 20 && $0.reigning != nil })
        let old = cluster.stored
        try Self.changeReign(cluster)
        let answered = cluster.answered
        #expect(cluster.restoreArbiter(old))
        for index in 0..<3 { cluster.beginAnew(index) }
        #expect(cluster.run(milliseconds: 5_000))
        #expect(cluster.reigning == nil && cluster.stored == old, "it is not believed")

        cluster.bind()
        #expect(cluster.run { $0.answered > answered + 60 && $0.stored.record.inSync.count == 3 })
        #expect(cluster.stored.record.bindings == 1 && cluster.counts.bindings == 1)
        // The same copy once more is as little believed as before.
        #expect(cluster.restoreArbiter(old))
        for index in 0..<3 { cluster.beginAnew(index) }
        #expect(cluster.run(milliseconds: 5_000))
        #expect(cluster.reigning == nil)
    }

    /// The primary ends, and another one reigns: all nodes have seen a later record than the copy.
    private static func changeReign(_ cluster: ClusterSimulation) throws {
        let (primary, epoch, answered) = (try #require(cluster.reigning), cluster.stored.record.epoch, cluster.answered)
        cluster.beginAnew(primary)
        #expect(
            cluster.run {
                $0.answered > answered + 60 && $0.stored.record.inSync.count == 3 && $0.stored.record.epoch > epoch
                    && $0.haveAllSeenMore(than: epoch)
            })
    }
}
