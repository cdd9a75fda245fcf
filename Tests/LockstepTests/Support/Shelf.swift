import Lockstep

/// A reactor with several replies and answers, whose actions and queries promise theirs.
struct Shelf: Reactor {
    enum Action: Codable, Sendable {
        case put(String, Int)
        case take(String)
        case count
    }
    enum Reply: Codable, Sendable, Equatable {
        case done
        case left(Int)
    }
    enum Mutation: Codable, Sendable { case changed(String, by: Int) }
    struct State: Codable, Sendable { var amounts: ReplicatedMap<String, Int> = [:] }
    enum Query: Codable, Sendable {
        case amount(String)
        case names
        case whereAndWhen
    }
    enum Answer: Codable, Sendable, Equatable {
        case amount(Int)
        case names([String])
        case place(Place, LogTime)
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .put(let name, let amount): return .emit(.changed(name, by: amount), reply: .done)
        case .take(let name):
            let left = context.state.amounts[name, default: 0]
            guard left > 0 else { throw Rejection("there is no \(name) left") }
            return .emit(.changed(name, by: -1), reply: .left(left - 1))
        case .count: return .none(reply: .left(context.state.amounts.count))
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .changed(let name, let amount): state.amounts[name, default: 0] += amount
        }
    }

    static func answer(_ query: Query, in state: State, _ context: AnswerContext) throws -> Answer {
        switch query {
        case .amount(let name): return .amount(state.amounts[name, default: 0])
        case .names: return .names(state.amounts.sorted().map(\.key))
        case .whereAndWhen: return .place(context.place, context.time)
        }
    }
}

extension TypedAction where R == Shelf, Reply == Int {
    /// Has the name of the action.
    static func take(_ name: String) -> Self {
        Self(.take(name)) { if case .left(let count) = $0 { count } else { nil } }
    }

    /// Promises what this version does not reply.
    static func puttingWithCount(_ name: String) -> Self {
        Self(.put(name, 1)) { if case .left(let count) = $0 { count } else { nil } }
    }
}

extension TypedQuery where R == Shelf, Answer == Int {
    static func amount(_ name: String) -> Self {
        Self(.amount(name)) { if case .amount(let amount) = $0 { amount } else { nil } }
    }

    /// Promises what this version does not answer.
    static var numberOfNames: Self { Self(.names) { if case .amount(let amount) = $0 { amount } else { nil } } }
}
