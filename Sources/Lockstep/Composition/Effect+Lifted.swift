import LockstepCore

extension Effect {
    /// The effect as one of the parent's: mutations are embedded, names get the child's in front.
    func lifted<Parent: Reactor>(
        _ lift: Lift<Parent, R>, reply: @escaping @Sendable (R.Reply) -> Parent.Reply
    ) -> Effect<Parent> {
        let embedded: Effect<Parent>.Mutations =
            switch mutations {
            case .none: .none
            case .one(let mutation): .one(lift.embed(mutation))
            case .many(let mutations): .many(mutations.map(lift.embed))
            }
        guard let deferred else {
            guard let own = self.reply else { preconditionFailure("an effect without a reply goes on") }
            return Effect<Parent>(embedded, reply: reply(own))
        }
        return Effect<Parent>(embedded, reply: self.reply.map(reply), deferred: deferred.lifted(lift, reply: reply))
    }
}

extension DeferredEffect {
    func lifted<Parent: Reactor>(
        _ lift: Lift<Parent, R>, reply: @escaping @Sendable (R.Reply) -> Parent.Reply
    ) -> DeferredEffect<Parent> {
        var lifted: DeferredEffect<Parent>.Body?
        if let body {
            lifted = { emit in try await lift.perform(emit) { child in reply(try await body(child)) } }
        }
        let plan = RunPlan(
            limits: plan.limits.map { RunLimit($0.policy, group: "\(lift.name)/\($0.group)") },
            // Its own name is among them, so that a parent can end everything of a child.
            names: plan.names.map { "\(lift.name)/\($0)" } + [lift.name])
        var ending: (@Sendable (Parent.Action) -> Bool)?
        if let until { ending = { action in lift.extract(action).map(until) ?? false } }
        return DeferredEffect<Parent>(
            body: lifted, plan: plan, cancels: cancels.map { "\(lift.name)/\($0)" }, until: ending)
    }
}

extension Middleware {
    /// What all of these, in order, make of an action.
    static func transformed(_ action: R.Action, by all: [Middleware], _ context: R.Context) throws -> R.Action {
        try all.reduce(action) { try $1.transform($0, context) }
    }
}

extension ExternalSource {
    func lifted<Parent: Reactor>(_ lift: Lift<Parent, R>) -> ExternalSource<Parent> {
        ExternalSource<Parent>("\(lift.name).\(name)", retry: retry) { emit in
            try await lift.perform(emit) { try await body($0) }
        }
    }
}
