/// The accepted actions of a session whose end its owner waits for, or has and has not yet acknowledged for certain.
///
/// ```
///  no answer --accepted--> awaited --end comes--> ended --the primary keeps it no more--> forgotten
/// ```
/// It is bounded by what the primary accepts for one session.
struct PendingRuns: Hashable, Sendable {
    /// By number; true: it is to be cancelled.
    private var awaited: [RequestNumber: Bool] = [:]
    /// Ends that have come; the primary is told until it says that it keeps them no more.
    private var ended: Set<RequestNumber> = []
    /// Actions without an answer that are to be cancelled if they are accepted.
    private var cancelled: Set<RequestNumber> = []
    /// When the primary is asked for all of them.
    private(set) var nextAsk: Tick = .never

    var isEmpty: Bool { awaited.isEmpty && ended.isEmpty }
    var hasEarlyCancels: Bool { !cancelled.isEmpty }
    /// The numbers whose ends are awaited, in order.
    var awaitedNumbers: [RequestNumber] { awaited.keys.sorted() }
    func isAwaited(_ number: RequestNumber) -> Bool { awaited[number] != nil }

    // MARK: - Asking

    mutating func ask(at tick: Tick) { nextAsk = min(nextAsk, tick) }

    /// What the primary is asked now, in the order of the numbers; it is asked again when ``ask(at:)`` says so.
    mutating func takeWishes() -> [RunMessage.Wish] {
        nextAsk = .never
        let wishes =
            awaited.map { RunMessage.Wish(number: $0.key, kind: $0.value ? .cancel : .await) }
            + ended.map { RunMessage.Wish(number: $0, kind: .acknowledge) }
        return wishes.sorted { $0.number < $1.number }
    }

    // MARK: - The life of a run

    /// The action is to be cancelled as soon as it is accepted.
    mutating func cancelWhenAccepted(_ number: RequestNumber) { cancelled.insert(number) }

    /// The action got its answer; whether it was to be cancelled.
    mutating func answered(_ number: RequestNumber) -> Bool {
        !cancelled.isEmpty && cancelled.remove(number) != nil
    }

    /// The action was accepted: its end is awaited from now on.
    mutating func accepted(_ number: RequestNumber, isCancelled: Bool) { awaited[number] = isCancelled }

    /// Cancels what is awaited; false if this is not.
    mutating func cancel(_ number: RequestNumber) -> Bool {
        guard isAwaited(number) else { return false }
        awaited[number] = true
        return true
    }

    /// The end came: it is acknowledged until the primary forgets it; false if it was not awaited.
    mutating func ended(_ number: RequestNumber) -> Bool {
        guard awaited.removeValue(forKey: number) != nil else { return false }
        ended.insert(number)
        return true
    }

    /// Whether so many ends have come that they are acknowledged at once.
    var hasManyEnds: Bool { ended.count >= ClientTiming.waitingRunEnds }

    /// The primary keeps nothing of the action; whether its end was still awaited.
    mutating func forgotten(_ number: RequestNumber) -> Bool {
        ended.remove(number)
        return awaited.removeValue(forKey: number) != nil
    }

    func checkInvariants(_ pending: PendingActions) {
        precondition(ended.isDisjoint(with: awaited.keys), "what has ended is not awaited")
        precondition(awaited.keys.allSatisfy { $0 <= pending.answered }, "only an action that was answered is awaited")
        precondition(
            cancelled.allSatisfy { $0 > pending.answered && $0 < pending.next },
            "an action without an answer is cancelled later")
        precondition(nextAsk != .never || isEmpty, "what is awaited is asked for")
    }
}
