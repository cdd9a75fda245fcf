import Lockstep
import LockstepTesting
import Testing

/// Typed actions and queries in tests of users: a stub, a test store and a cluster send them.
@Suite(.timeLimit(.minutes(5))) struct TypedActionsTests {
    private struct Door: Reactor {
        enum Action: Codable, Sendable { case open, count }
        enum Reply: Codable, Sendable, Equatable { case opened, times(Int) }
        enum Query: Codable, Sendable { case times, place }
        enum Answer: Codable, Sendable, Equatable { case times(Int), place(Place, LogTime) }
        typealias Mutation = Int
        var initialState: Int { 0 }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .open: .emit(1, reply: .opened)
            case .count: .none(reply: .times(context.state))
            }
        }

        static func reduce(into state: inout Int, _ number: Int, _ context: ReduceContext) { state += number }

        static func answer(_ query: Query, in state: Int, _ context: AnswerContext) throws -> Answer {
            switch query {
            case .times: .times(state)
            case .place: .place(context.place, context.time)
            }
        }
    }

    private static let count = TypedAction<Door, Int>(.count) { if case .times(let times) = $0 { times } else { nil } }
    private static let misread = TypedAction<Door, Int>(.open) { if case .times(let times) = $0 { times } else { nil } }
    private static let times = TypedQuery<Door, Int>(.times) { if case .times(let times) = $0 { times } else { nil } }
    private static let wrong = TypedQuery<Door, Int>(.place) { if case .times(let times) = $0 { times } else { nil } }

    @Test func aStubRepliesAndAnswers() async throws {
        let stub = StubStore<Door>(state: 4) { _ in .reply(.times(7)) }
        #expect(try await stub.send(Self.count).reply == 7)
        #expect(try await stub.ask(Self.times).answer == 4)
        let place = try await stub.ask(.place)
        #expect(place.answer == .place(stub.place, .zero))
        let other = StubStore<Door>(state: 4) { _ in .reply(.opened) }
        let error = await #expect(throws: LockstepError.self) { try await other.send(Self.count) }
        #expect(error?.code == .unreadable)
    }

    @Test func aTestStoreComparesThePromisedReply() {
        let store = TestStore(Door())
        store.send(.open, reply: .opened) { $0 = 1 }
        store.send(Self.count, reply: 1)
        store.finish()
        let collected = CollectedFailures()
        let wrong = TestStore(Door(), reporter: collected.reporter)
        wrong.send(Self.count, reply: 3)
        wrong.send(Self.misread, reply: 1) { $0 = 1 }
        wrong.finish()
        #expect(collected.texts.count == 2)
        #expect(collected.texts.first?.contains("expected 3, found 0") == true)
        #expect(collected.texts.last?.contains("promises another reply than it has") == true)
    }

    /// A node's answer is checked against the place and the time that it was given at.
    @Test func aClusterSendsAndAsks() throws {
        let cluster = TestCluster(Door())
        #expect(try cluster.send(.open) == .opened)
        #expect(try cluster.send(Self.count) == 1)
        #expect(try cluster.ask(Self.times, .linearizable) == 1)
        #expect(throws: TestClusterError.self) { try cluster.send(Self.misread) }
        #expect(throws: TestClusterError.self) { try cluster.ask(Self.wrong) }
        try cluster.settle()
        for reader in [ClusterProcess.primary, .replica(1), .client(1)] {
            guard case .place(let place, let time) = try cluster.ask(.place, from: reader) else {
                Issue.record("a place was asked for")
                return
            }
            #expect(place > .start && time > .zero)
        }
        #expect(cluster.failure == nil)
    }
}
