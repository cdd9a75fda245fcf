import Lockstep
import LockstepTesting
import Testing

/// The data node that leads runs effects, feedback and sources; who takes over begins again what the log has (PROTOCOL R-60
/// to R-64).
@Suite(.timeLimit(.minutes(5))) struct FailoverEffectsTests {
    @Test func anActionIsAnsweredWithItsEnd() throws {
        let cluster = TestCluster(Jobs(), dataNodes: 3)
        #expect(try cluster.send(.steps("step")) == 3)
        #expect(try cluster.send(.atEnd("x")) == 7)
        try cluster.settle()
        let notes = ["step 1", "step 2", "step 3", "x", "x", "x", "x at the end"]
        #expect(cluster.states.map(\.notes) == Array(repeating: notes, count: 3))
    }

    /// Begun by one primary, and again by the next: the end is in the log once.
    @Test func anEffectRunsAgainInTheNextReign() throws {
        let cluster = TestCluster(Jobs(), dataNodes: 3)
        let pending = cluster.begin(.attempt)
        try cluster.run(for: .milliseconds(500))
        #expect(cluster.outcome(of: pending) == nil)
        cluster.kill(.primary)
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
        let notes = ["attempt 1", "attempt 2", "done in attempt 2"]
        #expect(cluster.states.map(\.notes) == Array(repeating: notes, count: 3))
    }

    @Test(arguments: 0..<24) func aKillAtAnyMomentLeavesOneEnd(step: Int) throws {
        let cluster = TestCluster(Jobs(), dataNodes: 3, seed: UInt64(step))
        let pending = cluster.begin(.atEnd("x"))
        try cluster.run(for: .microseconds(250 * step))
        cluster.kill(.primary)
        #expect(try cluster.reply(to: pending) == 7)
        try cluster.settle()
        let notes = try cluster.state(of: .dataNode(1)).notes
        #expect(notes.count { $0 == "x at the end" } == 1)
        #expect(notes.count { $0 == "x" } >= 3)
    }

    /// Of two that believe to lead, what the stale one's effects emit is in no log.
    @Test func theEffectsOfAStalePrimaryCountForNothing() throws {
        let cluster = TestCluster(Jobs(), dataNodes: 3)
        let pending = cluster.begin(.attempt)
        try cluster.run(for: .milliseconds(500))
        let old = try #require(cluster.leader)
        cluster.isolate(old)
        #expect(try cluster.reply(to: pending) == 2)
        cluster.heal()
        try cluster.settle()
        let notes = ["attempt 1", "attempt 2", "done in attempt 2"]
        #expect(cluster.states.map(\.notes) == Array(repeating: notes, count: 3))
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func effectsEndOnceUnderRandomFaults(seed: UInt64) throws {
        let faults: [DataNodeFault: Double] = [
            .kill: 1, .hostDeath: 0.5, .pause: 0.5, .partition: 0.5, .arbiterAway: 0.5, .stuckDisk: 0.3,
            .slowFrames: 0.3,
        ]
        let cluster = TestCluster(Jobs(), dataNodes: 3, clients: 3, seed: seed, faults: faults)
        var pending: [PendingReply<Jobs>] = []
        for number in 0..<24 {
            pending.append(cluster.begin(.attempt, from: .client(1 + number % 3)))
            try cluster.run(for: .milliseconds(700))
        }
        cluster.kill(.primary)
        try cluster.settle()
        let attempts = try pending.map { try cluster.reply(to: $0) }
        let notes = try cluster.state(of: .dataNode(1)).notes
        #expect(notes.filter { $0.hasPrefix("done") }.sorted() == attempts.map { "done in attempt \($0)" }.sorted())
        #expect(attempts.max() ?? 0 > 1)
    }

    /// What a feedback asks for is begun anew by the next primary, and asked for once in a reign (F9).
    @Test func aRequestOfAFeedbackBeginsAgain() throws {
        let calls = Calls()
        let cluster = TestCluster(Desk(calls: calls), dataNodes: 3)
        #expect(try cluster.send(.ask(7)) == 0)
        try cluster.run(for: .seconds(1))
        #expect(calls.asked == [7])
        cluster.kill(.primary)
        try cluster.run(until: { cluster.states.allSatisfy(\.asked.isEmpty) })
        #expect(calls.asked == [7, 7])
        try cluster.settle()
        #expect(cluster.states.map(\.answers) == Array(repeating: [7], count: 3))
    }

    /// A source runs on the node that leads and nowhere else, once in each reign.
    @Test func aSourceRunsOnceInEachReign() throws {
        let calls = Calls()
        let cluster = TestCluster(Desk(calls: calls), dataNodes: 3)
        try cluster.run(for: .seconds(5))
        #expect(calls.sources == 1)
        cluster.kill(.primary)
        try cluster.run(until: { cluster.leader != nil })
        try cluster.run(for: .seconds(5))
        #expect(calls.sources == 2)
        #expect(try (8...11).contains(cluster.state(of: .primary).ticks))
    }

    /// A sender takes its action back at the next primary.
    @Test func aSenderCancelsAtTheNextPrimary() throws {
        let cluster = TestCluster(Jobs(), dataNodes: 3)
        let pending = cluster.begin(.start("job", nil, seconds: 60))
        try cluster.run(for: .seconds(1))
        cluster.kill(.primary)
        try cluster.run(until: { cluster.leader != nil })
        cluster.cancel(pending)
        let error = #expect(throws: TestClusterError.self) { try cluster.reply(to: pending) }
        guard case .cancelled? = error else { Issue.record("\(error as Any)"); return }
        try cluster.settle()
    }
}
