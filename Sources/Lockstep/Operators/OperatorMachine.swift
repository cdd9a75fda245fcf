/// What happens to an operator.
enum OperatorEvent<Element: Sendable, Failure: Error>: Sendable {
    /// The consumer waits for a value.
    case demanded
    /// The source gave a value.
    case value(Element)
    /// The source has ended.
    case ended
    /// The source has failed.
    case failed(Failure)
    /// The other source gave a value.
    case sideFired
    /// The other source has ended.
    case sideEnded
    /// The machine's deadline has come.
    case timePassed
}

/// What an operator has ready for its consumer: values, and how it ends after them.
///
/// There are two values at most: one that waits, and one that came of what the source had been asked for before.
struct Outbox<Output: Sendable, Failure: Error>: Sendable {
    enum Delivery: Sendable {
        case value(Output)
        case ended
        case failed(Failure)
    }

    enum Ending: Sendable {
        case ended
        case failed(Failure)
    }

    private(set) var values: [Output] = []
    var ending: Ending?

    var isEmpty: Bool { values.isEmpty && ending == nil }

    mutating func append(_ value: Output) { values.append(value) }

    mutating func take() -> Delivery? {
        if !values.isEmpty { return .value(values.removeFirst()) }
        switch ending {
        case nil: return nil
        case .ended: return .ended
        case .failed(let failure): return .failed(failure)
        }
    }
}

/// The decisions of an operator that works with a clock or a second source; pure, with the time as an argument.
///
/// Its deadline never moves to an earlier time, so that one sleeper is enough: who wakes too early sleeps again.
protocol OperatorMachine: Sendable {
    associatedtype Element: Sendable
    associatedtype Output: Sendable
    associatedtype Failure: Error

    /// What the consumer gets next.
    var outbox: Outbox<Output, Failure> { get set }
    /// Whether the source is to be asked for its next value; as long as it is not, the source waits.
    var wantsValue: Bool { get }
    /// The same for the other source.
    var wantsSide: Bool { get }
    /// When `timePassed` is due; none while a value waits, so that the one after it does not come too early.
    var deadline: Duration? { get }

    /// Takes an event at `now`; after `timePassed` the deadline is gone or later than `now`.
    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration)
}

extension OperatorMachine {
    /// An operator reads on as soon as its consumer has taken what is ready.
    var wantsValue: Bool { outbox.isEmpty }
    var wantsSide: Bool { outbox.isEmpty }
}
