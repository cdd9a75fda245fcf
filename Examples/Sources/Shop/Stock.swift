import Lockstep

/// How many pieces there are of each article.
struct Stock: Reactor {
    enum Action: Codable, Sendable {
        case restock(String, pieces: Int)
        case sell(String)
    }

    enum Mutation: Codable, Sendable {
        case changed(String, by: Int)
    }

    struct State: Codable, Sendable {
        var amounts: ReplicatedMap<String, Int> = [:]
    }

    enum Query: Codable, Sendable {
        case count(String)
    }

    /// How many pieces are left of the article that was changed.
    struct Reply: Codable, Sendable {
        var left: Int
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Stock> {
        switch action {
        case .restock(let article, let pieces):
            guard (1...1_000_000).contains(pieces) else { throw Rejection("restock 1 to 1000000 pieces") }
            let left = context.state.amounts[article, default: 0]
            return .emit(.changed(article, by: pieces), reply: Reply(left: left + pieces))
        case .sell(let article):
            let left = context.state.amounts[article, default: 0]
            guard left > 0 else { throw Rejection("there is no \(article) left") }
            return .emit(.changed(article, by: -1), reply: Reply(left: left - 1))
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .changed(let article, let amount): state.amounts[article, default: 0] &+= amount
        }
    }

    static func answer(_ query: Query, in state: State) throws -> Int {
        switch query {
        case .count(let article): state.amounts[article, default: 0]
        }
    }
}
