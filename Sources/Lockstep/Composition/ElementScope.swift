/// A reactor for each element of a collection, which is addressed by its id.
///
///     static let tasks = ElementScope<Board, TaskReactor, UUID>("tasks", elements: .list(\.tasks)) { id, mutation in
///         .task(id, mutation)
///     } action: { action in
///         if case .task(let id, let action) = action { (id, action) } else { nil }
///     }
///
/// The effects of an element end, as cancelled, when it goes, whatever takes it away, and nothing of them takes effect
/// after that entry. For that the primary looks whether the element is there whenever they emit, and at the published
/// states; an element that is taken out and put back under the same id between two such looks counts as there. An
/// action that removes an element may also say `.cancelling(tasks.effects(of: id))`, which ends them in the same step.
///
/// An action for a missing element is rejected; a mutation for one does nothing. The sources of the child are not used,
/// since elements come and go: give it a feedback.
public struct ElementScope<
    Parent: Reactor, Child: Reactor, ID: Hashable & Comparable & Sendable
>: Sendable {
    /// What stands in front of the names of the elements' effects and feedbacks.
    public let name: String
    private let elements: ChildElements<Parent.State, ID, Child.State>
    private let embed: @Sendable (ID, Child.Mutation) -> Parent.Mutation
    private let extract: @Sendable (Parent.Action) -> (ID, Child.Action)?

    /// Describes the elements of a parent; made once, for example as a static constant.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 letters, digits, `-`, `_` and `.`, another for each child; the log has it in causes.
    ///   - elements: Where they lie.
    ///   - mutation: The parent's mutation that holds one of an element's.
    ///   - action: The element's action in the parent's, if it is one.
    public init(
        _ name: String, elements: ChildElements<Parent.State, ID, Child.State>,
        mutation: @escaping @Sendable (ID, Child.Mutation) -> Parent.Mutation,
        action: @escaping @Sendable (Parent.Action) -> (ID, Child.Action)?
    ) {
        precondition(isScopeName(name), "\"\(name)\" cannot name a scope: use 1 to 32 letters, digits, -, _ and .")
        self.name = name
        self.elements = elements
        embed = mutation
        extract = action
    }

    private func lift(_ id: ID, _ child: Child) -> Lift<Parent, Child> {
        Lift(
            name: effects(of: id).name, find: { [elements] in elements.find($0, id) },
            embed: { [embed] in embed(id, $0) },
            extract: { [extract] action in
                guard let (other, action) = extract(action), other == id else { return nil }
                return action
            }, isTied: true, missing: { child.initialState })
    }

    // MARK: - Acting

    /// Lets the child decide what an action does to one element; its middleware looks at the action first.
    ///
    /// - Parameters:
    ///   - action: The element's action.
    ///   - id: Which element.
    ///   - child: The reactor of each element; what an effect sees of an element that it has not seen is its
    ///     `initialState`.
    ///   - context: The parent's own.
    ///   - reply: The parent's reply for the child's.
    /// - Returns: The element's effect as one of the parent's.
    /// - Throws: What the child throws, and ``Rejection`` if there is no such element.
    public func mutate(
        _ action: Child.Action, of id: ID, by child: Child, _ context: Parent.Context,
        reply: @escaping @Sendable (Child.Reply) -> Parent.Reply
    ) throws -> Effect<Parent> {
        guard let element = elements.find(context.state, id) else { throw Rejection("there is no \(id) in \(name)") }
        let inner = context.lifted(to: Child.self, element)
        let action = try Middleware.transformed(action, by: child.middleware, inner)
        return try child.mutate(action, inner).lifted(lift(id, child), reply: reply)
    }

    /// Makes an effect of an element's one of the parent's.
    public func lift(
        _ effect: Effect<Child>, of id: ID, by child: Child, reply: @escaping @Sendable (Child.Reply) -> Parent.Reply
    ) -> Effect<Parent> { effect.lifted(lift(id, child), reply: reply) }

    /// All effects of an element that go on, to be cancelled by an action of the parent's.
    public func effects(of id: ID) -> EffectID { EffectID("\(name)/\(id)") }

    // MARK: - Reducing

    /// Applies a mutation to one element; without effect, and false, if it is not there.
    @discardableResult
    public func reduce(
        into state: inout Parent.State, _ id: ID, _ mutation: Child.Mutation, _ context: ReduceContext
    ) -> Bool {
        elements.change(&state, id) { Child.reduce(into: &$0, mutation, context) }
    }

    // MARK: - What elements do by themselves

    /// The child's feedback for each element, their names after the scope's and a dot.
    ///
    /// Whenever a newer state is shown, all elements are asked what they want: O(n).
    public func feedback(of child: Child) -> [Feedback<Parent>] {
        let each = LiftEach(name: name, find: elements.find, all: elements.all, lift: { lift($0, child) })
        return child.feedback.map { $0.lifted(each) }
    }

    /// The earliest time that an element waits for: O(n), about once a turn of the primary.
    ///
    /// For more than some hundred elements keep their deadlines in ``Timers`` of the parent.
    public func nextDue(in state: Parent.State) -> LogTime? {
        elements.all(state).compactMap { Child.nextDue(in: $0.1) }.min()
    }

    /// What a time brings to the elements, in the order of their deadlines, then of the collection: O(n log n).
    public func mutationsDue(in state: Parent.State, at time: LogTime, limit: Int) -> [Parent.Mutation] {
        var due: [(time: LogTime, place: Int, id: ID, state: Child.State)] = []
        for (place, (id, element)) in elements.all(state).enumerated() {
            guard let next = Child.nextDue(in: element), next <= time else { continue }
            due.append((next, place, id, element))
        }
        due.sort { ($0.time, $0.place) < ($1.time, $1.place) }
        var mutations: [Parent.Mutation] = []
        for (_, _, id, element) in due where mutations.count < limit {
            mutations += Child.mutationsDue(in: element, at: time, limit: limit - mutations.count).map { embed(id, $0) }
        }
        return mutations
    }
}

extension ElementScope where Parent.Reply == Child.Reply {
    /// Lets the child decide what an action does to one element; its reply is the parent's.
    public func mutate(
        _ action: Child.Action, of id: ID, by child: Child, _ context: Parent.Context
    ) throws -> Effect<Parent> {
        try mutate(action, of: id, by: child, context) { $0 }
    }
}
