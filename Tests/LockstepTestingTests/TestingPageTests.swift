import Foundation
import Lockstep
import LockstepTesting
import Testing

/// The code of docs/TESTING.md, which is compared with the page.
@Suite(.timeLimit(.minutes(1))) struct TestingPageTests {
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

    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(of: Votes(), actions: [.vote("Ada"), .vote("Grace"), .vote("Ada")])
    }

    /// What the page shows is what compiles here.
    @Test func thePagesCodeIsThisCode() throws {
        let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        let page = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/TESTING.md")
        let code = try String(contentsOf: here, encoding: .utf8)
        let blocks = try String(contentsOf: page, encoding: .utf8).matches(of: /```swift\n((?:.|\n)*?)```/)
        #expect(blocks.count == 5)
        for block in blocks {
            let lines = block.1.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
            #expect(code.contains(lines), "the page shows other code: \(block.1)")
        }
    }
}
