import Counters
import Lockstep
import LockstepTesting
import Testing

/// A cluster of data nodes with a user's reactor: another takes over, and nothing acknowledged is lost (PROTOCOL R-75 to
///
@Suite(.timeLimit(.minutes(5))) struct FailoverTests {
    private func reply<R: Reactor>(_ cluster: TestCluster<R>, _ pending: PendingReply<R>) -> R.Reply? {
        guard case .success(let reply)? = cluster.outcome(of: pending) else { return nil }
        return reply
    }

    @Test func aClusterIsLiveWhenItIsMade() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        #expect(cluster.nodes == [.dataNode(1), .dataNode(2), .dataNode(3)])
        #expect(cluster.nodes.allSatisfy(cluster.isLive) && cluster.isLive(.arbiter))
        #expect(try #require(cluster.leader).description.hasPrefix("node-"))
        #expect(cluster.states.map(\.votes.count) == [0, 0, 0])
        #expect(cluster.failure == nil)
        #expect(try cluster.send(.vote("Ada")) == 1)
        #expect(throws: TestClusterError.rejected("nobody was named")) { try cluster.send(.vote("")) }
        #expect(try cluster.ask(.count("Ada")) == 1)
        #expect(try cluster.ask(.count("Ada"), .linearizable) == 1)
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [1, 1, 1])
        #expect(try cluster.position(of: .dataNode(1)) == cluster.position(of: .primary))
        #expect(try cluster.digest(of: .dataNode(3)) == cluster.digest(of: .dataNode(2)))
    }

    /// Nobody but the arbiter and the other nodes has a part in it: the old primary stays dead.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func anotherTakesOver(seed: UInt64) throws {
        let cluster = TestCluster(Votes(), dataNodes: 3, seed: seed)
        #expect(try cluster.send(.vote("Ada")) == 1)
        let (old, epoch) = (try #require(cluster.leader), try cluster.position(of: .primary).epoch)
        cluster.kill(.primary)
        #expect(cluster.leader == nil && !cluster.isLive(old))
        #expect(throws: TestClusterError.notRunning(old)) { try cluster.state(of: old) }
        let killed = cluster.now
        #expect(try cluster.send(.vote("Ada")) == 2)
        #expect(cluster.now - killed < .seconds(10))
        let new = try #require(cluster.leader)
        #expect(new != old && !cluster.isLive(old))
        #expect(try cluster.position(of: new).epoch > epoch)
        try cluster.settle()
        #expect(cluster.leader == new)
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
    }

    /// One after the other dies while actions are under way, at any moment: each takes effect once.
    @Test(arguments: 1...12 as ClosedRange<UInt64>) func killsUnderLoadLoseNothing(seed: UInt64) throws {
        let cluster = TestCluster(Votes(), dataNodes: 3, clients: 3, seed: seed)
        let first = try cluster.position(of: .primary).epoch
        var pending: [PendingReply<Votes>] = []
        for round in 0..<5 {
            for number in 0..<9 {
                pending.append(cluster.begin(.vote("Ada"), from: .client(1 + number % 3)))
                try cluster.run(for: .microseconds(Int(seed) * 170 + number * 90))
            }
            let old = cluster.leader
            cluster.kill(.primary)
            try cluster.run(until: { cluster.leader != nil })
            #expect(cluster.leader != old)
            if let old { cluster.restart(old) }
            try cluster.run(for: .seconds(round))
        }
        try cluster.settle()
        let replies = try pending.map { try cluster.reply(to: $0) }
        #expect(replies.sorted() == Array(1...45))
        #expect(cluster.states.map { $0.votes["Ada"] } == [45, 45, 45])
        #expect(try cluster.position(of: .primary).epoch.rawValue >= first.rawValue + 5)
    }

    /// At every moment of a send: it takes effect exactly once (PROTOCOL ).
    @Test(arguments: 0..<40) func aKillInTheMiddleOfASendIsExactlyOnce(step: Int) throws {
        let cluster = TestCluster(Votes(), dataNodes: 3, seed: UInt64(step))
        try cluster.send(.vote("Ada"))
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .microseconds(150 * step))
        cluster.kill(.primary)
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
    }

    /// What was answered is there afterwards, whoever led.
    @Test(
        arguments: [[.kill: 1.0], [.partition: 1, .oneWay: 0.5, .arbiterCut: 0.5], [.lostDisk: 1, .smallWindow: 1]]
            + DataNodeFault.allCases.map { [$0: 1.0] } + [
                Dictionary(uniqueKeysWithValues: DataNodeFault.allCases.map { ($0, 0.3) })
            ])
    func everyAcknowledgedActionSurvives(faults: [DataNodeFault: Double]) throws {
        let cluster = TestCluster(Votes(), dataNodes: 3, clients: 2, seed: 5, faults: faults)
        var pending: [PendingReply<Votes>] = []
        for number in 0..<60 {
            pending.append(cluster.begin(.vote("Ada"), from: .client(1 + number % 2)))
            try cluster.run(for: .milliseconds(500))
        }
        let known = pending.compactMap { reply(cluster, $0) }
        try cluster.settle()
        #expect(known.isEmpty || cluster.states.allSatisfy { $0.votes["Ada", default: 0] >= known.max() ?? 0 })
        let replies = try pending.map { try cluster.reply(to: $0) }
        #expect(replies.sorted() == Array(1...60))
        #expect(cluster.states.map { $0.votes["Ada"] } == [60, 60, 60])
    }

    @Test func theSameSeedIsTheSameRun() throws {
        func run(_ seed: UInt64) throws -> [String] {
            let cluster = TestCluster(
                Desk(), dataNodes: 3, clients: 2, seed: seed,
                faults: [.kill: 1, .partition: 0.5, .slowFrames: 0.5, .pause: 0.5, .arbiterLoss: 0.5])
            for number in 0..<30 {
                _ = cluster.begin(.ask(number % 11), from: .client(1 + number % 2))
                if number % 4 == 0 { _ = cluster.begin(.work(number), from: .client(2)) }
                try cluster.run(for: .milliseconds(400))
            }
            try cluster.settle()
            return [
                "\(cluster.traceHash)", "\(try cluster.position(of: .primary))", "\(try cluster.digest(of: .primary))",
            ]
        }
        let first = try run(1)
        #expect(try run(1) == first)
        #expect(try run(2) != first)
    }

    /// A primary that reaches nobody answers nobody; the others go on, and it follows them afterwards.
    @Test func anIsolatedPrimaryIsReplaced() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        try cluster.send(.vote("Ada"))
        let old = try #require(cluster.leader)
        cluster.isolate(old)
        #expect(try cluster.send(.vote("Ada")) == 2)
        #expect(cluster.leader != old)
        #expect(try cluster.state(of: old).votes["Ada"] == 1)
        cluster.heal()
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
    }

    @Test func aCutEndsWhenItIsMended() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        let other = try #require(cluster.nodes.first { $0 != cluster.leader })
        cluster.cut(.primary, from: other)
        try cluster.run(for: .seconds(20))
        try cluster.send(.vote("Ada"))
        #expect(try cluster.state(of: other).votes["Ada"] == nil)
        cluster.mend(.primary, with: other)
        try cluster.run(until: { (try? cluster.state(of: other).votes["Ada"]) == 1 })
    }

    @Test func aPausedPrimaryIsReplaced() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        let old = try #require(cluster.leader)
        cluster.pause(.primary, for: .seconds(20))
        #expect(try cluster.send(.vote("Ada")) == 1)
        try cluster.run(for: .seconds(25))
        #expect(try #require(cluster.leader) != old)
        try cluster.settle()
    }

    /// A disk that does nothing, and a stop in order: the post goes to another.
    @Test func whoCannotWriteOrStopsGivesItsPostAway() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        let first = try #require(cluster.leader)
        cluster.stickDisk(of: .primary, for: .seconds(30))
        #expect(try cluster.send(.vote("Ada"), within: .seconds(20)) == 1)
        let second = try #require(cluster.leader)
        #expect(second != first)
        cluster.heal()
        try cluster.settle()
        cluster.stopPrimary()
        #expect(try cluster.send(.vote("Ada")) == 2)
        #expect(try #require(cluster.leader) != second)
        try cluster.settle()
    }

    /// While the arbiter is down the primary goes on, and nobody replaces it if it dies.
    @Test func withoutTheArbiterNobodyTakesOver() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        cluster.kill(.arbiter)
        try cluster.run(for: .seconds(5))
        #expect(try cluster.send(.vote("Ada")) == 1)
        cluster.kill(.primary)
        let error = #expect(throws: TestClusterError.self) { try cluster.send(.vote("Ada"), within: .seconds(15)) }
        guard case .notAnswered(let text)? = error else { Issue.record("\(error as Any)"); return }
        #expect(text.contains("client-1") && text.contains("the arbiter is down"))
        cluster.restart(.arbiter)
        try cluster.run(until: { cluster.leader != nil })
        try cluster.settle()
        #expect(cluster.states.map { $0.votes["Ada"] } == [2, 2, 2])
    }

    /// With fewer data nodes than the minimum nothing is acknowledged, and nothing is lost.
    @Test func belowTheMinimumNothingIsAcknowledged() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3, minimum: 2)
        try cluster.send(.vote("Ada"))
        for node in cluster.nodes where node != cluster.leader { cluster.kill(node) }
        let pending = cluster.begin(.vote("Ada"))
        try cluster.run(for: .seconds(10))
        #expect(cluster.outcome(of: pending) == nil)
        try cluster.settle()
        #expect(try cluster.reply(to: pending) == 2)
    }

    /// One data node alone is a primary with a journal.
    @Test func oneDataNodeServesAlone() throws {
        let cluster = TestCluster(Votes(), dataNodes: 1)
        #expect(try cluster.send(.vote("Ada")) == 1)
        cluster.kill(.primary)
        cluster.restart(.dataNode(1))
        #expect(try cluster.send(.vote("Ada")) == 2)
    }

    /// A node that was away for long gets the state as a snapshot, through the reactor's own coding.
    @Test func aNodeThatWasAwayCatchesUp() throws {
        let cluster = TestCluster(Counters(), dataNodes: 3, faults: [.smallWindow: 1])
        let away = try #require(cluster.nodes.first { $0 != cluster.leader })
        cluster.kill(away)
        for number in 1...80 { try cluster.send(.add("visits \(number)", by: 5)) }
        cluster.restart(away)
        try cluster.settle()
        #expect(try cluster.digest(of: away) == cluster.digest(of: .primary))
        #expect(cluster.trace.contains { $0.contains("snapshot") })
    }
}

