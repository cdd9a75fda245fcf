import Lockstep
import LockstepTesting
import Testing

/// Goal: what no test expects fails it, too: a reducer that is no function, what cannot be encoded or read back, and effects
/// without end (SEMANTICS F21).
@Suite(.timeLimit(.minutes(5))) struct TestStoreDefectTests {
    @Test func aReducerThatIsNoFunctionFails() {
        let texts = failures(Defect(), exhaustivity: .off) { store in
            store.send(.random)
            store.send(.random)
        }
        #expect(texts.count == 1)
        #expect(texts[0].hasPrefix("the reducer, or a coding, is not deterministic: a replica comes to another state"))
        #expect(texts[0].contains("random"))
        #expect(texts[0].contains("number: 0."))
        #expect(texts[0].contains("(primary)") && texts[0].contains("(replica)"))
    }

    @Test func aMutationThatCannotBeReadBackFails() {
        let texts = failures(Defect(), exhaustivity: .off) { store in
            store.send(.unreadable)
            store.send(.random)
        }
        #expect(texts.count == 1)
        #expect(texts[0].hasPrefix("a replica cannot apply the log, and would stop there: malformed"))
    }

    @Test func anActionThatCannotBeEncodedFails() {
        let texts = failures(Defect()) { $0.send(.unwritable) }
        #expect(texts.count == 1)
        #expect(texts[0].hasPrefix("unwritable cannot be encoded"))
    }

    /// PROTOCOL R-61: a session has at most so many accepted actions.
    @Test func anActionThatThePrimaryDoesNotTakeFails() {
        let texts = failures(Jobs()) { store in
            for _ in 1...1_024 { store.send(.wait(seconds: 1)) }
            store.send(.wait(seconds: 2))
        }
        let words = "1024 actions of this session go on already; wait for some to end, or cancel them"
        #expect(texts == ["wait(seconds: 2) was rejected: \(words)"])
    }

    @Test func aTimerThatIsNotTakenAwayFails() {
        let texts = failures(Defect(), exhaustivity: .off) { store in
            store.send(.timer)
            store.advance(by: .seconds(2))
        }
        #expect(texts.count == 1)
        #expect(texts[0].hasPrefix("the state still waits for a time that has come"))
    }

    @Test func aFeedbackThatFeedsItselfFails() {
        let texts = failures(Defect(), exhaustivity: .off) { store in
            store.send(.feedback)
            store.send(.random)
        }
        #expect(
            texts == ["the effects go on without end and without waiting: an effect, or a feedback, feeds itself"])
    }
}
