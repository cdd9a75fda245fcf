public import Lockstep
import LockstepCore

/// One reactor under test: in this process and on this thread, with its effects, feedback, timers and sources, and
/// with virtual time.
///
/// The primary's own machinery does the work: policies, cancellation, acceptance and the order of the log are those of a
/// node. Only the journal, which commits at once, and the clock are the test's.
///
/// ```swift
/// @Test func aSearchIsLoadedAndShown() {
///     let store = TestStore(Search())
///     store.send(.search("swift")) { $0.query = "swift" }
///     store.advance(by: .milliseconds(300))
///     store.receive(.found(["Swift"])) { $0.results = ["Swift"] }
///     store.finish()
/// }
/// ```
///
/// It is exhaustive: each change of the state is expected in a closure that makes the same change; whatever effects,
/// feedback, timers and sources emit is received, in order; and nothing may be left, or still run, at the end. What is
/// not as expected fails the test at the line of the expectation, with the difference. Values are compared by what they
/// encode, so they need not be `Equatable`. A second state is fed with the committed log, as a replica is, and
/// compared after each step, so that a reducer that is no function of its arguments is found.
///
/// Effects run on the calling thread until each of them sleeps on ``clock``, has ended, or waits for something that a
/// test brings; so give dependencies that wait the same clock. For what has threads of its own there is
/// ``waitForMore(timeout:fileID:filePath:line:column:)``.
public final class TestStore<R: Reactor> {
    /// What effects sleep on, and log time follows; give it to the reactor's own dependencies.
    ///
    /// Move it with ``advance(by:fileID:filePath:line:column:)``.
    public let clock: VirtualClock
    /// Whether everything must be expected; by default it must.
    public var exhaustivity = TestExhaustivity.on
    /// The state after everything that was sent and received so far.
    ///
    /// What was emitted and not received is not in it.
    public internal(set) var state: R.State

    private let makeReactor: () -> R
    private let place: CallSite
    private let report: (TestFailure) -> Void
    let executor = TestStoreExecutor()
    let log: TestLog<R>
    let time: TestStoreClock
    var primary: TestPrimary<R>?
    private var boots = 1
    /// What was not received yet.
    var events: [TestEvent<R>] = []
    var lastNumber: RequestNumber = 0
    /// The actions in words, by their numbers.
    var actions: [RequestNumber: String] = [:]
    var outcomes: [RequestNumber: Outcome<R.Reply>] = [:]
    /// How many entries the effect of each action has written.
    var emissions: [RequestNumber: UInt64] = [:]
    var ignoresEffects = false
    private var isOver = false
    /// It ended by a failure that was reported.
    private var isBroken = false
    private var hasDiverged = false

    /// Makes a store and starts its primary: feedback and sources begin.
    ///
    /// The reactor is evaluated anew for each start of the primary, as a process makes its own. A clock is given if the
    /// reactor's dependencies were made with one; it stands at zero, when log time is `time`, 2025-06-15 if not said
    /// otherwise. Failures go to the running test of swift-testing unless a reporter is given.
    public init(
        _ reactor: @autoclosure @escaping () -> R, clock: VirtualClock = VirtualClock(),
        time: LogTime = LogTime(rawValue: 1_750_000_000_000_000), reporter: TestReporter = .issue,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) {
        self.clock = clock
        makeReactor = reactor
        place = CallSite(fileID, filePath, line, column)
        report = reporter.report
        self.time = TestStoreClock(virtual: clock, origin: time)
        let first = reactor()
        state = first.initialState
        log = TestLog(first, store: TestPrimary<R>.storeID)
        begin(first, at: place)
    }

    deinit {
        if !isOver { conclude(at: place) }
    }

    // MARK: - Restart

    /// Ends the primary in the middle of what it does and starts another from the log.
    ///
    /// What has committed stays, also what was not received yet. Effects are cut off; those of accepted actions that had
    /// not ended begin again with the next ``Emitter/attempt``, those of feedback as the state asks for them.
    public func restart(
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) {
        let place = CallSite(fileID, filePath, line, column)
        guard settle(at: place) else { return }
        primary?.kill()
        primary = nil
        boots += 1
        begin(makeReactor(), at: place)
    }

    private func begin(_ reactor: R, at place: CallSite) {
        let primary: TestPrimary<R>
        do throws(LogState.ApplyError) {
            primary = try TestPrimary(reactor, log: log, clock: time, executor: executor, boot: boots)
        } catch {
            return giveUp("the log cannot be recovered: \(error)", at: place)
        }
        self.primary = primary
        primary.start()
        settle(at: place)
    }

    /// The state of the replica that is fed with the committed log.
    public var replica: R.State { log.replica.base.workingState }

    // MARK: - Steps

