import LockstepCore
import Testing

/// How the primary takes, refuses and answers actions.
@Suite struct PrimarySubmitTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    /// Goal: an answer leaves only after the commit, and then in order with its place (PROTOCOL ).
    @Test func anAnswerLeavesOnlyWhenItsEntryIsDurable() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5, 7], from: one)
        primary.turn()
        #expect(primary.sent.isEmpty)
        primary.persist()
        #expect(primary.answers.map(\.number) == [1, 2])
        #expect(primary.answers.map(\.reply) == [[5], [12]])
        #expect(primary.answers.map(\.sequence.rawValue) == [3, 4])
    }

    /// Goal: a duplicate of a committed number gets the same bytes, whatever its body (PROTOCOL ).
    @Test func aDuplicateGetsTheKeptReplyWhateverItsBody() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5, 0, 255], from: one)
        primary.commit()
        let first = primary.answers
        #expect(first.map(\.status) == [.committed, .rejected, .committed])
        primary.forget()
        primary.submit(session, 1, [9, 9, 9], from: one)
        #expect(primary.answers == first)
        #expect(primary.state.sum == 5)
        #expect(primary.counts[.duplicateActions] == 1)
    }

    /// Goal: a duplicate of an uncommitted number waits for the first and is answered once (PROTOCOL R-21).
    @Test func aDuplicateOfAnUncommittedActionIsAnsweredOnceWithTheCommit() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        for _ in 0..<3 { primary.submit(session, 1, [5], from: one) }
        primary.turn()
        primary.submit(session, 1, [5], from: one)
        #expect(primary.sent.isEmpty)
        primary.persist()
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
        #expect(primary.state.sum == 5)
    }

    /// Goal: of an overlapping SUBMIT the known part is answered and the rest is taken (PROTOCOL R-21).
    @Test func anOverlapIsAnsweredInItsKnownPartAndTakenInItsRest() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1, 2], from: one)
        primary.commit()
        primary.forget()
        primary.submit(session, 2, [99, 3, 4], from: one)
        #expect(primary.answers.map(\.number) == [2])
        primary.commit()
        #expect(primary.answers.map(\.number) == [2, 3, 4])
        #expect(primary.answers.map(\.reply) == [[3], [6], [10]])
    }

    /// Goal: a gap takes nothing and is told once for each expected number and connection (PROTOCOL R-21).
    @Test func aGapIsToldOnceForEachExpectedNumberAndConnection() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        for _ in 0..<3 { primary.submit(session, 4, [1], from: one) }
        #expect(primary.sent.compactMap(\.outOfOrder) == [1])
        primary.submit(session, 1, [1], from: one)
        primary.submit(session, 4, [1], from: one)
        primary.submit(session, 5, [1], from: one)
        #expect(primary.sent.compactMap(\.outOfOrder) == [1, 2])
        primary.hello(two)
        primary.receive(
            .resume(Resume(session: session, openNonce: 1, connectionNonce: 5, ackedThrough: 0)), from: two)
        primary.submit(session, 4, [1], from: two)
        #expect(primary.sent.compactMap(\.outOfOrder) == [1, 2, 2])
        #expect(primary.state.sum == 1)
    }

    /// Goal: what the owner acknowledged is dropped, also when a run that is still kept holds it (PROTOCOL ).
    @Test func acknowledgedNumbersAreCountedAndDropped() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1, 2, 3], from: one)
        primary.commit()
        primary.submit(session, 4, [4], acked: 2, from: one)
        primary.commit()
        primary.forget()
        primary.submit(session, 1, [1, 2, 3], from: one)
        #expect(primary.answers.map(\.number) == [3])
        primary.submit(session, 1, [1, 2], from: one)
        #expect(primary.answers.map(\.number) == [3])
        #expect(primary.counts[.duplicateActions] == 2)
    }

    /// Goal: a number that was given up has no effect if it comes first, and the original's answer if it comes second
    /// (PROTOCOL ).
    @Test func theFirstOfABodyAndItsVoidWins() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [0, 0], isVoid: true, from: one)
        primary.submit(session, 1, [7, 7], from: one)
        primary.submit(session, 3, [8], from: one)
        primary.submit(session, 3, [0], isVoid: true, from: one)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.void, .void, .committed])
        #expect(primary.state.sum == 8)
        primary.forget()
        primary.submit(session, 1, [7, 7, 7], from: one)
        #expect(primary.answers.map(\.status) == [.void, .void, .committed])
    }

    /// Goal: sessions that alternate keep their own order, and each gets its own answers (PROTOCOL ).
    @Test func alternatingSessionsKeepTheirOwnOrder() {
        let primary = PrimaryHarness.open()
        let first = primary.session(one, client: 1)
        let second = primary.session(two, client: 2)
        for number in 1...20 {
            primary.submit(first, RequestNumber(number), [1], from: one)
            primary.submit(second, RequestNumber(number), [2], from: two)
        }
        primary.commit()
        for (session, connection) in [(first, one), (second, two)] {
            let own = primary.sent.filter { $0.connection == connection }.flatMap(\.answers)
            #expect(own.map(\.number) == Array(1...20))
            #expect(own.allSatisfy { $0.session == session })
        }
        #expect(primary.answers.map(\.sequence.rawValue) == Array(4...43))
    }

    /// Goal: a SUBMIT whose actions do not fill it changes nothing (PROTOCOL R-10).
    @Test func aBrokenSubmitIsCountedAndChangesNothing() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let short = withBytes(of: [1, 9, 1]) { source in
            let submit = Submit(
                session: session, first: 1, ackedThrough: 0, count: 1, isVoid: false, actions: 0..<3)
            return primary.stamp.frame(.submit(submit), source: source)
        }
        primary.receive(short, from: one)
        primary.receive(primary.submitFrame(session, 1, [[UInt8](repeating: 1, count: 1 << 20) + [1]]), from: one)
        #expect(primary.counts[.framesRefused] == 2)
        #expect(primary.sent.isEmpty)
        #expect(primary.machine.isDrained)
    }

    /// Goal: an action that cannot be decoded is logged as rejected and consumes its number (PROTOCOL R-12).
    @Test func anUndecodableActionIsLoggedAsRejected() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.receive(primary.submitFrame(session, 1, [[], [4]]), from: one)
        primary.commit()
        #expect(primary.answers.map(\.status) == [.rejected, .committed])
        #expect(primary.answers.map(\.number) == [1, 2])
    }

    /// Goal: numbers beyond the session's window get BUSY, which says where to go on (PROTOCOL R-24).
    @Test func aSubmitThatLeavesTheWindowGetsBusy() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let many = [UInt8](repeating: 255, count: Limits.submitActions)
        var next: RequestNumber = 1
        while primary.sent.compactMap(\.busy).isEmpty {
            primary.submit(session, next, many, from: one)
            primary.commit()
            next += UInt64(many.count)
            precondition(next < 1 << 20, "the window never fills")
        }
        let busy = primary.sent.compactMap(\.busy)
        #expect(busy.map(\.reason) == [.windowFull])
        // What was taken before is answered; the owner acknowledges it and goes on where BUSY says.
        let last = primary.answers.map(\.number).max() ?? 0
        #expect(busy.first?.expected == last + 1)
        primary.forget()
        primary.submit(session, last + 1, [3], acked: last, from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [last + 1])
    }

    /// Goal: what all sessions keep together is bounded, since each may have one large reply; what a refused SUBMIT
    /// acknowledges makes room (PROTOCOL R-24).
    @Test func whatAllSessionsKeepIsBounded() {
        let primary = PrimaryHarness.open()
        primary.machine.sessionRoom.keptLimit = 1
        let (session, other) = (primary.session(one), primary.session(two, client: 2))
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
        primary.forget()
        primary.submit(other, 1, [1], from: two)
        primary.submit(session, 2, [2], acked: 1, from: one)
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.windowFull, .windowFull])
        // The acknowledgement is logged once a second.
        primary.pass(milliseconds: 1_500)
        primary.commit()
        primary.forget()
        primary.submit(other, 1, [1], from: two)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
    }

    /// Goal: a frame that is larger than the whole window is taken in parts, each when all before it is acknowledged
    /// (PROTOCOL R-24).
    @Test func aSubmitLargerThanTheWindowIsTakenInParts() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, windowNumbers: 1)
        for first in 1...3 as ClosedRange<RequestNumber> {
            primary.submit(session, first, [UInt8](repeating: 1, count: 4 - Int(first)), acked: first - 1, from: one)
            primary.commit()
            #expect(primary.answers.map(\.number) == [first])
            #expect(primary.sent.compactMap(\.busy).map(\.expected) == (first < 3 ? [first + 1] : []))
            primary.forget()
        }
    }

    /// Goal: a connection that the session is not bound to learns that it must start over (PROTOCOL R-29).
    @Test func aSubmitOnAnotherConnectionGetsResync() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1], from: two)
        primary.hello(two)
        primary.submit(session, 1, [1], from: two)
        #expect(primary.kinds == [.resync, .welcome, .resync])
        #expect(primary.machine.isDrained)
    }

    /// Goal: actions and batches keep their boundaries: the entry that fills a batch ends it (PROTOCOL ).
    @Test func theEntryThatFillsABatchEndsIt() throws {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        for round in 0..<3 {
            let first = RequestNumber(round * 8_000 + 1)
            primary.submit(session, first, [UInt8](repeating: 1, count: 8_000), acked: first - 1, from: one)
            primary.commit()
        }
        let full = primary.durable.filter { $0.bytes.count >= Limits.batchFullBytes }
        #expect(!full.isEmpty)
        #expect(primary.durable.allSatisfy { $0.bytes.count < Limits.broadcastBytes })
        #expect(primary.answers.map(\.number) == Array(1...24_000))
        var log = LogState(store: PrimaryHarness.store)
        let state = CountingState()
        for batch in primary.durable { _ = try log.apply(batch, to: state) }
        #expect(log == primary.machine.log)
    }
}
