/// What few reactors say, each with a default: times that the state waits for, memory to be fetched ahead, codings.
///
/// Every ``Reactor`` is one; nothing else is.
public protocol ReactorOptions: Sendable {
    /// What a client asks for.
    associatedtype Action: Codable & Sendable
    /// What happened.
    associatedtype Mutation: Codable & Sendable
    /// What is replicated.
    associatedtype State: Codable & Sendable
    /// What the sender of an action learns.
    associatedtype Reply: Codable & Sendable
    /// What a client may ask.
    associatedtype Query: Codable & Sendable
    /// The answer to a query.
    associatedtype Answer: Codable & Sendable

    /// Says which memory the next actions will read, so that it is fetched while others are worked on.
    ///
    /// Worth its while where ``Reactor/mutate(_:_:)`` looks up keys in a large ``ReplicatedMap``: pass their keys to
    /// ``ReplicatedMap/prefetch(_:)``. It changes nothing and is of no consequence otherwise; by default it does
    /// nothing. Called on the primary's thread for up to 32 actions, before the first of them is decided.
    static func prefetch(actions: [Action], in state: State)

    /// The same for ``Reactor/reduce(into:_:_:)``: up to 32 mutations, before the first of them is applied, on a replica and
    /// while the log is read back.
    static func prefetch(mutations: [Mutation], in state: State)

    /// The log time at which the state waits for something, such as `state.timers.next`; nil, the default: for nothing.
    ///
    /// Called on the primary's thread about once a turn: it should cost no more than a look.
    static func nextDue(in state: State) -> LogTime?

    /// The mutations that `time` brings, in the order in which they are due, at most `limit`: what ``nextDue(in:)``
    /// promised for a time that has come (PROTOCOL, R-65).
    ///
    /// They are committed together, as one entry, whose reducer must take away what was due, for example with
    /// ``Timers/fired(_:deadline:)``. Give each timer or key a mutation of its own: one that names many counts as one,
    /// and the rest of the same deadline then comes a second later. If the first is above 1 MiB, the state is asked
    /// again with a smaller limit; one that is too large by itself is passed over. Runs on the primary's thread.
    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation]

    /// The kind of an action, as the access list names it for those who may send some kinds only (PROTOCOL, R-72).
    ///
    /// By default the name of its case, if it is an enum: `add` for `.add("visits", by: 1)`; of a struct or class the
    /// name of its type. A reactor that wants finer kinds, or whose actions describe themselves in words of their own,
    /// names them itself. It must depend on nothing but the action. Called on the primary's thread, for actions of such
    /// senders only, before ``Reactor/mutate(_:_:)``; the default costs about a microsecond.
    static func kind(of action: Action) -> String

    /// How actions are encoded: ``Coding/wire`` for a ``WireCodable`` type, else ``Coding/json``.
    static var actionCoding: Coding<Action> { get }
    /// How mutations are encoded, in the log and on the wire.
    static var mutationCoding: Coding<Mutation> { get }
    /// How states are encoded, in snapshots.
    static var stateCoding: Coding<State> { get }
    /// How replies are encoded.
    static var replyCoding: Coding<Reply> { get }
    /// How queries are encoded.
    static var queryCoding: Coding<Query> { get }
    /// How answers are encoded.
    static var answerCoding: Coding<Answer> { get }
}

extension ReactorOptions {
    /// Nothing is prefetched.
    @inlinable
    public static func prefetch(actions: [Action], in state: State) {}
    /// Nothing is prefetched.
    @inlinable
    public static func prefetch(mutations: [Mutation], in state: State) {}
    /// The name of the action's case.
    public static func kind(of action: Action) -> String {
        let mirror = Mirror(reflecting: action)
        guard mirror.displayStyle == .enum else { return String(describing: Action.self) }
        // A case with values is shown as a child that has the case's name; one without is shown by its name alone.
        return mirror.children.first?.label ?? String(describing: action)
    }
    /// Nothing is waited for.
    public static func nextDue(in state: State) -> LogTime? { nil }
    /// Nothing is due.
    public static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] { [] }
}