/// What is no function of its arguments is found among data nodes, too: the checks are checked.
@Suite(.timeLimit(.minutes(5))) struct FailoverFindingsTests {
    private func promise<N: Notes>(_ reactor: N) throws -> BrokenPromise {
        let cluster = TestCluster(reactor, dataNodes: 3, seed: 5)
        let error = #expect(throws: TestClusterError.self) {
            for text in ["a", "b", "c", "d", "e", "f", "g", "h"] { try cluster.send(text) }
            try cluster.settle()
        }
        guard case .broken(let promise)? = error else { throw try #require(error) }
        #expect(cluster.failure == promise)
        return promise
    }

    @Test func aRandomNumberIsFound() throws {
        let promise = try promise(RandomNotes())
        #expect(promise.promise == "digest")
        #expect(promise.entry?.contains("c") == true)
        #expect(promise.differences.map(\.path) == ["notes[2]"])
        #expect(promise.repetition.contains("TestCluster(RandomNotes(), dataNodes: 3, clients: 1, seed: 5)"))
        #expect(promise.differences[0].values.last?.owner == "the log, replayed")
    }

    @Test func theOrderOfASetIsFound() throws { #expect(try promise(SetOrderNotes()).promise == "digest") }
    @Test func aGlobalVariableIsFound() throws { #expect(try promise(GlobalNotes()).promise == "digest") }

    @Test func aReducerThatIsRightPasses() throws {
        let cluster = TestCluster(RightNotes(), dataNodes: 3)
        for text in ["a", "b", "c"] {
            try cluster.send(text)
            cluster.kill(.primary)
            try cluster.run(until: { cluster.leader != nil })
            try cluster.settle()
        }
        #expect(cluster.failure == nil)
    }

    /// What the state's coding forgets is missing where a new primary goes on from a written state.
    @Test func aFieldThatIsNotEncodedIsFound() throws {
        let cluster = TestCluster(ForgetfulCounter(), dataNodes: 3)
        let error = #expect(throws: TestClusterError.self) {
            for number in 1...5 {
                try cluster.send(number)
                cluster.kill(.primary)
                try cluster.settle()
            }
        }
        guard case .broken(let promise)? = error else { throw try #require(error) }
        #expect(promise.promise == "digest")
    }

    /// A call that this kind of cluster does not have says so.
    @Test func aCallOfTheOtherKindTraps() async {
        await #expect(processExitsWith: .failure) { TestCluster(Votes(), dataNodes: 3).lose(0.5) }
        await #expect(processExitsWith: .failure) { TestCluster(Votes()).inject(dataNodes: [.kill: 1]) }
        await #expect(processExitsWith: .failure) { TestCluster(Votes()).kill(.dataNode(1)) }
    }
}
