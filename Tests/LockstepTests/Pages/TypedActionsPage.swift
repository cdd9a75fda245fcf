import Lockstep
import LockstepTesting
import Testing

/// The reactor of the section of GettingStarted.md about typed replies.
struct Depot: Reactor {
    enum Action: Codable, Sendable {
        case put(String, Int)
        case take(String)
    }
    enum Reply: Codable, Sendable {
        case done
        case left(Int)
    }
    enum Mutation: Codable, Sendable { case changed(String, by: Int) }
    struct State: Codable, Sendable { var amounts: ReplicatedMap<String, Int> = [:] }
    enum Query: Codable, Sendable {
        case amount(String)
        case articles
    }
    enum Answer: Codable, Sendable {
        case amount(Int)
        case articles([String])
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .put(let name, let amount): return .emit(.changed(name, by: amount), reply: .done)
        case .take(let name):
            let left = context.state.amounts[name, default: 0]
            guard left > 0 else { throw Rejection("there is no \(name) left") }
            return .emit(.changed(name, by: -1), reply: .left(left - 1))
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .changed(let name, let amount): state.amounts[name, default: 0] += amount
        }
    }

    static func answer(_ query: Query, in state: State) throws -> Answer {
        switch query {
        case .amount(let name): .amount(state.amounts[name, default: 0])
        case .articles: .articles(state.amounts.sorted().map(\.key))
        }
    }
}

extension TypedAction where R == Depot, Reply == Int {
    static func take(_ article: String) -> Self {
        Self(.take(article)) { if case .left(let count) = $0 { count } else { nil } }
    }
}

extension TypedQuery where R == Depot, Answer == [String] {
    static var articles: Self {
        Self(.articles) { if case .articles(let names) = $0 { names } else { nil } }
    }
}

@Suite(.timeLimit(.minutes(5))) struct TypedActionsPage {
    func takePears(from depot: some ActionTarget<Depot>) async throws {
        let left: Int = try await depot.send(.take("pear")).reply
        let articles: [String] = try await depot.ask(.articles).answer
        print("\(left) pears left, of \(articles)")
    }

    @Test func theCodeOfThePageRuns() async throws {
        var state = Depot.State()
        state.amounts["pear"] = 3
        let stub = StubStore<Depot>(state: state) { _ in .reply(.left(2)) }
        try await takePears(from: stub)
        #expect(stub.actions.count == 1)
    }
}
