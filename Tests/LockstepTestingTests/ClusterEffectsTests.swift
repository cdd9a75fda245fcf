import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// The primary of a test cluster runs effects, feedback and sources, as a node's does (PROTOCOL ).
@Suite(.timeLimit(.minutes(5))) struct ClusterEffectsTests {
    /// `send` waits for the end, which every node has then or soon.
    @Test func anActionIsAnsweredWithItsEnd() throws {
        let cluster = TestCluster(Jobs(), replicas: 2)
        #expect(try cluster.send(.steps("step")) == 3)
        #expect(try cluster.send(.atEnd("x"), from: .replica(1)) == 7)
        try cluster.settle()
        let notes = ["step 1", "step 2", "step 3", "x", "x", "x", "x at the end"]
        #expect(cluster.states.map(\.notes) == Array(repeating: notes, count: 3))
        #expect(try cluster.digest(of: .replica(2)) == cluster.digest(of: .primary))
    }

    /// An effect sees what it has emitted: the published state follows the commits.
    @Test func anEffectReadsItsOwnWrites() throws {
        let cluster = TestCluster(Jobs())
        #expect(try cluster.send(.reads) == 2)
        #expect(try cluster.state(of: .primary).notes == ["has 0", "has 1"])
    }

    /// A delay is virtual time, and nothing but virtual time.
    @Test func aDelayPassesVirtualTimeOnly() throws {
        let clock = VirtualClock()
        let cluster = TestCluster(Jobs(), clock: clock)
        let (start, real) = (cluster.now, ContinuousClock.now)
        #expect(try cluster.send(.wait(seconds: 40), within: .seconds(60)) == 40)
        let passed = cluster.now - start
        #expect(passed >= .seconds(40) && passed < .milliseconds(40_500))
        #expect(ContinuousClock.now - real < .seconds(39))
        #expect(clock.elapsed <= cluster.now && clock.elapsed >= .seconds(40))
    }

    /// Killed in the middle and run again: the end is in the log once, with what was kept for it.
    @Test func anEffectRunsAgainInTheNextLife() throws {
        let cluster = TestCluster(Jobs(), replicas: 2)
        let pending = cluster.begin(.attempt)
        try cluster.run(for: .milliseconds(500))
        #expect(cluster.outcome(of: pending) == nil)
        cluster.kill(.primary)
        try cluster.run(for: .seconds(3))
        #expect(cluster.outcome(of: pending) == nil)
        cluster.restart(.primary)
        #expect(try cluster.reply(to: pending) == 2)
        try cluster.settle()
        let notes = ["attempt 1", "attempt 2", "done in attempt 2"]
        #expect(cluster.states.map(\.notes) == Array(repeating: notes, count: 3))
    }

    /// The same at every moment of a short effect.
    @Test(arguments: 0..<24) func aKillAtAnyMomentLeavesOneEnd(step: Int) throws {
        let cluster = TestCluster(Jobs(), replicas: 1, seed: UInt64(step))
        let pending = cluster.begin(.atEnd("x"))
        try cluster.run(for: .microseconds(120 * step))
        cluster.kill(.primary)
        try cluster.run(for: .seconds(1))
        cluster.restart(.primary)
        #expect(try cluster.reply(to: pending) == 7)
        try cluster.settle()
        let notes = try cluster.state(of: .replica(1)).notes
        #expect(notes.count { $0 == "x at the end" } == 1)
        #expect(notes.count { $0 == "x" } >= 3)
    }

    /// Whatever strikes at random, each accepted action ends once.
    @Test(arguments: UInt64(1)...6) func effectsEndOnceUnderRandomFaults(seed: UInt64) throws {
        let faults: [ClusterFault: Double] = [
            .primaryCrash: 1, .replicaCrash: 0.5, .loss: 0.3, .cut: 0.3, .lostWrites: 0.5, .journalLatency: 0.3,
            .diskFull: 0.3, .pause: 0.3, .crashWhileStarting: 0.5,
        ]
        let cluster = TestCluster(Jobs(), replicas: 2, clients: 3, seed: seed, faults: faults)
        var pending: [PendingReply<Jobs>] = []
        for number in 0..<24 {
            pending.append(cluster.begin(.attempt, from: .client(1 + number % 3)))
            try cluster.run(for: .milliseconds(700))
        }
        cluster.kill(.primary)
        try cluster.settle()
        let attempts = try pending.map { try cluster.reply(to: $0) }
        let notes = try cluster.state(of: .replica(1)).notes
        #expect(notes.filter { $0.hasPrefix("done") }.sorted() == attempts.map { "done in attempt \($0)" }.sorted())
        #expect(attempts.max() ?? 0 > 1)
    }

    /// The same seed is the same run with all that effects do; another one is another.
    @Test func theSameSeedIsTheSameRun() throws {
        func run(_ seed: UInt64) throws -> [String] {
            let cluster = TestCluster(
                Desk(), replicas: 2, clients: 2, seed: seed, faults: [.loss: 0.5, .primaryCrash: 1, .cut: 0.5])
            for number in 0..<30 {
                _ = cluster.begin(.ask(number % 11), from: .client(1 + number % 2))
                if number % 4 == 0 { _ = cluster.begin(.work(number), from: .client(2)) }
                if number % 7 == 0 { _ = cluster.begin(.forget) }
                try cluster.run(for: .milliseconds(400))
            }
            try cluster.settle()
            let place = try cluster.position(of: .primary)
            return ["\(cluster.traceHash)", "\(place)", "\(try cluster.digest(of: .primary))"]
        }
        let first = try run(1)
        #expect(try run(1) == first)
        #expect(try run(2) != first)
    }

    /// What a feedback asks for is begun anew by the next primary, and asked for once in a life (F9).
    @Test func aRequestOfAFeedbackBeginsAgain() throws {
        let calls = Calls()
        let cluster = TestCluster(Desk(calls: calls), replicas: 2)
        #expect(try cluster.send(.ask(7)) == 0)
        try cluster.run(for: .seconds(1))
        #expect(calls.asked == [7])
        cluster.kill(.primary)
        cluster.restart(.primary)
        try cluster.run(until: { (try? cluster.state(of: .replica(1)).asked.isEmpty) == true })
        #expect(calls.asked == [7, 7])
        try cluster.settle()
        #expect(cluster.states.map(\.answers) == Array(repeating: [7], count: 3))
    }

    /// A source runs on the primary and nowhere else, once in each of its lives.
    @Test func aSourceRunsOnceInEachLife() throws {
        let calls = Calls()
        let cluster = TestCluster(Desk(calls: calls), replicas: 3)
        try cluster.run(for: .seconds(5))
        cluster.kill(.replica(2))
        cluster.restart(.replica(2))
        cluster.kill(.primary)
        try cluster.run(for: .seconds(10))
        let ticks = try cluster.state(of: .replica(1)).ticks
        #expect((4...6).contains(ticks))
        cluster.restart(.primary)
        try cluster.run(for: .seconds(5))
        #expect(calls.sources == 2)
        #expect(try (8...11).contains(cluster.state(of: .replica(2)).ticks))
    }

    /// What an effect throws is the outcome, and a test can look at it.
    @Test(arguments: [false, true]) func aThrownErrorIsAFailure(hasDataNodes: Bool) throws {
        let cluster = hasDataNodes ? TestCluster(Jobs(), dataNodes: 3) : TestCluster(Jobs())
        #expect(throws: TestClusterError.failed("no luck")) { try cluster.send(.fail("no luck")) }
        #expect(cluster.failures.map { "\($0.error)" } == ["no luck"])
    }

    /// What fails beside the log can be looked at, too (K12).
    @Test func aFailedFeedbackIsAFailure() throws {
        let desk = TestCluster(Desk())
        try desk.send(.ask(-1))
        try desk.run(for: .seconds(3))
        #expect(desk.failures.map(\.description) == ["feedback desk failed for -1: Refusal()"])
        try desk.settle()
    }

    /// Of the policy latest, the newest ends, and those before it are superseded.
    @Test func theLatestSupersedes() throws {
        let cluster = TestCluster(Search())
        let first = cluster.begin(.search("swi"))
        try cluster.run(for: .milliseconds(100))
        let second = cluster.begin(.search("swift"), from: .replica(1))
        try cluster.reply(to: second)
        guard case .failure(.cancelled)? = cluster.outcome(of: first) else {
            Issue.record("\(cluster.outcome(of: first) as Any)")
            return
        }
        try cluster.settle()
        #expect(cluster.states.map(\.results) == Array(repeating: ["Swift"], count: 3))
    }

    /// A sender takes its action back, and nothing more of it comes.
    @Test func aSenderCancels() throws {
        let cluster = TestCluster(Jobs())
        let pending = cluster.begin(.start("job", nil, seconds: 60))
        try cluster.run(for: .seconds(1))
        cluster.cancel(pending)
        let error = #expect(throws: TestClusterError.self) { try cluster.reply(to: pending) }
        guard case .cancelled? = error else { Issue.record("\(error as Any)"); return }
        #expect(cluster.now < .seconds(10))
        try cluster.settle()
        #expect(cluster.states.map(\.notes) == Array(repeating: ["job begins"], count: 3))
    }

    /// A client that is killed after the acceptance does not learn the end; the log has it.
    @Test func aKilledClientDoesNotLearnTheEnd() throws {
        let cluster = TestCluster(Jobs())
        let pending = cluster.begin(.attempt)
        try cluster.run(for: .milliseconds(500))
        cluster.kill(.client(1))
        try cluster.run(for: .seconds(2))
        guard case .failure(.outcomeUnknown(let text))? = cluster.outcome(of: pending) else {
            Issue.record("\(cluster.outcome(of: pending) as Any)")
            return
        }
        #expect(text.contains("the log has its end at"))
    }

    /// A primary without room on its disk takes nothing from its effects; they come again, in virtual time.
    @Test func anEffectWaitsForRoomOnTheDisk() throws {
        let cluster = TestCluster(Jobs())
        let pending = cluster.begin(.attempt)
        try cluster.run(for: .milliseconds(500))
        cluster.fillDisk(of: .primary, for: .seconds(5))
        _ = cluster.begin(.note("held"), from: .replica(1))
        try cluster.run(for: .seconds(3))
        #expect(cluster.outcome(of: pending) == nil)
        #expect(try cluster.reply(to: pending) == 1)
        try cluster.settle()
        #expect(try Set(cluster.state(of: .replica(1)).notes) == ["attempt 1", "held", "done in attempt 1"])
    }

    /// One that never waits would hold the simulation for ever: it is found.
    @Test func anEffectThatNeverWaitsIsFound() throws {
        let cluster = TestCluster(Desk())
        let error = #expect(throws: TestClusterError.self) { try cluster.send(.spin) }
        guard case .broken(let promise)? = error else { Issue.record("\(error as Any)"); return }
        #expect(promise.text.contains("one of them never sleeps"))
    }
}

