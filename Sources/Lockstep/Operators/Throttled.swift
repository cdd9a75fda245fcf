extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Delivers the first value at once, and at most one in each `duration`.
    ///
    /// With `trailing`, the newest value of a window is delivered at its end, which begins the next window; the end of
    /// the source then waits for that value. Without it, values within a window are dropped. A failure is delivered at
    /// once, and drops the value that waits.
    /// - Parameters:
    ///   - duration: the length of a window, which begins with a delivered value.
    ///   - trailing: whether the newest value of a window is kept; by default it is.
    ///   - clock: what measures it.
    /// - Returns: the values that pass.
    public func throttled(
        for duration: Duration, trailing: Bool = true, clock: any Clock<Duration> = ContinuousClock()
    ) -> some AsyncSequence<Element, Failure> & Sendable {
        operated(clock: clock) { ThrottleMachine<Element, Failure>(duration: duration, keepsNewest: trailing) }
    }
}

/// Lets a value through when the window of the one before is over.
struct ThrottleMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    let duration: Duration
    let keepsNewest: Bool
    var outbox = Outbox<Element, Failure>()
    private var windowEnd: Duration?
    private var pending: Element?
    /// The source has ended; its end waits for `pending`.
    private var hasEnded = false

    init(duration: Duration, keepsNewest: Bool) {
        self.duration = duration
        self.keepsNewest = keepsNewest
    }

    var deadline: Duration? { pending != nil && outbox.isEmpty ? windowEnd : nil }

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .value(let value):
            // A slow consumer delays the end of a window; what was kept for it is not replaced.
            if let kept = pending, let windowEnd, windowEnd <= now { deliver(kept, at: now) }
            if let windowEnd, now < windowEnd {
                if keepsNewest { pending = value }
            } else {
                deliver(value, at: now)
            }
        case .timePassed:
            if let value = pending { deliver(value, at: now) }
            if hasEnded { outbox.ending = .ended }
        case .ended:
            hasEnded = true
            if pending == nil { outbox.ending = .ended }
        case .failed(let failure):
            outbox.ending = .failed(failure)
        case .demanded, .sideFired, .sideEnded:
            break
        }
    }

    private mutating func deliver(_ value: Element, at now: Duration) {
        outbox.append(value)
        pending = nil
        windowEnd = now + duration
    }
}
