import Counters
import Lockstep
import LockstepTesting
import Testing

/// A cluster of a user's reactor does what a user says, and nothing else.
@Suite(.timeLimit(.minutes(5))) struct TestClusterTests {
    private func committed(_ cluster: TestCluster<Votes>, _ pending: PendingReply<Votes>) -> Int? {
        guard case .success(let reply)? = cluster.outcome(of: pending) else { return nil }
        return reply
    }

    /// An action is answered and reaches every node; a refusal has its reason (PROTOCOL R-16).
    @Test func anActionIsAnsweredAndReachesAllNodes() throws {
        let cluster = TestCluster(Votes(), replicas: 2, seed: 7)
        #expect(cluster.nodes.allSatisfy(cluster.isLive))
        #expect(try cluster.send(.vote("Ada")) == 1)
        #expect(try cluster.send(.vote("Ada"), from: .replica(1)) == 2)
        #expect(try cluster.send(.vote("Ada"), from: .primary) == 3)
        #expect(throws: TestClusterError.rejected("nobody was named")) { try cluster.send(.vote("")) }
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [3, 3, 3])
        #expect(try cluster.position(of: .replica(2)) == cluster.position(of: .primary))
        #expect(try cluster.digest(of: .replica(2)) == cluster.digest(of: .primary))
        #expect(cluster.failure == nil)
    }

    /// Every process may ask, as fresh as it likes.
    @Test(arguments: [ReadConsistency.local, .session, .linearizable])
    func aQueryIsAnswered(consistency: ReadConsistency) throws {
        let cluster = TestCluster(Votes())
        try cluster.send(.vote("Ada"))
        try cluster.settle()
        for reader in [ClusterProcess.primary, .replica(1), .replica(2), .client(1)] {
            let count = try cluster.ask(.count("Ada"), consistency, from: reader)
            #expect(count == 1 || consistency == .local)
        }
    }

    /// Time passes only where it is let pass, and as much as is said.
    @Test func virtualTimeIsTheCallersOwn() throws {
        let cluster = TestCluster(Votes())
        let start = cluster.now
        let pending = cluster.begin(.vote("Ada"))
        #expect(cluster.now == start)
        #expect(committed(cluster, pending) == nil)
        try cluster.run(for: .seconds(3))
        #expect(cluster.now == start + .seconds(3))
        #expect(committed(cluster, pending) == 1)
        try cluster.send(.vote("Ada"))
        #expect(cluster.now < start + .seconds(4))
    }

    /// The same seed is the same run; another seed is another (determinism of the cluster itself).
    @Test func theSameSeedIsTheSameRun() throws {
        func run(_ seed: UInt64) throws -> UInt64 {
            let cluster = TestCluster(
                Votes(), replicas: 3, clients: 2, seed: seed, faults: [.loss: 0.5, .primaryCrash: 1, .cut: 0.5])
            for number in 0..<40 {
                _ = cluster.begin(.vote("name\(number % 7)"), from: .client(1 + number % 2))
                try cluster.run(for: .milliseconds(500))
            }
            try cluster.settle()
            return cluster.traceHash
        }
        let first = try run(1)
        #expect(try run(1) == first)
        #expect(try run(2) != first)
    }

    /// A replica that is cut off stays where it was, and catches up.
    @Test func aCutReplicaCatchesUp() throws {
        let cluster = TestCluster(Votes(), replicas: 2)
        cluster.cut(.primary, from: .replica(2))
        try cluster.send(.vote("Ada"))
        try cluster.run(for: .seconds(20))
        #expect(try cluster.state(of: .replica(1)).votes["Ada"] == 1)
        #expect(try cluster.state(of: .replica(2)).votes["Ada"] == nil)
        #expect(throws: TestClusterError.self) {
            try cluster.send(.vote("Ada"), from: .replica(2), within: .seconds(5))
        }
        cluster.mend(.primary, with: .replica(2))
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
    }

    /// One way is enough to lose an answer, and the action takes effect once (PROTOCOL R-28).
    @Test func anAnswerThatIsHeldComesLater() throws {
        let cluster = TestCluster(Votes(), replicas: 1)
        try cluster.send(.vote("Ada"))
        cluster.cut(.primary, from: .client(1), isOneWay: true)
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .seconds(12))
        #expect(committed(cluster, pending) == nil)
        #expect(try cluster.state(of: .primary).votes["Ada"] == 2)
        cluster.heal()
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
        #expect(try cluster.state(of: .replica(1)).votes["Ada"] == 2)
    }

    @Test func anIsolatedPrimaryAnswersNobody() throws {
        let cluster = TestCluster(Votes(), replicas: 2, clients: 2)
        cluster.isolate(.primary)
        let error = #expect(throws: TestClusterError.self) {
            try cluster.send(.vote("Ada"), from: .client(2), within: .seconds(8))
        }
        guard case .notAnswered(let text)? = error else { Issue.record("\(error as Any)"); return }
        #expect(text.contains("client-2"))
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [1, 1, 1])
    }

    /// Killed in the middle of a send, at every moment of it: the action takes effect exactly once (PROTOCOL ).
    @Test(arguments: 0..<40) func aKillInTheMiddleOfASendIsExactlyOnce(step: Int) throws {
        let cluster = TestCluster(Votes(), replicas: 2, seed: UInt64(step))
        try cluster.send(.vote("Ada"))
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .microseconds(50 * step))
        cluster.kill(.primary)
        try cluster.run(for: .seconds(2))
        cluster.restart(.primary)
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
        let place = try #require(cluster.place(of: pending))
        #expect(try place <= cluster.position(of: .primary))
    }

    /// A client that is killed never learns what became of its action; the log does.
    @Test(arguments: [false, true]) func aKilledClientsOutcomeIsUnknown(hasDataNodes: Bool) throws {
        let cluster = hasDataNodes ? TestCluster(Votes(), dataNodes: 3) : TestCluster(Votes(), replicas: 1)
        try cluster.send(.vote("Ada"))
        cluster.cut(.primary, from: .client(1), isOneWay: true)
        let lost = cluster.begin(.vote("Ada"))
        try cluster.run(for: .milliseconds(100))
        cluster.kill(.client(1))
        #expect(throws: TestClusterError.notRunning(.client(1))) { try cluster.send(.vote("Ada")) }
        let error = #expect(throws: TestClusterError.self) { try cluster.reply(to: lost) }
        guard case .outcomeUnknown(let text)? = error else { Issue.record("\(error as Any)"); return }
        #expect(text.contains("the log has the action"))
        try cluster.settle()
        #expect(try cluster.send(.vote("Ada")) == 3)
    }

    /// What never left its sender is certainly without effect.
    @Test func anActionOfAClientThatNeverConnectedIsWithoutEffect() throws {
        let cluster = TestCluster(Votes(), replicas: 1)
        cluster.isolate(.client(1))
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .seconds(1))
        cluster.kill(.client(1))
        let error = #expect(throws: TestClusterError.self) { try cluster.reply(to: pending) }
        guard case .withoutEffect? = error else { Issue.record("\(error as Any)"); return }
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [nil, nil])
    }

    @Test func aKilledReplicaComesBackFromItsDiskOrFromNothing() throws {
        let cluster = TestCluster(Votes(), replicas: 2)
        for _ in 0..<20 { try cluster.send(.vote("Ada")) }
        cluster.kill(.replica(1))
        #expect(throws: TestClusterError.notRunning(.replica(1))) { try cluster.state(of: .replica(1)) }
        #expect(!cluster.isLive(.replica(1)))
        #expect(cluster.states.count == 2)
        cluster.replace(replica: 2)
        try cluster.send(.vote("Ada"))
        cluster.restart(.replica(1))
        try cluster.run(until: { cluster.nodes.allSatisfy(cluster.isLive) })
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [21, 21, 21])
    }

    @Test func aPausedPrimaryAnswersWhenItGoesOn() throws {
        let cluster = TestCluster(Votes())
        try cluster.send(.vote("Ada"))
        let start = cluster.now
        cluster.pause(.primary, for: .seconds(5))
        #expect(try cluster.send(.vote("Ada")) == 2)
        #expect(cluster.now >= start + .seconds(5))
        try cluster.settle()
    }

    @Test func aFullDiskHoldsAnswersBack() throws {
        let cluster = TestCluster(Votes())
        try cluster.send(.vote("Ada"))
        cluster.fillDisk(of: .primary, for: .seconds(4))
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .seconds(3))
        #expect(committed(cluster, pending) == nil)
        #expect(try cluster.state(of: .primary).votes["Ada"] == 1)
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
    }

    /// More frames are lost than come, and everything is exactly once all the same (PROTOCOL R-28).
    @Test(arguments: [0.2, 0.6]) func aLostShareOfFramesChangesNothing(share: Double) throws {
        let cluster = TestCluster(Votes(), replicas: 2)
        cluster.lose(share)
        for number in 1...10 { #expect(try cluster.send(.vote("Ada"), within: .seconds(600)) == number) }
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [10, 10, 10])
    }

    /// Each random fault by itself, and all together.
    @Test(
        arguments: ClusterFault.allCases.map { [$0: 1.0] } + [
            Dictionary(uniqueKeysWithValues: ClusterFault.allCases.map { ($0, 0.3) })
        ])
    func randomFaultsBreakNoPromise(faults: [ClusterFault: Double]) throws {
        let cluster = TestCluster(Votes(), replicas: 2, clients: 3, seed: 11, faults: faults)
        var pending: [PendingReply<Votes>] = []
        for number in 0..<60 {
            pending.append(cluster.begin(.vote("Ada"), from: .client(1 + number % 3)))
            try cluster.run(for: .seconds(1))
        }
        try cluster.settle()
        let known = pending.compactMap { committed(cluster, $0) }
        #expect(Set(known).count == known.count)
        let count = try cluster.state(of: .primary).votes["Ada"] ?? 0
        #expect(count >= known.count)
        #expect(count <= pending.count)
        if faults[.clientCrash] == nil { #expect(known.count == pending.count) }
    }

    /// The faults of a cluster can be switched on and off as it goes.
    @Test func faultsCanBeginAndEnd() throws {
        let cluster = TestCluster(Votes())
        cluster.inject([.primaryCrash: 1])
        try cluster.run(for: .seconds(60))
        try cluster.settle()
        let epoch = try cluster.position(of: .primary).epoch
        #expect(epoch > Epoch(rawValue: 1))
        try cluster.run(for: .seconds(60))
        #expect(try cluster.position(of: .primary).epoch == epoch)
    }

    /// A reactor with its own codings, with bounds and with buckets whose time is the log's.
    @Test func countersRunToo() throws {
        let cluster = TestCluster(Counters(), replicas: 2)
        #expect(try cluster.send(.add("visits", by: 5)) == .value(5))
        let rate = TokenBucket.Rate(capacity: 2, refill: 1)
        try cluster.send(.defineBucket("door", rate))
        #expect(try cluster.send(.take("door", 2)) == .granted(remaining: 0))
        guard case .denied = try cluster.send(.take("door", 1)) else { Issue.record("the bucket is empty"); return }
        try cluster.run(for: .seconds(2))
        #expect(try cluster.send(.take("door", 2)) == .granted(remaining: 0))
        try cluster.settle()
        #expect(try cluster.ask(.get("visits"), from: .replica(2)) == .value(5))
    }
}