/// What a desk was asked for outside of the log.
final class Calls: Sendable {
    private let contents = Mutex((asked: [Int](), sources: 0))
    var asked: [Int] { contents.withLock { $0.asked } }
    var sources: Int { contents.withLock { $0.sources } }
    func ask(_ number: Int) { contents.withLock { $0.asked.append(number) } }
    func source() { contents.withLock { $0.sources += 1 } }
}

/// Questions that a feedback answers after two seconds, work with an end, and a source that ticks once a second.
struct Desk: Reactor {
    enum Action: Codable, Sendable { case ask(Int), work(Int), forget, spin }
    enum Mutation: Codable, Sendable { case asked(Int), answered(Int), worked(Int), ticked, forgot }
    struct State: Codable, Sendable {
        var asked: Set<Int> = []
        var answers: [Int] = []
        var worked: [Int] = []
        var ticks = 0
    }
    typealias Reply = Int
    struct Refusal: Error {}

    var calls = Calls()
    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
        switch action {
        case .ask(let number): return .emit(.asked(number), reply: context.state.answers.count)
        case .forget: return .emit(.forgot, reply: 0)
        case .work(let number):
            return .run { emit in
                try await emit.sleep(for: .milliseconds(100 * (number % 9)))
                emit.atEnd(.worked(number))
                return number
            }.policy(.serial("work", queueLimit: 20))
        case .spin:
            return .run { _ in
                while !Task.isCancelled { await Task.yield() }
                return 0
            }
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .asked(let number): state.asked.insert(number)
        case .answered(let number):
            state.asked.remove(number)
            state.answers.append(number)
        case .worked(let number): state.worked.append(number)
        case .ticked: state.ticks += 1
        case .forgot: state.asked = []
        }
    }

    var feedback: [Feedback<Self>] {
        [
            .react("desk", toEach: { $0.asked }) { [calls] (number: Int, emit) in
                calls.ask(number)
                guard number >= 0 else { throw Refusal() }
                try await emit.sleep(for: .seconds(2))
                try await emit(.answered(number))
            }
        ]
    }

    var sources: [ExternalSource<Self>] {
        [
            ExternalSource("ticks") { [calls] emit in
                calls.source()
                while true {
                    try await emit.sleep(for: .seconds(1))
                    try await emit(.ticked)
                }
            }
        ]
    }
}
