import LockstepCore
import Testing

/// A client whose primary is busy.
@Suite struct ClientBusyTests {
    /// A number that the primary has, and whose answer was lost, is asked for again, although BUSY keeps coming: with a
    /// window that is full of unacknowledged answers nothing else would ever end it (PROTOCOL ).
    @Test func aLostAnswerIsAskedForHoweverBusyThePrimaryIs() throws {
        var script = ClientScript()
        try script.open()
        script.submit(1)
        script.submit(1)
        var first: Set<UInt64> = []
        for _ in 0..<400 {
            script.receive(
                .busy(Busy(session: ClientScript.session, expected: 2, retryAfter: 5_000, reason: .windowFull)))
            script.wait(10)
            first.formUnion(script.submits.map { $0[0] })
        }
        #expect(first == [1, 2])
        script.answer(1...1)
        #expect(script.answers.map(\.first) == [1])
    }

    /// Without such a number BUSY is obeyed: nothing is sent before its time, and then what it names.
    @Test func whatIsNotInTheLogWaits() throws {
        var script = ClientScript()
        try script.open()
        script.submit(1)
        var sent: [[UInt64]] = []
        for _ in 0..<20 {
            script.receive(
                .busy(Busy(session: ClientScript.session, expected: 1, retryAfter: 500_000, reason: .notAdmitting)))
            script.wait(400)
            sent += script.submits
        }
        #expect(sent.isEmpty)
        script.wait(200)
        #expect(script.submits.map { $0[0] } == [1])
    }
}
