import LockstepCore
import LockstepNode
import Testing

/// What a data node's journal is given before something follows from it (PROTOCOL, R-83, R-84).
@Suite(.serialized, .timeLimit(.minutes(3))) struct JournalOrderTests {
    /// Gives the post of the first node to the other one, and returns what that one's disk was asked for before its
    /// promise, and from there on.
    private static func handOver(
        _ cluster: DataNodes, _ lives: [DataNodes.Life]
    ) async throws -> (before: ArraySlice<Disk.Asked>, after: ArraySlice<Disk.Asked>) {
        try await cluster.giveAway(lives[0], to: 1)
        try await until { try await lives[1].port.status().phase == .admitting }
        let asked = cluster.disks[1].asked
        let promise = try #require(asked.lastIndex { $0.write == .promise })
        return (asked[..<promise], asked[promise...])
    }

    /// PROTOCOL R-84: the record that leads to a promise is written before it, and that which was won before the batch
    /// that opens the epoch.
    ///
    /// The standby has not seen that it is a member: it reads the record when it is given the post.
    @Test func whatTheArbiterHasShownIsWrittenFirst() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
            let (before, after) = try await Self.handOver(cluster, lives)
            let compared = try #require(before.last { $0.write == .memory })
            let won = try #require(after.first { $0.write == .memory })
            #expect(won.number == compared.number + 1)
            let opening = try #require(after.firstIndex { $0.write == .batches })
            #expect(after[..<opening].contains(won))
        }
    }

    /// PROTOCOL: what a standby knows to be committed is written with the batch that opens its epoch, also
    /// where its state has not come so far: it stays known if the reign ends before that batch commits.
    @Test func whoWinsKeepsWhatItKnowsToBeCommitted() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            try await until { try await lives[1].port.status().phase == .live }
            // Its state hears nothing more; its log goes on.
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                lives[1].port.inbox.ask(
                    Errand(run: { host in
                        host.links.close()
                        done.resume()
                    }))
            }
            #expect(try await lives[0].port.add([1]) == [1])
            let committed = try await lives[0].port.status().commit
            let (_, after) = try await Self.handOver(cluster, lives)
            let opening = try #require(after.first { $0.write == .batches })
            #expect(opening.number >= committed)
        }
    }

    /// PROTOCOL R-84: what a record allows is not acknowledged before the journal has that record: the set without a
    /// member that is gone would be forgotten with the process, and the member could reign again.
    @Test func whatARecordAllowsWaitsForTheJournal() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            try await cluster.running([2]) { _ in
                let first = try await cluster.primary(with: 3)
                #expect(first == 0)
                #expect(try await lives[0].port.add([1]) == [1])
                cluster.disks[0].lacksRoom(for: [.memory])
            }
            async let asked = lives[0].port.add([2])
            _ = try await cluster.primary(with: 2)
            try await until {
                let status = try await lives[0].port.status()
                return status.sequence > status.commit
            }
            // It is written again each second.
            try await until { cluster.disks[0].refusals(of: .memory) >= 3 }
            let status = try await lives[0].port.status()
            #expect(status.sequence > status.commit)
            cluster.disks[0].lacksRoom(for: [])
            #expect(try await asked == [3])
        }
    }
}
