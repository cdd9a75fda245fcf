extension Reactor {
    /// Lets a parent act on what a part of the state became, inside its own `reduce`: a hook that sees the value before
    /// and after, and is called only if it changed.
    ///
    ///     static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
    ///         onChange(of: { $0.search.hits.count }, in: &state) { state in
    ///             apply(mutation, to: &state, context)
    ///         } then: { old, new, state in
    ///             state.badge += max(0, new - old)
    ///         }
    ///     }
    ///
    /// It is as pure as `reduce`: the same on every node, without clock, randomness and side effects. What `change`
    /// does to the value is not looked at again. Compare something small (a count, a ``Versioned/version``): the value
    /// before is kept meanwhile, so a large container in it would be copied by its first write.
    ///
    /// - Parameters:
    ///   - value: What to look at.
    ///   - state: The state.
    ///   - body: What changes the state.
    ///   - change: Gets the value before, the value after, and the state.
    public static func onChange<Value: Equatable>(
        of value: (State) -> Value, in state: inout State, _ body: (inout State) -> Void,
        then change: (_ old: Value, _ new: Value, _ state: inout State) -> Void
    ) {
        let old = value(state)
        body(&state)
        let new = value(state)
        if old != new { change(old, new, &state) }
    }
}
