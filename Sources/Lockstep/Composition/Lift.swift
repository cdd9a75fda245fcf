import LockstepCore
import Synchronization

/// How what a child does becomes what its parent does.
struct Lift<Parent: Reactor, Child: Reactor>: Sendable {
    /// In front of all names of effects: `search`, or `tasks/3`.
    let name: String
    let find: @Sendable (Parent.State) -> Child.State?
    let embed: @Sendable (Child.Mutation) -> Parent.Mutation
    /// This child's action, if the parent's is one.
    let extract: @Sendable (Parent.Action) -> Child.Action?
    /// Whether the part may go, and the effects with it.
    let isTied: Bool
    /// What an emitter shows of a part that it has not seen.
    let missing: @Sendable () -> Child.State

    /// Runs a part of a parent's effect that belongs to the child.
    ///
    /// It ends as cancelled when the part goes: nothing of it is committed after the entry that took the part away.
    func perform<Result: Sendable>(
        _ emit: Emitter<Parent>, _ body: @escaping @Sendable (Emitter<Child>) async throws -> Result
    ) async throws -> Result {
        let environment = LiftedEnvironment(emit, self)
        let scope = EmitterScope<Child>(
            environment, cause: emit.scope.cause, start: emit.scope.start, lifetime: emit.scope.lifetime,
            idempotencyKey: "\(emit.idempotencyKey)/\(name)")
        defer { _ = scope.end() }
        let run: @Sendable () async throws -> Result = {
            let result = try await body(Emitter(scope))
            for mutation in scope.takeAtEnd() { emit.atEnd(embed(mutation)) }
            return result
        }
        guard isTied else { return try await run() }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await run() }
            group.addTask {
                try await environment.untilGone()
                return nil
            }
            defer { group.cancelAll() }
            // An effect that is cancelled because its part has gone ends in the log as any cancelled one.
            guard let result = try await group.next() ?? nil else { throw CancellationError() }
            return result
        }
    }
}

/// A parent's emitter as its child sees it.
final class LiftedEnvironment<Parent: Reactor, Child: Reactor>: EffectEnvironment {
    typealias R = Child
    private let parent: Emitter<Parent>
    private let lift: Lift<Parent, Child>
    /// What an emitter shows when its part has gone.
    private let last = Mutex<Child.State?>(nil)

    init(_ parent: Emitter<Parent>, _ lift: Lift<Parent, Child>) {
        self.parent = parent
        self.lift = lift
    }

    var clock: any Clock<Duration> { parent.clock }

    var snapshot: Snapshot<Child.State> {
        let snapshot = parent.snapshot
        let found = lift.find(snapshot.state)
        let seen = last.withLock { last in
            last = found ?? last
            return last
        }
        let state = seen ?? lift.missing()
        return Snapshot(state: state, place: snapshot.place, time: snapshot.time)
    }

    func emit(_ mutations: [Child.Mutation], _ scope: EmitterScope<Child>) async throws -> Place {
        guard lift.isTied else { return try await parent(contentsOf: mutations.map(lift.embed)) }
        return try await emit(mutations, scope, nil) { _ in true }
    }

    func emit(
        _ mutations: [Child.Mutation], _ scope: EmitterScope<Child>, _ condition: EmissionCondition?,
        while isWanted: @escaping @Sendable (Child.State) -> Bool
    ) async throws -> Place {
        try parent.scope.checkLive()
        return try await parent.scope.environment.emit(mutations.map(lift.embed), parent.scope, condition) {
            [lift] state in lift.find(state).map(isWanted) ?? false
        }
    }

    func wait(while isWanted: @escaping @Sendable (Child.State) -> Bool) async throws {
        try await parent.scope.environment.wait { [lift] state in lift.find(state).map(isWanted) ?? false }
    }

    func untilGone() async throws { try await wait { _ in true } }
}

extension MutateContext {
    /// The same call as a child sees it; nil if its part is not there.
    ///
    /// The part's fields are copied, the containers in it are shared, and both are let go before anything is reduced.
    func lifted<Child: Reactor>(
        to child: Child.Type, _ part: ChildState<R.State, Child.State>
    ) -> MutateContext<Child>? {
        part.find(state).map { lifted(to: child, $0) }
    }

    func lifted<Child: Reactor>(to child: Child.Type, _ state: Child.State) -> MutateContext<Child> {
        MutateContext<Child>(
            box: StateBox(state), time: time, session: session, request: request, attempt: attempt,
            sender: sender)
    }
}
