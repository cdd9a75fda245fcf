/// A child reactor inside a parent: where its state lies, and how its mutations and actions look there.
///
///     struct App: Reactor {
///         let searching: Search                                        // the child, with its services
///         static let search = Scope<App, Search>("search", state: .property(\.search)) {
///             .search($0)                                              // a mutation of the child's, embedded
///         } action: { action in
///             if case .search(let action) = action { action } else { nil }
///         }
///
///         func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
///             switch action {
///             case .search(let action): try Self.search.mutate(action, by: searching, context)
///             case .reset: .emit(.cleared).cancelling(Self.search.effects)
///             }
///         }
///         static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
///             switch mutation {
///             case .search(let mutation): search.reduce(into: &state, mutation, context)
///             case .cleared: state = State()
///             }
///         }
///         var feedback: [Feedback<Self>] { Self.search.feedback(of: searching) }
///         var sources: [ExternalSource<Self>] { Self.search.sources(of: searching) }
///     }
///
/// The parent decides: it may look at an action or a mutation before and after the child, or keep it to itself. The
/// child knows nothing of the parent, and the log holds the parent's mutations only. A part that may be missing
/// (``ChildState/optional(_:)``, ``ChildState/case(_:embed:)``) takes its effects along when it goes: they end as
/// cancelled. An action for a missing part is rejected, and a mutation for one does nothing.
public struct Scope<Parent: Reactor, Child: Reactor>: Sendable {
    /// What stands in front of the names of the child's effects, feedbacks and sources.
    public let name: String
    private let part: ChildState<Parent.State, Child.State>
    private let embed: @Sendable (Child.Mutation) -> Parent.Mutation
    private let extract: @Sendable (Parent.Action) -> Child.Action?

    /// Describes a child of a parent; made once, for example as a static constant.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 letters, digits, `-`, `_` and `.`, another for each child; the log has it in causes.
    ///   - state: Where its state lies.
    ///   - mutation: The parent's mutation that holds one of the child's.
    ///   - action: The child's action in the parent's, if it is one; asked of later actions while an effect with
    ///     ``Effect/cancelled(by:)`` runs.
    public init(
        _ name: String, state: ChildState<Parent.State, Child.State>,
        mutation: @escaping @Sendable (Child.Mutation) -> Parent.Mutation,
        action: @escaping @Sendable (Parent.Action) -> Child.Action?
    ) {
        precondition(isScopeName(name), "\"\(name)\" cannot name a scope: use 1 to 32 letters, digits, -, _ and .")
        self.name = name
        part = state
        embed = mutation
        extract = action
    }

    private func lift(_ child: Child) -> Lift<Parent, Child> {
        Lift(
            name: name, find: part.find, embed: embed, extract: extract, isTied: part.mayBeMissing,
            missing: { child.initialState })
    }

    // MARK: - Acting

    /// Lets the child decide what one of its actions does; its middleware looks at the action first.
    ///
    /// The child's context shows its part where it lies. Policies and names of its effects are its own: the same name
    /// in another child is another one.
    ///
    /// - Parameters:
    ///   - action: The child's action.
    ///   - child: The reactor of the part.
    ///   - context: The parent's own.
    ///   - reply: The parent's reply for the child's.
    /// - Returns: The child's effect as one of the parent's.
    /// - Throws: What the child throws, and ``Rejection`` if its part is not there.
    public func mutate(
        _ action: Child.Action, by child: Child, _ context: Parent.Context,
        reply: @escaping @Sendable (Child.Reply) -> Parent.Reply
    ) throws -> Effect<Parent> {
        guard let inner = context.lifted(to: Child.self, part) else { throw Rejection("\(name) is not there") }
        let action = try Middleware.transformed(action, by: child.middleware, inner)
        return try child.mutate(action, inner).lifted(lift(child), reply: reply)
    }

    /// Makes an effect of the child's one of the parent's.
    public func lift(
        _ effect: Effect<Child>, of child: Child, reply: @escaping @Sendable (Child.Reply) -> Parent.Reply
    ) -> Effect<Parent> { effect.lifted(lift(child), reply: reply) }

    /// Runs what belongs to the child inside of an effect of the parent's.
    ///
    /// It is cancelled when the part goes. What the child keeps for its end is kept for the parent's.
    public func perform<Result: Sendable>(
        _ emit: Emitter<Parent>, as child: Child,
        _ body: @escaping @Sendable (_ emit: Emitter<Child>) async throws -> Result
    ) async throws -> Result { try await lift(child).perform(emit, body) }

    /// All effects of the child that go on, to be cancelled by an action of the parent's.
    public var effects: EffectID { EffectID(name) }

    /// The child's effects under a name of its own.
    public func effects(_ id: EffectID) -> EffectID { EffectID("\(name)/\(id.name)") }

    // MARK: - Reducing

    /// Applies a mutation of the child's to its part; without effect, and false, if that is not there.
    ///
    /// Called from the parent's `reduce`, and as pure as that.
    @discardableResult
    public func reduce(
        into state: inout Parent.State, _ mutation: Child.Mutation, _ context: ReduceContext
    ) -> Bool {
        part.change(&state) { Child.reduce(into: &$0, mutation, context) }
    }

    // MARK: - What the child does by itself

    /// The child's feedback as the parent's, their names after the child's and a dot.
    public func feedback(of child: Child) -> [Feedback<Parent>] { child.feedback.map { $0.lifted(lift(child)) } }

    /// The child's sources as the parent's; one of a part that may be missing is cancelled while the part is missing,
    /// and begun again by its policy until it is there.
    public func sources(of child: Child) -> [ExternalSource<Parent>] { child.sources.map { $0.lifted(lift(child)) } }

    /// When the child waits for a time: for the parent's ``ReactorOptions/nextDue(in:)``, which takes the earliest.
    public func nextDue(in state: Parent.State) -> LogTime? { part.find(state).flatMap { Child.nextDue(in: $0) } }

    /// What a time brings to the child: for the parent's ``ReactorOptions/mutationsDue(in:at:limit:)``.
    ///
    /// A parent of several children puts theirs one after the other; together at most `limit`.
    public func mutationsDue(in state: Parent.State, at time: LogTime, limit: Int) -> [Parent.Mutation] {
        guard let inner = part.find(state), let next = Child.nextDue(in: inner), next <= time else { return [] }
        return Child.mutationsDue(in: inner, at: time, limit: limit).map(embed)
    }
}

extension Scope where Parent.Reply == Child.Reply {
    /// Lets the child decide what one of its actions does; its reply is the parent's.
    public func mutate(
        _ action: Child.Action, by child: Child, _ context: Parent.Context
    ) throws -> Effect<Parent> {
        try mutate(action, by: child, context) { $0 }
    }
}

/// Names of feedbacks and sources come after it, and have 64 characters together.
func isScopeName(_ name: String) -> Bool { NodeID(name) != nil && name.utf8.count <= 32 }
