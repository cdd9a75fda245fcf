import LockstepCore
import LockstepHarness
import LockstepNode
import ServiceLifecycleTestKit
import Testing

/// Data nodes with two stores, which share a connection, and an end (PROTOCOL, R-86 and R-90).
@Suite(.serialized, .timeLimit(.minutes(3))) struct TwoStoresTests {
    /// the node that the record of one store names does not have it, so its FETCH is never answered.
    ///
    /// The other store keeps its connection, its set and its post.
    @Test func aStoreThatIsNeverAnsweredDisturbsNoOther() async throws {
        try await undisturbed {
            var cluster = try await DataNodes(2, minimum: 1)
            await cluster.addOther(at: [1])
            try await cluster.running([0, 1]) { [cluster] lives in
                let primary = try await cluster.primary(with: 2)
                try Disturbed.unless(primary == 0, "the other node reigns")
                let epoch = try await cluster.record.epoch
                // Each FETCH is counted here as one of no store; after each third one the connection is wanted anew.
                try await until {
                    _ = try await lives[0].port.add([1])
                    let record = try await cluster.record
                    guard record.epoch == epoch, record.inSync.count == 2 else { return true }
                    return try await lives[0].node.status().stores[0].counters["frames_refused"] ?? 0 >= 20
                }
                let record = try await cluster.record
                try Disturbed.unless(
                    record.epoch == epoch && record.inSync.count == 2, "after \(epoch) there is \(record)")
            }
        }
    }

    /// a node that stops takes no post, also not of a store that has stopped already while another one waits
    /// for its disk: the post would end with the node.
    ///
    /// Its primary goes on.
    @Test func aNodeThatStopsTakesNoPost() async throws {
        try await undisturbed {
            var cluster = try await DataNodes(3, minimum: 1)
            await cluster.addOther(at: [0, 1])
            try await cluster.running([0, 2]) { [cluster] lives in
                try await testGracefulShutdown { trigger in
                    try await cluster.running([1]) { leaving in
                        let primary = try await cluster.primary(with: 3)
                        try Disturbed.unless(primary == 0, "another node reigns")
                        try await until { try await cluster.record(of: DataNodes.other).inSync.count == 2 }
                        let other = try #require(lives[0].other)
                        try await cluster.whileStuck(1, isOther: true) {
                            // It commits when the node that stops has left the set of this store.
                            async let asked = other.add([1])
                            try await until { try await !leaving[0].node.post(of: DataNodes.other).isWritten }
                            trigger.triggerGracefulShutdown()
                            try await until { cluster.lines.short.contains("info stopping") }
                            let handover = try await cluster.handOver(lives[0], to: 1)
                            #expect(try await asked == [1])
                            try Disturbed.unless(handover.problem != nil, "the post went away: \(handover)")
                        }
                    }
                }
                let primary = try await cluster.record.primary.member.node
                try Disturbed.unless(primary == cluster.names[0], "\(primary) reigns")
                #expect(try await lives[0].port.add([1]) == [1])
            }
        }
    }
}
