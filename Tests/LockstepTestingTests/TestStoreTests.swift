import Foundation
import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// Goal: what a reactor does on a primary it does in a test store, in the same order, at no cost of time (SEMANTICS F21;
/// K9 to K14, K25, O21).
@Suite(.timeLimit(.minutes(5))) struct TestStoreTests {
    // MARK: - Sending

    @Test func anActionThatEndsAtOnceChangesTheState() throws {
        let store = TestStore(Votes())
        let sent = store.send(.vote("Ada")) { $0.votes["Ada"] = 1 }
        #expect(try store.reply(to: sent) == 1)
        store.send(.vote("Ada"), reply: 2) { $0.votes["Ada"] = 2 }
        store.send(.vote(""), rejected: "nobody was named")
        #expect(store.state.votes["Ada"] == 2)
        #expect(store.replica.votes["Ada"] == 2)
        store.finish()
    }

    /// SEMANTICS K11: an effect reads its own writes, and every emission is an entry of its own.
    @Test func whatAnEffectEmitsIsReceivedInOrder() throws {
        let store = TestStore(Jobs())
        let sent = store.send(.reads)
        store.receive(.noted("has 0")) { $0.notes = ["has 0"] }
        store.receive(.noted("has 1")) { $0.notes.append("has 1") }
        #expect(try store.reply(to: sent) == 2)
        store.finish()
    }

    /// SEMANTICS K12: what was emitted together is received together, what was kept for the end comes with it.
    @Test func whatIsEmittedTogetherIsReceivedTogether() throws {
        let store = TestStore(Jobs())
        let sent = store.send(.atEnd("x"))
        store.receive(.noted("x"), .pair("x", "x")) { $0.notes = ["x", "x", "x"] }
        store.receive(where: { if case .noted = $0 { true } else { false } }) { $0.notes.append("x at the end") }
        #expect(try store.reply(to: sent) == 7)
        store.finish()
    }

    @Test func aFailingEffectIsReceivedAsAFailure() {
        let store = TestStore(Jobs())
        let sent = store.send(.fail("no luck"))
        store.receiveFailure("no luck")
        #expect(throws: LockstepError.self) { try store.reply(to: sent) }
        guard case .failed("no luck", _, _) = store.outcome(of: sent) else {
            Issue.record("the outcome is \(String(describing: store.outcome(of: sent)))")
            return
        }
        store.finish()
    }

    // MARK: - Time

    @Test func sleepersAndTimersShareOneTime() {
        let store = TestStore(Catch())
        let begin = store.now
        let end = begin.advanced(by: .milliseconds(1_500))
        store.send(.play(seconds: 1)) { $0.timers.schedule("game", at: begin.advanced(by: .seconds(1)), "over") }
        store.send(.throwBall) { $0.holder = "machine" }
        store.advance(by: .milliseconds(1_500))
        // At the same moment sleepers are first.
        store.receive(.thrown(by: "machine")) { $0.holder = "human" }
        store.receive(.over(begin.advanced(by: .seconds(1)))) {
            $0.isOver = true
            $0.timers.cancelAll()
        }
        #expect(store.now == end)
        store.finish()
    }

    @Test func theNewestSearchIsTheOnlyOne() {
        let store = TestStore(Search())
        store.send(.search("swi"))
        store.receive(.typed("swi")) { $0.query = "swi" }
        store.advance(by: .milliseconds(200))
        store.send(.search("swift"))
        store.receive(.typed("swift")) { $0.query = "swift" }
        store.advance(by: .milliseconds(299))
        #expect(store.state.results == [])
        store.advance(by: .milliseconds(1))
        store.receive(.found(["Swift"])) { $0.results = ["Swift"] }
        store.finish()
    }

    /// The clock of the reactor's own dependencies is the store's, and wakes one sleeper after the other.
    @Test func dependenciesCanSleepOnTheStoresClock() {
        let clock = VirtualClock()
        let store = TestStore(
            Search { text in
                try await clock.sleep(for: .seconds(5))
                return [text]
            }, clock: clock)
        store.send(.search("a"))
        store.receive(.typed("a")) { $0.query = "a" }
        store.advance(by: .milliseconds(5_300))
        store.receive(.found(["a"])) { $0.results = ["a"] }
        store.finish()
    }

    /// What runs elsewhere is waited for in real time.
    @Test func workElsewhereCanBeWaitedFor() async throws {
        let store = TestStore(Jobs())
        let sent = store.send(.ask)
        await store.waitForMore()
        #expect(try store.reply(to: sent) == 42)
        store.finish()
    }

    /// The main actor has a thread of its own: here the one that the test stands on.
    @MainActor @Test func anEffectCanAskTheMainActor() async {
        let store = TestStore(Jobs())
        store.send(.onMain)
        await store.waitForMore()
        store.receive(.noted("main said 5")) { $0.notes = ["main said 5"] }
        store.finish()
    }

    /// SEMANTICS O38, O52: attempts and time limits follow the store's clock.
    @Test func retriesAndTimeoutsTakeVirtualTime() throws {
        let store = TestStore(Jobs())
        let flaky = store.send(.flaky(failures: 2))
        store.advance(by: .milliseconds(2_999))
        #expect(throws: LockstepError.self) { try store.reply(to: flaky) }
        store.advance(by: .milliseconds(1))
        #expect(try store.reply(to: flaky) == 3)
        let slow = store.send(.slow(seconds: 1))
        store.send(.slow(seconds: 3))
        store.advance(by: .seconds(2))
        #expect(try store.reply(to: slow) == 1)
        store.receiveFailure("the effect did not end within 2.0 seconds")
        store.send(.flaky(failures: 3))
        store.advance(by: .seconds(3))
        store.receiveFailure("attempt 3")
        store.finish()
    }

    // MARK: - Policies and cancellation

    @Test func atMostTwoOfAMergeRunAtATime() {
        let store = TestStore(Jobs())
        for name in ["a", "b", "c"] {
            store.send(.start(name, .merge, seconds: 1))
            if name != "c" { store.receive(.noted("\(name) begins")) { $0.notes.append("\(name) begins") } }
        }
        #expect(store.runningEffects.count == 3)
        store.advance(by: .seconds(1))
        store.receive(.noted("a ends")) { $0.notes.append("a ends") }
        store.receive(.noted("c begins")) { $0.notes.append("c begins") }
        store.receive(.noted("b ends")) { $0.notes.append("b ends") }
        store.advance(by: .seconds(1))
        store.receive(.noted("c ends")) { $0.notes.append("c ends") }
        store.finish()
    }

    @Test func aSerialQueueHasItsOrderAndItsBound() {
        let store = TestStore(Jobs())
        store.exhaustivity = .off
        store.send(.start("a", .serial, seconds: 1))
        store.send(.start("b", .serial, seconds: 1))
        store.send(.start("c", .serial, seconds: 1), rejected: "1 wait for jobs already; try again later")
        store.advance(by: .seconds(2))
        store.skipReceived()
        #expect(store.state.notes == ["a begins", "a ends", "b begins", "b ends"])
        store.finish()
    }

    @Test func theFirstIsNotDisturbed() {
        let store = TestStore(Jobs())
        store.send(.start("a", .first, seconds: 1))
        store.receive(.noted("a begins")) { $0.notes = ["a begins"] }
        store.send(.start("b", .first, seconds: 1), rejected: "ignored: jobs is under way")
        store.advance(by: .seconds(1))
        store.receive(.noted("a ends")) { $0.notes.append("a ends") }
        store.finish()
    }

    /// An effect that ends in time, and emits nothing, is waited for.
    @Test func theEndWaitsForTheLastEffectInVirtualTime() throws {
        let store = TestStore(Jobs())
        let sent = store.send(.wait(seconds: 3))
        store.finish(timeout: .seconds(60))
        #expect(try store.reply(to: sent) == 3)
        #expect(store.clock.elapsed == .seconds(3))
    }

    /// SEMANTICS K25: by name, by a later action, and by the sender's handle; nothing is committed afterwards.
    @Test(arguments: ["name", "action", "handle", "latest"]) func whatIsCancelledCommitsNothingMore(way: String) {
        let store = TestStore(Jobs())
        let sent = store.send(.start("a", .latest, seconds: 1))
        store.receive(.noted("a begins")) { $0.notes = ["a begins"] }
        switch way {
        case "name": store.send(.stop("a"))
        case "action": store.send(.stopAll)
        case "handle": store.cancel(sent)
        default:
            store.send(.start("b", .latest, seconds: 0))
            store.receive(.noted("b begins")) { $0.notes.append("b begins") }
            store.receive(.noted("b ends")) { $0.notes.append("b ends") }
        }
        guard case .cancelled = store.outcome(of: sent) else {
            Issue.record("the outcome is \(String(describing: store.outcome(of: sent)))")
            return
        }
        store.advance(by: .seconds(5))
        store.finish()
    }

    // MARK: - Feedback and sources

    @Test func whatFeedbackEmitsIsReceived() {
        let store = TestStore(Catch())
        store.send(.throwBall) { $0.holder = "machine" }
        store.advance(by: .seconds(1))
        store.receive(.thrown(by: "machine")) { $0.holder = "human" }
        store.finish()
    }

    @Test func aFailingFeedbackIsReceivedAsAFailure() {
        let store = TestStore(Catch())
        store.send(.breakMachine) { $0.isBroken = true }
        store.send(.throwBall) { $0.holder = "machine" }
        store.advance(by: .seconds(1))
        store.receiveFailure("Worn()")
        store.finish()
    }

    /// SEMANTICS K13, K18: a source ends only itself, is begun again, and may run when the test ends.
    @Test func aSourceEmitsFailsAndBeginsAgain() {
        let winds = Winds()
        let store = TestStore(Catch(wind: { winds.next() }))
        winds.blow(3)
        store.receive(.wind(3)) { $0.wind = 3 }
        winds.blow(-1)
        store.receiveFailure("Worn()")
        store.advance(by: .seconds(10))
        winds.blow(4)
        store.receive(.wind(4)) { $0.wind = 4 }
        store.finish()
    }

    // MARK: - Restart

    /// SEMANTICS K14; PROTOCOL R-62: what was accepted is run again, and its end is recorded once.
    @Test func aRestartRunsAcceptedActionsAgain() throws {
        let store = TestStore(Jobs())
        let sent = store.send(.attempt)
        store.receive(.noted("attempt 1")) { $0.notes = ["attempt 1"] }
        store.restart()
        store.receive(.noted("attempt 2")) { $0.notes.append("attempt 2") }
        store.restart()
        store.receive(.noted("attempt 3")) { $0.notes.append("attempt 3") }
        store.advance(by: .seconds(1))
        store.receive(.noted("done in attempt 3")) { $0.notes.append("done in attempt 3") }
        #expect(try store.reply(to: sent) == 3)
        store.send(.note("after"), reply: 5) { $0.notes.append("after") }
        store.finish()
    }

    @Test func aRestartBeginsWhatTheStateAsksFor() {
        let store = TestStore(Catch())
        let begin = store.now
        store.send(.play(seconds: 3)) { $0.timers.schedule("game", at: begin.advanced(by: .seconds(3)), "over") }
        store.send(.throwBall) { $0.holder = "machine" }
        store.advance(by: .milliseconds(900))
        store.restart()
        store.advance(by: .milliseconds(900))
        #expect(store.runningEffects == ["feedback machine for 0"])
        store.advance(by: .milliseconds(100))
        store.receive(.thrown(by: "machine")) { $0.holder = "human" }
        // The timer is of the state: it has not begun anew.
        store.advance(by: .milliseconds(1_100))
        store.receive(.over(begin.advanced(by: .seconds(3)))) {
            $0.isOver = true
            $0.timers.cancelAll()
        }
        store.finish()
    }

    // MARK: - Not exhaustive

    @Test func aStoreThatIsNotExhaustiveChecksWhatIsSaid() {
        let store = TestStore(Jobs())
        store.exhaustivity = .off
        store.send(.note("a"))
        store.send(.steps("s")) { _ in }
        store.receive(.noted("s 3")) { $0.notes = ["a", "s 1", "s 2", "s 3"] }
        store.send(.start("b", nil, seconds: 9))
        store.finish()
    }

    @Test func whatIsSkippedCanBeToldAsWarnings() {
        let collected = CollectedFailures()
        let store = TestStore(Jobs(), reporter: collected.reporter)
        store.exhaustivity = .off(showSkipped: true)
        store.send(.steps("s"))
        store.receive(.noted("s 2")) { $0.notes = ["s 1", "s 2"] }
        store.finish()
        #expect(collected.failures.allSatisfy { $0.isSkip })
        #expect(
            collected.texts == [
                """
                skipped: not received, before noted("s 2"):
                  noted("s 1") from the effect of steps("s")
                """,
                """
                skipped: not received, 1 at the end:
                  noted("s 3") from the effect of steps("s")
                """,
            ])
    }

    /// The same test is the same run.
    @Test func everyRunIsTheSame() {
        let runs = (1...5).map { _ in
            let store = TestStore(Jobs())
            store.exhaustivity = .off
            for name in ["a", "b", "c", "d"] { store.send(.start(name, nil, seconds: 1)) }
            store.send(.steps("x"))
            store.advance(by: .seconds(2))
            store.skipReceived()
            return store.state.notes
        }
        #expect(Set(runs).count == 1)
        #expect(runs[0].count == 11)
    }
}

/// Streams of wind, one after the other, as a source begins them.
private final class Winds: Sendable {
    private let current = Mutex<AsyncStream<Int>.Continuation?>(nil)

    func next() -> AsyncStream<Int> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        current.withLock { $0 = continuation }
        return stream
    }

    func blow(_ strength: Int) { _ = current.withLock { $0?.yield(strength) } }
}
