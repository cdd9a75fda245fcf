/// Waits for the first value that any of the sources gives, and ends the others.
///
/// A source that ends without a value leaves the others in the race; a failure ends it. The sources are asked in the
/// order of the arguments, and when several have a value at the moment of the decision, the earliest argument wins;
/// ``race(_:)`` says when that is.
/// Exactly one result is returned, and all sources have ended by then.
/// - Parameter sources: where the result may come from.
/// - Returns: the first value.
/// - Throws: the failure that came first; ``FlowError/endedWithoutResult`` if all sources have ended without a value;
///   `CancellationError` if the task was cancelled.
public func firstResult<Result: Sendable, Failure: Error>(
    of sources: any AsyncSequence<Result, Failure> & Sendable...
) async throws -> Result {
    let result = try await Referee(sources, takes: .valueOrFailure).decide().get()
    guard let result else {
        try Task.checkCancellation()
        throw FlowError.endedWithoutResult
    }
    return result
}

/// When a condition on a state counts.
public enum ConditionKind: Hashable, Sendable {
    /// Whenever it holds; one that holds already counts at once.
    case level
    /// When it begins to hold; one that holds at the start counts only after it has ceased to.
    case edge
}

extension AsyncSequence where Self: Sendable {
    /// The results that a condition on the elements gives; it is made for sequences that start with a current value.
    /// - Parameters:
    ///   - kind: whether a condition that holds already counts.
    ///   - condition: the result if the condition holds for an element, `nil` if it does not.
    /// - Returns: with ``ConditionKind/level``, a result for each element for which the condition holds; with
    ///   ``ConditionKind/edge``, for each whose predecessor there was and did not meet it.
    public func results<Result: Sendable>(
        _ kind: ConditionKind = .level, _ condition: @escaping @Sendable (Element) -> Result?
    ) -> some AsyncSequence<Result, Failure> & Sendable {
        ConditionResults(base: self, kind: kind, condition: condition)
    }
}

/// The results that a condition gives.
struct ConditionResults<Base: AsyncSequence & Sendable, Value: Sendable>: AsyncSequence, Sendable {
    typealias Element = Value
    typealias Failure = Base.Failure

    let base: Base
    let kind: ConditionKind
    let condition: @Sendable (Base.Element) -> Value?

    func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), isArmed: kind == .level, kind: kind, condition: condition)
    }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Base.Failure

        var base: Base.AsyncIterator
        /// Whether the condition counts if it holds for the next element.
        var isArmed: Bool
        let kind: ConditionKind
        let condition: @Sendable (Base.Element) -> Value?

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Value? {
            while let element = try await base.next(isolation: #isolation) {
                let result = condition(element)
                let counts = isArmed
                isArmed = kind == .level || result == nil
                if counts, let result { return result }
            }
            return nil
        }
    }
}
