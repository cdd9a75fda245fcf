import LockstepCore
import Testing

/// An arbiter that was restored from an older copy, and the operator who binds the store to it again (PROTOCOL, R-81).
@Suite struct RebindTests {
    /// Nobody reigns by what a restored arbiter says; after the operator's record the cluster goes on with everything.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func aRestoredArbiterIsBoundAgain(seed: UInt64) throws {
        var cluster = DataCluster(nodes: 3, minimum: 2, seed: seed)
        cluster.isHealed = true
        try cluster.run(until: { $0.stored.record.inSync.count == 3 && $0.client.answered > 20 })
        let old = cluster.stored
        try changeReign(&cluster)
        let answered = cluster.client.answered
        // The copy; its revisions begin again.
        cluster.stored = StoredRecord(old.record, revision: 1)
        for index in cluster.nodes.indices { cluster.crash(index) }
        try cluster.run(for: 5_000)
        #expect(cluster.primary == nil && cluster.stored.record == old.record, "it is not believed")

        try rebind(&cluster)
        try cluster.run(until: { $0.client.answered > answered + 20 && $0.stored.record.inSync.count == 3 })
        #expect(cluster.stored.record.bindings == 1)
        // The same copy once more is as little believed as before.
        let bound = cluster.stored
        cluster.stored = StoredRecord(old.record, revision: bound.revision + 50)
        for index in cluster.nodes.indices { cluster.crash(index) }
        try cluster.run(for: 5_000)
        #expect(cluster.primary == nil)
    }

    /// The primary ends, and another one reigns: all nodes have seen a later record than the copy.
    private func changeReign(_ cluster: inout DataCluster) throws {
        let (primary, epoch) = (try #require(cluster.primary), cluster.stored.record.epoch)
        cluster.crash(primary)
        let answered = cluster.client.answered
        try cluster.run(until: { cluster in
            cluster.client.answered > answered + 20 && cluster.stored.record.inSync.count == 3
                && cluster.stored.record.epoch > epoch
                && cluster.nodes.allSatisfy { $0.disk.memory.epoch > epoch }
        })
    }

    /// The operator's record, made of the node whose log goes furthest.
    private func rebind(_ cluster: inout DataCluster) throws {
        func end(_ node: DataNode) -> Position { node.disk.batches.last?.position ?? .start(of: DataCluster.store) }
        let furthest = try #require(
            cluster.nodes.max { (end($0).epoch, end($0).sequence) < (end($1).epoch, end($1).sequence) })
        var place = furthest.place
        place.boot = BootID(rawValue: 0)
        let memories = cluster.nodes.map(\.disk.memory)
        let record = try #require(
            cluster.stored.record.rebinding(
                place, aboveNumber: memories.map(\.number).max() ?? 0, above: memories.map(\.epoch).max() ?? .zero,
                after: end(furthest), minimum: nil, attempt: AttemptID(rawValue: 99)))
        _ = RecordAttempt(replacing: cluster.stored, with: record)
        cluster.stored = StoredRecord(record, revision: cluster.stored.revision + 1)
    }
}

extension DataCluster {
    /// Lets so many milliseconds pass.
    mutating func run(for milliseconds: Int64) throws {
        let end = now.advanced(byMilliseconds: milliseconds)
        try run(until: { $0.now >= end })
    }
}
