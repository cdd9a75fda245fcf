import Lockstep
import LockstepNode
import Testing

/// Children by property, optional property and case, on a running node without network (SEMANTICS S3).
@Suite(.timeLimit(.minutes(5))) struct ScopeTests {
    private func withBoard(
        hasSource: Bool = false, _ body: @escaping @Sendable (Store<Board>, Stage) async throws -> Void
    ) async throws {
        let node = try Node(.local())
        let stage = Stage()
        let store = try node.store(Board(stage: stage, hasSource: hasSource), named: "board")
        try await withRunning(node) { try await body(store, stage) }
    }

    /// S3: the child decides over its own part; mutations and replies are mapped, and the parent's other parts stay.
    @Test func aChildActsInItsPart() async throws {
        try await withBoard { store, _ in
            #expect(try await store.send(.left(.set("abc"))).reply == 0)
            #expect(try await store.send(.left(.set("abcd"))).reply == 30)
            let state = try await store.read { $0 }
            #expect(state.left.text == "abcd" && state.edit == nil && state.items.isEmpty)
        }
    }

    /// K17: the child's middleware sees the child's state and action, and refuses for the parent.
    @Test func theChildsMiddlewareLooksFirst() async throws {
        try await withBoard { store, _ in
            _ = try await store.send(.left(.set("hall")))
            let error = await #expect(throws: LockstepError.self) { try await store.send(.left(.shout)) }
            #expect(error?.code == .rejected && error?.message == "no shouting in hall")
        }
    }

    /// K11, K14: a child's effect reads its own writes through its part; what it keeps for its end comes with it, and
    /// its key is another than its parent's.
    @Test func aChildsEffectGoesOn() async throws {
        try await withBoard { store, stage in
            stage.open("a")
            let receipt = try await store.send(.left(.search("a")))
            #expect(receipt.reply == 20)
            let state = try await store.read { $0 }
            #expect(state.left.found == ["a 0", "a 1", "a end"])
            #expect(stage.trace.contains { $0.hasPrefix("key board/") && $0.hasSuffix("/left") })
        }
    }

    /// K10, K25: policies and names are the child's own; the same name in another child is another one.
    @Test func policiesAndNamesAreTheChildsOwn() async throws {
        try await withBoard { store, stage in
            _ = try await store.send(.openEdit)
            let left = try store.submit(.left(.search("left")))
            await stage.noted("at left")
            let edit = try store.submit(.edit(.search("edit")))
            await stage.noted("at edit")
            let newer = try store.submit(.left(.search("newer")))
            guard case .cancelled = try await left.finished() else { return #expect(Bool(false)) }
            stage.open("edit")
            guard case .committed(let receipt) = try await edit.finished() else { return #expect(Bool(false)) }
            #expect(receipt.reply == 2)
            _ = try await store.send(.endLeft)
            guard case .cancelled = try await newer.finished() else { return #expect(Bool(false)) }
            #expect(try await store.read { $0.left.found } == ["left 0", "newer 0"])
        }
    }

    /// K25: cancellation by the child's name, and by the child's action, reaches this child alone.
    @Test func cancellationStaysInTheChild() async throws {
        try await withBoard { store, stage in
            _ = try await store.send(.openEdit)
            let left = try store.submit(.left(.keep("left")))
            let edit = try store.submit(.edit(.keep("edit")))
            await stage.noted("at left")
            await stage.noted("at edit")
            #expect(try await store.send(.edit(.stopAll)).reply == -1)
            guard case .cancelled = try await edit.finished() else { return #expect(Bool(false)) }
            let second = try store.submit(.edit(.keep("second")))
            await stage.noted("at second")
            _ = try await store.send(.left(.set("cancel")))
            guard case .cancelled = try await left.finished() else { return #expect(Bool(false)) }
            stage.open("second")
            guard case .committed = try await second.finished() else { return #expect(Bool(false)) }
        }
    }

    /// S3: a missing part rejects actions; when it goes its effects end as cancelled, and nothing follows.
    @Test(arguments: [false, true])
    func aPartThatGoesTakesItsEffectsAlong(isCase: Bool) async throws {
        try await withBoard { store, stage in
            func act(_ action: Searching.Action) -> Board.Action { isCase ? .page(action) : .edit(action) }
            let missing = await #expect(throws: LockstepError.self) { try await store.send(act(.set("x"))) }
            #expect(missing?.code == .rejected && missing?.message.hasSuffix("is not there") == true)
            _ = try await store.send(isCase ? .openPage : .openEdit)
            let effect = try store.submit(act(.search("a")))
            await stage.noted("at a")
            _ = try await store.send(isCase ? .closePage : .closeEdit)
            guard case .cancelled = try await effect.finished() else { return #expect(Bool(false)) }
            stage.open("a")
            _ = try await store.send(isCase ? .openPage : .openEdit)
            let found = try await store.read { state in
                guard case .search(let page) = state.page else { return state.edit?.found }
                return page.found
            }
            #expect(found == [])
        }
    }

    /// F7, K18: feedback and sources of a child run as the parent's, and read and write the child's part.
    @Test func feedbackAndSourcesAreLifted() async throws {
        try await withBoard(hasSource: true) { store, stage in
            await stage.noted("fed")
            stage.open("go")
            let place = try await store.send(.left(.want("go"))).place
            for await snapshot in store.states where snapshot.state.left.found.count == 2 {
                #expect(snapshot.state.left.found == ["fed 0", "go by feedback of 0"])
                break
            }
            var causes: [CommitCause] = []
            for try await entry in store.entries(after: .zero) {
                causes.append(entry.cause)
                if entry.place > place { break }
            }
            #expect(causes.first == .source("left.feed") && causes.last == .feedback("left.want"))
        }
    }

    /// Timers of children fire as the parent's mutations; a parent looks at its child with a pure hook.
    @Test func timersAndHooksOfChildren() async throws {
        try await withBoard { store, _ in
            _ = try await store.send(.openEdit)
            _ = try await store.send(.left(.wake(1_000)))
            _ = try await store.send(.edit(.wake(1_000)))
            for await snapshot in store.states where snapshot.state.left.found == ["timer"] && snapshot.state.badge == 1
            {
                if snapshot.state.edit?.found == ["timer"] { break }
            }
        }
    }

    /// An effect of the parent's may act as several children; a part that is not there ends it.
    @Test func aParentsEffectActsAsItsChildren() async throws {
        try await withBoard { store, _ in
            _ = try await store.send(.openEdit)
            #expect(try await store.send(.both("x")).reply == 1)
            let state = try await store.read { $0 }
            #expect(state.left.found == ["x left", "x left end"] && state.edit?.found == ["x edit"])
            _ = try await store.send(.closeEdit)
            let ended = await #expect(throws: LockstepError.self) { try await store.send(.both("y")) }
            #expect(ended?.code == .cancelled)
        }
    }

    /// Reading through a property copies no container: an array in the child's part keeps its only owner.
    @Test func readingAPartCopiesNothing() throws {
        struct Inner: Reactor {
            struct State: Codable, Sendable { var list = Array(repeating: 7, count: 1_000) }
            typealias Action = Int
            typealias Reply = UInt64
            var initialState: State { State() }
            func mutate(_ action: Int, _ context: Context) throws -> Effect<Self> {
                .emit(context.state.list[action], reply: Self.address(context.state.list))
            }
            static func reduce(into state: inout State, _ mutation: Int, _ context: ReduceContext) {
                state.list[0] = mutation + 1
            }
            static func address(_ list: [Int]) -> UInt64 {
                list.withUnsafeBufferPointer { UInt64(UInt(bitPattern: $0.baseAddress)) }
            }
        }
        struct Outer: Reactor {
            struct State: Codable, Sendable { var inner = Inner.State() }
            typealias Action = Int
            typealias Reply = UInt64
            static let inner = Scope<Outer, Inner>("inner", state: .property(\.inner)) {
                $0
            } action: {
                $0
            }
            var initialState: State { State() }
            func mutate(_ action: Int, _ context: Context) throws -> Effect<Self> {
                try Self.inner.mutate(action, by: Inner(), context)
            }
            static func reduce(into state: inout State, _ mutation: Int, _ context: ReduceContext) {
                inner.reduce(into: &state, mutation, context)
            }
        }
        let run = Run(Outer())
        let replies = try run.perform([1, 2, 3, 4]).map { try $0.get().reply }
        // The first write takes the array over from the initial state; from then on it stays where it is.
        #expect(Set(replies.dropFirst()).count == 1)
        #expect(run.state.workingState.inner.list[0] == 8)
    }
}
