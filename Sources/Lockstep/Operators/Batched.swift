extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Groups values: a batch is ready when it has `count` values, or `duration` after its first one.
    ///
    /// A batch is never empty. What has been gathered is delivered when the source ends, and also when it fails, before
    /// the failure. While a batch waits for the consumer the source waits.
    /// - Parameters:
    ///   - count: the most values in a batch; at least 1.
    ///   - duration: how long the first value of a batch waits for others.
    ///   - clock: what measures it.
    /// - Returns: the batches.
    public func batched(
        count: Int, within duration: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> some AsyncSequence<[Element], Failure> & Sendable {
        precondition(count >= 1, "a batch has at least one value")
        return operated(clock: clock) { BatchMachine<Element, Failure>(count: count, duration: duration) }
    }
}

/// Gathers values until there are enough, or the first has waited long enough.
struct BatchMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    let count: Int
    let duration: Duration
    var outbox = Outbox<[Element], Failure>()
    private var gathered: [Element] = []
    private var due: Duration?

    init(count: Int, duration: Duration) {
        self.count = count
        self.duration = duration
    }

    var deadline: Duration? { outbox.isEmpty ? due : nil }

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .value(let value):
            if gathered.isEmpty { due = now + duration }
            gathered.append(value)
            if gathered.count == count { flush() }
        case .timePassed:
            flush()
        case .ended:
            flush()
            outbox.ending = .ended
        case .failed(let failure):
            flush()
            outbox.ending = .failed(failure)
        case .demanded, .sideFired, .sideEnded:
            break
        }
    }

    private mutating func flush() {
        due = nil
        guard !gathered.isEmpty else { return }
        outbox.append(gathered)
        gathered = []
    }
}
