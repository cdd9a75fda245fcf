import Lockstep
import LockstepTesting
import Testing

/// The code of docs/TESTING.md, which the tidy tests compare with the page.
@Suite(.timeLimit(.minutes(5))) struct TestingPageTests {
    @Test func onlyTheNewestSearchIsShown() {
        let store = TestStore(Search())
        store.send(.search("swi"))
        store.receive(.typed("swi")) { $0.query = "swi" }
        store.send(.search("swift"))
        store.receive(.typed("swift")) { $0.query = "swift" }
        store.advance(by: .milliseconds(300))
        store.receive(.found(["Swift"])) { $0.results = ["Swift"] }
        store.finish()
    }

    @Test func aSearchSurvivesThePrimarysDeath() {
        let store = TestStore(Search())
        let sent = store.send(.search("swift"))
        store.receive(.typed("swift")) { $0.query = "swift" }
        store.advance(by: .milliseconds(200))
        store.restart()
        store.receive(.typed("swift"))
        store.advance(by: .milliseconds(300))
        store.receive(.found(["Swift"])) { $0.results = ["Swift"] }
        #expect(throws: Never.self) { try store.reply(to: sent) }
        store.finish()
    }

    @Test func aSearchOutlivesThePrimary() throws {
        let cluster = TestCluster(Search(), replicas: 2)
        let pending = cluster.begin(.search("swift"))
        try cluster.run(for: .milliseconds(200))
        cluster.kill(.primary)
        cluster.restart(.primary)
        try cluster.reply(to: pending)
        try cluster.settle()
        #expect(try cluster.state(of: .replica(2)).results == ["Swift"])
    }

    @Test func aVoteIsCounted() {
        spec(Votes())
            .given(Votes.State(votes: ["Ada": 1]))
            .when(.vote("Ada"))
            .then(.emits(.counted("Ada")), .replies(2), .state { $0.votes["Ada"] = 2 })
        spec(Votes()).when(.vote("")).then(.rejects("nobody was named"))
        spec(Search()).when(.search("swift")).then(.defers(.latest("search")), .unchanged)
    }

    @Test func aTapVotesAndTheCountFollows() async throws {
        let stub = StubStore<Votes>(state: Votes.State()) { _ in .reply(1) }
        let button = VoteButton(store: stub, name: "Ada")
        try await button.tap()
        #expect(stub.actions.count == 1)
        stub.push { $0.votes["Ada"] = 1 }
        #expect(button.title == "Ada: 1")
    }

    @Test func aVoteSurvivesThePrimarysDeath() throws {
        let cluster = TestCluster(Votes(), replicas: 2)
        #expect(try cluster.send(.vote("Ada")) == 1)
        cluster.kill(.primary)
        cluster.restart(.primary)
        #expect(try cluster.send(.vote("Ada")) == 2)
        try cluster.settle()
        #expect(try cluster.state(of: .replica(2)).votes["Ada"] == 2)
    }

    @Test func aVoteNeedsAName() throws {
        let cluster = TestCluster(Votes())
        #expect(throws: TestClusterError.rejected("nobody was named")) { try cluster.send(.vote("")) }
    }

    @Test func anAnswerThatIsLostComesAgain() throws {
        let cluster = TestCluster(Votes(), replicas: 2, clients: 2)
        cluster.cut(.primary, from: .client(1), isOneWay: true)
        let pending = cluster.begin(.vote("Ada"), from: .client(1))
        try cluster.run(for: .seconds(10))
        cluster.heal()
        #expect(try cluster.reply(to: pending) == 1)
    }

    @Test(arguments: 1...20) func votesAreCountedOnce(seed: UInt64) throws {
        let cluster = TestCluster(
            Votes(), replicas: 2, clients: 3, seed: seed, faults: [.loss: 0.5, .primaryCrash: 1, .cut: 0.5])
        var pending: [PendingReply<Votes>] = []
        for number in 0..<30 {
            pending.append(cluster.begin(.vote("Ada"), from: .client(1 + number % 3)))
            try cluster.run(for: .seconds(1))
        }
        try cluster.settle()
        let replies = try pending.map { try cluster.reply(to: $0) }
        #expect(replies.sorted() == Array(1...30))
    }

    @Test func anotherNodeTakesOver() throws {
        let cluster = TestCluster(Votes(), dataNodes: 3)
        #expect(try cluster.send(.vote("Ada")) == 1)
        cluster.kill(.primary)
        #expect(try cluster.send(.vote("Ada")) == 2)
        try cluster.settle()
        #expect(try cluster.state(of: .dataNode(2)).votes["Ada"] == 2)
    }

    @Test func aSearchOutlivesItsNode() throws {
        let cluster = TestCluster(Search(), dataNodes: 3)
        let pending = cluster.begin(.search("swift"))
        try cluster.run(for: .milliseconds(200))
        cluster.kill(.primary)
        try cluster.reply(to: pending)
        try cluster.settle()
        #expect(cluster.states.allSatisfy { $0.results == ["Swift"] })
    }

    @Test(arguments: 1...20) func noVoteIsLost(seed: UInt64) throws {
        let cluster = TestCluster(
            Votes(), dataNodes: 3, clients: 3, seed: seed, faults: [.kill: 1, .partition: 0.5, .arbiterAway: 0.5])
        var pending: [PendingReply<Votes>] = []
        for number in 0..<30 {
            pending.append(cluster.begin(.vote("Ada"), from: .client(1 + number % 3)))
            try cluster.run(for: .seconds(1))
        }
        try cluster.settle()
        let replies = try pending.map { try cluster.reply(to: $0) }
        #expect(replies.sorted() == Array(1...30))
    }

    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(of: Votes(), actions: [.vote("Ada"), .vote("Grace"), .vote("Ada")])
    }
}

/// The view of docs/TESTING.md.
private struct VoteButton<Target: ReadableStore<Votes>> {
    let store: Target
    let name: String
    var title: String { "\(name): \(store.state.votes[name, default: 0])" }

    func tap() async throws { _ = try await store.send(.vote(name)) }
}
