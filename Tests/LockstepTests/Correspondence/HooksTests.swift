import Lockstep
import LockstepNode
import Synchronization
import Testing

/// The golden trace of all hooks (SEMANTICS K17 to K20, S7).
@Suite(.timeLimit(.minutes(5))) struct HooksTests {
    /// Notes each hook as it is called, which a real reducer must not do.
    struct Traced: Reactor {
        enum Action: Codable, Sendable { case add(Int) }
        enum Mutation: Codable, Sendable { case added(Int) }
        struct State: Codable, Sendable, Equatable { var numbers: [Int] = [] }

        final class Trace: Sendable {
            private let lines = Mutex<[String]>([])
            func note(_ text: String) { lines.withLock { $0.append(text) } }
            func take() -> [String] {
                lines.withLock { lines in
                    defer { lines = [] }
                    return lines
                }
            }
        }
        static let trace = Trace()

        let fed: AsyncStream<Int>
        var initialState: State { State() }

        var middleware: [Middleware<Self>] {
            ["first", "second"].map { name in
                Middleware { action, _ in
                    guard case .add(let number) = action else { return action }
                    Self.trace.note("\(name) middleware \(number)")
                    return .add(number + 1)
                }
            }
        }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            guard case .add(let number) = action else { return .none }
            Self.trace.note("mutate \(number)")
            return .emit(.added(number))
        }

        var sources: [ExternalSource<Self>] {
            [ExternalSource("fed") { [fed] emit in for await number in fed { try await emit(.added(number)) } }]
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            guard case .added(let number) = mutation else { return }
            trace.note("reduce \(number)")
            state.numbers.append(number)
        }
    }

    struct Observer: CommitObserver {
        let told: AsyncStream<Int>.Continuation

        func willCommit(_ entry: LoggedEntry<Traced>, before: Traced.State) async {
            Traced.trace.note("will commit after \(before.numbers)")
        }

        func didCommit(_ commit: Commit<Traced>) async {
            Traced.trace.note("did commit \(commit.after.numbers)")
            told.yield(commit.after.numbers.count)
        }
    }

    /// K20: middleware, mutate, reduce, commit, then observers, then views.
    ///
    /// What a source brings passes neither middleware nor mutate (K18). The second reduction is the observers' own copy.
    @Test func allHooksRunInTheirOrder() async throws {
        let (fed, feed) = AsyncStream.makeStream(of: Int.self)
        let (told, tell) = AsyncStream.makeStream(of: Int.self)
        let node = try Node(.local())
        let store = try node.store(Traced(fed: fed), named: "traced")
        // From the initial state on, whenever the observers begin.
        let observers = store.observers(after: store.snapshot)
        observers.add(Observer(told: tell))
        let view = store.project { state in
            Traced.trace.note("project \(state.numbers)")
            return state.numbers.last ?? 0
        }
        try await withRunning(node) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await observers.run() }
                var commits = told.makeAsyncIterator()
                _ = try await store.send(.add(1))
                _ = await commits.next()
                #expect(view.current == 3)
                #expect(
                    Traced.trace.take() == [
                        "first middleware 1", "second middleware 2", "mutate 3", "reduce 3", "reduce 3",
                        "will commit after []", "did commit [3]", "project [3]",
                    ])
                feed.yield(7)
                _ = await commits.next()
                #expect(view.current == 7)
                #expect(
                    Traced.trace.take() == [
                        "reduce 7", "reduce 7", "will commit after [3]", "did commit [3, 7]", "project [3, 7]",
                    ])
                group.cancelAll()
            }
        }
    }
}
