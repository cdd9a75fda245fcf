import Lockstep
import LockstepNode
import Testing

/// Presses that are printed on: a job holds all of its presses at once.
private struct Presses: Reactor {
    enum Action: Codable, Sendable {
        case print(String, on: [String])
        /// Replaces the newest of its name, and holds a press.
        case preview(String, on: String)
        case named(String, cancelling: String?)
        case manyPolicies(Int)
    }
    struct State: Codable, Sendable { var printed: [String] = [] }
    typealias Mutation = String

    let stage: Stage
    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .print(let job, let presses):
            return presses.reduce(work(job)) { $0.policy(.merge("press/\($1)", max: 1)) }
        case .preview(let job, let press):
            return work(job).policy(.latest("preview")).policy(.merge("press/\(press)", max: 1))
        case .named(let name, let cancelled):
            let effect = work(name).cancellable("job/\(name)")
            return cancelled.map { effect.cancelling("job/\($0)") } ?? effect
        case .manyPolicies(let count):
            return (0..<count).reduce(work("many")) { $0.policy(.merge("m\($1)", max: 1)) }
        }
    }

    private func work(_ job: String) -> Effect<Self> {
        .run { [stage] emit in
            try await stage.pass(job)
            emit.atEnd(job)
        }
    }

    static func reduce(into state: inout State, _ job: String, _ context: ReduceContext) {
        state.printed.append(job)
    }
}

/// Several policies of one effect, and the names of effects.
@Suite(.timeLimit(.minutes(5))) struct PoliciesTests {
    private func withPresses(
        _ body: @escaping @Sendable (Store<Presses>, Stage) async throws -> Void
    ) async throws {
        let stage = Stage()
        let node = try Node(.local())
        let store = try node.store(Presses(stage: stage), named: "presses")
        try await withRunning(node) { try await body(store, stage) }
    }

    /// Effects that name two groups in opposite orders all come to their end, in the order of acceptance
    /// (PROTOCOL R-63).
    @Test func effectsWaitForAllTheirPolicies() async throws {
        try await withPresses { store, stage in
            let jobs = [("a", ["x", "y"]), ("b", ["y", "x"]), ("c", ["x"]), ("d", ["z"])]
            let submitted = try jobs.map { try store.submit(.print($0.0, on: $0.1)) }
            for job in submitted { _ = try await job.accepted() }
            await stage.noted("at a")
            await stage.noted("at d")
            #expect(stage.trace == ["at a", "at d"] || stage.trace == ["at d", "at a"])
            stage.open("a")
            await stage.noted("at b")
            #expect(!stage.trace.contains("at c"), "it waits for the press that b holds")
            for job in ["b", "c", "d"] { stage.open(job) }
            for job in submitted { _ = try (try await job.finished()).get() }
            #expect(try await store.read { $0.printed.filter { $0 != "d" } } == ["a", "b", "c"])
        }
    }

    /// One that waits is superseded under its other policy, and who waited after it goes on.
    @Test func aPolicyHoldsWhileAnotherIsWaitedFor() async throws {
        try await withPresses { store, stage in
            let running = try store.submit(.print("a", on: ["x"]))
            await stage.noted("at a")
            let first = try store.submit(.preview("first", on: "x"))
            let second = try store.submit(.preview("second", on: "y"))
            guard case .cancelled = try await first.finished() else { return unexpected() }
            await stage.noted("at second")
            for job in ["a", "second"] { stage.open(job) }
            _ = try (try await running.finished()).get()
            _ = try (try await second.finished()).get()
            #expect(!stage.trace.contains("at first"))
        }
    }

    /// Names are made of parts; one that is too long makes the action rejected, and nothing happens.
    @Test func namesHaveABound() async throws {
        try await withPresses { store, stage in
            let job = try store.submit(.named("é7", cancelling: nil))
            await stage.noted("at é7")
            let long = String(repeating: "é", count: 127)
            for (name, cancelled) in [(long, nil), ("b", Optional(long))] {
                let error = await #expect(throws: LockstepError.self) {
                    try await store.send(.named(name, cancelling: cancelled))
                }
                #expect(error?.code == .rejected)
                #expect(error?.message.contains("name of 258 bytes is above the limit of 256: job/é") == true)
            }
            let longest = String(repeating: "é", count: 126)
            stage.open(longest)
            _ = try await store.send(.named(longest, cancelling: "é7"))
            guard case .cancelled = try await job.finished() else { return unexpected() }
            #expect(try await store.read { $0.printed } == [longest])
        }
    }

    @Test func anEffectHasABoundOfPolicies() async throws {
        try await withPresses { store, stage in
            stage.open("many")
            _ = try await store.send(.manyPolicies(16))
            let error = await #expect(throws: LockstepError.self) { try await store.send(.manyPolicies(17)) }
            #expect(error?.code == .rejected && error?.message.contains("17 policies; at most 16") == true)
        }
    }
}
