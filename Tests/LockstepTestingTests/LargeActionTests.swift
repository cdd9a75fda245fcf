import Lockstep
import LockstepTesting
import Testing

/// Goal: an action above the limit (PROTOCOL R-12) fails where it is sent, as a node refuses it, and ends no process.
@Suite(.timeLimit(.minutes(5))) struct LargeActionTests {
    private let large = String(repeating: "x", count: 1_100_000)

    @Test func aTestStoreFailsAtTheLine() throws {
        let collected = CollectedFailures()
        let store = TestStore(Votes(), reporter: collected.reporter)
        let line = #line + 1
        let sent = store.send(.vote(large))
        #expect(store.outcome(of: sent) == nil)
        #expect(collected.failures.map(\.line) == [line])
        let text = try #require(collected.texts.first)
        #expect(text.hasPrefix("vote(\"xxx") && text.utf8.count < 300)
        #expect(text.contains(" cannot be sent: its ") && text.hasSuffix(" bytes are above the limit of 1048576"))
        // The next action has its number.
        store.send(.vote("Ada")) { $0.votes["Ada"] = 1 }
        store.finish()
        #expect(collected.texts.count == 1)
    }

    @Test func aTestClusterRejectsIt() throws {
        let cluster = TestCluster(Votes(), replicas: 1)
        for sender in [ClusterProcess.client(1), .replica(1), .primary] {
            let error = #expect(throws: TestClusterError.self) { try cluster.send(.vote(large), from: sender) }
            guard case .rejected(let reason)? = error else {
                Issue.record("another error: \(String(describing: error))")
                continue
            }
            #expect(reason.hasPrefix("the action cannot be sent: its "))
        }
        #expect(try cluster.send(.vote("Ada")) == 1)
        try cluster.settle()
        #expect(cluster.failure == nil)
    }
}
