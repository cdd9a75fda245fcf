import Lockstep
import LockstepTesting
import Testing

/// Goal: what a reactor decides and reduces can be said in one sentence, and is checked (SEMANTICS F21).
@Suite struct SpecTests {
    @Test func aDecisionIsSpecified() {
        spec(Votes())
            .given(Votes.State(votes: ["Ada": 1]))
            .when(.vote("Ada"))
            .then(.emits(.counted("Ada")), .replies(2), .state { $0.votes["Ada"] = 2 })
        spec(Votes()).when(.vote("")).then(.rejects("nobody was named"), .unchanged, .emits())
        spec(Votes())
            .given { $0.votes["Grace"] = 5 }
            .when(.vote("Ada"), .vote("Ada"), .vote("Grace"))
            .then(.replies(6), .state { $0.votes["Grace"] = 6 })
    }

    @Test func anEffectThatGoesOnIsSeenAndNotRun() {
        spec(Search()).when(.search("a")).then(.defers, .defers(.latest("search")), .unchanged, .emits())
        spec(Jobs()).when(.stop("a")).then(.cancels("a"), .replies(0), .unchanged)
    }

    @Test func timeStandsWhereItIsPut() {
        let time = LogTime(rawValue: 5_000_000)
        spec(Catch()).at(time).when(.play(seconds: 2)).then(
            .emits(.ends(at: LogTime(rawValue: 7_000_000))),
            .state { $0.timers.schedule("game", at: LogTime(rawValue: 7_000_000), "over") })
    }

    /// Each expectation fails where it is wrong, at the line of `then`.
    @Test func whatIsNotSoFails() {
        let collected = CollectedFailures()
        let votes = spec(Votes(), reporter: collected.reporter)
        let line = #line + 1
        votes.when(.vote("Ada")).then(.emits(.counted("Grace")))
        #expect(collected.failures.map(\.line) == [line])
        votes.when(.vote("Ada")).then(.replies(2), .state { $0.votes["Ada"] = 3 })
        votes.when(.vote("Ada")).then(.unchanged, .rejects("late"), .defers)
        votes.when(.vote("")).then(.unchanged)
        votes.when(.vote(""), .vote("Ada")).then(.unchanged)
        votes.when(.vote("")).then(.rejects("late"))
        votes.then(.unchanged)
        let search = spec(Search(), reporter: collected.reporter)
        search.when(.search("a")).then(.unchanged)
        search.when(.search("a")).then(.defers(.first("search")), .cancels("search"))
        #expect(
            collected.texts == [
                #"vote("Ada") emits [\#(mutation("Ada"))], expected [\#(mutation("Grace"))]"#,
                "vote(\"Ada\") has another reply than the expected one\n  expected 2, found 1",
                "vote(\"Ada\") leads to another state than the expected one\n  votes[\"Ada\"]: expected 3, found 1",
                "vote(\"Ada\") changed the state, no change was expected\n  votes[\"Ada\"]: added 1",
                "vote(\"Ada\") was not rejected, expected \"late\"",
                "vote(\"Ada\") has no effect that goes on",
                "vote(\"\") was rejected: nobody was named",
                "vote(\"\") was rejected: nobody was named",
                "vote(\"\") was rejected with \"nobody was named\", expected \"late\"",
                "there is no action: say when(_:)",
                "search(\"a\") has an effect that goes on, which was not expected: add .defers",
                "search(\"a\") has another policy: latest of \"search\"",
                "search(\"a\") cancels [], expected \"search\"",
            ])
    }

    private func mutation(_ name: String) -> String { String(reflecting: Votes.Mutation.counted(name)) }
}
