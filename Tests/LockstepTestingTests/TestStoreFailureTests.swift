import Foundation
import Lockstep
import LockstepTesting
import Testing

/// Goal: each way in which a test store should fail its test does fail it, at the line of the expectation, with a text
/// that says what differs (SEMANTICS F21).
@Suite(.timeLimit(.minutes(5))) struct TestStoreFailureTests {
    // MARK: - The running test

    @Test func aFailureIsAnIssueAtTheLineOfTheExpectation() {
        let store = TestStore(Votes())
        let line = #line + 2
        withKnownIssue {
            store.send(.vote("Ada")) { $0.votes["Ada"] = 2 }
        } matching: { issue in
            issue.sourceLocation?.line == line && "\(issue)".contains(#"votes["Ada"]: expected 2, found 1"#)
        }
        store.finish()
    }

    @Test func aStoreThatGoesAwayChecksItsEnd() {
        let collected = CollectedFailures()
        let line = #line + 2
        do {
            let store = TestStore(Jobs(), reporter: collected.reporter)
            store.send(.start("a", nil, seconds: 1))
        }
        #expect(collected.failures.map(\.line) == [line, line])
        #expect(
            collected.texts == [
                """
                not received, 1 at the end:
                  noted("a begins") from the effect of start("a", nil, seconds: 1)
                """,
                """
                still running at the end, cancel them, let time pass, or skip them with skipEffects():
                  the effect of start("a", nil, seconds: 1)
                """,
            ])
    }

    // MARK: - Sending

    @Test func anotherStateThanTheExpectedOneFails() {
        let texts = failures(Votes()) { store in
            store.send(.vote("Ada")) { $0.votes["Ada"] = 2 }
            store.send(.vote("Ada")) { $0.votes["Ada"] = 2 }
        }
        #expect(
            texts == [
                """
                vote("Ada"): the state is not the expected one
                  votes["Ada"]: expected 2, found 1
                """
            ])
    }

    @Test func aChangeThatNobodyExpectedFails() {
        let texts = failures(Votes()) { $0.send(.vote("Ada")) }
        #expect(
            texts == [
                """
                vote("Ada") changed the state, no change was expected
                  votes["Ada"]: added 1
                """
            ])
    }

    @Test func anExpectationOfNothingFails() {
        let texts = failures(Jobs()) { $0.send(.stopAll) { _ in } }
        #expect(texts == ["stopAll changed nothing, and the closure expects nothing: leave it out"])
    }

    @Test func aClosureThatThrowsFails() {
        let texts = failures(Votes()) { store in
            store.send(.vote("Ada")) { _ in throw Rejection("not here") }
        }
        #expect(texts == [#"the closure for vote("Ada") threw: not here"#])
    }

    @Test func aRejectionThatNobodyExpectedFails() {
        #expect(failures(Votes()) { $0.send(.vote("")) } == [#"vote("") was rejected: nobody was named"#])
    }

    @Test func anExpectedRejectionThatDoesNotComeFails() {
        let texts = failures(Votes()) { $0.send(.vote("Ada"), rejected: "nobody was named") }
        #expect(
            texts == [
                #"vote("Ada") was to be rejected with "nobody was named": it was committed with the reply 1"#,
                """
                vote("Ada") changed the state, no change was expected
                  votes["Ada"]: added 1
                """,
            ])
        let other = failures(Votes()) { $0.send(.vote(""), rejected: "too late") }
        #expect(
            other == [
                #"vote("") was to be rejected with "too late": it was rejected with "nobody was named""#
            ])
    }

    @Test func anotherReplyFails() {
        let texts = failures(Votes()) { store in store.send(.vote("Ada"), reply: 2) { $0.votes["Ada"] = 1 } }
        #expect(
            texts == [
                """
                vote("Ada") has another reply than the expected one
                  expected 2, found 1
                """
            ])
        let accepted = failures(Jobs()) { $0.send(.wait(seconds: 1), reply: 1) }
        #expect(
            accepted == ["wait(seconds: 1) was to be replied to with 1: it was accepted, and its effect goes on"])
    }

    @Test func sendingBeforeReceivingFails() {
        let texts = failures(Jobs()) { store in
            store.send(.steps("s"))
            store.receive(.noted("s 1")) { $0.notes = ["s 1"] }
            store.send(.stopAll)
        }
        #expect(
            texts == [
                """
                not received, before stopAll was sent:
                  noted("s 2") from the effect of steps("s")
                  noted("s 3") from the effect of steps("s")
                """
            ])
    }

    // MARK: - Receiving

    @Test func receivingWhatDidNotComeFails() {
        let texts = failures(Search()) { store in
            store.receive(.typed("a"))
            store.send(.search("a"))
            store.receive(.typed("a")) { $0.query = "a" }
            store.advance(by: .milliseconds(100))
            store.receive(.found(["A"]))
        }
        #expect(
            texts == [
                """
                nothing was emitted, expected was typed("a")
                  nothing runs
                """,
                """
                nothing was emitted, expected was found(["A"])
                  the effect of search("a")
                  somebody sleeps for another 0.2 seconds
                """,
            ])
    }

    @Test func receivingAnotherMutationFails() {
        let texts = failures(Search()) { store in
            store.send(.search("a"))
            store.receive(.typed("b")) { $0.query = "b" }
        }
        #expect(
            texts == [
                """
                expected was typed("b"), the next is another
                  typed("a") from the effect of search("a")
                  typed._0: expected "b", found "a"
                """
            ])
    }

    @Test func receivingInAnotherOrderFails() {
        let texts = failures(Jobs()) { store in
            store.send(.steps("s"))
            store.receive(.noted("s 2")) { $0.notes = ["s 1", "s 2"] }
            store.receive(where: { _ in false })
            store.receiveFailure("no luck")
        }
        #expect(texts.count == 3)
        #expect(texts[0].hasPrefix(#"expected was noted("s 2"), the next is another"#))
        #expect(texts[1].hasPrefix("expected was mutations that match, the next is another"))
        #expect(texts[2].hasPrefix("expected was a failure: no luck, the next is another"))
    }

    @Test func anotherStateAfterAMutationFails() {
        let texts = failures(Search()) { store in
            store.send(.search("a"))
            store.receive(.typed("a"))
            store.advance(by: .seconds(1))
            store.receive(.found(["A"])) { $0.results = ["B", "A"] }
        }
        #expect(
            texts == [
                """
                typed("a") from the effect of search("a") changed the state, no change was expected
                  query: "" -> "a"
                """,
                """
                found(["A"]) from the effect of search("a"): the state is not the expected one
                  results[0]: expected "B", found "A"
                  results[1]: expected "A", found nothing
                """,
            ])
    }

    @Test func aFailureThatNobodyReceivedFails() {
        let texts = failures(Jobs()) { store in
            store.send(.fail("no luck"))
            store.finish()
        }
        #expect(
            texts == [
                """
                not received, 1 at the end:
                  the failure of the effect of fail("no luck"): no luck
                """
            ])
    }

    @Test func whatTimersAndFeedbackEmitMustBeReceived() {
        let texts = failures(Catch()) { store in
            let end = store.now.advanced(by: .seconds(1))
            store.send(.play(seconds: 1)) { $0.timers.schedule("game", at: end, "over") }
            store.send(.throwBall) { $0.holder = "machine" }
            store.advance(by: .seconds(1))
            store.finish()
        }
        #expect(texts.count == 1)
        #expect(texts[0].contains(#"thrown(by: "machine") from feedback machine"#))
        #expect(texts[0].contains("from time"))
    }

    // MARK: - The end

    @Test func effectsThatStillRunFail() {
        let texts = failures(Jobs()) { store in
            store.send(.start("a", .serial, seconds: 1))
            store.receive(.noted("a begins")) { $0.notes = ["a begins"] }
            store.send(.start("b", .serial, seconds: 1))
            store.finish(timeout: .milliseconds(999))
            store.send(.stopAll)
        }
        #expect(
            texts == [
                """
                still running at the end, cancel them, let time pass, or skip them with skipEffects():
                  the effect of start("a", Optional(LockstepTestingTests.Jobs.Policy.serial), seconds: 1)
                  the effect of start("b", Optional(LockstepTestingTests.Jobs.Policy.serial), seconds: 1), \
                which waits for its turn
                """,
                "the store has finished: it does nothing more",
            ])
        let feedback = failures(Catch()) { store in
            store.send(.throwBall) { $0.holder = "machine" }
            store.finish()
        }
        #expect(feedback.count == 1 && feedback[0].contains("feedback machine"))
    }

    @Test func whatIsSkippedFailsNothing() {
        let texts = failures(Jobs()) { store in
            store.send(.start("a", nil, seconds: 1))
            store.skipReceived()
            store.skipEffects()
            store.finish()
        }
        #expect(texts == [])
    }

    // MARK: - Not exhaustive

    @Test func whatIsSaidOfAStoreThatIsNotExhaustiveMustBeSo() {
        let texts = failures(Jobs(), exhaustivity: .off) { store in
            store.send(.note("a")) { $0.notes = ["b"] }
            store.send(.steps("s"))
            store.receive(.noted("s 4"))
            store.receive(.noted("s 3")) { $0.notes = ["s 3"] }
        }
        #expect(texts.count == 3)
        #expect(texts[0].contains(#"notes[0]: expected "b", found "a""#))
        #expect(texts[1].hasPrefix(#"expected was noted("s 4"), the next is another"#))
        #expect(texts[2].contains(#"notes[0]: expected "s 3", found "a""#))
    }
}
