// The codings that a reactor has without a word: the type's own bytes if it is `WireCodable`, JSON otherwise.

extension ReactorOptions {
    /// JSON.
    public static var actionCoding: Coding<Action> { .json }
}

extension ReactorOptions where Action: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var actionCoding: Coding<Action> { .wire }
}

extension ReactorOptions {
    /// JSON.
    public static var mutationCoding: Coding<Mutation> { .json }
}

extension ReactorOptions where Mutation: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var mutationCoding: Coding<Mutation> { .wire }
}

extension ReactorOptions {
    /// JSON.
    public static var stateCoding: Coding<State> { .json }
}

extension ReactorOptions where State: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var stateCoding: Coding<State> { .wire }
}

extension ReactorOptions {
    /// JSON.
    public static var replyCoding: Coding<Reply> { .json }
}

extension ReactorOptions where Reply: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var replyCoding: Coding<Reply> { .wire }
}

extension ReactorOptions {
    /// JSON.
    public static var queryCoding: Coding<Query> { .json }
}

extension ReactorOptions where Query: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var queryCoding: Coding<Query> { .wire }
}

extension ReactorOptions {
    /// JSON.
    public static var answerCoding: Coding<Answer> { .json }
}

extension ReactorOptions where Answer: WireCodable {
    /// The type's own bytes.
    @inlinable
    public static var answerCoding: Coding<Answer> { .wire }
}
