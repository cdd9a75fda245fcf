extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Delivers a value when no other has come for `duration`.
    ///
    /// The value that waits is delivered at once when the source ends, and dropped when it fails. While a value
    /// waits for the consumer the source waits.
    /// - Parameters:
    ///   - duration: the silence after a value.
    ///   - clock: what measures it.
    /// - Returns: the values that silence followed.
    public func debounced(
        for duration: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> some AsyncSequence<Element, Failure> & Sendable {
        operated(clock: clock) { DebounceMachine<Element, Failure>(duration: duration) }
    }
}

/// Holds the newest value until it has been the newest for long enough.
struct DebounceMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    let duration: Duration
    var outbox = Outbox<Element, Failure>()
    private var pending: Element?
    private var due: Duration?

    init(duration: Duration) { self.duration = duration }

    var deadline: Duration? { outbox.isEmpty ? due : nil }

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .value(let value):
            // A slow consumer delays the delivery of a value that the silence has followed; it is not replaced.
            if let due, due <= now { flush() }
            pending = value
            due = now + duration
        case .timePassed:
            flush()
        case .ended:
            flush()
            outbox.ending = .ended
        case .failed(let failure):
            outbox.ending = .failed(failure)
        case .demanded, .sideFired, .sideEnded:
            break
        }
    }

    private mutating func flush() {
        due = nil
        if let pending = pending.take() { outbox.append(pending) }
    }
}
