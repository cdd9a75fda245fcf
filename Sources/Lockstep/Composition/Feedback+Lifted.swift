import LockstepCore

/// What a feedback does, whatever its requests are.
protocol Reacting<R>: Sendable {
    associatedtype R: Reactor
    /// Runs until its task is cancelled; keys begin with the name of the store.
    func run(_ runtime: EffectRuntime<R>, of store: String) async
    /// As the parent's.
    func lifted<Parent: Reactor>(_ lift: Lift<Parent, R>) -> any Reacting<Parent>
    /// As the parent's, for each element.
    func lifted<Parent: Reactor, ElementID: Hashable & Sendable>(
        _ each: LiftEach<Parent, R, ElementID>
    ) -> any Reacting<Parent>
}

/// How what the elements of a collection do becomes what their parent does.
struct LiftEach<Parent: Reactor, Child: Reactor, ElementID: Hashable & Sendable>: Sendable {
    let name: String
    let find: @Sendable (Parent.State, ElementID) -> Child.State?
    let all: @Sendable (Parent.State) -> [(ElementID, Child.State)]
    let lift: @Sendable (ElementID) -> Lift<Parent, Child>
}

/// Names a request of one element.
struct ElementRequestID<ElementID: Hashable & Sendable, ID: Hashable & Sendable>: Hashable, Sendable,
    CustomStringConvertible
{
    let element: ElementID
    let request: ID
    var description: String { "\(element)/\(request)" }
}

extension Feedback {
    func lifted<Parent: Reactor>(_ lift: Lift<Parent, R>) -> Feedback<Parent> {
        Feedback<Parent>("\(lift.name).\(name)", reaction.lifted(lift))
    }

    func lifted<Parent: Reactor, ElementID: Hashable & Sendable>(
        _ each: LiftEach<Parent, R, ElementID>
    ) -> Feedback<Parent> {
        Feedback<Parent>("\(each.name).\(name)", reaction.lifted(each))
    }
}

extension Reaction {
    func lifted<Parent: Reactor>(_ lift: Lift<Parent, R>) -> any Reacting<Parent> {
        Reaction<Parent, ID, Request>(
            name: "\(lift.name).\(name)",
            requests: { state in lift.find(state).map(requests) ?? [] },
            request: { state, id in lift.find(state).flatMap { request($0, id) } },
            followsChanges: followsChanges
        ) { id, request, updates, emit in
            try await lift.perform(emit) { try await effect(id, request, updates, $0) }
        }
    }

    func lifted<Parent: Reactor, ElementID: Hashable & Sendable>(
        _ each: LiftEach<Parent, R, ElementID>
    ) -> any Reacting<Parent> {
        Reaction<Parent, ElementRequestID<ElementID, ID>, Request>(
            name: "\(each.name).\(name)",
            requests: { state in
                each.all(state).flatMap { element, inner in
                    requests(inner).map { (ElementRequestID(element: element, request: $0.0), $0.1) }
                }
            },
            request: { state, id in each.find(state, id.element).flatMap { request($0, id.request) } },
            followsChanges: followsChanges
        ) { id, request, updates, emit in
            try await each.lift(id.element).perform(emit) { try await effect(id.request, request, updates, $0) }
        }
    }
}
