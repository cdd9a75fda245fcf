import LockstepCore
import LockstepSimulator
import Testing

/// A primary that gives its post away on an operator's order, with the shipped machines (PROTOCOL, R-90).
@Suite(.timeLimit(.minutes(30))) struct ClusterHandoverTests {
    /// Three nodes in sync and clients at work; nothing fails.
    private static func cluster(seed: UInt64 = 3) -> ClusterSimulation {
        let cluster = ClusterSimulation(ClusterOptions(seed: seed))
        #expect(cluster.run { $0.stored.record.inSync.count == 3 && $0.answered > 20 && $0.reigning != nil })
        return cluster
    }

    private static func other(than primary: Int) -> Int { (primary + 1) % 3 }

    /// The target has the post after a few round trips, the old primary stays a member, and the clients go on.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func aPostIsGivenAway(seed: UInt64) throws {
        let cluster = Self.cluster(seed: seed)
        let (began, primary, epoch) = (cluster.now, try #require(cluster.reigning), cluster.stored.record.epoch)
        let target = Self.other(than: primary)
        #expect(cluster.handOver(primary, to: cluster.name(of: target)) == nil)
        let answered = cluster.answered
        #expect(cluster.run { $0.reigning == target })
        #expect(cluster.now - began < 500_000_000, "the first who is asked takes it")
        #expect(cluster.run { $0.answered > answered + 15 })
        let record = cluster.stored.record
        #expect(record.inSync.count == 3 && record.epoch == Epoch(rawValue: epoch.rawValue + 1))
        #expect(cluster.counts.handovers == 1 && cluster.counts.keptPosts == 0 && cluster.counts.truncations == 0)
    }

    /// Nobody takes it in time: the primary admits nothing meanwhile, and then goes on in the same epoch.
    @Test func aPostThatNobodyTakesIsKept() throws {
        let cluster = Self.cluster()
        let (primary, epoch) = (try #require(cluster.reigning), cluster.stored.record.epoch)
        let target = Self.other(than: primary)
        #expect(cluster.run { $0.hasCommittedAll(primary) })
        #expect(cluster.handOver(primary, to: cluster.name(of: target)) == nil)
        // It answers nothing from here on; what it was sent waits.
        cluster.pause(target, milliseconds: 550)
        let end = cluster.end(of: primary)
        #expect(cluster.run(milliseconds: 400))
        #expect(cluster.end(of: primary) == end, "nothing is admitted")
        #expect(cluster.run { $0.counts.keptPosts == 1 })
        let answered = cluster.answered
        #expect(cluster.run { $0.answered > answered + 15 && $0.stored.record.inSync.count == 3 })
        #expect(cluster.stored.record.epoch >= epoch)
    }

    /// What cannot be done is refused at once, and nothing has changed.
    @Test func whatCannotBeDoneIsRefused() throws {
        let cluster = Self.cluster()
        let primary = try #require(cluster.reigning)
        let (own, other) = (cluster.name(of: primary), cluster.name(of: Self.other(than: primary)))
        #expect(cluster.handOver(primary, to: own) == .noSuchMember)
        #expect(cluster.handOver(primary, to: NodeID("stranger")) == .noSuchMember)
        #expect(cluster.handOver(primary, to: other) == nil)
        #expect(cluster.handOver(primary, to: other) == .isUnderWay)
        #expect(cluster.counts.handovers == 1)
        var options = ClusterOptions(seed: 1)
        (options.nodes, options.minimum) = (1, 1)
        let alone = ClusterSimulation(options)
        #expect(alone.run { $0.answered > 3 })
        #expect(alone.handOver(0, to: nil) == .noSuchMember)
    }
}
