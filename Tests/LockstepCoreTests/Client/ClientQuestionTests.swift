import LockstepCore
import Testing

/// Questions of a client that nobody waits for now.
@Suite struct ClientQuestionTests {
    /// Goal: a question is repeated until it is answered or taken back, and then no more (PROTOCOL, QUERY).
    @Test func aQuestionThatIsTakenBackIsNotAskedAgain() throws {
        var script = ClientScript(wantsSession: false)
        try script.welcome()
        func questions(_ directives: [ClientDirective]) -> Int {
            directives.count { directive in
                guard case .send(let frame) = directive else { return false }
                let message = withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
                if case .query? = message { return true }
                return false
            }
        }
        var isTaken = false
        script.event { client, now, directives in
            isTaken = client.query(ClientScript.session, 3, now: now, into: &directives)
        }
        #expect(isTaken && questions(script.directives) == 1)
        #expect(questions(script.wait(600)) == 1)
        script.client.cancelQuery(ClientScript.session, 3)
        #expect(questions(script.wait(2_000)) == 0)
    }
}
