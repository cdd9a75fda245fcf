/// What an object would do if one operation ran after the other: the specification that histories are checked against.
package protocol SequentialModel<Input, Output>: Sendable {
    /// The object's state; it is hashed and kept, so it should be small.
    associatedtype State: Hashable & Sendable
    /// What is asked; equal inputs must do the same.
    associatedtype Input: Hashable & Sendable
    /// What is answered.
    associatedtype Output: Equatable & Sendable

    /// The state before the first operation.
    var initial: State { get }

    /// The state after an operation, or `nil` if the operation cannot have that output in this state.
    ///
    /// An output of `nil` is an unknown one: the result is then the state after the operation took effect, which is the
    /// old state for an operation that would be rejected, and never `nil`. The result must depend on the arguments
    /// alone. It is called once for each step of a search, so it should cost nanoseconds.
    func step(_ state: State, _ input: Input, _ output: Output?) -> State?

    /// Whether the operation never changes the state; a rejected write is no read.
    func isRead(_ input: Input) -> Bool

    /// Whether an operation with this output leaves every state as it was in which it can have that output.
    ///
    /// A read does, and so does a rejected write. A search has fewer orders to try the more of them it knows; by
    /// default it knows the reads.
    func hasNoEffect(_ input: Input, _ output: Output) -> Bool
}

extension SequentialModel {
    /// Whether the operation is a read.
    package func hasNoEffect(_ input: Input, _ output: Output) -> Bool { isRead(input) }
}
