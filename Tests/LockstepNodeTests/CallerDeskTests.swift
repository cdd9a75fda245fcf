import LockstepCore
import LockstepNode
import Testing

/// Callers between their submission and their answers.
///
/// A waiter without a caller counts as served already, so these tests wait with `resolve`'s closure.
@Suite(.timeLimit(.minutes(5)))
final class CallerDeskTests {
    private static let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
    private static let another = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 9))
    private let loop: NodeEventLoop
    private let inbox: Inbox
    private var desk = CallerDesk()
    private var next: RequestNumber = 1
    private var outcomes: [String: Result<RawReplies, any Error>] = [:]

    init() throws {
        loop = try NodeEventLoop(name: "test-desk")
        inbox = Inbox(signaller: loop.signaller)
    }

    private func put(_ name: String, _ count: Int, deadline: Tick = .never) -> Waiter {
        let waiter = Waiter(count: count, deadline: deadline) { [unowned self] in outcomes[name] = $0 }
        inbox.put([
            Submission(
                actions: SumState.actions(Array(repeating: 1, count: count)), count: count, waiter: waiter,
                isSingle: count == 1)
        ])
        return waiter
    }

    /// One caller whose actions come in parts of so many.
    private func put(_ name: String, parts: [Int]) -> Waiter {
        let waiter = Waiter(count: parts.reduce(0, +), deadline: .never) { [unowned self] in outcomes[name] = $0 }
        for count in parts { inbox.put([part(count, of: waiter)]) }
        return waiter
    }

    private func part(_ count: Int, of waiter: Waiter) -> Submission {
        Submission(actions: SumState.actions(Array(repeating: 1, count: count)), count: count, waiter: waiter)
    }

    /// Asks about these numbers of a session; false if they are not known here.
    private func ask(_ name: String, _ numbers: ClosedRange<RequestNumber>) -> Bool {
        let resolver = Waiter(count: numbers.count, deadline: .never) { [unowned self] in outcomes[name] = $0 }
        switch desk.resolve(PendingOutcome(session: Self.session, numbers: numbers), for: resolver) {
        case .served: return true
        case .unknown: return false
        }
    }

    private func take() { _ = desk.take(from: inbox, withActions: true) }

    /// Submits with credit for `credit` chunks.
    private func submit(credit: Int = .max, session: SessionID = CallerDeskTests.session) {
        var credit = credit
        _ = desk.submit(session: session) { _, count in
            guard credit > 0 else { return nil }
            credit -= 1
            defer { next += UInt64(count) }
            return next
        }
    }

    /// Answers these numbers, each with one byte, its number.
    private func answer(_ numbers: ClosedRange<RequestNumber>, session: SessionID = CallerDeskTests.session) {
        var writer = ByteWriter()
        for number in numbers {
            withBytes(of: [UInt8(number)]) { ReplyItem.write(.committed, $0, 0..<1, to: &writer) }
        }
        desk.answered(
            ClientDirective.Answers(
                first: numbers.lowerBound, count: numbers.count, epoch: Epoch(rawValue: 1),
                firstSequence: SequenceNumber(rawValue: 100 + numbers.lowerBound), items: 0..<writer.count),
            in: ReplyFrame(bytes: writer.bytes), session: session)
    }

    private func replies(_ name: String) throws -> [UInt8]? {
        try outcomes[name]?.get().outcomes().flatMap(\.reply)
    }

    /// Single actions share a chunk; each caller gets its own answer, however the answers are cut.
    @Test
    func everyCallerGetsItsOwnAnswers() throws {
        let waiters = [put("a", 1), put("b", 1), put("c", 3), put("d", 1)]
        take()
        submit()
        // Single actions come first: a, b, d have 1 to 3, c has 4 to 6.
        #expect(desk.unanswered == 6)
        answer(1...1)
        #expect(try replies("a") == [1])
        #expect(outcomes["b"] == nil)
        answer(2...5)
        #expect(try replies("b") == [2])
        #expect(try replies("d") == [3])
        #expect(outcomes["c"] == nil)
        answer(6...6)
        #expect(try replies("c") == [4, 5, 6])
        let pieces = try outcomes["c"]?.get().pieces
        #expect(pieces?.map(\.first) == [4, 6])
        #expect(pieces?.map(\.firstSequence.rawValue) == [104, 106])
        #expect(desk.isIdle)
        #expect(waiters.filter(\.isDone).count == 4)
    }

    /// Without credit nothing is submitted; nothing more is taken either.
    @Test
    func whatHasNoCreditStays() {
        _ = put("a", 2)
        _ = put("b", 2)
        take()
        submit(credit: 1)
        #expect(desk.unanswered == 2)
        #expect(!desk.wantsActions)
        submit()
        #expect(desk.unanswered == 4)
        #expect(desk.wantsActions)
    }

    /// A time limit before the submission: without effect, and never submitted.
    @Test
    func aLimitBeforeTheSubmissionMeansNoEffect() throws {
        _ = put("a", 1, deadline: Tick(rawValue: 5))
        take()
        #expect(desk.nextDeadline == Tick(rawValue: 5))
        let due = desk.popDue(Tick(rawValue: 5))
        let numbers = desk.leave(try #require(due), because: LockstepError(.timeout, "late"))
        #expect(numbers == nil)
        #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        // It was staged, and so were others: only they are submitted.
        _ = put("b", 1)
        let left = put("c", 3)
        submit()
        #expect(desk.unanswered == 0)
        take()
        _ = desk.leave(left, because: CancellationError())
        submit()
        #expect(desk.unanswered == 1)
        answer(1...1)
        #expect(try replies("b") == [1])
    }

    /// While there is no session nothing is taken: callers whose time is over give their places in the inbox's second
    /// line to others.
    @Test
    func whoLeavesWithoutASessionMakesRoom() {
        _ = put("staged", 1)
        take()
        _ = put("full", parts: [Inbox.actionBound])
        let late = (0..<3).map { put("late \($0)", 2, deadline: Tick(rawValue: 5)) }
        _ = put("patient", 2)
        take()
        #expect(inbox.load.submissions == 4)
        while let due = desk.popDue(Tick(rawValue: 5)) { _ = desk.leave(due, because: LockstepError(.timeout, "late")) }
        take()
        #expect(late.filter(\.isDone).count == 3)
        #expect(inbox.load.submissions == 1)
        #expect(outcomes["patient"] == nil)
    }

    /// A time limit after the submission: the outcome is unknown, and its numbers are given up (PROTOCOL, R-28); the
    /// answer that comes late is kept for who asks again.
    @Test
    func aLimitAfterTheSubmissionLeavesTheOutcomeOpen() throws {
        _ = put("a", 2, deadline: Tick(rawValue: 5))
        take()
        submit()
        let due = desk.popDue(Tick(rawValue: 9))
        let numbers = desk.leave(try #require(due), because: LockstepError(.timeout, "late"))
        #expect(numbers == 1...2)
        let pending = PendingOutcome(session: Self.session, numbers: 1...2)
        #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }

        let before = Waiter(count: 2, deadline: .never) { [unowned self] in outcomes["before"] = $0 }
        let isServed = desk.resolve(pending, for: before)
        #expect(isServed == .served)
        #expect(outcomes["before"] == nil)
        answer(1...2)
        #expect(try replies("before") == [1, 2])
    }

    /// Of single actions that share a chunk, those whose callers left are taken out of it.
    @Test
    func whoLeftIsTakenOutOfASharedChunk() throws {
        let waiters = ["a", "b", "c"].map { put($0, 1) }
        take()
        _ = desk.leave(waiters[1], because: CancellationError())
        submit()
        #expect(desk.unanswered == 2)
        #expect(waiters[2].pending?.numbers == 2...2)
        answer(1...2)
        #expect(try replies("c") == [2])
    }

    @Test
    func lateAnswersAreKept() throws {
        let waiter = put("a", 2)
        take()
        submit()
        _ = desk.leave(waiter, because: CancellationError())
        answer(1...2)
        let resolver = Waiter(count: 2, deadline: .never) { [unowned self] in outcomes["after"] = $0 }
        let isServed = desk.resolve(PendingOutcome(session: Self.session, numbers: 1...2), for: resolver)
        #expect(isServed == .served)
        #expect(try replies("after") == [1, 2])
        let other = Waiter(count: 1, deadline: .never) { _ in }
        let isKnown = desk.resolve(PendingOutcome(session: Self.session, numbers: 7...7), for: other)
        #expect(isKnown == .unknown)
    }

    @Test
    func lateAnswersAreBounded() {
        var late = LateAnswers()
        for number in 1...UInt64(LateAnswers.capacity) + 10 {
            late.insert(RawReplies(pieces: []), for: PendingOutcome(session: Self.session, numbers: number...number))
        }
        #expect(late.count == LateAnswers.capacity)
        #expect(late[PendingOutcome(session: Self.session, numbers: 10...10)] == nil)
        #expect(late[PendingOutcome(session: Self.session, numbers: 11...11)] != nil)
    }

    /// The session ends between two parts of one caller's actions: the outcome of those with numbers is open, the rest
    /// is never sent, and nothing of the next session counts as this caller's (PROTOCOL, R-27).
    @Test
    func theRestOfACallerWhoseSessionEndedIsNotSent() throws {
        next = 100
        let waiter = put("a", parts: [2, 3])
        _ = put("b", parts: [2])
        take()
        submit(credit: 1)
        answer(100...101)
        #expect(outcomes["a"] == nil)
        desk.sessionLost(Self.session)
        let error = #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.pending == PendingOutcome(session: Self.session, numbers: 100...101))
        next = 1
        submit(session: Self.another)
        #expect(desk.unanswered == 2 && waiter.pending == error?.pending)
        answer(1...2, session: Self.another)
        #expect(try replies("b") == [1, 2])
        // What was answered is not lost.
        let isKnown = ask("again", 100...101)
        #expect(isKnown)
        #expect(try replies("again") == [100, 101])
    }

    /// The same where the second part was still in the inbox when the session ended.
    @Test
    func aPartThatComesAfterItsSessionIsNotSent() throws {
        next = 100
        let waiter = Waiter(count: 5, deadline: .never) { [unowned self] in outcomes["a"] = $0 }
        inbox.put([part(2, of: waiter)])
        take()
        submit()
        answer(100...101)
        desk.sessionLost(Self.session)
        inbox.put([part(3, of: waiter)])
        take()
        next = 1
        submit(session: Self.another)
        #expect(desk.isIdle && desk.unanswered == 0 && next == 1)
        let error = #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        #expect(error?.pending == PendingOutcome(session: Self.session, numbers: 100...101))
    }

    /// The node ends while the rest of a caller's actions is in the inbox: what has numbers may have taken effect,
    /// answered or not, and only who has none is told that nothing was submitted.
    @Test(arguments: [true, false])
    func theEndLeavesOpenWhatHasNumbers(isAnswered: Bool) {
        let waiter = Waiter(count: 5, deadline: .never) { [unowned self] in outcomes["a"] = $0 }
        inbox.put([part(2, of: waiter)])
        take()
        submit()
        if isAnswered { answer(1...2) }
        inbox.put([part(3, of: waiter)])
        _ = put("b", 2)
        inbox.end(StoreHost.stopped)
        desk.stop(StoreHost.stopped)
        let error = #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.pending == PendingOutcome(session: Self.session, numbers: 1...2))
        let other = #expect(throws: LockstepError.self) { try self.outcomes["b"]?.get() }
        #expect(other?.code == .stopped && other?.pending == nil)
    }

    /// A caller leaves when its first part is answered and its second has no number: who asks again gets the answers.
    @Test
    func answersBeforeTheLeaveAreKept() throws {
        let waiter = put("a", parts: [2, 3])
        take()
        submit(credit: 1)
        answer(1...2)
        let numbers = desk.leave(waiter, because: LockstepError(.timeout, "late"))
        #expect(numbers == 1...2)
        let error = #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        #expect(error?.pending?.numbers == 1...2)
        let isKnown = ask("again", 1...2)
        #expect(isKnown)
        #expect(try replies("again") == [1, 2])
        submit()
        #expect(desk.isIdle && desk.unanswered == 0)
    }

    /// The numbers of one caller follow each other, also if one of its parts had to wait in the second line and others'
    /// single actions came meanwhile.
    @Test
    func nobodysNumberIsBetweenTwoParts() {
        let waiter = put("a", parts: [Inbox.actionBound, 1])
        take()
        let single = put("b", 1)
        submit()
        take()
        submit()
        let last = UInt64(Inbox.actionBound) + 1
        #expect(waiter.pending?.numbers == 1...last)
        #expect(single.pending?.numbers == last + 1...last + 1)
    }

    /// The session ends: what has a number is unknown for ever, what has none waits for the next session.
    @Test
    func aLostSessionLeavesTheUnsubmitted() {
        _ = put("a", 2)
        _ = put("b", 2)
        take()
        submit(credit: 1)
        desk.sessionLost(Self.session)
        #expect(throws: LockstepError.self) { try self.outcomes["a"]?.get() }
        #expect(outcomes["b"] == nil)
        #expect(desk.unanswered == 0)
        next = 1
        submit()
        #expect(desk.unanswered == 2)
    }
}
