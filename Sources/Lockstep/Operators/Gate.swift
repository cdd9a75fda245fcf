extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Drops values until the opener gives its first one; then everything passes.
    ///
    /// It ends with the source, whether it was open or not, and fails when the opener fails before it opened. An
    /// opener that ends without a value leaves it closed.
    /// - Parameter opener: what opens the gate with its first value; it is not read any further.
    /// - Returns: the values after the opening.
    public func gate<Opener: AsyncSequence & Sendable>(
        until opener: Opener
    ) -> some AsyncSequence<Element, Failure> & Sendable where Opener.Failure == Failure {
        OperatorSequence(
            machine: { GateMachine<Element, Failure>() }, clock: ContinuousClock(),
            readers: [{ await $0.read(self, failure: { $0 }) }, { await $0.readSide(opener, failure: { $0 }) }])
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == any Error {
    /// Drops values until the opener, which cannot fail, gives its first one; then everything passes.
    ///
    /// It ends with the source, whether it was open or not. An opener that ends without a value leaves it closed.
    /// - Parameter opener: what opens the gate with its first value; it is not read any further.
    /// - Returns: the values after the opening.
    public func gate<Opener: AsyncSequence & Sendable>(
        until opener: Opener
    ) -> some AsyncSequence<Element, any Error> & Sendable where Opener.Failure == Never {
        OperatorSequence(
            machine: { GateMachine<Element, any Error>() }, clock: ContinuousClock(),
            readers: [{ await $0.read(self, failure: { $0 }) }, { await $0.readSide(opener, failure: { $0 }) }])
    }
}

/// Drops values until it is open.
struct GateMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    var outbox = Outbox<Element, Failure>()
    private var isOpen = false

    var deadline: Duration? { nil }
    var wantsSide: Bool { !isOpen }

    init() {}

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .value(let value):
            if isOpen { outbox.append(value) }
        case .sideFired:
            isOpen = true
        case .ended:
            outbox.ending = .ended
        case .failed(let failure):
            outbox.ending = .failed(failure)
        case .demanded, .sideEnded, .timePassed:
            break
        }
    }
}
