import LockstepCore
import Testing

/// A primary that gives its post away on an operator's order, with the shipped machines (PROTOCOL, R-90).
@Suite struct HandoverTests {
    /// Three nodes in sync, with the first as the primary and a client at work; nothing fails.
    private static func cluster(seed: UInt64 = 3) throws -> DataCluster {
        var cluster = DataCluster(nodes: 3, minimum: 2, seed: seed)
        cluster.isHealed = true
        try cluster.run(until: { $0.stored.record.inSync.count == 3 && $0.client.answered > 20 })
        return cluster
    }

    /// The target has the post after a few round trips, the old primary stays a member, and the client goes on.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func aPostIsGivenAway(seed: UInt64) throws {
        var cluster = try Self.cluster(seed: seed)
        let before = cluster.now
        let (primary, epoch) = (try #require(cluster.primary), cluster.stored.record.epoch)
        let target = try #require(cluster.nodes.indices.first { $0 != primary })
        cluster.handOver(primary, to: cluster.nodes[target].name)
        #expect(cluster.counts.handovers == 1)
        let answered = cluster.client.answered
        try cluster.run(until: { $0.primary == target })
        #expect(cluster.now - before < Tick.milliseconds(500), "the first who is asked takes it")
        try cluster.run(until: { $0.client.answered > answered + 5 })
        let record = cluster.stored.record
        #expect(record.inSync.count == 3 && record.epoch == Epoch(rawValue: epoch.rawValue + 1))
        #expect(cluster.counts.kept == 0 && cluster.counts.truncations == 0)
    }

    /// Nobody takes it in time: the primary admits nothing meanwhile, and then goes on in the same epoch.
    @Test func aPostThatNobodyTakesIsKept() throws {
        var cluster = try Self.cluster()
        let primary = try #require(cluster.primary)
        let (target, epoch) = (try #require(cluster.nodes.indices.first { $0 != primary }), cluster.stored.record.epoch)
        try cluster.run(until: { $0.nodes[primary].primary?.committedLog != nil })
        cluster.handOver(primary, to: cluster.nodes[target].name)
        // It answers nothing from here on; what it was sent waits.
        cluster.nodes[target].pausedUntil = cluster.now.advanced(byMilliseconds: 550)
        let (began, end) = (cluster.now, cluster.nodes[primary].primary?.log.position)
        try cluster.run(until: { $0.now - began >= Tick.milliseconds(400) })
        #expect(cluster.nodes[primary].primary?.log.position == end, "nothing is admitted")
        try cluster.run(until: { $0.counts.kept == 1 })
        let answered = cluster.client.answered
        try cluster.run(until: { $0.client.answered > answered + 5 && $0.stored.record.inSync.count == 3 })
        #expect(cluster.stored.record.epoch >= epoch)
    }

    /// What cannot be done is refused at once, and nothing has changed.
    @Test func whatCannotBeDoneIsRefused() throws {
        var cluster = try Self.cluster()
        let index = try #require(cluster.primary)
        let (own, other) = (cluster.nodes[index].name, cluster.nodes[(index + 1) % 3].name)
        cluster.withPrimary(index) { primary, _ in
            #expect(primary.giveAwayPost(to: own) == .noSuchMember)
            #expect(primary.giveAwayPost(to: NodeID("stranger")) == .noSuchMember)
            #expect(primary.giveAwayPost(to: other) == nil)
            #expect(primary.giveAwayPost(to: other) == .isUnderWay)
        }
        for link in cluster.links where link.to == index { cluster.close(link) }
        cluster.orphans = []
        var alone = DataCluster(nodes: 1, minimum: 1, seed: 1)
        alone.isHealed = true
        try alone.run(until: { $0.client.answered > 3 })
        alone.withPrimary(0) { primary, _ in #expect(primary.giveAwayPost(to: nil) == .noSuchMember) }
    }
}

extension DataCluster {
    /// Lets time pass until `condition` holds; 20 s are enough for everything.
    mutating func run(until condition: (DataCluster) -> Bool) throws {
        let end = now.advanced(byMilliseconds: 20_000)
        while !condition(self) {
            now = now.advanced(byMilliseconds: 1)
            try step()
            guard now < end else { throw ClusterViolation(text: "it does not come: \(summary)") }
        }
    }

    /// Whom the record names, if it reigns and admits.
    var primary: Int? {
        nodes.indices.first { index in
            nodes[index].member == stored.record.primary.member && nodes[index].primary?.phase == .admitting
        }
    }
}
