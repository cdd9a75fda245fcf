public import Lockstep
import LockstepCore

extension TestStore {
    /// Lets virtual time pass: whoever sleeps wakes in the order of the deadlines, and timers of the state fire by log
    /// time in between.
    ///
    /// Each of them works as far as it can before the next moment comes. At the same moment sleepers are first, in the
    /// order in which they went to sleep. What is emitted waits to be received.
    public func advance(
        by duration: Duration = .zero, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        precondition(duration >= .zero, "time does not go back")
        let place = CallSite(fileID, filePath, line, column)
        guard settle(at: place) else { return }
        let end = clock.elapsed + duration
        pass(upTo: end, at: place) { true }
        guard clock.elapsed < end else { return }
        clock.advance(by: end - clock.elapsed)
        primary?.tick()
        settle(at: place)
    }

    /// The log time of what would commit now.
    public var now: LogTime { time.wall }

    /// Passes from one moment at which something happens to the next, as long as `isWanted`.
    ///
    /// The primary may hold the rest of what is more than one entry has for a second (PROTOCOL, R-65): it comes after
    /// that. A state that would bring the same again has not taken it away, and fails the test.
    func pass(upTo end: Duration, at place: CallSite, while isWanted: () -> Bool) {
        var stuck: LogTime?
        var heldUntil = Duration.zero
        while isWanted(), let primary {
            let timer = primary.state.nextDue.flatMap { $0 == stuck ? nil : max(heldUntil, time.elapsed(at: $0)) }
            let sleeper = clock.deadlines.first?.offset
            guard let next = [timer, sleeper].compactMap({ $0 }).min(), next <= end else { return }
            if next == sleeper {
                clock.advanceToNextSleeper()
            } else {
                // What came before this moment, and is still there, may be held: its second is not over.
                let isOffered = next > clock.elapsed
                clock.advance(by: max(.zero, next - clock.elapsed))
                let offered = mutationsDue(of: primary)
                primary.tick()
                if let due = primary.state.nextDue, time.elapsed(at: due) <= clock.elapsed {
                    heldUntil = clock.elapsed + .seconds(1)
                    if isOffered, mutationsDue(of: primary) == offered {
                        stuck = due
                        let text =
                            "the state still waits for a time that has come, \(due): nextDue(in:) names it, and what "
                            + "mutationsDue(in:at:limit:) brings for it does not take it away"
                        fail(text, at: place)
                    }
                }
            }
            guard settle(at: place) else { return }
        }
    }

    /// What the state would bring to the log now, as bytes; nil for what cannot be written.
    private func mutationsDue(of primary: TestPrimary<R>) -> [[UInt8]?] {
        let due = R.mutationsDue(in: primary.state.workingState, at: time.wall, limit: Limits.dueMutations)
        // That a mutation cannot be written is told by its staying, since the primary passes over it.
        return due.map { try? R.mutationCoding.encoded($0) }
    }

    /// Waits in real time until something can be received, or until no effect runs.
    ///
    /// For effects that wait for what runs elsewhere: a thread, the main actor, a task without a parent. Effects whose
    /// dependencies use ``clock`` need it not, and are the same at every run. It waits 5 s if not said otherwise.
    ///
    /// - Returns: Whether something can be received.
    @discardableResult
    public func waitForMore(
        timeout: Duration = .seconds(5), fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column
    ) async -> Bool {
        let place = CallSite(fileID, filePath, line, column)
        let end = ContinuousClock.now + timeout
        while settle(at: place), events.isEmpty, !runningEffects.isEmpty {
            guard await executor.waitForJob(atMost: ContinuousClock.now.duration(to: end)) else { break }
        }
        return !events.isEmpty
    }
}
