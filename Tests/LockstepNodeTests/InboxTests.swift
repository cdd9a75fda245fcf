import LockstepCore
import LockstepNode
import Testing

/// Where callers leave their actions, with its bounds.
@Suite(.timeLimit(.minutes(5)))
struct InboxTests {
    private let loop: NodeEventLoop
    private let inbox: Inbox

    init() throws {
        loop = try NodeEventLoop(name: "test-inbox")
        inbox = Inbox(signaller: loop.signaller)
    }

    private func submission(_ count: Int, bytes: Int, deadline: Tick = .never) -> Submission {
        Submission(
            actions: Array(repeating: 0, count: bytes), count: count, waiter: Waiter(count: count, deadline: deadline),
            isSingle: count == 1)
    }

    /// At the bound the rest waits in a second line, which moves up when the loop has taken what was there.
    @Test
    func beyondTheBoundASecondLineWaits() {
        let chunk = Inbox.actionBound / 4
        for _ in 0..<6 { inbox.put([submission(chunk, bytes: chunk)]) }
        var taken = InboxContents()
        inbox.exchange(&taken, withActions: true)
        #expect(taken.chunks.count == 4)
        taken.removeActions()
        inbox.exchange(&taken, withActions: true)
        #expect(taken.chunks.count == 2)
        taken.removeActions()
        #expect(!inbox.isWaiting(withActions: true))
    }

    @Test
    func theBoundCountsBytesToo() {
        for _ in 0..<3 { inbox.put([submission(1, bytes: Inbox.byteBound / 2)]) }
        var taken = InboxContents()
        inbox.exchange(&taken, withActions: true)
        #expect(taken.singleEnds.count == 2)
        #expect(taken.singles.count == Inbox.byteBound)
    }

    /// Who has left keeps no place in the second line, also while no actions are taken; the others keep their order.
    ///
    /// The line is looked through when an eighth of it may have left.
    @Test
    func whoHasLeftKeepsNoPlaceInTheLine() {
        inbox.put([submission(Inbox.actionBound, bytes: 1)])
        let callers = (0..<16).map { _ in
            Submission(actions: [0], count: 1, waiter: Waiter(count: 1, deadline: .never) { _ in })
        }
        for caller in callers { inbox.put([caller]) }
        var taken = InboxContents()
        callers[0].waiter.fail(CancellationError())
        inbox.exchange(&taken, withActions: false, gone: 1)
        #expect(inbox.load.submissions == 16)
        for place in stride(from: 2, to: 16, by: 2) { callers[place].waiter.fail(CancellationError()) }
        inbox.exchange(&taken, withActions: false, gone: 7)
        #expect(inbox.load.submissions == 8)
        #expect(inbox.load.actions == Inbox.actionBound, "what is in front of the line stays")
        inbox.exchange(&taken, withActions: true)
        taken.removeActions()
        inbox.exchange(&taken, withActions: true)
        let left = stride(from: 1, to: 16, by: 2).map { ObjectIdentifier(callers[$0].waiter) }
        #expect(taken.chunks.map { ObjectIdentifier($0.waiter) } == left)
    }

    /// Callers with a time limit are known before their actions are taken.
    @Test
    func timeLimitsAreKnownWithoutCredit() {
        inbox.put([submission(1, bytes: 2, deadline: Tick(rawValue: 1))])
        var taken = InboxContents()
        inbox.exchange(&taken, withActions: false)
        #expect(taken.timed.count == 1)
        #expect(!taken.hasActions)
        #expect(inbox.isWaiting(withActions: true))
        #expect(!inbox.isWaiting(withActions: false))
    }

    /// A caller that was cancelled before it came is not let in.
    @Test
    func whoLeftBeforeIsNotLetIn() async {
        let early = submission(1, bytes: 2)
        inbox.leave(early.waiter)
        await #expect(throws: CancellationError.self) {
            _ = try await withUnsafeThrowingContinuation { continuation in
                early.waiter.wait(continuation)
                inbox.put([early])
            }
        }
        #expect(!inbox.isWaiting(withActions: true))
    }

    /// Whoever comes after the end is told at once, and so is who waits.
    @Test
    func theEndRefusesEverybody() async {
        async let waiting: RawReplies = withUnsafeThrowingContinuation { continuation in
            let submission = submission(1, bytes: 2)
            submission.waiter.wait(continuation)
            inbox.put([submission])
            inbox.end(StoreHost.stopped)
        }
        do {
            _ = try await waiting
            Issue.record("nobody can have answered")
        } catch {
            #expect((error as? LockstepError)?.code == .stopped)
        }
        let late = submission(1, bytes: 2)
        await #expect { () async throws -> Void in
            _ = try await withUnsafeThrowingContinuation { continuation in
                late.waiter.wait(continuation)
                inbox.put([late])
            }
        } throws: {
            ($0 as? LockstepError)?.code == .stopped
        }
    }

    /// Errands have a bound, and each is either run or refused.
    @Test
    func errandsAreBounded() async {
        for _ in 0..<Inbox.errandBound { inbox.ask(Errand(run: { _ in })) }
        await withCheckedContinuation { continuation in
            inbox.ask(Errand(run: { _ in }, refuse: { _ in continuation.resume() }))
        }
        var taken = InboxContents()
        inbox.exchange(&taken, withActions: false)
        #expect(taken.errands.count == Inbox.errandBound)
    }

    /// What is given back is found again, counts against the bound, and is refused at the end like all else.
    @Test
    func errandsThatAreGivenBackStay() async {
        for _ in 0..<Inbox.errandBound { inbox.ask(Errand(run: { _ in })) }
        var taken = InboxContents()
        inbox.exchange(&taken, withActions: false)
        #expect(!inbox.isWaiting(withActions: false))
        // What the loop has taken and not done counts, too.
        inbox.ask(Errand(run: { _ in }, refuse: { _ in }))
        #expect(inbox.load.refused == 1)
        inbox.giveBack(taken.errands[1...])
        #expect(inbox.isWaiting(withActions: false))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            inbox.ask(Errand(run: { _ in }, refuse: { _ in continuation.resume() }))
            #expect(inbox.load.refused == 1)
            inbox.ask(Errand(run: { _ in }, refuse: { _ in }))
            #expect(inbox.load.refused == 2)
            inbox.end(StoreHost.stopped)
        }
    }
}
