import LockstepServer

/// A program with two stores, as a user writes it.
struct Shop: LockstepServer {
    static let about = "Keeps a stock of goods."
    static var stores: Stores {
        HostedStore("stock", Stock())
        HostedStore("deliveries", Deliveries())
    }
}

/// How many pieces there are of each article; all its types are plain Codable.
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
    typealias Reply = Int

    enum Query: Codable, Sendable {
        case count(String)
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Stock> {
        switch action {
        case .restock(let article, let pieces):
            return .emit(.changed(article, by: pieces), reply: context.state.amounts[article, default: 0] + pieces)
        case .sell(let article):
            let left = context.state.amounts[article, default: 0]
            guard left > 0 else { throw Rejection("there is no \(article) left") }
            return .emit(.changed(article, by: -1), reply: left - 1)
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

/// Actions whose effect goes on: the log keeps the action, what it emits, and its end.
struct Deliveries: Reactor {
    enum Action: Codable, Sendable {
        case order(Int)
    }
    enum Mutation: Codable, Sendable {
        case delivered(Int)
    }
    struct State: Codable, Sendable {
        var delivered: [Int] = []
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Deliveries> {
        switch action {
        case .order(let number): .run { emit in try await emit(.delivered(number)) }
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .delivered(let number): state.delivered.append(number)
        }
    }
}