    /// Lets effects work until they wait; false if the store is no longer of use.
    @discardableResult
    func settle(at place: CallSite) -> Bool {
        guard let primary, !isOver else {
            if !isBroken { fail("the store has finished: it does nothing more", at: place) }
            return false
        }
        let isAtRest = primary.settle()
        take(primary.takeHappenings())
        if let broken = primary.broken {
            giveUp("a replica cannot apply the log, and would stop there: \(broken)", at: place)
            return false
        }
        guard isAtRest else {
            giveUp(
                "the effects go on without end and without waiting: an effect, or a feedback, feeds itself", at: place)
            return false
        }
        compare(primary, at: place)
        return true
    }

    func take(_ happenings: [TestHappening<R>]) {
        for happening in happenings {
            switch happening {
            case .entry(let entry):
                note(entry)
                if let event = event(of: entry) { events.append(event) }
            case .failure(let failure):
                // That of an action is in the log.
                if case .action = failure.origin { continue }
                events.append(TestEvent(source: words(for: failure.origin), content: .failure("\(failure.error)")))
            }
        }
    }

    /// Both states came from the same log.
    private func compare(_ primary: TestPrimary<R>, at place: CallSite) {
        guard !hasDiverged, primary.state.digest != log.replica.digest else { return }
        hasDiverged = true
        let differences = StateDifference.between([
            (name: "primary", parts: StateDigest.parts(of: primary.state.workingState)),
            (name: "replica", parts: StateDigest.parts(of: log.replica.base.workingState)),
        ])
        let entries = [log.last.map { "  the entry: \($0)" }].compactMap { $0 }
        fail(
            (["the reducer, or a coding, is not deterministic: a replica comes to another state"] + entries
                + differences.map { "  \($0)" }).joined(separator: "\n"), at: place)
    }

    // MARK: - The end

    /// Checks that nothing is left: everything was received, and no effect of an action or of feedback runs.
    ///
    /// A store that goes away does the same for itself, and reports at the line where it was made. Sources may run for
    /// ever. Afterwards the store can only be read.
    ///
    /// So much virtual time as `timeout` may pass until the last effect has ended; none if not said otherwise.
    public func finish(
        timeout: Duration = .zero, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        let place = CallSite(fileID, filePath, line, column)
        guard settle(at: place) else { return }
        pass(upTo: clock.elapsed + timeout, at: place) { !self.runningEffects.isEmpty }
        if !isOver { conclude(at: place) }
    }

    private func conclude(at place: CallSite) {
        let (left, running) = (events, ignoresEffects ? [] : runningEffects)
        stop()
        if !left.isEmpty {
            events = []
            missed("\(left.count) at the end:", left, at: place)
        }
        guard !running.isEmpty else { return }
        let text =
            "still running at the end, cancel them, let time pass, or skip them with skipEffects():\n"
            + running.map { "  \($0)" }.joined(separator: "\n")
        missed(text, at: place)
    }

    private func giveUp(_ text: String, at place: CallSite) {
        isBroken = true
        stop()
        fail(text, at: place)
    }

    /// Ends all tasks.
    private func stop() {
        isOver = true
        primary?.kill()
        executor.close()
    }

    /// The effects of actions and of feedback that run or wait for their turn, in words.
    public var runningEffects: [String] {
        guard let primary, !isOver else { return [] }
        let runs = primary.machine.unfinishedRuns.map { run, isRunning in
            "the effect of \(words(for: run.id.number))\(isRunning ? "" : ", which waits for its turn")"
        }
        return runs + primary.runtime.liveFeedback.map { "feedback \($0)" }
    }

    // MARK: - Reporting

    func fail(_ text: String, at place: CallSite) { report(TestFailure(text, at: place)) }

    /// Something was not expected: an error, or, if the store is not exhaustive, at most a note.
    func missed(_ text: String, at place: CallSite) {
        switch exhaustivity {
        case .on: fail(text, at: place)
        case .off(let showsSkipped):
            if showsSkipped { report(TestFailure("skipped: \(text)", isSkip: true, at: place)) }
        }
    }
}

@available(*, unavailable)
extension TestStore: Sendable {}

/// How much a ``TestStore`` demands of its test.
public enum TestExhaustivity: Hashable, Sendable {
    /// Every change is expected, everything emitted is received, nothing runs at the end.
    case on
    /// Only what the test says is checked: a closure's assignments must agree with the state, a received mutation must
    /// be among those emitted.
    ///
    /// - Parameter showSkipped: Whether what nobody expected is told, as warnings.
    case off(showSkipped: Bool)

    /// Only what the test says is checked, and nothing is told of the rest.
    public static let off = TestExhaustivity.off(showSkipped: false)
}
