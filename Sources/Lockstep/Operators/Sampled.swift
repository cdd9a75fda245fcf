extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Delivers, whenever the sampler gives a value, the newest value since the last time.
    ///
    /// A value is delivered at most once; a tick with nothing new delivers nothing. The end of the source is
    /// delivered at the next tick, after the last value; a failure is delivered at once. The sampler's end is its last
    /// tick, and ends the sequence. Between two ticks the source is read without pause and only the newest value is
    /// held.
    /// - Parameter sampler: what says when; for a fixed rate, ``ticks(every:clock:)``.
    /// - Returns: the newest value at each tick.
    public func sampled<Sampler: AsyncSequence & Sendable>(
        by sampler: Sampler
    ) -> some AsyncSequence<Element, Failure> & Sendable where Sampler.Failure == Never {
        OperatorSequence(
            machine: { SampleMachine<Element, Failure>() }, clock: ContinuousClock(),
            readers: [
                { await $0.read(self, failure: { $0 }) },
                { await $0.readSide(sampler) },
            ])
    }
}

/// Holds the newest value until the next tick.
struct SampleMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    var outbox = Outbox<Element, Failure>()
    private var newest: Element?
    private var hasEnded = false

    var deadline: Duration? { nil }
    var wantsValue: Bool { true }

    init() {}

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .value(let value):
            newest = value
        case .sideFired, .sideEnded:
            if let value = newest.take() { outbox.append(value) }
            if case .sideEnded = event { hasEnded = true }
            if hasEnded { outbox.ending = .ended }
        case .ended:
            hasEnded = true
        case .failed(let failure):
            outbox.ending = .failed(failure)
        case .demanded, .timePassed:
            break
        }
    }
}
