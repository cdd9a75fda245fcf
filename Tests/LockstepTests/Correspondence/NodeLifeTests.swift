import Lockstep
import LockstepNode
import LockstepTesting
import Testing

/// What a reactor and its node are, and how they begin and end (SEMANTICS K1 to K6, K9, K23, K24, K30, K35, K36).
@Suite(.timeLimit(.minutes(5))) struct NodeLifeTests {
    /// Holds what it is told, and is told by a closure when it goes.
    final class Service: Sendable {
        private let onEnd: @Sendable () -> Void
        init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
    }

    /// A reactor of any value (K36): the newest one is kept.
    struct Keeper<Value: Codable & Sendable & Equatable>: Reactor {
        typealias Action = Value
        let first: Value
        var service: Service?
        var initialState: [Value] { [first] }

        static func reduce(into state: inout [Value], _ mutation: Value, _ context: ReduceContext) {
            state.append(mutation)
        }
    }

    /// K1, S18: a reactor is behaviour only; two stores of one have a state each.
    @Test func twoStoresOfOneReactorAreApart() async throws {
        let node = try Node(.local())
        let keeper = Keeper(first: 0)
        let one = try node.store(keeper, named: "one")
        let other = try node.store(keeper, named: "other")
        try await withRunning(node) {
            _ = try await one.send(1)
            #expect(try await one.read(.linearizable) { $0 } == [0, 1])
            #expect(try await other.read(.linearizable) { $0 } == [0])
        }
    }

    /// K2, K3, K9, K36: without `mutate` the action is the mutation, also of a generic reactor; the sender adds no name,
    /// and its receipt has one.
    @Test func theActionIsTheMutationByDefault() async throws {
        let node = try Node(.local())
        let texts = try node.store(Keeper(first: "a"), named: "texts")
        try await withRunning(node) {
            let first = try await texts.send("b")
            let second = try await texts.send("b")
            #expect(second.session == first.session && second.number == first.number + 1)
            #expect(try await texts.read { $0 } == ["a", "b", "b"])
        }
    }

    /// K5, K6, K8: the initial state is there before the node runs, and what is sent before waits.
    @Test func whatIsSentBeforeTheNodeRunsWaits() async throws {
        let node = try Node(.local())
        let store = try node.store(Keeper(first: 0), named: "store")
        #expect(store.state == [0] && store.place == .start && store.readiness != .live)
        let early = try store.submit(1)
        try await withRunning(node) {
            guard case .committed(let receipt) = try await early.finished() else { return unexpected() }
            #expect(try await store.snapshot(.session).place >= receipt.place)
            #expect(store.state == [0, 1])
        }
    }

    /// K30, F15, guarantee 1: many send at once, and the actions of each are committed in the order of its calls.
    @Test func eachSenderKeepsItsOrder() async throws {
        let node = try Node(.local())
        let store = try node.store(Keeper(first: -1), named: "store")
        try await withRunning(node) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sender in 0..<8 {
                    group.addTask {
                        let sent = try (0..<100).map { try store.submit(sender * 1_000 + $0) }
                        for action in sent { _ = try await action.finished() }
                    }
                }
                try await group.waitForAll()
            }
            let numbers = try await store.read(.linearizable) { $0 }.dropFirst()
            #expect(numbers.count == 800)
            for sender in 0..<8 {
                #expect(numbers.filter { $0 / 1_000 == sender } == (0..<100).map { sender * 1_000 + $0 })
            }
        }
    }

    /// S2, S6: a state that was taken is a value, which later commits leave alone, and whoever observes gets newer ones.
    @Test func aStateThatWasTakenStays() async throws {
        let node = try Node(.local())
        let store = try node.store(Keeper(first: 0), named: "store")
        try await withRunning(node) {
            let before = try await store.snapshot(.session)
            var states = store.states.makeAsyncIterator()
            #expect(await states.next()?.state == [0])
            _ = try await store.send(1)
            #expect(await states.next()?.state == [0, 1])
            #expect(before.state == [0])
        }
    }

    /// S1: who wants the reducer to be a method of the state calls one.
    struct Lamp: Reactor {
        struct State: Codable, Sendable, Equatable {
            var isOn = false
            mutating func apply(_ mutation: Bool) { isOn = mutation }
        }
        var initialState: State { State() }
        static func reduce(into state: inout State, _ mutation: Bool, _ context: ReduceContext) {
            state.apply(mutation)
        }
    }

    @Test func aStateMayReactItself() {
        spec(Lamp()).when(true).then(.emits(true), .state { $0.isOn = true })
    }

    /// K23: of a hundred that run a node one does, and the others are told so.
    @Test func oneOfAHundredRunsTheNode() async throws {
        let node = try Node(.local())
        let store = try node.store(Keeper(first: 0), named: "store")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do {
                        try await node.run()
                        return true
                    } catch let error as LockstepError where error.code == .stopped {
                        return false
                    }
                }
            }
            for _ in 0..<99 { #expect(try await group.next() == false) }
            _ = try await store.send(1)
            group.cancelAll()
            #expect(try await group.next() == true)
        }
    }

    /// K24, guarantee 15: when the node has ended and its store is let go, nothing holds the reactor.
    @Test func nothingIsLeftAfterTheEnd() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        do {
            let service = Service { end.finish() }
            let node = try Node(.local())
            let store = try node.store(Keeper(first: 0, service: service), named: "store")
            let states = Task { for await _ in store.states {} }
            try await withRunning(node) { _ = try await store.send(1) }
            await states.value
        }
        // If something held it, this would be the test's last line before its time is over.
        for await _ in ends {}
    }

    /// K35: nodes and actions have names that can be compared, kept and sent.
    @Test func nodesAndActionsHaveNames() async throws {
        var configuration = NodeConfiguration.local()
        configuration.node = try #require(NodeID("one"))
        let node = try Node(configuration)
        #expect(node.id == NodeID("one") && Set([node.id, configuration.node]).count == 1)
        let other = try Node(.local())
        #expect(node.id != other.id && node !== other)
    }
}
