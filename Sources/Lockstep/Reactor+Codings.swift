// The codings that a reactor has without a word: the type's own bytes if it is `WireCodable`, JSON otherwise.

extension Reactor {
    /// JSON.
    public static var actionCoding: Coding<Action> { .json }
}

extension Reactor where Action: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var actionCoding: Coding<Action> { .wire }
}

extension Reactor {
    /// JSON.
    public static var mutationCoding: Coding<Mutation> { .json }
}

extension Reactor where Mutation: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var mutationCoding: Coding<Mutation> { .wire }
}

extension Reactor {
    /// JSON.
    public static var stateCoding: Coding<State> { .json }
}

extension Reactor where State: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var stateCoding: Coding<State> { .wire }
}

extension Reactor {
    /// JSON.
    public static var replyCoding: Coding<Reply> { .json }
}

extension Reactor where Reply: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var replyCoding: Coding<Reply> { .wire }
}

extension Reactor {
    /// JSON.
    public static var queryCoding: Coding<Query> { .json }
}

extension Reactor where Query: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var queryCoding: Coding<Query> { .wire }
}

extension Reactor {
    /// JSON.
    public static var answerCoding: Coding<Answer> { .json }
}

extension Reactor where Answer: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var answerCoding: Coding<Answer> { .wire }
}
